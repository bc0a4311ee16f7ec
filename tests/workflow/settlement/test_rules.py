"""The rules of settling over facts that are written down: a row for each phrase of docs/reference/lifecycle.md."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from lakegate.audit.model.catalog import NO_CATALOG
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import MetricKind, Severity
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, ReplacedFiles, Report, Source, Verdict
from lakegate.contracts import load
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import DELETION, FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.landing.standing import IDENTICAL
from lakegate.ports import JobRun, JobState
from lakegate.workflow.settlement.backoff import Crash
from lakegate.workflow.settlement.facts import AttemptEnd, Facts
from lakegate.workflow.settlement.references import MOST_AUDITS, PATIENCE
from lakegate.workflow.settlement.rules import Settlement, goes_first, settlement
from tests.world.world import CONTRACT

NOW = datetime(2013, 1, 31, tzinfo=UTC)
WHOLE = "customProperties: [{property: scope, vendor: lakegate, value: table}]"
UNIQUE = CONTRACT.replace("logicalType: integer", f"logicalType: integer\n        unique: true\n        {WHOLE}", 1)
ORDERED = load(UNIQUE.encode(), "flights.yaml").plan
FREE = load(CONTRACT.encode(), "flights.yaml").plan
ATTEMPT = Attempt(table=FREE.table, batch="20130131T0000-00000000", number=2)
OLDER = replace(ATTEMPT, batch="20130130T0000-00000000")
PLANES = "nyc.planes"


def version(name: str) -> FileVersion:
    return FileVersion(bucket="landing", key=name, version_id=f"v{name}", size=1, landed_at=NOW, checksum=f"c{name}")


A, B, C = version("a"), version("b"), version("c")


def check(verdict: Verdict, metric: str) -> CheckResult:
    return CheckResult(
        check=metric, name=metric, columns=(), severity=Severity.ERROR, verdict=verdict, value=1, expected="",
        failing_rows=1, rows=5, source=Source.QUERY, metric=metric,
    )  # fmt: skip


def said(file: FileVersion, verdict: Verdict = Verdict.PASS, metric: str = "", aside: int = 0) -> FileReport:
    data = (DataFile(path=f"aside/{file.key}", rows=aside),) if aside else ()
    checks = (check(verdict, metric),) if metric else ()
    return FileReport(id=file.id, key=file.key, verdict=verdict, rows=5, checks=checks, quarantined=data)


def audited(*files: FileReport, error: str = "") -> AttemptEnd:
    return AttemptEnd(report=Report(
        branch=ATTEMPT.branch, batch=ATTEMPT.batch, attempt=2, table=FREE.table, base="", audited="", plan_hash="",
        contract_hash="", contract_version="", started_at=NOW, finished_at=NOW, files=files, error=error,
    ))  # fmt: skip


def crashed(
    *, began: bool = True, before: int = 0, ago: timedelta = timedelta(0), files: int = 1, with_others: int = 0
) -> AttemptEnd:
    run = JobRun(id="run", branch=ATTEMPT.branch, state=JobState.FAILED, ended_at=NOW - ago)
    its = Crash(
        run=run, began=began, attempts=tuple(range(before + began)), tries=before + 1,
        shortest=timedelta(minutes=2), limit=3, files=files, with_others=tuple(range(with_others)),
    )  # fmt: skip
    return AttemptEnd(reason=str(its), crash=its)


def facts(ended: AttemptEnd, *files: FileVersion, plan: Any = FREE, **known: Any) -> Facts:
    job = Job(
        branch=ATTEMPT.branch, batch=ATTEMPT.batch, attempt=2, base="", catalog=NO_CATALOG, report_uri="",
        begun_uri="", plan=plan, files=(), left_out={B.id: "it is too large"},
    )  # fmt: skip
    return Facts(attempt=ATTEMPT, job=job, now=NOW, files=files, end=ended, **known)


def decided(file: FileVersion, decision: Decision, attempt: Attempt = ATTEMPT) -> dict[str, Receipt]:
    receipt = Receipt(bucket=file.bucket, key=file.key)
    return {file.key: receipt.with_decision(Entry.of(file, decision, attempt))}


def rejected(plan: Settlement) -> dict[FileVersion, tuple[str, ...]]:
    return {finding.file: finding.reasons for finding in plan.reject}


def test_what_passed_is_published_and_what_failed_is_rejected() -> None:
    plan = settlement(facts(audited(said(A), said(B, Verdict.FAIL, "m")), A, B))
    assert (plan.publish, list(rejected(plan)), plan.retry, plan.wait) == ((A,), [B], (), None)


@pytest.mark.parametrize(("file", "why"), [(A, DELETION), (B, "it is too large")])
def test_a_file_that_the_job_never_had_is_rejected_with_the_reason(file: FileVersion, why: str) -> None:
    assert rejected(settlement(facts(audited(), file))) == {file: (why,)}


def test_where_nothing_could_be_appended_all_are_rejected_for_that() -> None:
    plan = settlement(facts(audited(said(A), error="no such type"), A, B))
    assert (plan.publish, rejected(plan)) == ((), {A: ("no such type",), B: ("no such type",)})


def test_where_rows_cannot_be_taken_out_for_one_file_the_others_are_tried_without_it() -> None:
    found = facts(audited(said(A), said(B), error="the table has delete files"), A, B)
    its = (
        JobFile(id=A.id, key=A.key, uri="", size=1, replaces=ReplacedFiles(rewritten=("old",))),
        JobFile(id=B.id, key=B.key, uri="", size=1),
    )
    both = settlement(replace(found, job=replace(found.job, files=its, left_out={})))
    assert (both.retry, rejected(both)) == ((B,), {A: ("the table has delete files",)})
    known = decided(B, Decision.PUBLISHED)
    assert settlement(replace(found, job=replace(found.job, files=its, left_out={}), receipts=known)).retry == ()
    alone = settlement(replace(found, files=(A,), job=replace(found.job, files=its[:1], left_out={})))
    assert (alone.retry, list(rejected(alone))) == ((), [A])


def test_an_attempt_without_files_of_its_own_has_nothing_left() -> None:
    assert settlement(facts(audited(said(A)))) == Settlement()


def test_after_a_crash_the_next_attempt_waits_and_is_due() -> None:
    waits, due = facts(crashed(), A), facts(crashed(ago=timedelta(minutes=2)), A)
    plan = settlement(waits)
    assert plan.wait is not None
    assert (plan.wait.files, plan.wait.due, plan.reject) == ((A,), NOW + timedelta(minutes=2), ())
    assert settlement(due) == Settlement(retry=(A,))


def test_the_last_crash_rejects() -> None:
    plan = settlement(facts(crashed(before=2, ago=timedelta(days=1)), A))
    assert (plan.retry, list(rejected(plan))) == ((), [A])


def after_crash(*files: FileVersion, job: tuple[FileVersion, ...] = (A, B, C), **known: Any) -> Settlement:
    """Return what is done with these files, of those that the job had, once the next attempt is due."""
    found = facts(crashed(ago=timedelta(days=1), files=len(job), **known), *files)
    its = tuple(JobFile(id=file.id, key=file.key, uri="", size=1) for file in job)
    return settlement(replace(found, job=replace(found.job, files=its, left_out={})))


def test_after_a_second_crash_the_halves_of_the_job_are_tried_each_for_itself() -> None:
    assert after_crash(A, B, C, before=0) == Settlement(retry=(A, B, C))
    assert after_crash(A, B, C, before=1) == Settlement(halves=((A, B), (C,)))
    assert after_crash(A, B, C, before=7) == Settlement(halves=((A, B), (C,)))


@pytest.mark.parametrize(
    ("left", "halves"), [((B, C), ((B,), (C,))), ((C,), ((C,),)), ((A,), ((A,),)), ((A, B), ((A, B),))]
)
def test_the_halves_stay_the_same_where_some_of_their_files_are_claimed_already(
    left: tuple[FileVersion, ...], halves: tuple[tuple[FileVersion, ...], ...]
) -> None:
    assert after_crash(*left, before=1) == Settlement(halves=halves)


def test_a_job_that_never_reached_its_files_splits_nothing() -> None:
    assert after_crash(A, B, C, before=5, began=False) == Settlement(retry=(A, B, C))


@pytest.mark.parametrize(
    ("before", "with_others", "rejects"), [(2, 0, True), (4, 3, False), (5, 3, True), (9, 8, False)]
)
def test_only_crashes_of_a_file_alone_reject_it(before: int, with_others: int, *, rejects: bool) -> None:
    plan = after_crash(A, job=(A,), before=before, with_others=with_others)
    assert (plan.retry, list(rejected(plan))) == (((), [A]) if rejects else ((A,), []))


def test_a_rejected_killer_is_told_that_it_was_isolated_and_what_to_do() -> None:
    [[reason]] = rejected(after_crash(A, job=(A,), before=5, with_others=3)).values()
    assert (
        "this file was isolated: attempts a3, a4 and a5 had it alone and crashed, after attempts a0, a1 and a2"
        in reason
    )
    assert reason.endswith(f"then run: lakegate retry {ATTEMPT.batch}")


def test_a_job_that_never_reached_its_files_is_tried_again_however_often() -> None:
    plan = settlement(facts(crashed(began=False, before=9, ago=timedelta(days=1)), A))
    assert (plan.retry, plan.reject) == ((A,), ())


def test_what_is_handed_over_is_tried_again_at_once_however_many_jobs_have_crashed() -> None:
    known = decided(B, Decision.PUBLISHED)
    plan = settlement(facts(AttemptEnd(reason="only Spark can say it", handed_over=True), A, B, receipts=known))
    assert plan == Settlement(retry=(A,))


def test_a_cancelled_job_is_not_tried_again() -> None:
    assert rejected(settlement(facts(AttemptEnd(reason="the Spark job was cancelled"), A))) == {
        A: ("the Spark job was cancelled",)
    }


def test_what_is_decided_already_is_not_tried_again_after_a_crash() -> None:
    known = decided(A, Decision.PUBLISHED)
    plan = settlement(facts(crashed(), A, B, receipts=known))
    assert plan.wait is not None
    assert plan.wait.files == (B,)


@pytest.mark.parametrize(
    ("predecessor", "plan", "publish"),
    [(OLDER, ORDERED, ()), (None, ORDERED, (A,)), (None, FREE, (A,))],
)
def test_an_older_batch_is_published_first(
    predecessor: Attempt | None, plan: Any, publish: tuple[FileVersion, ...]
) -> None:
    found = settlement(facts(audited(said(A), said(B, Verdict.FAIL, "m")), A, B, plan=plan, predecessor=predecessor))
    assert found.publish == publish
    assert (found.wait.predecessor if found.wait else None) == predecessor
    assert bool(found.reject) == (predecessor is None)


def test_what_is_not_to_be_published_waits_for_nobody() -> None:
    plan = settlement(facts(audited(said(A, Verdict.FAIL, "m")), A, plan=ORDERED, predecessor=OLDER))
    assert (plan.wait, list(rejected(plan))) == (None, [A])


def test_a_superseded_file_keeps_nobody_waiting() -> None:
    """The very bytes are on main as another version."""
    other = replace(A, version_id="other")
    known = facts(
        audited(said(A), said(B)), A, B, plan=ORDERED, predecessor=OLDER, reuploads=Reuploads.REPLACE,
        receipts=decided(other, Decision.PUBLISHED, OLDER),
    )  # fmt: skip
    plan = settlement(known)
    assert [(it.decision, it.finding.file, it.finding.reasons) for it in plan.superseded] == [
        (Decision.DISCARDED, A, (IDENTICAL,))
    ]
    assert plan.wait is not None
    assert plan.wait.files == (B,)


REFERRING = load(
    CONTRACT.replace(
        "logicalType: integer",
        "logicalType: integer\n        relationships: [{type: foreignKey, to: nyc.planes.tailnum}]",
        1,
    ).encode(),
    "flights.yaml",
).plan
REFERS = next((it.id for it in REFERRING.metrics if it.refers_to), "")


def lacking(verdict: Verdict, **known: Any) -> Facts:
    """A file that refers to rows which are not there, with one that passed."""
    entry = said(A, verdict, REFERS, aside=verdict is Verdict.QUARANTINE)
    return facts(audited(entry, said(B)), A, B, plan=REFERRING, **known)


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.QUARANTINE])
def test_a_file_waits_for_files_that_it_refers_to(verdict: Verdict) -> None:
    plan = settlement(lacking(verdict, under_way=frozenset({PLANES}), moved_tables=frozenset({PLANES})))
    assert plan.wait is not None
    assert (plan.publish, plan.retry, plan.wait.files, plan.wait.due) == ((B,), (), (A,), NOW + PATIENCE)
    assert PLANES in plan.wait.reason


@pytest.mark.parametrize("verdict", [Verdict.FAIL, Verdict.QUARANTINE])
def test_a_file_is_tried_again_once_what_it_refers_to_has_changed(verdict: Verdict) -> None:
    plan = settlement(lacking(verdict, moved_tables=frozenset({PLANES})))
    assert (plan.publish, plan.retry, plan.wait) == ((B,), (A,), None)


@pytest.mark.parametrize(
    "known",
    [
        {},
        {"audits": {A.id: MOST_AUDITS}, "under_way": frozenset({PLANES}), "moved_tables": frozenset({PLANES})},
        {"receipts": decided(A, Decision.REJECTED), "moved_tables": frozenset({PLANES})},
    ],
    ids=["nothing comes", "tried often enough", "decided"],
)
def test_a_reference_to_nothing_is_rejected_in_the_end(known: dict[str, Any]) -> None:
    plan = settlement(lacking(Verdict.FAIL, **known))
    assert (plan.publish, list(rejected(plan)), plan.retry, plan.wait) == ((B,), [A], (), None)


def test_patience_ends() -> None:
    late = replace(lacking(Verdict.FAIL, under_way=frozenset({PLANES})), now=NOW + PATIENCE)
    assert list(rejected(settlement(late))) == [A]


def test_a_released_key_goes_with_the_next_attempt_and_is_not_rejected() -> None:
    key = next(it.id for it in ORDERED.metrics if it.kind is MetricKind.DUPLICATES)
    first = replace(said(A, Verdict.FAIL, "m", aside=1))
    plan = settlement(facts(audited(first, said(B, Verdict.FAIL, key)), A, B, plan=ORDERED))
    assert (plan.released_files, list(rejected(plan)), plan.wait) == ((B,), [A], None)


@pytest.mark.parametrize(
    ("known", "waits"),
    [
        (lacking(Verdict.QUARANTINE, under_way=frozenset({PLANES})), True),
        (replace(lacking(Verdict.QUARANTINE, under_way=frozenset({PLANES})), files=(A,)), False),
        (replace(lacking(Verdict.QUARANTINE, moved_tables=frozenset({PLANES})), files=(A,)), True),
        (replace(lacking(Verdict.FAIL), files=(A,)), False),
        (facts(audited(said(A)), A, receipts=decided(A, Decision.PUBLISHED)), False),
    ],
    ids=["another passed", "all wait for references", "tried again now", "nothing passed", "decided"],
)
def test_a_batch_is_in_line_while_it_has_something_to_publish(known: Facts, *, waits: bool) -> None:
    assert goes_first(known) is waits
