"""Opening an attempt: its branch, its claims, its staged files, its job. Each step may be done again from the start."""

from collections.abc import Iterable, Mapping
from dataclasses import replace

import structlog

from lakegate.audit.files import FileFormat
from lakegate.audit.job import Job, JobFile
from lakegate.audit.wire import to_json
from lakegate.errors import Conflict, Refused, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Decision, Entry, Receipt
from lakegate.ports import MAIN
from lakegate.workflow.archive import receipts_at
from lakegate.workflow.carry import carry
from lakegate.workflow.claims import base_of, claims_on, is_open, job_name
from lakegate.workflow.earlier import earlier
from lakegate.workflow.history import history
from lakegate.workflow.reports import report_name
from lakegate.workflow.service import Service
from lakegate.workflow.shelf import contract_of

log = structlog.get_logger()


def open_attempt(service: Service, attempt: Attempt, files: Iterable[FileVersion]) -> Attempt:
    """Make the attempt's branch from main's head, claim the files on it, and launch its job.

    Files that were decided before the branch's base are left out; with none left there is no branch. Returns the
    attempt, whose number is a later one where the asked one was used up for something else.
    """
    files = list(files)
    while _is_used_up(service, attempt, files):
        attempt = attempt.next()
    try:
        service.catalog.create_branch(attempt.branch, service.catalog.head(MAIN) or "")
    except Conflict:
        log.info("branch_exists", branch=attempt.branch)
    base = service.catalog.base(attempt.branch)
    if _head(service, attempt) == base:
        _claim(service, attempt, base, files)
    launch(service, attempt)
    return attempt


def _is_used_up(service: Service, attempt: Attempt, files: list[FileVersion]) -> bool:
    """Whether the attempt claims none of these files but others, or had a job and has no branch any more.

    Its job, its run and its report are found by its number, so another use of it would be taken for the first.
    """
    had_a_job = service.store.read(job_name(attempt)) is not None  # looked at first: the branch is older than its job
    if service.catalog.head(attempt.branch) is None:
        return had_a_job
    claims = claims_on(service, attempt)
    return bool(claims) and not {file.id for file in claims} & {file.id for file in files}


def _claim(service: Service, attempt: Attempt, base: str, files: list[FileVersion]) -> None:
    """Receipts on a branch are claims; merged, they are the decision "published"."""
    receipts = receipts_at(service, f"{MAIN}@{base}", {file.key for file in files})
    claims = [claimed(receipts, file, attempt) for file in files if is_open(receipts, file, attempt)]
    if not claims:
        service.catalog.delete_branch(attempt.branch)
        return
    try:
        service.catalog.commit_receipts(attempt.branch, base, claims)
    except Conflict:
        log.info("claimed_already", branch=attempt.branch, head=_head(service, attempt))


def _head(service: Service, attempt: Attempt) -> str:
    """A sweep may delete a branch that nothing is claimed on; whoever made it must hear, not go on with nothing."""
    head = service.catalog.head(attempt.branch)
    if head is None:
        raise Retryable(f"branch {attempt.branch} was deleted before its files were claimed; do the same again")
    return head


def claimed(receipts: dict[str, Receipt], file: FileVersion, attempt: Attempt) -> Receipt:
    """The file's receipt as it will be when the attempt is published."""
    receipt = receipts.get(file.key) or Receipt(bucket=file.bucket, key=file.key)
    return receipt.decided(Entry.of(file, Decision.PUBLISHED, attempt))


def launch(service: Service, attempt: Attempt) -> None:
    """Freeze the job of an attempt whose claims are made, and start it. Launching it again starts nothing new."""
    if service.store.read(job_name(attempt)) is None:
        files = claims_on(service, attempt)
        if not files:
            return
        service.store.create(job_name(attempt), to_json(_job(service, attempt, files)).encode())
    run = service.runner.start(attempt, service.store.uri(job_name(attempt)))
    log.info("job_started", branch=attempt.branch, table=attempt.table, batch=attempt.batch, run=run)


def _job(service: Service, attempt: Attempt, files: list[FileVersion]) -> Job:
    plan, base = contract_of(service.store, attempt.table).plan, base_of(service, attempt)
    before = earlier(service, attempt, base, files)
    carried = carry(service, attempt, base, plan, before.report, files)
    return Job(
        branch=attempt.branch,
        batch=attempt.batch,
        attempt=attempt.number,
        base=base,
        nessie_uri=service.nessie_uri,
        warehouse=service.warehouse,
        report_uri=service.store.uri(report_name(attempt)),
        plan=plan,
        files=_carried(files, carried.data_files) if carried else _staged(service, attempt, files, plan.files),
        history=history(service, plan),
        crashed=before.crashed,
        carries=service.store.uri(report_name(replace(attempt, number=carried.report.attempt))) if carried else "",
    )


def _carried(files: Iterable[FileVersion], data_files: Mapping[str, tuple[str, ...]]) -> tuple[JobFile, ...]:
    return tuple(JobFile(id=it.id, key=it.key, uri="", size=it.size, data_files=data_files[it.id]) for it in files)


def _staged(service: Service, attempt: Attempt, files: Iterable[FileVersion], form: FileFormat) -> tuple[JobFile, ...]:
    return tuple(staged for file in files if (staged := _stage(service, attempt, file, form)))


def _stage(service: Service, attempt: Attempt, file: FileVersion, form: FileFormat) -> JobFile | None:
    """A copy of exactly the claimed version, named so that Spark knows how it is compressed. One that is gone is left
    out, and the settling says so.
    """
    try:
        uri = service.landing.stage(file, f"{attempt.branch}/{file.id}{form.suffix(file.key)}")
    except Refused:
        log.warning("file_gone", branch=attempt.branch, key=file.key, version=file.version_id)
        return None
    return JobFile(id=file.id, key=file.key, uri=uri, size=file.size)
