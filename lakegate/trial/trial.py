"""The page: a contract and files in, a report out. It changes nothing, and asks no service."""

from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from uuid import uuid4

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import PARQUET
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.plan import Check, Plan
from lakegate.audit.model.report import Report
from lakegate.audit.run import Run, append_files, audit_appended
from lakegate.errors import Misconfigured
from lakegate.express.engine import DuckDBEngine
from lakegate.express.plan import spark_only
from lakegate.publishing.iceberg.refs import NO_COMMIT
from lakegate.trial.local import LocalFiles, job_files, map_file
from lakegate.trial.questions import Omission, askable, omissions, without
from lakegate.trial.scratch import BRANCH, Scratch
from lakegate.wap.source import DuckDBRun, job_of


@dataclass(frozen=True, kw_only=True)
class Trial:
    """A report, in which no row has left its file, and the checks that were not asked."""

    report: Report
    omissions: tuple[Omission, ...]


def try_files(plan: Plan, paths: Sequence[Path]) -> Trial:
    """Audit the files as one batch, in their order. Raise Misconfigured if only Spark can."""
    plan_to_ask, unknown = askable(plan)
    read = (
        replace(plan_to_ask, files=PARQUET) if plan.files.kind.is_text else plan_to_ask
    )  # text needs no Spark to be read
    if reason := spark_only(read):
        raise _unable(plan, reason)
    with _engine(plan_to_ask, paths) as (engine, files):
        run = Run(job=files.job, engine=engine, sets_aside=False)
        try:
            append_files(run)
            spark_reasons = _find_spark_only(run, plan_to_ask.checks)
            report = files.malformed.among(plan_to_ask, _audit_by(run, without(plan_to_ask, spark_reasons)))
        except HandedOver as error:
            raise _unable(plan, error.reason) from error
    return Trial(report=report, omissions=omissions(plan, unknown | spark_reasons))


def _unable(plan: Plan, reason: str) -> Misconfigured:
    return Misconfigured(
        f"{plan.table}: nothing was tried, because DuckDB alone cannot: {reason} The service takes such files, on "
        "Spark. Drop them: lakegate drop"
    )


def _find_spark_only(run: Run, checks: Sequence[Check]) -> dict[str, str]:
    """Return the checks, by id, to which only Spark has an answer with these very files, each with
    the reason. They are looked for in halves.
    """
    other_ids = {check.id for check in run.job.plan.checks if check not in checks}
    try:
        _audit_by(run, without(run.job.plan, other_ids))
    except HandedOver as error:
        if len(checks) == 1:
            return {checks[0].id: error.reason}
        if not checks:
            raise
    else:
        return {}
    half = len(checks) // 2
    return _find_spark_only(run, checks[:half]) | _find_spark_only(run, checks[half:])


def _audit_by(run: Run, plan: Plan) -> Report:
    """Audit what was appended by this plan."""
    second_run = replace(run, job=replace(run.job, plan=plan), checks={}, files={})
    second_run.started_at = run.started_at
    return audit_appended(second_run)


@contextmanager
def _engine(plan: Plan, paths: Sequence[Path]) -> Iterator[tuple[DuckDBEngine, LocalFiles]]:
    with TemporaryDirectory(prefix="lakegate-try-") as place:
        scratch, of_job = Scratch(folder=Path(place)), job_files(paths)
        job = job_of(BRANCH, BRANCH, NO_COMMIT, plan, of_job, Lane.EXPRESS)
        bodies = {file.id: map_file(path) for file, path in zip(of_job, paths, strict=True)}
        files = LocalFiles(job=job, bodies=bodies)
        branch, key = scratch.branch, str(uuid4())
        with closing(DuckDBRun(job=job, branches=scratch, branch=branch, key=key, files=files, folder=place)) as run:
            yield DuckDBEngine(source=run), files
