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
    RemovedRows,
    RowCounts,
    as_reported,
    by_file,
    delete_files_message,
    expected,
    left_of,
    prove,
    prove_appended,
    prove_reused,
    removed_rows,
    rows_of,
)
from lakegate.audit.data_files.difference import Difference
from lakegate.audit.data_files.statistics import IcebergField
from lakegate.audit.engine import Engine, ProvedTable, Table, View
from lakegate.audit.errors import JobError, Unfit
from lakegate.audit.evaluation.audits import audit_rows, audits_of
from lakegate.audit.evaluation.malformed import malformed_metrics
from lakegate.audit.evaluation.mask import masked_columns
from lakegate.audit.evaluation.moment import bind_now
from lakegate.audit.evaluation.observation import as_observed, rows_aside, rows_leaving, rows_observed
from lakegate.audit.evaluation.quarantine import (
    BUDGET,
    Results,
    afterwards,
    leaving_checks,
    quarantine_of,
    without_budget,
)
from lakegate.audit.evaluation.reuse import of_table_scope, with_new_results
from lakegate.audit.evaluation.verdicts import evaluate, good, malformed_checks, verdict
from lakegate.audit.model.codec import from_json
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Mode, Plan, TableColumn
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, ReplacedFiles, Report, Verdict
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
    table: Table | None = None
    base: Table | None = None
    view: View | None = None
    audited_commit: str = ""
    error: str = ""
    advice: tuple[Advice, ...] = ()
    columns: tuple[TableColumn, ...] = ()
    evolves: tuple[str, ...] = ()
    files: PerFile = field(default_factory=dict)
    quarantine_files: PerFile = field(default_factory=dict)
    removed_rows: RemovedRows = field(default_factory=RemovedRows)
    parsed_rows: Mapping[str, int] = field(default_factory=dict)
    checks: dict[str, tuple[CheckResult, ...]] = field(default_factory=dict)
    audits_error: str = ""
    sets_aside: bool = True

    def __post_init__(self) -> None:
        self.started_at, self.source = self.now(), self.engine.source

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
    def plan_with_columns(self) -> Plan:
        """Plan of the job with the columns that the table gains by this attempt's files."""
        return replace(self.job.plan, columns=self.columns) if self.columns else self.job.plan

    @property
    def observes(self) -> bool:
        return self.job.plan.mode is Mode.OBSERVE

    @property
    def good(self) -> list[Inspection]:
        return [inspection for inspection in self.inspections if not inspection.faults]

    def load(self, table: str, ref: Ref) -> Table:
        [state] = self.source.load(table, ref)
        return self.required(table, state)

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
        return Ref(self.job.branch, self.audited_commit)


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
    run.audited_commit = run.source.head()
    if run.good and not run.error:
        _audit(run)
    return _report(run, _record_audits(run, [_file_report(run, inspection) for inspection in run.inspections]))


def _begin(run: Run) -> None:
    """Load the tables, and note that the job comes to its files: what ends it before is no fault of theirs, and their
    batch is not rejected for it.
    """
    job, source = run.job, run.source
    try:
        source.head()
    except OSError as error:
        subject = f"batch {job.batch} of {job.plan.table}, branch {job.branch}"
        raise JobError(f"{subject}: Nessie at {job.catalog.uri} does not return the branch: {error}") from error
    run.table, run.base = source.load(job.plan.table, Ref(job.branch), run.base_ref)
    source.storage.write(job.begun_uri, b"")


def _audit_reused(run: Run) -> Report:
    """Run the checks of table scope again, and no others: an earlier attempt has appended and audited the rest."""
    job = run.job
    with run.step("load"):
        run.audited_commit = run.source.head()
        table = run.load(job.plan.table, run.audited_ref)
        earlier = from_json(Report, run.source.storage.read(job.reuses))
    entries_by_id = {entry.id: entry for entry in earlier.files}
    entries = [entries_by_id[file.id] for file in job.files]
    try:
        run.engine.check_references(job.plan)
    except Unfit as error:
        run.error, run.advice = str(error), error.advice
    else:
        results = _evaluate_reused(run, table, entries)
        entries = [replace(entry, checks=with_new_results(entry.checks, results[entry.id])) for entry in entries]
    files = [replace(entry, verdict=verdict(entry.checks)) for entry in entries]
    return replace(_report(run, _record_audits(run, files)), reused_from=earlier.branch)


def _evaluate_reused(run: Run, table: Table, entries: Sequence[FileReport]) -> dict[str, tuple[CheckResult, ...]]:
    """Prove that the branch has these data files beyond its base and no others; then ask what depends on tables."""
    job, plan = run.job, of_table_scope(run.job.plan)
    with run.step("prove"):
        difference, columns = table.changes_since(run.base), table.fields()
        files_by_id = by_file(job, difference, columns)
        prove(job, difference, files_by_id, {entry.id: entry.rows for entry in entries if entry.rows})
        prove_reused(job, files_by_id)
    files = {entry.id: files_by_id.get(entry.id, []) for entry in entries}
    proof = ProvedTable(table=table, base=run.base, difference=difference, columns=columns, files=files)
    view: View = run.engine.view(plan, proof)
    with run.step("measure"):
        results = evaluate(plan, *view.measure())
    with run.step("sample"):
        results_with_samples = view.with_samples(results, plan, ())
    return as_observed(plan, results_with_samples) if run.observes else results_with_samples


def _inspect(run: Run) -> None:
    """Inspect the files, and fit them and the table to each other."""
    columns = None if run.base is None else run.base.columns()
    agreement, run.inspections = fit_all(run.job.plan, columns, run.source.files.inspect(), run.job.neighbours)
    run.columns, run.evolves = agreement.columns, agreement.evolves


def _append(run: Run) -> None:
    with run.step("prepare"):
        run.engine.check_references(run.job.plan)
        run.source.prepare(run.table, run.columns)
    if run.job.rewritten:
        with run.step("remove"):
            _remove_replaced(run)
    with run.step("append"):
        rows_by_file = _rows_beyond_base(run)
        inspections = resume(run, rows_by_file) if rows_by_file else run.engine.append(run.plan_with_columns, run.good)
        by_id = {inspection.id: inspection for inspection in inspections}
        run.inspections = [by_id.get(inspection.id, inspection) for inspection in run.inspections]


def _remove_replaced(run: Run) -> None:
    """Remove rewritten rows that the batch replaces from the branch's table. Raise Unfit if it has delete files: they
    would hide nothing of what is written anew, and Iceberg drops some of them with the data files that it removes.
    """
    table = run.load(run.job.plan.table, Ref(run.job.branch))
    data_files = table.data_files_with(run.job.rewritten)
    if not data_files:
        return
    if table.has_deletes():
        raise Unfit(delete_files_message(run.job))
    run.source.remove_replaced(table, data_files)


def _rows_beyond_base(run: Run) -> dict[str, int]:
    """Count, by file version, the rows that an earlier run of this very job has appended: none as a rule."""
    if run.table is None:
        return {}
    difference = run.table.changes_since(run.base)
    if not difference.new_files.statistics:
        return {}
    columns = run.table.fields()
    return rows_of(by_file(run.job, difference, columns, left_of(run.job, difference, columns)))


def resume(run: Run, rows_by_file: Mapping[str, int]) -> list[Inspection]:
    """Take what an earlier run of this very job has appended, if it is just what this one would append."""
    rest = [inspection for inspection in run.good if inspection.id not in rows_by_file]
    faulty = {
        inspection.id: inspection
        for inspection in run.source.files.find_faulty(run.plan_with_columns, rest)
        if inspection.faults
    }
    sound = [inspection for inspection in run.good if inspection.id not in faulty]
    prove_appended(
        run.job,
        rows_by_file,
        expected(sound, run.source.files.count_malformed(run.plan_with_columns, sound, rows_by_file)),
    )
    return [faulty.get(inspection.id, inspection) for inspection in run.good]


def _audit(run: Run) -> None:
    """Audit what main will hold, loaded afresh at the commit that will be merged."""
    with run.step("load"):
        table = run.load(run.job.plan.table, run.audited_ref)
    view = audit_table(run, table, [inspection.id for inspection in run.good])
    if run.observes or not run.sets_aside:
        _look_past(run, view)
    if run.observes:
        run.checks = as_observed(run.job.plan, run.checks)
    if run.sets_aside and any(map(leaving_checks, run.checks.values())):
        _quarantine(run, view)
    elif run.job.replaced_quarantined:
        _prove_quarantine(run, {})


def _look_past(run: Run, view: View) -> None:
    """Audit, in the view alone, what would be left of the files that would lose rows."""
    before = run.checks
    if failures := _leaving_by_file(before):
        malformed = _malformed(run, failures)
        run.parsed_rows = {**run.parsed_rows, **{inspection.id: inspection.rows for inspection in malformed}}
        _judge(run, view.without(good(before), failures), good(before), is_left=True)
        run.checks = afterwards(before, run.checks)


def _quarantine(run: Run, view: View) -> None:
    """Quarantine failing rows of the files that may lose them; then audit the rest of these files."""
    before = run.checks
    failures = _leaving_by_file(before)
    with run.step("quarantine"):
        run.source.quarantine(view, good(before), failures, run.plan_with_columns, _malformed(run, failures))
        run.audited_commit = run.source.head()
        run.quarantine_files = _prove_quarantine(run, {file: _count_leaving(run, before[file]) for file in failures})
    table = run.load(run.job.plan.table, run.audited_ref)
    if run.observes:  # these rows were in no table, so there is nothing to measure again
        _prove_table(run, table, good(before))
        return
    audit_table(run, table, good(before), is_left=True)
    run.checks = afterwards(before, run.checks)


def _record_audits(run: Run, files: Sequence[FileReport]) -> list[FileReport]:
    """Append what the audit found to the audits table, if the job does that, and return the files with their data files
    there. The branch's head is then another, and it is proved that nothing else has changed. If the audits table does
    not fit, the report says so: no file is rejected for that.
    """
    job, audited_commit = run.job, run.audited_commit
    if not job.notes_audits or not files:
        return list(files)
    with run.step("note"):
        at = run.now()
        rows = {report.id: audit_rows(job, audited_commit, at, report, run.error) for report in files}
        try:
            run.source.append_audits(rows)
        except Unfit as error:
            run.audits_error = str(error)
            return list(files)
        run.audited_commit = run.source.head()
        files_by_id = _prove_own(
            run,
            audits_of(job.plan.table, distinct=job.distinct),
            {file: len(file_rows) for file, file_rows in rows.items()},
        )
        _prove_unchanged(run, Ref(job.branch, audited_commit))
    return [replace(report, noted=as_reported(files_by_id.get(report.id, []))) for report in files]


def _prove_unchanged(run: Run, audited_ref: Ref) -> None:
    """Raise JobError unless the table and its quarantine are those that were judged: a commit that the network repeats
    late may come between.
    """
    name = run.job.plan.table
    for table in (name, quarantine_of(name, distinct=run.job.distinct)) if run.quarantine_files else (name,):
        before, now = run.source.load(table, audited_ref, run.audited_ref)
        if not _is_unchanged(before, now):
            raise JobError(
                f"batch {run.job.batch}: branch {run.job.branch}, table {table} changed after its audit. "
                f"Run: lakegate retry {run.job.batch}"
            )


def _is_unchanged(before: Table | None, now: Table | None) -> bool:
    if before is None or now is None:
        return before is now
    return before.fields() == now.fields() and now.changes_since(before) == Difference()


def _leaving_by_file(results: Results) -> dict[str, list[str]]:
    """Return the checks, by id, whose failing rows are to leave, by file version."""
    return {file: ids for file, checks in results.items() if (ids := leaving_checks(checks))}


def _malformed(run: Run, failures: Mapping[str, Sequence[str]]) -> list[Inspection]:
    """Return the files whose rows that do not parse are to leave."""
    ids = malformed_checks(run.job.plan)
    return [inspection for inspection in run.good if ids & {*failures.get(inspection.id, ())}]


def _count_leaving(run: Run, checks: Sequence[CheckResult]) -> int:
    """Return how many rows are to leave a file: those that the check of the budget has counted."""
    if run.observes:
        return rows_leaving(checks)
    return next(int(check.value or 0) for check in checks if check.check == BUDGET)


def _prove_quarantine(run: Run, rows: dict[str, int]) -> PerFile:
    return _prove_own(
        run, quarantine_of(run.job.plan.table, distinct=run.job.distinct), rows, run.job.replaced_quarantined
    )


def _prove_own(run: Run, name: str, rows: dict[str, int], replaced_files: Iterable[DataFile] = ()) -> PerFile:
    """Return the data files that the quarantine or the audits table has gained, proved to hold just these rows, in the
    place of what is replaced.
    """
    base, current = run.source.load(name, run.base_ref, run.audited_ref)
    table = run.required(name, current)
    difference = table.changes_since(base)
    files_by_id = by_file(run.job, difference, table.fields())
    prove(run.job, difference, files_by_id, rows, replaced_files, name)
    return files_by_id


def audit_table(run: Run, table: Table, files: Sequence[str], *, is_left: bool = False) -> View:
    """Prove a loaded table; measure, evaluate and sample these files. `is_left`: no more rows may leave it."""
    run.view = run.engine.view(run.plan, _prove_table(run, table, files))
    _judge(run, run.view, files, is_left=is_left)
    return run.view


def _prove_table(run: Run, table: Table, files: Sequence[str]) -> ProvedTable[Any]:
    with run.step("prove"):
        difference, columns = table.changes_since(run.base), table.fields()
        run.parsed_rows = _prove(run, table, difference, columns)
    return ProvedTable(
        table=table,
        base=run.base,
        difference=difference,
        columns=columns,
        files={inspection.id: run.files[inspection.id] for inspection in run.good if inspection.id in files},
        replaced_files=run.job.replaced_files,
        rewritten=run.removed_rows.rows,
    )


def _judge(run: Run, view: View, files: Sequence[str], *, is_left: bool) -> None:
    """Measure, evaluate and sample these files of a view."""
    inspections = [inspection for inspection in run.good if inspection.id in files]
    with run.step("measure"):
        measurements, dependents = view.measure()
        malformed = malformed_metrics(
            run.plan, {inspection.id: inspection.rows for inspection in inspections}, run.parsed_rows
        )
        plan = without_budget(run.plan) if is_left else run.plan
        results = evaluate(plan, measurements, {**dependents, **malformed}, run.job.baseline, view.failing_rows)
    with run.step("sample"):
        results_with_samples = view.with_samples(results, run.plan_with_columns, inspections)
        run.checks = with_causes(run.plan, results_with_samples, inspections, is_new=run.base is None)


def _prove(run: Run, table: Table, difference: Difference, columns: Mapping[str, IcebergField]) -> dict[str, int]:
    """Prove the table, and note its data files. Return how many rows of each file parse."""
    job, leftovers = run.job, left_of(run.job, difference, columns)
    files_by_id = by_file(job, difference, columns, leftovers)
    if job.rewritten:
        run.removed_rows = _count_removed(run, table, difference, leftovers)
    quarantine_rows, rows_by_file = rows_of(run.quarantine_files), rows_of(files_by_id)
    all_rows = {file: number + quarantine_rows.get(file, 0) for file, number in rows_by_file.items()}
    parsed_rows = expected(run.good, run.source.files.count_malformed(run.plan_with_columns, run.good, all_rows))
    rows_to_stay = {file: number - quarantine_rows.get(file, 0) for file, number in parsed_rows.items()}
    prove(job, difference, files_by_id, rows_to_stay, (*job.replaced_files, *run.removed_rows.files.data_files))
    run.files = {inspection.id: files_by_id.get(inspection.id, []) for inspection in run.good}
    return parsed_rows


def _count_removed(run: Run, table: Table, difference: Difference, leftovers: Iterable[str]) -> RemovedRows:
    """Return the rows removed from data files of the base. Raise JobError unless the batch replaces just these."""
    lost_files = difference.lost_files.but({data.path for data in run.job.replaced_files})
    new_files = difference.new_files.but(difference.new_files.statistics.keys() - set(leftovers))
    if lost_files.statistics and run.base and run.base.has_deletes():
        raise JobError(delete_files_message(run.job))
    before = run.base.row_counts(lost_files, run.job.rewritten) if run.base else RowCounts()
    now, remaining = table.row_counts(new_files, run.job.rewritten), table.data_files_with(run.job.rewritten)
    return removed_rows(run.job, lost_files, new_files, before, now, len(remaining))


def _report(run: Run, files: Iterable[FileReport]) -> Report:
    job, plan = run.job, run.job.plan
    return Report(
        branch=job.branch,
        batch=job.batch,
        attempt=job.attempt,
        table=plan.table,
        base=job.base,
        audited=run.audited_commit,
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
        masked=masked_columns(plan.columns),
        rewritten=run.removed_rows.files,
        lane=job.lane,
        lane_why=job.lane_why,
        mode=plan.mode,
        unnoted=run.audits_error,
        distinct=job.distinct,
    )


def _file_report(run: Run, inspection: Inspection) -> FileReport:
    checks = run.checks.get(inspection.id, ())
    data = run.files.get(inspection.id, [])
    has_audit = bool(data or checks) and not inspection.faults
    return FileReport(
        id=inspection.id,
        key=inspection.file.key,
        verdict=verdict(checks) if has_audit else Verdict.FAIL,
        rows=sum(entry.rows for entry in data),
        faults=inspection.faults,
        evolves=inspection.evolves,
        discards=inspection.discards,
        checks=checks,
        data_files=as_reported(data),
        quarantined=as_reported(run.quarantine_files.get(inspection.id, [])),
        replaces=_replaces(run, inspection),
        advice=tuple(fault.advice for fault in inspection.faults),
        would_quarantine=rows_observed(checks) if run.sets_aside else rows_aside(checks),
    )


def _replaces(run: Run, inspection: Inspection) -> ReplacedFiles:
    """Return what the file was to replace, with the rows that were removed for it."""
    replaces = inspection.file.replaces
    if inspection.faults:
        return replaces
    return replace(replaces, rewritten_rows=sum(run.removed_rows.rows.get(file, 0) for file in replaces.rewritten))
