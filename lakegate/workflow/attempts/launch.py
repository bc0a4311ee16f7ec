"""Launching: an attempt's files are staged, its job is frozen, its branch is made ready, and the job is started.

Each step may be done again from the start; a second launch starts nothing new.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import structlog

from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.lane import Lane
from lakegate.audit.model.limits import beyond_limits
from lakegate.contracts import Contract
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import DELETION
from lakegate.landing.lane import NO_LANE, Work, lane_of
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.baseline import baseline
from lakegate.workflow.attempts.claims import Claim, claims_since
from lakegate.workflow.attempts.history import AttemptHistory, attempt_history
from lakegate.workflow.attempts.job import job_name, job_of, reach_of
from lakegate.workflow.attempts.replacement import MainSnapshot, remove_replaced
from lakegate.workflow.attempts.reports import begun_name, hand_over, handover_name, report_name
from lakegate.workflow.attempts.reuse import reusable_data_files, reuse_data_files
from lakegate.workflow.ledger.names import needs_distinct_name
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service

log = structlog.get_logger()
Neighbours = Mapping[str, tuple[str, ...]]
NO_NEIGHBOURS: Neighbours = {}


def launch(service: Service, attempt: Attempt, neighbours: Neighbours = NO_NEIGHBOURS) -> None:
    """Freeze the job of an attempt that has claims, make its branch ready and start the job. The branch gets the data
    files that the job reuses, and loses those that its files replace. A second launch starts nothing new. Without an
    express lane, a job that was frozen for it is handed over. `neighbours` are the columns of other tables.
    """
    job = job_of(service.store, attempt) or _freeze(service, attempt, neighbours)
    if job is None:
        return
    if job.lane is Lane.EXPRESS and service.express is None:
        hand_over(service.store, attempt, NO_LANE)  # it was there when the job was frozen
        return
    reuse_data_files(service, job)
    remove_replaced(service, job)
    run = service.runner.start(attempt, service.store.uri(job_name(attempt)), reach_of(service, attempt, job), job.lane)
    log.info("job_started", branch=attempt.branch, table=attempt.table, batch=attempt.batch, lane=job.lane, run=run)


def _freeze(service: Service, attempt: Attempt, neighbours: Neighbours) -> Job | None:
    """Freeze the attempt's job and return it, or the one that another worker froze first; None without claims."""
    head = service.branches.head(attempt.branch)
    if head is None:
        return None
    base = service.branches.base(attempt.branch)  # with claims, it stays; without, the branch may have been made anew
    claims = claims_since(service, attempt, base, head)
    if not claims:
        return None
    job = replace(_make_job(service, attempt, base, claims), neighbours=dict(neighbours))
    service.store.create(job_name(attempt), to_json(job).encode())
    return job_of(service.store, attempt)


def _make_job(service: Service, attempt: Attempt, base: str, claims: list[Claim]) -> Job:
    contract = contract_of(service.store, attempt.table)
    plan = contract.plan
    history = attempt_history(service, attempt, base, [claim.file for claim in claims])
    distinct = needs_distinct_name(service, attempt.table, base)
    published = MainSnapshot(
        service=service,
        table=attempt.table,
        quarantine=quarantine_of(attempt.table, distinct=distinct),
        ref=Ref(MAIN, base),
    )
    load = _load(service, attempt, published, claims, contract, history)
    return Job(
        branch=attempt.branch,
        batch=attempt.batch,
        attempt=attempt.number,
        base=base,
        catalog=service.catalog,
        report_uri=service.store.uri(report_name(attempt)),
        begun_uri=service.store.uri(begun_name(attempt)),
        plan=plan,
        files=load.files,
        baseline=baseline(
            service, plan, [(file.key, version) for file in load.files for version in file.replaces.versions]
        ),
        consecutive_crashes=history.consecutive_crashes,
        never_began=history.never_began,
        crashed_with_others=history.crashed_with_others({file.id for file in load.files}),
        handed_over=history.handed_over,
        reuses=service.store.uri(report_name(replace(attempt, number=load.reused_attempt)))
        if load.reused_attempt
        else "",
        left_out=dict(load.left_out),
        lane=load.lane,
        lane_why=load.lane_reason,
        handover_uri=service.store.uri(handover_name(attempt)) if load.lane is Lane.EXPRESS else "",
        notify=tuple(sorted(contract.notify)),
        notes_audits=service.notes_audits,
        distinct=distinct,
    )


@dataclass(frozen=True, kw_only=True)
class Load:
    """A job's files, why claimed ones are left out, and the lane with the reason. `reused_attempt` is the number of the
    attempt whose data files they are, or 0.
    """

    files: tuple[JobFile, ...]
    lane: Lane
    lane_reason: str
    left_out: Mapping[str, str] = field(default_factory=dict)
    reused_attempt: int = 0


def _load(
    service: Service,
    attempt: Attempt,
    published: MainSnapshot,
    claims: list[Claim],
    contract: Contract,
    history: AttemptHistory,
) -> Load:
    """Choose the lane by the claimed files. On Spark's lane an earlier attempt's data files are reused, if they can be:
    on the other one, to append once more takes less time than a job of Spark's.
    """
    files_claimed = [claim.file for claim in claims]
    work = Work(plan=contract.plan, sizes=[file.size for file in files_claimed], handed_over=history.handover_reason)
    lane, reason = lane_of(contract.ingestion.engine, service.express, work)
    replacing = any(claim.replaces for claim in claims)  # its job must prove the replacement, from the files themselves
    if history.report and lane is Lane.SPARK and not replacing:
        reuse = reusable_data_files(
            service, attempt, published.ref.commit, contract.plan, history.report, files_claimed
        )
        if reuse:
            return Load(files=reuse.files, lane=lane, lane_reason=reason, reused_attempt=reuse.report.attempt)
    files, left_out = _stage_or_leave_out(service, attempt, published, claims, contract.plan.files)
    rewritten = any(file.replaces.rewritten for file in files)
    work = replace(work, sizes=[file.size for file in files], rewritten=rewritten)
    lane, reason = lane_of(contract.ingestion.engine, service.express, work)
    return Load(files=files, lane=lane, lane_reason=reason, left_out=left_out)


def _stage_or_leave_out(
    service: Service, attempt: Attempt, published: MainSnapshot, claims: list[Claim], form: FileFormat
) -> tuple[tuple[JobFile, ...], dict[str, str]]:
    """Stage the claimed files. Return those that are staged, and why the others are not, by file version's id; settling
    rejects these. A file beyond its contract's limit is not copied: its copy could take longer than a function may run,
    and every sweep would begin it again.
    """
    large = {claim.file.id: beyond_limits(form.limits, bytes=claim.file.size) for claim in claims}
    left_out = {file: "; ".join(fault.in_full for fault in faults) for file, faults in large.items() if faults}
    names = {  # Spark tells by its suffix how a file is compressed
        f"{attempt.branch}/{claim.file.id}{form.suffix(claim.file.key)}": claim
        for claim in claims
        if claim.file.id not in left_out
    }
    copies = service.landing.stage_all({name: claim.file for name, claim in names.items()})
    files = []
    for name, claim in names.items():
        try:
            files.append(_job_file(service, claim, copies[name], published))
        except Refused as error:
            log.warning("left_out", branch=attempt.branch, key=claim.file.key, why=str(error))
            left_out[claim.file.id] = str(error)
    return tuple(files), left_out


def _job_file(service: Service, claim: Claim, copy: str | Refused, published: MainSnapshot) -> JobFile:
    """Return a claimed file with its staged copy and what it replaces. Raise Refused if it has no copy."""
    file = claim.file
    if isinstance(copy, Refused):
        raise Refused(DELETION) if service.landing.describe(file.key, file.version_id) is None else copy
    replaces = published.replaced_by(file, claim.replaces)
    return JobFile(id=file.id, key=file.key, uri=copy, size=file.size, replaces=replaces)
