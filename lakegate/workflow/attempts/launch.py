"""Launching: the job of an attempt is frozen, its files are staged, its branch is made ready, and the job is started.

Each step may be done again from the start; a second launch starts nothing new.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import structlog

from lakegate.audit.model.codec import to_json
from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.limits import beyond
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import GONE, FileVersion
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.baseline import baseline
from lakegate.workflow.attempts.claims import Claim, claims_since
from lakegate.workflow.attempts.history import attempt_history
from lakegate.workflow.attempts.job import job_name, job_of
from lakegate.workflow.attempts.replaced import Published, remove_replaced
from lakegate.workflow.attempts.reports import begun_name, report_name
from lakegate.workflow.attempts.reuse import reusable_data_files, reuse_data_files
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service

log = structlog.get_logger()


def launch(service: Service, attempt: Attempt) -> None:
    """Freeze the job of an attempt whose claims are made, bring to the branch what it carries, take off what its files
    replace, and start it. Launching it again starts nothing new.
    """
    job = job_of(service.store, attempt) or _freeze(service, attempt)
    if job is None:
        return
    reuse_data_files(service, job)
    remove_replaced(service, job)
    run = service.runner.start(attempt, service.store.uri(job_name(attempt)))
    log.info("job_started", branch=attempt.branch, table=attempt.table, batch=attempt.batch, run=run)


def _freeze(service: Service, attempt: Attempt) -> Job | None:
    """The attempt's job: this worker's, or that of another which was first. None where nothing is claimed."""
    head = service.branches.head(attempt.branch)
    if head is None:
        return None
    base = service.branches.base(attempt.branch)  # claimed on, it stays; before, it may have been deleted and made anew
    claims = claims_since(service, attempt, base, head)
    if not claims:
        return None
    service.store.create(job_name(attempt), to_json(_make_job(service, attempt, base, claims)).encode())
    return job_of(service.store, attempt)


def _make_job(service: Service, attempt: Attempt, base: str, claims: list[Claim]) -> Job:
    plan = contract_of(service.store, attempt.table).plan
    claimed_files = [claim.file for claim in claims]
    before = attempt_history(service, attempt, base, claimed_files)
    replacing = any(claim.replaces for claim in claims)  # its rows come from the files, so that the job proves it all
    its = None if replacing else reusable_data_files(service, attempt, base, plan, before.report, claimed_files)
    files, left_out = (
        (_reused(claimed_files, its.data_files), dict[str, str]())
        if its
        else _stage_or_leave_out(service, attempt, base, claims, plan.files)
    )
    return Job(
        branch=attempt.branch,
        batch=attempt.batch,
        attempt=attempt.number,
        base=base,
        nessie_uri=service.nessie_uri,
        warehouse=service.warehouse,
        report_uri=service.store.uri(report_name(attempt)),
        begun_uri=service.store.uri(begun_name(attempt)),
        plan=plan,
        files=tuple(files),
        baseline=baseline(service, plan, [(file.key, version) for file in files for version in file.replaces.versions]),
        consecutive_crashes=before.consecutive_crashes,
        never_began=before.never_began,
        reuses=service.store.uri(report_name(replace(attempt, number=its.report.attempt))) if its else "",
        left_out=left_out,
    )


def _reused(files: Iterable[FileVersion], data_files: Mapping[str, tuple[str, ...]]) -> list[JobFile]:
    return [JobFile(id=it.id, key=it.key, uri="", size=it.size, data_files=data_files[it.id]) for it in files]


def _stage_or_leave_out(
    service: Service, attempt: Attempt, base: str, claims: list[Claim], form: FileFormat
) -> tuple[list[JobFile], dict[str, str]]:
    """What is claimed, staged; and why the rest is not: the settling will say so. A file that is larger than its
    contract allows is not copied first: that takes longer than a function may, and would be begun by every sweep.
    """
    published = Published(service=service, table=attempt.table, ref=Ref(MAIN, base))
    large = {claim.file.id: beyond(form.limits, bytes=claim.file.size) for claim in claims}
    left_out = {file: "; ".join(why) for file, why in large.items() if why}
    claims = [claim for claim in claims if claim.file.id not in left_out]
    staged, files = _stage(service, attempt, [claim.file for claim in claims], form), []
    for claim in claims:
        try:
            files.append(_file(service, claim, staged[claim.file.id], published))
        except Refused as why:
            log.warning("left_out", branch=attempt.branch, key=claim.file.key, why=str(why))
            left_out[claim.file.id] = str(why)
    return files, left_out


def _stage(service: Service, attempt: Attempt, files: list[FileVersion], form: FileFormat) -> dict[str, str | Refused]:
    """By id: a copy of exactly the claimed version, named so that Spark knows how it is compressed."""
    names = {f"{attempt.branch}/{file.id}{form.suffix(file.key)}": file for file in files}
    return {names[name].id: copy for name, copy in service.landing.stage_all(names).items()}


def _file(service: Service, claim: Claim, staged: str | Refused, published: Published) -> JobFile:
    """What is staged, and what it replaces. Raises Refused where there is nothing to stage."""
    file = claim.file
    if isinstance(staged, Refused):
        raise Refused(GONE) if service.landing.describe(file.key, file.version_id) is None else staged
    replaces = published.replaced(file, claim.replaces)
    return JobFile(id=file.id, key=file.key, uri=staged, size=file.size, replaces=replaces)
