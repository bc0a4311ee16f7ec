"""Order of the audit's steps: inspect, fit, append, prove, measure, evaluate, quarantine, measure again, note, report.

It reads and writes no row: an `Engine` does. It publishes nothing. For a contract that observes, what is left without
failing rows is measured where they are, and only rows that do not parse go to quarantine.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import Any

from lakegate.audit.advice import Advice
from lakegate.audit.completeness import (
    PerFile,
    Removed,
    RowCounts,
    as_reported,
    by_file,
    expected,
    left_of,
    prove,
    prove_appended,
    prove_reused,
    refused,
    removed,
    rows_of,
)
from lakegate.audit.data_files.difference import Difference
from lakegate.audit.data_files.statistics import IcebergField
from lakegate.audit.engine import Engine, Proved, Table, View
from lakegate.audit.errors import JobError, Unfit
from lakegate.audit.evaluation.audits import audit_rows, audits_of
from lakegate.audit.evaluation.malformed import malformed_metrics
from lakegate.audit.evaluation.mask import masked
from lakegate.audit.evaluation.moment import bind_now
from lakegate.audit.evaluation.observed import observed, rows_aside, rows_leaving, rows_observed
from lakegate.audit.evaluation.quarantine import BUDGET, Results, afterwards, leaving, quarantine_of, unforgiving
from lakegate.audit.evaluation.reuse import combined, of_table_scope
from lakegate.audit.evaluation.verdicts import evaluate, good, malformed_checks, verdict
from lakegate.audit.model.codec import from_json
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Mode, Plan, TableColumn
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, Replaced, Report, Verdict
from lakegate.audit.ref import Ref
from lakegate.audit.schema.inspection import Inspection, fit_all
from lakegate.audit.text.causes import with_causes


def utc_now() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)


@dataclass(kw_only=True)
class Run:
    """One run of a job and what it has found so far. Unless it `sets_aside`, rows that would leave for quarantine are
    counted where they are, and no table changes by them.
    """

    job: Job
    engine: Engine[Any, Any]
    now: Callable[[], datetime] = utc_now
    ticks: Callable[[], float] = time.monotonic
    timings: dict[str, float] = field(default_factory=dict)
    inspections: list[Inspection] = field(default_factory=list)
    there: Table | None = None
    base: Table | None = None
    audited: str = ""
    error: str = ""
    advice: tuple[Advice, ...] = ()
    columns: tuple[TableColumn, ...] = ()
    evolves: tuple[str, ...] = ()
    files: PerFile = field(default_factory=dict)
    quarantined: PerFile = field(default_factory=dict)
    removed: Removed = field(default_factory=Removed)
    parsed: Mapping[str, int] = field(default_factory=dict)
    checks: dict[str, tuple[CheckResult, ...]] = field(default_factory=dict)
    unnoted: str = ""
    sets_aside: bool = True

    def __post_init__(self) -> None:
        self.started_at = self.now()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = self.ticks()
        yield
        self.timings[name] = round(self.timings.get(name, 0) + self.ticks() - began, 3)

    @cached_property
    def plan(self) -> Plan:
        """Plan of the job, bound to the moment at which it began."""
        return bind_now(self.job.plan, self.started_at)

    @property
    def grown(self) -> Plan:
        """Plan of the job with the columns that the table gains by this attempt's files."""
        return replace(self.job.plan, columns=self.columns) if self.columns else self.job.plan

    @property
    def observes(self) -> bool:
        return self.job.plan.mode is Mode.OBSERVE

    @property
    def good(self) -> list[Inspection]:
        return [each for each in self.inspections if not each.faults]

    def load(self, table: str, ref: Ref) -> Table:
        [found] = self.engine.load(table, ref)
        return self.required(table, found)

    def required(self, name: str, table: Table | None) -> Table:
        """Return a table that must be there. Raise JobError if it is not."""
        if table is None:
            batch = self.job.batch
            raise JobError(f"batch {batch}: branch {self.job.branch} has no table {name}. Run: lakegate retry {batch}")
        return table

    @property
    def base_ref(self) -> Ref:
        return Ref(self.job.branch, self.job.base)

    @property
    def audited_ref(self) -> Ref:
        return Ref(self.job.branch, self.audited)


def append_and_audit(run: Run) -> Report:
    """Carry out the whole job, from staged files to a report."""
    with run.step("load"):
        _begin(run)
    if run.job.reuses:
        return _audit_reused(run)
    append_files(run)
    return audit_appended(run)


def append_files(run: Run) -> None:
    """Inspect the files, and append those without faults. The tables were loaded."""
    with run.step("inspect"):
        _inspect(run)
    if run.good:
        try:
            _append(run)
        except Unfit as error:
            run.error, run.advice = str(error), error.advice


def audit_appended(run: Run) -> Report:
    """Audit what the branch holds of the inspected files, and report."""
    run.audited = run.engine.head()
    if run.good and not run.error:
        _audit(run)
    return _report(run, _noted(run, [_file_report(run, each) for each in run.inspections]))


def _begin(run: Run) -> None:
    """Load the tables, and note that the job comes to its files: what ends it before is no fault of theirs, and their
    batch is not rejected for it.
    """
    job, engine = run.job, run.engine
    try:
        engine.head()
    except OSError as error:
        what = f"batch {job.batch} of {job.plan.table}, branch {job.branch}"
        raise JobError(f"{what}: Nessie at {job.nessie_uri} does not return the branch: {error}") from error
    run.there, run.base = engine.load(job.plan.table, Ref(job.branch), run.base_ref)
    engine.storage.write(job.begun_uri, b"")


def _audit_reused(run: Run) -> Report:
    """Run the checks of table scope again, and no others: an earlier attempt has appended and audited the rest."""
    job = run.job
    with run.step("load"):
        run.audited = run.engine.head()
        there = run.load(job.plan.table, run.audited_ref)
        earlier = from_json(Report, run.engine.storage.read(job.reuses))
    known = {entry.id: entry for entry in earlier.files}
    entries = [known[file.id] for file in job.files]
    try:
        run.engine.check_references(job.plan)
    except Unfit as error:
        run.error, run.advice = str(error), error.advice
    else:
        found = _evaluate_reused(run, there, entries)
        entries = [replace(entry, checks=combined(entry.checks, found[entry.id])) for entry in entries]
    files = [replace(entry, verdict=verdict(entry.checks)) for entry in entries]
    return replace(_report(run, _noted(run, files)), reused_from=earlier.branch)


def _evaluate_reused(run: Run, there: Table, entries: Sequence[FileReport]) -> dict[str, tuple[CheckResult, ...]]:
    """Prove that the branch has these data files beyond its base and no others; then ask what depends on tables."""
    job, plan = run.job, of_table_scope(run.job.plan)
    with run.step("prove"):
        difference, columns = there.changes_since(run.base), there.fields()
        found = by_file(job, difference, columns)
        prove(job, difference, found, {entry.id: entry.rows for entry in entries if entry.rows})
        prove_reused(job, found)
    files = {entry.id: found.get(entry.id, []) for entry in entries}
    proved = Proved(table=there, base=run.base, difference=difference, columns=columns, files=files)
    view: View = run.engine.view(plan, proved)
    with run.step("measure"):
        results = evaluate(plan, *view.measure())
    with run.step("sample"):
        told = view.with_samples(results, plan, ())
    return observed(plan, told) if run.observes else told


def _inspect(run: Run) -> None:
    """Inspect the files, and fit them and the table to each other."""
    inspections = run.engine.files.inspect()
    _fit(run, inspections)
    checked = run.engine.files.check_tries(run.grown, run.inspections)
    pairs = zip(checked, run.inspections, strict=True)
    wrong = {now.id: now.faults for now, before in pairs if now.faults != before.faults}
    if wrong:  # then no column comes by these files
        _fit(run, [replace(each, faults=wrong.get(each.id, each.faults)) for each in inspections])


def _fit(run: Run, inspections: Sequence[Inspection]) -> None:
    there = None if run.base is None else run.base.columns()
    agreed, run.inspections = fit_all(run.job.plan, there, inspections, run.job.neighbours)
    run.columns, run.evolves = agreed.columns, agreed.evolves


def _append(run: Run) -> None:
    with run.step("prepare"):
        run.engine.check_references(run.job.plan)
        run.engine.prepare(run.there, run.columns)
    if run.job.rewritten:
        with run.step("remove"):
            _remove_replaced(run)
    with run.step("append"):
        there = _rows_beyond_base(run)
        appended = resume(run, there) if there else run.engine.append(run.grown, run.good)
        known = {each.id: each for each in appended}
        run.inspections = [known.get(each.id, each) for each in run.inspections]


def _remove_replaced(run: Run) -> None:
    """Remove rewritten rows that the batch replaces from the branch's table. Raise Unfit if it has delete files: they
    would hide nothing of what is written anew, and Iceberg drops some of them with the data files that it removes.
    """
    there = run.load(run.job.plan.table, Ref(run.job.branch))
    holding = there.data_files_with(run.job.rewritten)
    if not holding:
        return
    if there.has_deletes():
        raise Unfit(refused(run.job))
    run.engine.remove_replaced(there, holding)


def _rows_beyond_base(run: Run) -> dict[str, int]:
    """Count, by file version, the rows that an earlier run of this very job has appended: none as a rule."""
    if run.there is None:
        return {}
    difference = run.there.changes_since(run.base)
    if not difference.added.statistics:
        return {}
    columns = run.there.fields()
    return rows_of(by_file(run.job, difference, columns, left_of(run.job, difference, columns)))


def resume(run: Run, there: Mapping[str, int]) -> list[Inspection]:
    """Take what an earlier run of this very job has appended, if it is just what this one would append."""
    missing = [each for each in run.good if each.id not in there]
    faulty = {each.id: each for each in run.engine.files.find_faulty(run.grown, missing) if each.faults}
    sound = [each for each in run.good if each.id not in faulty]
    prove_appended(run.job, there, expected(sound, run.engine.files.count_malformed(run.grown, sound, there)))
    return [faulty.get(each.id, each) for each in run.good]


def _audit(run: Run) -> None:
    """Audit what main will hold, loaded afresh at the commit that will be merged."""
    with run.step("load"):
        loaded = run.load(run.job.plan.table, run.audited_ref)
    view = audit_table(run, loaded, [each.id for each in run.good])
    if run.observes or not run.sets_aside:
        _look_past(run, view)
    if run.observes:
        run.checks = observed(run.job.plan, run.checks)
    if run.sets_aside and any(map(leaving, run.checks.values())):
        _quarantine(run, view)
    elif run.job.replaced_quarantined:
        _prove_quarantine(run, {})


def _look_past(run: Run, view: View) -> None:
    """Audit, in the view alone, what would be left of the files that would lose rows."""
    before = run.checks
    if failed := _failed(before):
        gone = _malformed(run, failed)
        run.parsed = {**run.parsed, **{each.id: each.rows for each in gone}}
        _judge(run, view.without(good(before), failed), good(before), is_left=True)
        run.checks = afterwards(before, run.checks)


def _quarantine(run: Run, view: View) -> None:
    """Quarantine failing rows of the files that may lose them; then audit the rest of these files."""
    before = run.checks
    failed = _failed(before)
    with run.step("quarantine"):
        run.engine.quarantine(view, good(before), failed, run.grown, _malformed(run, failed))
        run.audited = run.engine.head()
        run.quarantined = _prove_quarantine(run, {file: _leaving(run, before[file]) for file in failed})
    left = run.load(run.job.plan.table, run.audited_ref)
    if run.observes:  # these rows were in no table, so there is nothing to measure again
        _proved(run, left, good(before))
        return
    audit_table(run, left, good(before), is_left=True)
    run.checks = afterwards(before, run.checks)


def _noted(run: Run, files: Sequence[FileReport]) -> list[FileReport]:
    """Append what the audit found to the audits table, if the job does that, and return the files with their data files
    there. The branch's head is then another, and it is proved that nothing else has changed. If the audits table does
    not fit, the report says so: no file is rejected for that.
    """
    job, judged = run.job, run.audited
    if not job.notes_audits or not files:
        return list(files)
    with run.step("note"):
        at = run.now()
        rows = {each.id: audit_rows(job, judged, at, each, run.error) for each in files}
        try:
            run.engine.note_audits(rows)
        except Unfit as error:
            run.unnoted = str(error)
            return list(files)
        run.audited = run.engine.head()
        found = _prove_own(
            run, audits_of(job.plan.table, distinct=job.distinct), {file: len(its) for file, its in rows.items()}
        )
        _prove_unchanged(run, Ref(job.branch, judged))
    return [replace(each, noted=as_reported(found.get(each.id, []))) for each in files]


def _prove_unchanged(run: Run, judged: Ref) -> None:
    """Raise JobError unless the table and its quarantine are those that were judged: a commit that the network repeats
    late may come between.
    """
    name = run.job.plan.table
    for table in (name, quarantine_of(name, distinct=run.job.distinct)) if run.quarantined else (name,):
        before, now = run.engine.load(table, judged, run.audited_ref)
        if not _is_unchanged(before, now):
            raise JobError(
                f"batch {run.job.batch}: branch {run.job.branch}, table {table} changed after its audit. "
                f"Run: lakegate retry {run.job.batch}"
            )


def _is_unchanged(before: Table | None, now: Table | None) -> bool:
    if before is None or now is None:
        return before is now
    return before.fields() == now.fields() and now.changes_since(before) == Difference()


def _failed(results: Results) -> dict[str, list[str]]:
    """Return the checks, by id, whose failing rows are to leave, by file version."""
    return {file: ids for file, checks in results.items() if (ids := leaving(checks))}


def _malformed(run: Run, failed: Mapping[str, Sequence[str]]) -> list[Inspection]:
    """Return the files whose rows that do not parse are to leave."""
    ids = malformed_checks(run.job.plan)
    return [each for each in run.good if ids & {*failed.get(each.id, ())}]


def _leaving(run: Run, checks: Sequence[CheckResult]) -> int:
    """Return how many rows are to leave a file: those that the check of the budget has counted."""
    if run.observes:
        return rows_leaving(checks)
    return next(int(check.value or 0) for check in checks if check.check == BUDGET)


def _prove_quarantine(run: Run, rows: dict[str, int]) -> PerFile:
    return _prove_own(
        run, quarantine_of(run.job.plan.table, distinct=run.job.distinct), rows, run.job.replaced_quarantined
    )


def _prove_own(run: Run, name: str, rows: dict[str, int], replaced: Iterable[DataFile] = ()) -> PerFile:
    """Return the data files that the quarantine or the audits table has gained, proved to hold just these rows, in the
    place of what is replaced.
    """
    base, there = run.engine.load(name, run.base_ref, run.audited_ref)
    loaded = run.required(name, there)
    difference = loaded.changes_since(base)
    found = by_file(run.job, difference, loaded.fields())
    prove(run.job, difference, found, rows, replaced, name)
    return found


def audit_table(run: Run, loaded: Table, files: Sequence[str], *, is_left: bool = False) -> View:
    """Prove a loaded table; measure, evaluate and sample these files. `is_left`: no more rows may leave it."""
    view: View = run.engine.view(run.plan, _proved(run, loaded, files))
    _judge(run, view, files, is_left=is_left)
    return view


def _proved(run: Run, loaded: Table, files: Sequence[str]) -> Proved[Any]:
    with run.step("prove"):
        difference, columns = loaded.changes_since(run.base), loaded.fields()
        run.parsed = _prove(run, loaded, difference, columns)
    return Proved(
        table=loaded,
        base=run.base,
        difference=difference,
        columns=columns,
        files={each.id: run.files[each.id] for each in run.good if each.id in files},
        replaced=run.job.replaced,
        rewritten=run.removed.rows,
    )


def _judge(run: Run, view: View, files: Sequence[str], *, is_left: bool) -> None:
    """Measure, evaluate and sample these files of a view."""
    inspections = [each for each in run.good if each.id in files]
    with run.step("measure"):
        measured, resolved = view.measure()
        malformed = malformed_metrics(run.plan, {each.id: each.rows for each in inspections}, run.parsed)
        plan = unforgiving(run.plan) if is_left else run.plan
        results = evaluate(plan, measured, {**resolved, **malformed}, run.job.baseline, view.failing_rows)
    with run.step("sample"):
        sampled = view.with_samples(results, run.grown, inspections)
        run.checks = with_causes(run.plan, sampled, inspections, is_new=run.base is None)


def _prove(run: Run, loaded: Table, difference: Difference, columns: Mapping[str, IcebergField]) -> dict[str, int]:
    """Prove the table, and note its data files. Return how many rows of each file parse."""
    job, left = run.job, left_of(run.job, difference, columns)
    found = by_file(job, difference, columns, left)
    if job.rewritten:
        run.removed = _removed(run, loaded, difference, left)
    quarantined, there = rows_of(run.quarantined), rows_of(found)
    arrived = {file: number + quarantined.get(file, 0) for file, number in there.items()}
    parsed = expected(run.good, run.engine.files.count_malformed(run.grown, run.good, arrived))
    kept = {file: number - quarantined.get(file, 0) for file, number in parsed.items()}
    prove(job, difference, found, kept, (*job.replaced, *run.removed.files.data_files))
    run.files = {each.id: found.get(each.id, []) for each in run.good}
    return parsed


def _removed(run: Run, loaded: Table, difference: Difference, left: Iterable[str]) -> Removed:
    """Return the rows removed from data files of the base. Raise JobError unless the batch replaces just these."""
    lost = difference.lost.but({data.path for data in run.job.replaced})
    kept = difference.added.but(difference.added.statistics.keys() - set(left))
    if lost.statistics and run.base and run.base.has_deletes():
        raise JobError(refused(run.job))
    before = run.base.row_counts(lost, run.job.rewritten) if run.base else RowCounts()
    now, still = loaded.row_counts(kept, run.job.rewritten), loaded.data_files_with(run.job.rewritten)
    return removed(run.job, lost, kept, before, now, len(still))


def _report(run: Run, files: Iterable[FileReport]) -> Report:
    job, plan = run.job, run.job.plan
    return Report(
        branch=job.branch,
        batch=job.batch,
        attempt=job.attempt,
        table=plan.table,
        base=job.base,
        audited=run.audited,
        plan_hash=plan.hash,
        contract_hash=plan.contract_hash,
        contract_version=plan.contract_version,
        started_at=run.started_at,
        finished_at=run.now(),
        files=tuple(files),
        error=run.error,
        advice=run.advice,
        evolves=() if run.error else run.evolves,
        depends_on=plan.depends_on,
        timings=run.timings,
        columns=tuple(column.name for column in plan.columns),
        key=plan.key,
        masked=masked(plan.columns),
        rewritten=run.removed.files,
        lane=job.lane,
        lane_why=job.lane_why,
        mode=plan.mode,
        unnoted=run.unnoted,
        distinct=job.distinct,
    )


def _file_report(run: Run, inspection: Inspection) -> FileReport:
    checks = run.checks.get(inspection.id, ())
    data = run.files.get(inspection.id, [])
    audited = bool(data or checks) and not inspection.faults
    return FileReport(
        id=inspection.id,
        key=inspection.file.key,
        verdict=verdict(checks) if audited else Verdict.FAIL,
        rows=sum(each.rows for each in data),
        faults=inspection.faults,
        evolves=inspection.evolves,
        discards=inspection.discards,
        checks=checks,
        data_files=as_reported(data),
        quarantined=as_reported(run.quarantined.get(inspection.id, [])),
        replaces=_replaces(run, inspection),
        advice=tuple(fault.advice for fault in inspection.faults),
        would_quarantine=rows_observed(checks) if run.sets_aside else rows_aside(checks),
    )


def _replaces(run: Run, inspection: Inspection) -> Replaced:
    """Return what the file was to replace, with the rows that were removed for it."""
    replaces = inspection.file.replaces
    if inspection.faults:
        return replaces
    return replace(replaces, rewritten_rows=sum(run.removed.rows.get(file, 0) for file in replaces.rewritten))
