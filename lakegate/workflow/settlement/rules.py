"""Rules: they turn facts into a settlement, which says of each file whether it is published, retried, decided or waits.

They read nothing, write nothing and know no clock. They decide only what to try: publishing proves afresh that it is
safe, and a decision on main is checked against main's receipts when it is written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from lakegate.audit.model.report import FileReport
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import DELETION, FileVersion
from lakegate.landing.findings import Finding
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt
from lakegate.landing.standing import standing_of
from lakegate.workflow.settlement.backoff import Crash
from lakegate.workflow.settlement.facts import Facts
from lakegate.workflow.settlement.keys import with_released_keys
from lakegate.workflow.settlement.references import Deferral, deferral_of, with_failing_rows


@dataclass(frozen=True, kw_only=True)
class Publish:
    """Bring the file to main."""


@dataclass(frozen=True, kw_only=True)
class Retry:
    """Give the file to the next attempt: now, or not before `due`, or sooner if what it waits for ends."""

    reason: str
    due: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Halve(Retry):
    """Give the file to one of two attempts: each takes a half of the job's files."""

    is_second: bool


@dataclass(frozen=True, kw_only=True)
class Release:
    """Give the file to the next attempt, together with all others that it takes: its keys are free."""


@dataclass(frozen=True, kw_only=True)
class Supersede:
    """Decide the file before anything is published: its key's other versions on main say how."""

    decision: Decision
    finding: Finding


@dataclass(frozen=True, kw_only=True)
class Reject:
    """Reject the file, once nothing else of its attempt waits."""

    finding: Finding


@dataclass(frozen=True, kw_only=True)
class Leave:
    """The file is decided already."""


Action = Publish | Retry | Halve | Release | Supersede | Reject | Leave
Answers = Mapping[FileVersion, Action]


@dataclass(frozen=True, kw_only=True)
class Wait:
    """An attempt's reason to wait, and until when it may; `predecessor` is the attempt that publishes first."""

    reason: str
    files: tuple[FileVersion, ...]
    due: datetime | None = None
    predecessor: Attempt | None = None


@dataclass(frozen=True, kw_only=True)
class Settlement:
    """Everything that is to be done for an attempt. One next attempt takes the retried files and the released ones, and
    one each of the `halves`. While the attempt has something to `wait` for, no file is rejected, and only publishing
    asks for a retry.
    """

    superseded: tuple[Supersede, ...] = ()
    publish: tuple[FileVersion, ...] = ()
    retry: tuple[FileVersion, ...] = ()
    halves: tuple[tuple[FileVersion, ...], ...] = ()
    released_files: tuple[FileVersion, ...] = ()
    reject: tuple[Finding, ...] = ()
    wait: Wait | None = None

    @property
    def files_to_retry(self) -> tuple[FileVersion, ...]:
        """Files that next attempts take without publishing asking for it."""
        return (*self.retry, *(file for half in self.halves for file in half))


def settlement(facts: Facts) -> Settlement:
    """Return the settlement of these facts. Of each file, the first rule that answers decides."""
    answers: dict[FileVersion, Action] = {}
    for rule in RULES:
        answers |= rule(facts, [file for file in facts.files if file not in answers])
    return _wait_for_older(facts, _settlement(facts, {file: answers[file] for file in facts.files}))


def handed_over(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Give the open files to the next attempt at once if the express lane left them to Spark: nothing has crashed."""
    if not facts.end.handed_over:
        return {}
    return {file: Retry(reason=facts.end.reason) if facts.is_open(file) else Leave() for file in files}


def job_without_verdicts(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Answer for all files if the job left no verdicts. After a crash next attempts take the open ones, until a file
    alone has crashed too often. After an error of files that rewrite the table, the next one takes the others.
    """
    end = facts.end
    if not end.error:
        return {}
    answers: dict[FileVersion, Action] = {file: Reject(finding=_without_verdict(facts, file)) for file in files}
    if end.crash and not end.crash.is_last:
        answers |= {file: _after(end.crash, facts, file) for file in answers if facts.is_open(file)}
    healthy_ids = _beside_rewriting(facts)
    return answers | {
        file: Retry(reason=end.error) for file in answers if file.id in healthy_ids and facts.is_open(file)
    }


def _beside_rewriting(facts: Facts) -> frozenset[str]:
    """Return the files that had nothing to do with the error if it is that rows could not be taken out of shared data
    files: those for which no row was to be. Without the others their next job cannot meet it.
    """
    if not facts.end.report or not facts.job.rewritten:
        return frozenset()
    return frozenset(file.id for file in facts.job.files if not file.replaces.rewritten)


def _without_verdict(facts: Facts, file: FileVersion) -> Finding:
    """Return why a file is rejected that has no verdict. A crash is no reason for one that the job never had."""
    crash, left_out = facts.end.crash, facts.job.left_out.get(file.id)
    if crash is None:
        return Finding(file=file, reasons=(facts.end.error,))
    if left_out:
        return Finding(file=file, reasons=(left_out,))
    return Finding(file=file, reasons=(f"{crash}{_next_step(facts) if crash.with_others else ''}",))


def _next_step(facts: Facts) -> str:
    return f". Make the file smaller or give jobs more memory, then run: lakegate retry {facts.attempt.batch}"


def _after(crash: Crash, facts: Facts, file: FileVersion) -> Retry:
    """Return which next attempt takes an open file after a crash. The halves are those of the frozen job, so that they
    stay the same whoever settles, and whatever is claimed or decided meanwhile.
    """
    due = crash.due if facts.now < crash.due else None
    if not crash.halves:
        return Retry(reason=str(crash), due=due)
    ids = [entry.id for entry in facts.job.files]
    return Halve(reason=str(crash), due=due, is_second=file.id in ids[(len(ids) + 1) // 2 :])


def missing_from_report(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Reject files that the job never had, because they were gone from the landing bucket or were left out."""
    absent = [file for file in files if file.id not in facts.end.reports_by_id]
    reasons = facts.job.left_out
    return {file: Reject(finding=Finding(file=file, reasons=(reasons.get(file.id, DELETION),))) for file in absent}


def unresolved_reference(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Retry files whose only fault is that rows they refer to are not on main yet."""
    choices = set(files)
    groups = (
        deferral_of(facts, [file for file in group if file in choices])
        for group in (with_failing_rows(facts), facts.bad)
    )
    return {
        file: Retry(reason=_reason(deferral), due=deferral.deadline) for deferral in groups for file in deferral.files
    }


def released_key(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Release files that failed only for keys of files that failed after quarantine: those keys are free."""
    free = set(released_files(facts))
    return {file: Release() for file in files if file in free}


def superseded_by_key(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Decide good files whose key has another version on main. Without an order of batches, publishing finds these."""
    if facts.reuploads is None:
        return {}
    passing_files = [file for file in files if file.id in facts.end.passing_ids]
    answers: dict[FileVersion, Action] = {file: Leave() for file in passing_files if not facts.is_open(file)}
    open_files = [file for file in passing_files if file not in answers]
    closures = superseded(facts.attempt, open_files, facts.receipts, facts.reuploads, facts.end.reports_by_id)
    return answers | {closure.finding.file: closure for closure in closures}


def verdict(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Publish files that passed their audit, and reject the others."""
    passing_ids, reports = facts.end.passing_ids, facts.end.reports_by_id
    return {
        file: Publish() if file.id in passing_ids else Reject(finding=_finding(file, reports[file.id]))
        for file in files
    }


RULES: tuple[Callable[[Facts, Iterable[FileVersion]], Answers], ...] = (
    handed_over,
    job_without_verdicts,
    missing_from_report,
    unresolved_reference,
    released_key,
    superseded_by_key,
    verdict,
)
"""Rules in the order in which they are asked, each about the files that no earlier rule has answered for."""


def released_files(facts: Facts) -> tuple[FileVersion, ...]:
    """Return the open files that failed only for keys that are free by now. They are audited again together with the
    files that passed, because of files with the same key the one that landed first stays.
    """
    ids = with_released_keys(facts.job.plan, facts.end.report) if facts.end.report else frozenset[str]()
    return tuple(file for file in facts.bad if file.id in ids and facts.is_open(file))


def superseded(
    attempt: Attempt,
    files: Iterable[FileVersion],
    receipts: Mapping[str, Receipt],
    reuploads: Reuploads,
    reports: Mapping[str, FileReport],
) -> list[Supersede]:
    """Return the decisions on those of the files that other versions of their keys on main supersede."""
    standings = {file: standing_of(receipts.get(file.key), file, attempt.table, reuploads) for file in files}
    return [
        Supersede(
            decision=decision,
            finding=Finding(
                file=file,
                reasons=(standing.reason,),
                rows=reports[file.id].rows if file.id in reports else 0,
                reuploads=reuploads,
            ),
        )
        for file, standing in standings.items()
        if (decision := standing.decision)
    ]


def goes_first(facts: Facts) -> bool:
    """Return True if the attempt keeps newer batches of its table waiting: it has good files left, and not all of them
    wait for references. A batch that waits keeps nobody waiting, lest two batches wait for each other.
    """
    good = [file for file in facts.good if facts.is_open(file)]
    waits = deferral_of(facts, [file for file in with_failing_rows(facts) if facts.is_open(file)])
    return bool(good) and (waits.deadline is None or len(waits.files) < len(good))


def _settlement(facts: Facts, answers: Answers) -> Settlement:
    superseded, publish, retries, reject = (
        list[Supersede](),
        list[FileVersion](),
        dict[FileVersion, Retry](),
        list[Finding](),
    )
    for file, answer in answers.items():
        match answer:
            case Supersede():
                superseded.append(answer)
            case Publish():
                publish.append(file)
            case Retry():  # a Halve, too
                retries[file] = answer
            case Reject():
                reject.append(answer.finding)
            case Release() | Leave():
                pass
            case _:
                assert_never(answer)
    ready = Settlement(superseded=tuple(superseded), publish=tuple(publish), released_files=released_files(facts))
    if first := next((retry for retry in retries.values() if retry.due), None):
        return replace(ready, wait=Wait(reason=first.reason, due=first.due, files=tuple(retries)))
    halves = (_half(retries, is_second=False), _half(retries, is_second=True))
    joint_retry = tuple(file for file, answer in retries.items() if not isinstance(answer, Halve))
    return replace(ready, retry=joint_retry, halves=tuple(half for half in halves if half), reject=tuple(reject))


def _half(retries: Mapping[FileVersion, Retry], *, is_second: bool) -> tuple[FileVersion, ...]:
    return tuple(
        file for file, answer in retries.items() if isinstance(answer, Halve) and answer.is_second is is_second
    )


def _wait_for_older(facts: Facts, plan: Settlement) -> Settlement:
    """Wait for the attempt that publishes first, with everything but superseded files."""
    if not plan.publish or facts.predecessor is None:
        return plan
    reason = f"{facts.predecessor.branch} is older and is published first"
    return Settlement(
        superseded=plan.superseded, wait=Wait(reason=reason, files=plan.publish, predecessor=facts.predecessor)
    )


def _reason(deferral: Deferral) -> str:
    cause = "files are in progress there" if deferral.deadline else "rows have changed there since"
    return f"rows that it refers to are missing from {', '.join(sorted(deferral.tables))}, and {cause}"


def _finding(file: FileVersion, entry: FileReport) -> Finding:
    return Finding(file=file, reasons=entry.reasons, rows=entry.rows)
