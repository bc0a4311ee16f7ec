"""The audit's order of steps: inspect, fit, append, prove, measure, evaluate, quarantine, measure again, report.

It reads and writes no row: an `Engine` does. It publishes nothing.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial

from lakegate.audit.completeness import (
    PerFile,
    Taken,
    as_reported,
    by_file,
    expected,
    left_of,
    prove,
    prove_appended,
    prove_reused,
    refused,
    rows_of,
    taken_out,
)
from lakegate.audit.data_files.difference import Difference
from lakegate.audit.data_files.statistics import IcebergField
from lakegate.audit.engine import Engine, Proved, Table, View
from lakegate.audit.errors import JobError, Unfit
from lakegate.audit.evaluation.mask import masked
from lakegate.audit.evaluation.moment import bind_now
from lakegate.audit.evaluation.quarantine import BUDGET, afterwards, leaving, quarantine_of, unforgiving
from lakegate.audit.evaluation.reuse import combined, of_table_scope
from lakegate.audit.evaluation.unparsed import left_out
from lakegate.audit.evaluation.verdicts import evaluate, good, unparsed_checks, verdict
from lakegate.audit.model.codec import from_json
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Column, Plan
from lakegate.audit.model.report import CheckResult, FileReport, Replaced, Report, Verdict
from lakegate.audit.ref import Ref
from lakegate.audit.schema.inspection import Inspection, fit_all
from lakegate.audit.schema.types import Struct


def utc_now() -> datetime:
    """Return this moment."""
    return datetime.now(UTC)


@dataclass(kw_only=True)
class Run:
    """One run of a job and what it has found so far."""

    job: Job
    engine: Engine
    now: Callable[[], datetime] = utc_now
    ticks: Callable[[], float] = time.monotonic
    timings: dict[str, float] = field(default_factory=dict)
    inspections: list[Inspection] = field(default_factory=list)
    there: Table | None = None
    base: Table | None = None
    audited: str = ""
    error: str = ""
    columns: tuple[Column, ...] = ()
    evolves: tuple[str, ...] = ()
    files: PerFile = field(default_factory=dict)
    quarantined: PerFile = field(default_factory=dict)
    taken: Taken = field(default_factory=Taken)
    checks: dict[str, tuple[CheckResult, ...]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.started_at = self.now()

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = self.ticks()
        yield
        self.timings[name] = round(self.timings.get(name, 0) + self.ticks() - began, 3)

    @cached_property
    def plan(self) -> Plan:
        """The job's plan, bound to the moment at which the job began."""
        return bind_now(self.job.plan, self.started_at)

    @property
    def grown(self) -> Plan:
        """The plan with the columns that the table has by this attempt's files, where those differ from its own."""
        return replace(self.job.plan, columns=self.columns) if self.columns else self.job.plan

    @property
    def good(self) -> list[Inspection]:
        return [inspection for inspection in self.inspections if not inspection.faults]

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
    with run.step("inspect"):
        _inspect(run)
    if run.good:
        try:
            _append(run)
        except Unfit as error:
            run.error = str(error)
    run.audited = run.engine.head()
    if run.good and not run.error:
        _audit(run)
    return _report(run, [_file_report(run, inspection) for inspection in run.inspections])


def _begin(run: Run) -> None:
    """Load the tables, and note that the job comes to its files: what ends it before is no fault of theirs, and their
    batch is not rejected for it.
    """
    job, engine = run.job, run.engine
    try:
        engine.head()
    except OSError as error:
        what = f"batch {job.batch} of {job.plan.table}, branch {job.branch}"
        raise JobError(f"{what}: Nessie at {job.nessie_uri} does not tell where the branch is: {error}") from error
    run.there, run.base = engine.load(job.plan.table, Ref(job.branch), run.base_ref)
    if job.begun_uri:
        engine.write(job.begun_uri, b"")


def _audit_reused(run: Run) -> Report:
    """Run the checks of table scope again, and no others: an earlier attempt has appended and audited the rest."""
    job = run.job
    with run.step("load"):
        run.audited = run.engine.head()
        [run.there] = run.engine.load(job.plan.table, run.audited_ref)
        earlier = from_json(Report, run.engine.read(job.reuses))
    known = {entry.id: entry for entry in earlier.files}
    entries = [known[file.id] for file in job.files]
    try:
        run.engine.check_references(job.plan)
    except Unfit as error:
        run.error = str(error)
    else:
        found = _evaluate_reused(run, entries)
        entries = [replace(entry, checks=combined(entry.checks, found[entry.id])) for entry in entries]
    files = [replace(entry, verdict=verdict(entry.checks)) for entry in entries]
    return replace(_report(run, files), reused_from=earlier.branch)


def _evaluate_reused(run: Run, entries: Sequence[FileReport]) -> dict[str, tuple[CheckResult, ...]]:
    """Prove that the branch has these data files beyond its base and no others; then ask what depends on tables."""
    job, engine, plan = run.job, run.engine, of_table_scope(run.job.plan)
    with run.step("prove"):
        difference, columns = engine.compare(run.base, run.there), engine.fields(run.there)
        found = by_file(job, difference, columns)
        prove(job, difference, found, {entry.id: entry.rows for entry in entries if entry.rows})
        prove_reused(job, found)
    files = {entry.id: found.get(entry.id, []) for entry in entries}
    proved = Proved(table=run.there, base=run.base, difference=difference, columns=columns, files=files)
    view = engine.view(plan, proved)
    with run.step("measure"):
        results = evaluate(plan, *engine.measure(view))
    with run.step("sample"):
        return engine.with_samples(view, results, plan, ())


def _inspect(run: Run) -> None:
    """Inspect the files, and fit them and the table to each other."""
    inspections = run.engine.inspect()
    before = None if run.base is None else run.engine.columns(run.base)
    _agree(run, before, inspections)
    told = run.engine.within(run.grown, run.inspections)
    new = {
        inspection.id: inspection.faults
        for inspection, it in zip(told, run.inspections, strict=True)
        if inspection.faults != it.faults
    }
    if new:  # then no column comes by these files
        _agree(
            run,
            before,
            [replace(inspection, faults=new.get(inspection.id, inspection.faults)) for inspection in inspections],
        )


def _agree(run: Run, before: Struct | None, inspections: Sequence[Inspection]) -> None:
    agreed, run.inspections = fit_all(run.job.plan, before, inspections)
    run.columns, run.evolves = agreed.columns, agreed.evolves


def _append(run: Run) -> None:
    with run.step("prepare"):
        run.engine.check_references(run.job.plan)
        run.engine.prepare(run.there, run.columns)
    if run.job.rewritten:
        with run.step("take out"):
            _take_out(run)
    with run.step("append"):
        there = _rows_beyond_base(run)
        appended = resume(run, there) if there else run.engine.append(run.grown, run.good)
        known = {inspection.id: inspection for inspection in appended}
        run.inspections = [known.get(inspection.id, inspection) for inspection in run.inspections]


def _take_out(run: Run) -> None:
    """Take rewritten rows that the batch replaces out of the branch's table. Unfit where it has delete files: they
    would take nothing from what is written anew, and Iceberg drops some of them with the data files that it takes off.
    """
    [there] = run.engine.load(run.job.plan.table, Ref(run.job.branch))
    holding = run.engine.holding(there)
    if not holding:
        return
    if run.engine.has_deletes(there):
        raise Unfit(refused(run.job))
    run.engine.take_out(there, holding)


def _rows_beyond_base(run: Run) -> dict[str, int]:
    """Count, by file version, what an earlier run of this very job has appended: nothing as a rule."""
    if run.there is None or run.engine.same_rows(run.base, run.there):
        return {}
    difference, columns = run.engine.compare(run.base, run.there), run.engine.fields(run.there)
    return rows_of(by_file(run.job, difference, columns, left_of(run.job, difference, columns)))


def resume(run: Run, there: Mapping[str, int]) -> list[Inspection]:
    """Take what an earlier run of this very job has appended, if it is just what this one would append."""
    missing = [inspection for inspection in run.good if inspection.id not in there]
    faulty = {
        inspection.id: inspection for inspection in run.engine.find_faulty(run.grown, missing) if inspection.faults
    }
    inspections = [inspection for inspection in run.good if inspection.id not in faulty]
    prove_appended(run.job, there, expected(inspections, run.engine.unparsed(run.grown, inspections, there)))
    return [faulty.get(inspection.id, inspection) for inspection in run.good]


def _audit(run: Run) -> None:
    """Audit what main will hold, loaded afresh at the commit that will be merged."""
    with run.step("load"):
        [loaded] = run.engine.load(run.job.plan.table, run.audited_ref)
    view = audit_table(run, loaded, [inspection.id for inspection in run.good])
    if any(map(leaving, run.checks.values())):
        _quarantine(run, view)
    elif run.job.replaced_quarantined:
        _prove_quarantine(run, {})


def _quarantine(run: Run, view: View) -> None:
    """Quarantine failing rows of the files that may give them up; then audit what is left, where it is left."""
    before, unparsed_ids = run.checks, unparsed_checks(run.job.plan)
    failed = {file: ids for file, checks in before.items() if (ids := leaving(checks))}
    unparsed = [inspection for inspection in run.good if unparsed_ids & {*failed.get(inspection.id, ())}]
    with run.step("quarantine"):
        run.engine.quarantine(view, good(before), failed, run.grown, unparsed)
        run.audited = run.engine.head()
        run.quarantined = _prove_quarantine(run, {file: _leaving(before[file]) for file in failed})
    [left] = run.engine.load(run.job.plan.table, run.audited_ref)
    audit_table(run, left, good(before), is_left=True)
    run.checks = afterwards(before, run.checks)


def _leaving(checks: Iterable[CheckResult]) -> int:
    """Return how many rows the check of the budget has counted."""
    return next(int(check.value or 0) for check in checks if check.check == BUDGET)


def _prove_quarantine(run: Run, rows: dict[str, int]) -> PerFile:
    """Return the data files in the quarantine table, proved to hold just the rows that were to go there in the place
    of those that are replaced.
    """
    name = quarantine_of(run.job.plan.table)
    base, loaded = run.engine.load(name, run.base_ref, run.audited_ref)
    difference = run.engine.compare(base, loaded)
    found = by_file(run.job, difference, run.engine.fields(loaded))
    prove(run.job, difference, found, rows, run.job.replaced_quarantined, name)
    return found


def audit_table(run: Run, loaded: Table, files: Sequence[str], *, is_left: bool = False) -> View:
    """Prove a loaded table; measure, evaluate and sample these files. `is_left`: no more rows may leave it."""
    job, engine = run.job, run.engine
    with run.step("prove"):
        difference, columns = engine.compare(run.base, loaded), engine.fields(loaded)
        rows = _prove(run, loaded, difference, columns)
    inspections = [inspection for inspection in run.good if inspection.id in files]
    proved = Proved(
        table=loaded,
        base=run.base,
        difference=difference,
        columns=columns,
        files={inspection.id: run.files[inspection.id] for inspection in inspections},
        replaced=job.replaced,
        rewritten=run.taken.rows,
    )
    view = engine.view(run.plan, proved)
    with run.step("measure"):
        measured, resolved = engine.measure(view)
        dependents = {
            **resolved,
            **left_out(run.plan, {inspection.id: inspection.rows for inspection in inspections}, rows),
        }
        by = unforgiving(run.plan) if is_left else run.plan
        results = evaluate(by, measured, dependents, job.baseline, partial(engine.failing_rows, view))
    with run.step("sample"):
        run.checks = engine.with_samples(view, results, run.grown, inspections)
    return view


def _prove(run: Run, loaded: Table, difference: Difference, columns: Mapping[str, IcebergField]) -> dict[str, int]:
    """Prove the table, and note its data files. Return how many rows of each file parse."""
    job, left = run.job, left_of(run.job, difference, columns)
    found = by_file(job, difference, columns, left)
    if job.rewritten:
        run.taken = _taken(run, loaded, difference, left)
    quarantined, there = rows_of(run.quarantined), rows_of(found)
    arrived = {file: number + quarantined.get(file, 0) for file, number in there.items()}
    rows = expected(run.good, run.engine.unparsed(run.grown, run.good, arrived))
    kept = {file: number - quarantined.get(file, 0) for file, number in rows.items()}
    prove(job, difference, found, kept, (*job.replaced, *run.taken.files.data_files))
    run.files = {inspection.id: found.get(inspection.id, []) for inspection in run.good}
    return rows


def _taken(run: Run, loaded: Table, difference: Difference, left: Iterable[str]) -> Taken:
    """Return what was taken out of data files of the base. JobError unless it is just what the batch replaces."""
    engine, lost = run.engine, difference.lost.but({data.path for data in run.job.replaced})
    kept = difference.added.but(difference.added.statistics.keys() - set(left))
    if lost.statistics and engine.has_deletes(run.base):
        raise JobError(refused(run.job))
    base, now = engine.held(run.base, lost), engine.held(loaded, kept)
    return taken_out(run.job, lost, kept, base, now, engine.rewritten_rows(loaded))


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
        evolves=() if run.error else run.evolves,
        depends_on=plan.depends_on,
        timings=run.timings,
        columns=tuple(column.name for column in plan.columns),
        key=plan.key,
        masked=masked(plan.columns),
        rewritten=run.taken.files,
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
    )


def _replaces(run: Run, inspection: Inspection) -> Replaced:
    """Return what the file was to replace, with the rows that were taken out for it."""
    replaces = inspection.file.replaces
    if inspection.faults:
        return replaces
    return replace(replaces, rewritten_rows=sum(run.taken.rows.get(file, 0) for file in replaces.rewritten))
