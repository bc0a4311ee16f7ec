"""A run's branch in a person's hands: append, audit, publish, discard, each a step of its own."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from hashlib import sha256
from tempfile import TemporaryDirectory
from typing import Any, Self
from uuid import UUID, uuid4, uuid5

import pyarrow as pa

from lakegate.adapters.decoding import TooLarge
from lakegate.audit.errors import HandedOver, JobError
from lakegate.audit.model.files import FileKind
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Plan, Severity
from lakegate.audit.model.report import FileReport, Verdict
from lakegate.audit.ref import Ref
from lakegate.audit.run import Run, append_files, audit_appended
from lakegate.audit.schema.inspection import Inspection
from lakegate.errors import Conflict, Misconfigured, Refused
from lakegate.express.engine import DuckDBEngine
from lakegate.express.files import ParquetFiles
from lakegate.publishing.iceberg.refs import commit_of, snapshot_of
from lakegate.wap.checks import Check, add_results, id_of
from lakegate.wap.data import Input, files_of
from lakegate.wap.history import appends_in, appends_on
from lakegate.wap.names import branch_name
from lakegate.wap.place import Open, Place
from lakegate.wap.publishing import Published, Publishing, discard, find_published
from lakegate.wap.refusal import refusal
from lakegate.wap.report import Report
from lakegate.wap.source import DuckDBRun, job_of

_APPENDS = UUID("6f1d2c0e-8a53-4b8e-9a2e-5b8f0a6f9a31")
_NOT_HERE = (
    "DuckDB says what Spark would say, or nothing. Give the run a Spark session: wap(…, spark=session); or leave such "
    "data to the service"
)
_QUARANTINE = (
    ". The contract quarantines such rows, which takes a second table, and a run publishes one: take them out and "
    "append the rest, or leave the data to the service"
)
_REASONS = 3  # reasons in an error's text; the report has all
_FEWER = "free some, set TMPDIR to a folder of a larger disk, or append fewer rows"
_NOT_IN_A_RUN = "leave such data to the service"


class AuditFailed(Refused):
    """The audit failed, so nothing is published. `report` says why, with failing rows. Rows that fail only checks of
    `quarantine`, by id, would go to quarantine in the service.
    """

    def __init__(self, report: Report, quarantine: Collection[str] = ()) -> None:
        self.report, self.quarantine = report, tuple(quarantine)
        reasons = [f"{entry.key}: {reason}" for entry in report.files for reason in entry.reasons]
        rest = [f"and {len(reasons) - _REASONS:,} more: print the error's report"] if len(reasons) > _REASONS else []
        lines = [report.error] if report.error else [*reasons[:_REASONS], *rest]
        failures = {result.check for entry in report.files for result in entry.checks if result.verdict is Verdict.FAIL}
        hint = _QUARANTINE if failures & {*self.quarantine} else ""
        super().__init__(f"{report.table}: the audit failed, and nothing is published: {'; '.join(lines)}{hint}")

    def __reduce__(self) -> tuple[type[Self], tuple[Report, tuple[str, ...]]]:
        """Tell pickle, which orchestrators keep errors by, to make it of the report: it would take the text for one."""
        return type(self), (self.report, self.quarantine)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """Terms that a run was begun with. `checks` are functions that are checked beside the contract, whose own plan is
    `contract`. `spark` is the session in which files are read and audited, if there is one.
    """

    place: Place
    plan: Plan
    contract: Plan
    now: Callable[[], datetime]
    checks: Sequence[Check] = ()
    allow_new_columns: Collection[str] = ()
    spark: Any = None


class Branch:
    """A run and its branch, as `wap`, `start` and `resume` return it. `name` is the branch's name. `key` names the run:
    once it is in main's history, every step of a run of that key does nothing, and `published` says so.
    """

    def __init__(self, terms: Terms, *, name: str, key: str, published: Published | None = None) -> None:
        self._terms, self.name, self.key, self.published = terms, name, key, published
        self._report: Report | None = None
        self._states = dict[str, int | None]()
        self._copies = Counter[str]()

    def __repr__(self) -> str:
        return f"Branch(table={self.table!r}, name={self.name!r}, key={self.key!r}, published={self.published!r})"

    @property
    def table(self) -> str:
        return self._terms.plan.table

    def append(self, data: Any, name: str = "") -> None:
        """Append data to the branch, in one commit: an Arrow table, a data frame of Pandas, Polars or Spark, or paths
        of files. `name` is what the report calls it.

        An append that is on the branch already, because a task runs again, is not made twice. Raise Refused, and append
        nothing, if its columns do not fit.
        """
        if self.published:
            return
        inputs = list(files_of(data, self._terms.contract.files.kind, self._terms.plan.columns))
        files = {self._id(entry): entry for entry in inputs}
        branch = self._open()
        present = {entry.id: entry for entry in appends_on(self._terms.place.steps(branch))}
        new = {key: entry for key, entry in files.items() if key not in present}
        if new:
            self._append(branch, new, name, len(present))

    def _id(self, data: Input) -> str:
        """Return an id by the content. What one process appends twice is meant twice; what a second process appends
        again is the same.
        """
        digest = sha256(data.body).hexdigest()
        self._copies[digest] += 1
        return str(uuid5(_APPENDS, f"{digest}/{self._copies[digest]}"))

    def _append(self, branch: Open, new: dict[str, Input], name: str, before: int) -> None:
        files = tuple(
            JobFile(id=key, key=_name_of(data, name, before + at), uri="", size=len(data.body))
            for at, (key, data) in enumerate(new.items(), 1)
        )
        job = replace(self._job(branch, branch.at, files), plan=self._plan_of(new.values()))
        with self._engine(job, replace(branch, base=branch.head), new) as engine:
            run = Run(job=job, engine=engine, now=self._terms.now)
            run.table, run.base = run.source.load(self.table, Ref(branch.name), Ref(branch.name, job.base))
            append_files(run)
        if run.error:
            raise Refused(f"{self.table}: nothing is appended: {run.error}")
        if any(inspection.faults for inspection in run.inspections):
            raise Refused(refusal(self._terms.plan, run.inspections, new))
        self._report = None

    def _plan_of(self, inputs: Iterable[Input]) -> Plan:
        """Return the plan by which these files are read."""
        [kind, *rest] = {data.kind for data in inputs}
        if rest:
            raise Misconfigured("files of two formats are two appends: call append for each format")
        if kind is FileKind.PARQUET:
            return self._terms.plan
        if self._terms.spark is None:
            raise Refused(
                f"{self.table}: nothing is appended: only Spark reads {kind} files as the contract says. Give the run "
                "a session, wap(…, spark=session), or read them yourself and append the rows"
            )
        return replace(self._terms.plan, files=self._terms.contract.files)

    def audit(self) -> Report:
        """Audit what the branch holds beyond main, and return the report, which `print` shows. Publish nothing."""
        if self.published:
            return self._report or self._report_of(self.published)
        self._report = self._audit(self._open())
        return self._report

    def publish(self, report: Report | None = None) -> Published:
        """Publish the branch, and delete it. Without a report of it as it is, audit it first. Raise AuditFailed, and
        publish nothing, if the audit fails.
        """
        earlier = self.published or find_published(self._terms.place, self.key)
        if earlier:
            self.discard()
            self.published = earlier
            return earlier
        branch = self._open()
        self._require_pass(branch, report or self._report)
        publishing = Publishing(
            place=self._terms.place,
            branch=branch,
            key=self.key,
            plan=self._terms.plan,
            audit=lambda target: self._require_pass(target, None),
            new_name=lambda: branch_name(self.table, self._terms.now(), uuid4().hex[:8]),
        )
        self.published = publishing.carry_out()
        return self.published

    def discard(self) -> None:
        """Delete the branch with what it holds. Main stays as it is."""
        discard(self._terms.place, self.name)

    def _report_of(self, published: Published) -> Report:
        """Return what main's history tells of the run's report: what was published has passed."""
        appends, moment = appends_in(self._terms.place.records(self.key)), self._terms.now()
        return Report(
            branch=self.name,
            batch=self.key,
            attempt=1,
            table=self.table,
            base="",
            audited=str(published.snapshot),
            plan_hash=self._terms.plan.hash,
            contract_hash=self._terms.plan.contract_hash,
            contract_version=self._terms.plan.contract_version,
            started_at=moment,
            finished_at=moment,
            files=tuple(FileReport(id=new.id, key=new.name, verdict=Verdict.PASS, rows=new.rows) for new in appends),
            lane=None,
        )

    def _require_pass(self, branch: Open, report: Report | None) -> None:
        """Raise AuditFailed unless the branch, as it is, has passed an audit; audit it if the report is of another."""
        if report is None or not self._is_of(report, branch) or self._others_moved():
            report = self._audit(branch)
        self._report = Report.of(report)
        if not self._report.passed:
            checks = [check.id for check in self._terms.contract.checks if check.severity is Severity.QUARANTINE]
            raise AuditFailed(self._report, checks)

    def _is_of(self, report: Report, branch: Open) -> bool:
        ids = {id_of(check) for check in self._terms.checks}
        results = [{check.check for check in entry.checks} for entry in report.files]
        return (report.audited, report.plan_hash) == (branch.at, self._terms.plan.hash) and all(
            ids <= result for result in results
        )

    def _others_moved(self) -> bool:
        """Return True if a table that the rows refer to is not what it was at the audit, as far as that is known."""
        tables = [name for name in self._terms.plan.depends_on if name != self.table]
        return any(name not in self._states or self._states[name] != self._state(name) for name in tables)

    def _state(self, name: str) -> int | None:
        return snapshot_of(self._terms.place.other(name))

    def _audit(self, branch: Open) -> Report:
        """Audit the branch as it was found."""
        appends = appends_on(self._terms.place.steps(branch))
        if not appends:
            raise Refused(f"branch {branch.name} holds nothing to audit: append to it first")
        files = tuple(JobFile(id=append.id, key=append.name, uri="", size=0) for append in appends)
        job = self._job(branch, commit_of(snapshot_of(branch.base)), files)
        with self._engine(job, branch, {}) as engine:
            inspections = [Inspection(file=file, rows=append.rows) for file, append in zip(files, appends, strict=True)]
            run = Run(job=job, engine=engine, now=self._terms.now, inspections=inspections)
            [run.base] = run.source.load(self.table, Ref(branch.name, job.base))
            report = Report.of(audit_appended(run))
            self._states = engine.source.states
            return self._with_checks(report, partial(engine.source.rows, run.view))

    def _with_checks(self, report: Report, rows: Callable[[str], pa.Table]) -> Report:
        """Return the report with the results of a person's own functions, of the `rows` of each append."""
        if not self._terms.checks or report.error:
            return report
        files = [add_results(self._terms.plan, self._terms.checks, entry, rows(entry.id)) for entry in report.files]
        return replace(report, files=tuple(files))

    def _job(self, branch: Open, base: str, files: tuple[JobFile, ...]) -> Job:
        return job_of(branch.name, self.key, base, self._terms.plan, files)

    @contextmanager
    def _engine(self, job: Job, branch: Open, inputs: Mapping[str, Input]) -> Iterator[Any]:
        terms, spark = self._terms, self._terms.spark
        columns = terms.allow_new_columns
        options = {"branches": terms.place, "branch": branch, "key": self.key, "allow_new_columns": columns}
        try:
            with (_in_duckdb if spark is None else _in_spark(spark))(job, inputs, **options) as engine:
                yield engine
        except HandedOver as error:
            advice = _NOT_HERE if spark is None else _NOT_IN_A_RUN
            raise Refused(f"{self.table}: {error.reason} Nothing is published: {advice}") from error
        except (TooLarge, MemoryError) as error:
            short = str(error) if isinstance(error, TooLarge) else "its rows take more memory than there is"
            raise Refused(f"{self.table}: {short}. Nothing is published: {_FEWER}") from error
        except JobError as error:  # which tells a command of the service
            raise Refused(f"{str(error).partition(' Run: lakegate ')[0]} Nothing is published") from error

    def _open(self) -> Open:
        branch = self._terms.place.find(self.name)
        if branch is None:
            raise Conflict(f"there is no branch {self.name} of {self.table}: it was published or discarded")
        return branch


@contextmanager
def _in_duckdb(job: Job, inputs: Mapping[str, Input], **options: Any) -> Iterator[DuckDBEngine]:
    """Yield the engine of one append, or one audit, in this process."""
    files = ParquetFiles(job=job, bodies={key: file.body for key, file in inputs.items()})
    with (
        TemporaryDirectory(prefix="lakegate-rows-") as folder,
        closing(DuckDBRun(job=job, files=files, folder=folder, **options)) as source,
    ):
        yield DuckDBEngine(source=source)


def _in_spark(session: Any) -> Callable[..., AbstractContextManager[Any]]:
    """Return the same in a Spark session, which alone imports Spark."""
    from lakegate.wap.spark.engine import open_engine  # noqa: PLC0415

    return partial(open_engine, session)


def _name_of(data: Input, name: str, number: int) -> str:
    return name or data.name or f"append {number}"
