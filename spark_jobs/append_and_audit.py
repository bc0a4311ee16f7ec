"""An attempt's job: append its files to their table on its branch, audit what the branch then holds, write the report.

It publishes nothing and decides nothing. Bad data is reported with exit code 0; a crash leaves no report.
"""

import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property, partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from lakegate.audit.carried import combined, of_table_scope
from lakegate.audit.difference import Difference
from lakegate.audit.errors import JobError, Unfit
from lakegate.audit.job import CUT_OFF, Job
from lakegate.audit.look import Look, fit_all
from lakegate.audit.mask import masked
from lakegate.audit.moment import at
from lakegate.audit.plan import Column, Plan
from lakegate.audit.prove import PerFile, as_reported, by_file, left_of, prove, prove_carried
from lakegate.audit.quarantine import BUDGET, afterwards, leaving, quarantine_of, unforgiving
from lakegate.audit.report import CheckResult, FileReport, Replaced, Report, Verdict
from lakegate.audit.statistics import Field
from lakegate.audit.types import Struct
from lakegate.audit.verdicts import Dependent, good, judge, unparsed_checks, verdict
from lakegate.audit.wire import from_json, to_json
from spark_jobs import amounts, hadoop, iceberg, measure, nessie, quarantine, rewritten, samples, table, unparsed
from spark_jobs.append import append, expected, resume
from spark_jobs.base import Base, fit
from spark_jobs.java import FAILURES, names, root, unreached
from spark_jobs.keys import Batch
from spark_jobs.rewritten import Taken
from spark_jobs.session import AUDIT, BASE, LAKE, LEFT, build, check_iceberg, fit_to, open_catalog
from spark_jobs.staged import look_at_all


@dataclass(kw_only=True)
class Run:
    """One run of a job and what it has found so far."""

    spark: SparkSession
    job: Job
    started_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    timings: dict[str, float] = field(default_factory=dict)
    looks: list[Look] = field(default_factory=list)
    there: Any | None = None
    base: Any | None = None
    audited: str = ""
    error: str = ""
    columns: tuple[Column, ...] = ()
    evolves: tuple[str, ...] = ()
    files: PerFile = field(default_factory=dict)
    aside: PerFile = field(default_factory=dict)
    taken: Taken = field(default_factory=Taken)
    checks: dict[str, tuple[CheckResult, ...]] = field(default_factory=dict)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        began = time.monotonic()
        yield
        self.timings[name] = round(self.timings.get(name, 0) + time.monotonic() - began, 3)

    @cached_property
    def plan(self) -> Plan:
        """What is asked, of the moment at which the job began."""
        return at(self.job.plan, self.started_at)

    @property
    def grown(self) -> Job:
        """The job with the columns that the table has by this attempt's files, where those differ from the plan's."""
        return replace(self.job, plan=replace(self.job.plan, columns=self.columns)) if self.columns else self.job

    @property
    def good(self) -> list[Look]:
        return [look for look in self.looks if not look.faults]


def append_and_audit(spark: SparkSession, job: Job) -> Report:
    """The whole job: from staged files to a report."""
    check_iceberg(spark, job)
    run = Run(spark=spark, job=job)
    open_catalog(spark, LAKE, job, job.branch)
    open_catalog(spark, BASE, job, f"{job.branch}@{job.base}")
    fit_to(spark, job)
    with run.step("load"):
        _begin(run)
    if job.carries:
        return _audit_carried(run)
    with run.step("look"):
        _look(run)
    if run.good:
        try:
            _append(run)
        except Unfit as error:
            run.error = str(error)
    run.audited = nessie.head(job.nessie_uri, job.branch)
    if run.good and not run.error:
        _audit(run)
    return _report(run, [_file_report(run, look) for look in run.looks])


def _begin(run: Run) -> None:
    """Load the tables, and note that the job comes to its files: what ends it before is no fault of theirs, and their
    batch is not rejected for it.
    """
    spark, job = run.spark, run.job
    try:
        nessie.head(job.nessie_uri, job.branch)
    except OSError as error:
        what = f"batch {job.batch} of {job.plan.table}, branch {job.branch}"
        raise JobError(f"{what}: Nessie at {job.nessie_uri} does not tell where the branch is: {error}") from error
    with ThreadPoolExecutor(2) as pool:
        run.there, run.base = pool.map(lambda catalog: iceberg.load(spark, catalog, job.plan.table), (LAKE, BASE))
    if job.begun_uri:
        hadoop.write(spark, job.begun_uri, b"")


def _audit_carried(run: Run) -> Report:
    """What an earlier attempt has appended and audited is on the branch: checks of table scope alone are run again."""
    spark, job = run.spark, run.job
    with run.step("load"):
        run.audited = nessie.head(job.nessie_uri, job.branch)
        open_catalog(spark, AUDIT, job, f"{job.branch}@{run.audited}")
        run.there = iceberg.load(spark, AUDIT, job.plan.table)
        earlier = from_json(Report, hadoop.read(spark, job.carries))
    ids = [file.id for file in job.files]
    known = {entry.id: entry for entry in earlier.files if entry.id in ids}
    try:
        fit(Base(spark=spark, catalog=BASE), job.plan)
    except Unfit as error:
        run.error = str(error)
    else:
        found = _judge_carried(run, [known[file] for file in ids])
        known = {file: replace(entry, checks=combined(entry.checks, found[file])) for file, entry in known.items()}
    files = [replace(known[file], verdict=verdict(known[file].checks)) for file in ids]
    return replace(_report(run, files), carried_from=earlier.branch)


def _judge_carried(run: Run, entries: Sequence[FileReport]) -> dict[str, tuple[CheckResult, ...]]:
    """Prove that the branch has these data files beyond its base and no others; then ask what depends on tables."""
    spark, job, plan = run.spark, run.job, of_table_scope(run.job.plan)
    with run.step("prove"):
        difference, columns = iceberg.compare(spark, run.base, run.there), iceberg.fields(spark, run.there)
        found = by_file(job, difference, columns)
        prove(job, difference, found, {entry.id: entry.rows for entry in entries if entry.rows})
        prove_carried(job, found)
    batch = Batch(
        files={entry.id: found.get(entry.id, []) for entry in entries},
        columns=columns,
        read=_reader(run, AUDIT, run.there, difference, found),
    )
    base = Base(spark=spark, catalog=BASE, tables={plan.table: run.base})
    with run.step("measure"):
        results = judge(plan, *measure.measure_all(plan, batch, base))
    with run.step("sample"):
        return samples.with_samples(plan, results, batch, base)


def _reader(run: Run, catalog: str, loaded: Any, difference: Difference, found: PerFile) -> Callable[..., DataFrame]:
    """How to read rows of file versions, by their ids, from the data files that were found to hold them."""

    def read(ids: Iterable[str], *, apart: bool = False) -> DataFrame:
        entries = {data.path: difference.added.entries[data.path] for file in ids for data in found.get(file, [])}
        return iceberg.read(run.spark, table.table_name(catalog, run.job.plan.table), loaded, entries, apart=apart)

    return read


def _look(run: Run) -> None:
    """At the files, and whether they and the table fit each other."""
    spark, job = run.spark, run.job
    looks = look_at_all(spark, job.plan, job.files)
    before = None if run.base is None else table.shape(spark, run.base).own
    _agree(run, before, looks)
    told = amounts.within(spark, run.grown.plan, run.looks)
    new = {look.file.id: look.faults for look, it in zip(told, run.looks, strict=True) if look.faults != it.faults}
    if new:  # then no column comes by these files
        _agree(run, before, [replace(look, faults=new.get(look.file.id, look.faults)) for look in looks])


def _agree(run: Run, before: Struct | None, looks: Sequence[Look]) -> None:
    agreed, run.looks = fit_all(run.job.plan, before, looks)
    run.columns, run.evolves = agreed.columns, agreed.evolves


def _append(run: Run) -> None:
    spark, job = run.spark, run.job
    with run.step("prepare"):
        fit(Base(spark=spark, catalog=BASE), job.plan)
        table.prepare(spark, job.plan, run.there, run.columns)
    if job.rewritten:
        with run.step("take out"):
            rewritten.take_out(spark, job)
    with run.step("append"):
        there_already = _rows_beyond_base(run, run.there)
        appended = (
            resume(spark, run.grown, run.good, there_already) if there_already else append(spark, run.grown, run.good)
        )
        known = {look.file.id: look for look in appended}
        run.looks = [known.get(look.file.id, look) for look in run.looks]


def _rows_beyond_base(run: Run, there: Any | None) -> dict[str, int]:
    """By file version, what an earlier run of this very job has appended; nothing as a rule."""
    if there is None or iceberg.same_rows(run.base, there):
        return {}
    difference = iceberg.compare(run.spark, run.base, there)
    columns = iceberg.fields(run.spark, there)
    found = by_file(run.job, difference, columns, left_of(run.job, difference, columns))
    return {file: sum(data.rows for data in files) for file, files in found.items()}


def _audit(run: Run) -> None:
    """What main will hold, loaded afresh at the commit that will be merged."""
    with run.step("load"):
        open_catalog(run.spark, AUDIT, run.job, f"{run.job.branch}@{run.audited}")
        loaded = iceberg.load(run.spark, AUDIT, run.job.plan.table)
    view = audit_table(run, loaded, AUDIT, [look.file.id for look in run.good])
    if any(map(leaving, run.checks.values())):
        _put_aside(run, view)
    elif run.job.replaced_aside:
        _aside(run, AUDIT, {})


def _put_aside(run: Run, view: quarantine.View) -> None:
    """Failing rows leave the files that may give them up; then what is left is audited, where it is left."""
    spark, job, before = run.spark, run.job, run.checks
    failed = {file: ids for file, checks in before.items() if (ids := leaving(checks))}
    with run.step("quarantine"):
        quarantine.put_aside(spark, job, view, good(before), failed, _left_out(run, failed))
        run.audited = nessie.head(job.nessie_uri, job.branch)
        open_catalog(spark, LEFT, job, f"{job.branch}@{run.audited}")
        run.aside = _aside(run, LEFT, {file: _leaving(before[file]) for file in failed})
    audit_table(run, iceberg.load(spark, LEFT, job.plan.table), LEFT, good(before))
    run.checks = afterwards(before, run.checks)


def _left_out(run: Run, failed: quarantine.Failed) -> DataFrame | None:
    """The rows that do not parse of those files that may give them up, if there are any."""
    unparsed_ids = unparsed_checks(run.job.plan)
    looks = [look for look in run.good if unparsed_ids & {*failed.get(look.file.id, ())}]
    return unparsed.left_out(run.spark, run.grown.plan, looks) if looks else None


def _leaving(checks: Iterable[CheckResult]) -> int:
    """How many rows the check of the budget has counted."""
    return next(int(check.value or 0) for check in checks if check.check == BUDGET)


def _aside(run: Run, after: str, rows: dict[str, int]) -> PerFile:
    """The data files in the quarantine table, proved to hold just what was to be put aside, in the place of what is
    replaced.
    """
    name = quarantine_of(run.job.plan.table)
    base, loaded = (iceberg.load(run.spark, catalog, name) for catalog in (BASE, after))
    difference = iceberg.compare(run.spark, base, loaded)
    found = by_file(run.job, difference, iceberg.fields(run.spark, loaded))
    prove(run.job, difference, found, rows, run.job.replaced_aside, name)
    return found


def audit_table(run: Run, loaded: Any, catalog: str, files: Sequence[str]) -> quarantine.View:
    """Prove a table as it was loaded from a catalog; measure, judge and sample these files. Returns what it saw."""
    spark, job = run.spark, run.job
    with run.step("prove"):
        difference = iceberg.compare(spark, run.base, loaded)
        columns = iceberg.fields(spark, loaded)
        rows = _prove(run, loaded, catalog, difference, columns)
    read = _reader(run, catalog, loaded, difference, run.files)
    looks = [look for look in run.good if look.file.id in files]
    batch = Batch(files={look.file.id: run.files[look.file.id] for look in looks}, columns=columns, read=read)
    base = _base(run)
    with run.step("measure"):
        measured, resolved = measure.measure_all(run.plan, batch, base)
        dependents: dict[str, Dependent] = {**resolved, **unparsed.metrics(run.plan, looks, rows)}
        entries = difference.added.entries
        view = quarantine.View(plan=run.plan, batch=batch, base=base, read=partial(read, apart=True), entries=entries)
        by = unforgiving(run.plan) if catalog == LEFT else run.plan
        results = judge(by, measured, dependents, job.history, partial(quarantine.failing_rows, view))
    with run.step("sample"):
        checks = samples.with_samples(run.plan, results, batch, base)
        run.checks = unparsed.with_samples(spark, run.grown.plan, looks, checks)
    return view


def _prove(run: Run, loaded: Any, catalog: str, difference: Difference, columns: Mapping[str, Field]) -> dict[str, int]:
    """Prove the table, and note its data files. Returns how many rows of each file parse."""
    job, left = run.job, left_of(run.job, difference, columns)
    found = by_file(job, difference, columns, left)
    if job.rewritten:
        run.taken = rewritten.taken(run.spark, job, run.base, catalog, loaded, difference, left)
    aside = {file: sum(data.rows for data in files) for file, files in run.aside.items()}
    arrived = {file: sum(data.rows for data in files) + aside.get(file, 0) for file, files in found.items()}
    rows = expected(run.spark, run.grown.plan, run.good, arrived)
    kept = {file: number - aside.get(file, 0) for file, number in rows.items()}
    prove(job, difference, found, kept, (*job.replaced, *run.taken.files.data_files))
    run.files = {look.file.id: found.get(look.file.id, []) for look in run.good}
    return rows


def _base(run: Run) -> Base:
    """The table at the attempt's base, without what the batch replaces."""
    job, name = run.job, run.job.plan.table
    replaced, rows = {name: job.replaced}, {name: run.taken.rows}
    return Base(spark=run.spark, catalog=BASE, tables={name: run.base}, replaced=replaced, rewritten=rows)


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
        finished_at=datetime.now(UTC),
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


def _file_report(run: Run, look: Look) -> FileReport:
    checks = run.checks.get(look.file.id, ())
    data = run.files.get(look.file.id, [])
    audited = bool(data or checks) and not look.faults
    return FileReport(
        id=look.file.id,
        key=look.file.key,
        verdict=verdict(checks) if audited else Verdict.FAIL,
        rows=sum(each.rows for each in data),
        faults=look.faults,
        evolves=look.evolves,
        discards=look.discards,
        checks=checks,
        data_files=as_reported(data),
        quarantined=as_reported(run.aside.get(look.file.id, [])),
        replaces=_replaces(run, look),
    )


def _replaces(run: Run, look: Look) -> Replaced:
    """What the file was to replace, with the rows that were taken out for it."""
    replaces = look.file.replaces
    if look.faults:
        return replaces
    return replace(replaces, rewritten_rows=sum(run.taken.rows.get(file, 0) for file in replaces.rewritten))


def main(arguments: Sequence[str]) -> int:
    """`arguments`: the URI of the attempt's job.json."""
    if len(arguments) != 1:
        print("usage: append_and_audit.py URI-OF-JOB.JSON", file=sys.stderr)  # noqa: T201 - a command's last word
        return 2
    spark, what, hidden = build("lakegate append_and_audit"), f"the job at {arguments[0]}", False
    try:
        job = from_json(Job, hadoop.read(spark, arguments[0]))
        what = f"batch {job.batch} of {job.plan.table}, branch {job.branch}"
        hidden = bool(masked(job.plan.columns))
        with noted_if_cut_off(spark, job):
            hadoop.write(spark, job.report_uri, to_json(append_and_audit(spark, job)).encode())
    except Exception as error:  # noqa: BLE001 - the process's edge
        traceback.print_exc()
        print(last_word(what, error, hidden=hidden), file=sys.stderr, flush=True)  # noqa: T201 - it becomes the run's reason
        return 1
    finally:
        spark.stop()
    return 0


@contextmanager
def noted_if_cut_off(spark: SparkSession, job: Job) -> Iterator[None]:
    """Where storage or Nessie is out of reach, that is no fault of the files: their batch is not rejected for it."""
    try:
        yield
    except Exception as error:
        if job.begun_uri and (isinstance(error, OSError) or unreached(error)):
            with suppress(*FAILURES):  # then it counts as a crash
                hadoop.write(spark, job.begun_uri, CUT_OFF)
        raise


def last_word(what: str, error: Exception, *, hidden: bool) -> str:
    """One line that says why, and then of what, for EMR Serverless cuts its end off. `hidden` if the error's text may
    hold what is masked.
    """
    if isinstance(error, JobError):
        of, _, reason = str(error).partition(": ")
        return f"JobError: {reason}; {of}" if reason and of.startswith("batch ") else f"JobError: {error}"
    why = f"{', '.join(names(error)[-1:])} (its text is in the job's log alone: columns are masked)"
    return f"JobError: {type(error).__name__}: {why if hidden else root(error)}; {what}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
