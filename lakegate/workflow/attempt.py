"""Opening an attempt: its branch, its claims, its staged files, its job. Each step may be done again from the start."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

import structlog

from lakegate.audit.codec import BROKEN, from_json, to_json
from lakegate.audit.files import FileFormat
from lakegate.audit.job import Job, JobFile
from lakegate.audit.limits import beyond
from lakegate.errors import Conflict, Misconfigured, Refused, Retryable, noting
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import GONE, FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt, entry_of
from lakegate.landing.standing import is_open, standing
from lakegate.ports import MAIN, Ref
from lakegate.workflow.archive import receipts_of
from lakegate.workflow.carry import bring_carried, carried
from lakegate.workflow.claims import (
    Claim,
    base_of,
    claims_on,
    claims_since,
    job_name,
    job_of,
)
from lakegate.workflow.earlier import earlier
from lakegate.workflow.history import history
from lakegate.workflow.replace import Published, take_off_replaced
from lakegate.workflow.reports import begun_name, report_name
from lakegate.workflow.service import Service
from lakegate.workflow.shelf import contract_of

log = structlog.get_logger()


def open_attempt(service: Service, attempt: Attempt, files: Iterable[FileVersion]) -> Attempt:
    """Make the attempt's branch from main's head, claim the files on it, and launch its job.

    Files that main says are not to be ingested any more are left out, for whoever receives them again; with none left
    there is no branch. Returns the attempt, whose number is a later one where the asked one was used up for something
    else. What keeps its job from being started keeps nobody from starting it later: its files are claimed by then.
    """
    files = list(files)
    while not _take_on(service, attempt, files):
        attempt = attempt.next()
    _start(service, attempt)
    return attempt


def open_attempts(
    service: Service,
    attempt: Attempt,
    files: Iterable[FileVersion],
    portion: Callable[[list[FileVersion]], list[FileVersion]],
) -> Iterator[Attempt]:
    """The same for more files than one attempt is to take, from this number on: each takes what it is noted for, or
    else the `portion` of what is left. So no file is given to two attempts by those who do this at once, or again.
    """
    left = list(files)
    while left:
        noted = {file.id for file in _note_files(service, attempt, portion(left))}
        its = [file for file in left if file.id in noted]
        if its and _take_on(service, attempt, its):
            left = [file for file in left if file.id not in noted]
            _start(service, attempt)
            yield attempt
        attempt = attempt.next()


def _start(service: Service, attempt: Attempt) -> None:
    with noting(f"Attempt a{attempt.number} at {attempt.batch} is noted all the same, and the next sweep starts it"):
        launch(service, attempt)


def _take_on(service: Service, attempt: Attempt, files: list[FileVersion]) -> bool:
    """Make the attempt's branch and claim the files there; False where the attempt is used up for something else.

    Raises Retryable where the branch is deleted meanwhile: a sweep does so while nothing is claimed, and whoever made
    it must hear, not go on with nothing.
    """
    if _is_used_up(service, attempt, files) or not (files := _agree_on_files(service, attempt, files)):
        return False
    try:
        service.branches.create_branch(attempt.branch, service.branches.head(MAIN) or "")
    except Conflict:
        log.info("branch_exists", branch=attempt.branch)
    base = service.branches.base(attempt.branch)
    if service.branches.head(attempt.branch) == base and _claim(service, attempt, base, files):
        return True
    if _is_used_up(service, attempt, files):  # somebody was first who has no business there
        return False
    if not claims_on(service, attempt):
        raise Retryable(f"branch {attempt.branch} was deleted before its files were claimed; do the same again")
    return True


def _is_used_up(service: Service, attempt: Attempt, files: list[FileVersion]) -> bool:
    """Whether the attempt claims none of these files but others, or had a job and has no branch any more, or somebody
    committed to its branch before anything was claimed there: nothing on it could be published.

    Its job, its run and its report are found by its number, so another use of it would be taken for the first.
    """
    had_a_job = service.store.read(job_name(attempt)) is not None  # looked at first: the branch is older than its job
    head = service.branches.head(attempt.branch)
    if head is None:
        return had_a_job
    base = base_of(service, attempt)
    claims = claims_since(service, attempt, base, head)
    if not claims:
        return head != base
    return not {claim.file.id for claim in claims} & {file.id for file in files}


def _agree_on_files(service: Service, attempt: Attempt, files: list[FileVersion]) -> list[FileVersion]:
    """All files that the attempt is for, by whoever noted it first; none where some of these are not among them. What
    is known of these goes before what was noted: by a listing a version's place among its key's may be another than by
    its event, and whoever found that it is to be tried must not find here that it is overtaken.

    Nessie sees no conflict between claims of different files: a slow worker's would be put on the branch beside
    those of another, whose job runs already. A first attempt needs no note: its batch is named for its files.
    """
    if attempt.number == 1:
        return files
    noted = _note_files(service, attempt, files)
    known = {file.id: file for file in files}
    return [known.get(file.id, file) for file in noted] if known.keys() <= {file.id for file in noted} else []


def _note_files(service: Service, attempt: Attempt, files: list[FileVersion]) -> tuple[FileVersion, ...]:
    """The files that the attempt is for: these, where nobody noted others first."""
    name = f"attempts/{attempt.branch}/files.json"
    service.store.create(name, to_json(files).encode())
    try:
        return from_json(tuple[FileVersion, ...], service.store.read(name) or b"")
    except BROKEN as error:
        what = f"the note {name} can't be read: {error!r}"
        raise Misconfigured(f"{what}. Its files wait until somebody has put it right") from error


def _claim(service: Service, attempt: Attempt, base: str, files: list[FileVersion]) -> bool:
    """Put receipts on the branch, which are claims; merged, they are the decision "published". False where somebody
    else has committed there first. With nothing to claim there is nothing left of the branch.
    """
    receipts = receipts_of(service, Ref(MAIN, base), files)
    reuploads = contract_of(service.store, attempt.table).ingestion.reuploads
    wanted = [
        (file, its)
        for file in sorted(files, key=lambda file: (_tried(receipts, file), file.order), reverse=True)
        if is_open(receipts, file, attempt)
        and not (its := standing(receipts.get(file.key), file, attempt.table, reuploads)).decision
    ]
    first = {file.key: (file, its) for file, its in wanted}  # versions of one key go one after the other, oldest first
    claims = [claimed(receipts, file, attempt, its.replaces) for file, its in first.values()]
    if not claims:
        service.branches.delete_branch(attempt.branch, base)
        return True
    try:
        service.ledger.commit_receipts(attempt.branch, base, claims)
    except Conflict:
        log.info("claimed_already", branch=attempt.branch)
        return False
    return True


def _tried(receipts: Mapping[str, Receipt], file: FileVersion) -> int:
    """The last attempt that rejected it: a version that fails each time keeps no newer one from being tried."""
    entry = entry_of(receipts, file)
    return entry.attempt if entry else 0


def claimed(receipts: dict[str, Receipt], file: FileVersion, attempt: Attempt, replaces: Iterable[str] = ()) -> Receipt:
    """The file's receipt as it will be when the attempt is published in the place of these versions."""
    receipt = receipts.get(file.key) or Receipt(bucket=file.bucket, key=file.key)
    return receipt.decided(Entry.of(file, Decision.PUBLISHED, attempt, replaces=replaces))


def launch(service: Service, attempt: Attempt) -> None:
    """Freeze the job of an attempt whose claims are made, bring to the branch what it carries, take off what its files
    replace, and start it. Launching it again starts nothing new.
    """
    job = job_of(service.store, attempt) or _freeze(service, attempt)
    if job is None:
        return
    bring_carried(service, job)
    take_off_replaced(service, job)
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
    before = earlier(service, attempt, base, claimed_files)
    replacing = any(claim.replaces for claim in claims)  # its rows come from the files, so that the job proves it all
    its = None if replacing else carried(service, attempt, base, plan, before.report, claimed_files)
    files, left_out = (
        (_carried(claimed_files, its.data_files), dict[str, str]())
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
        history=history(service, plan, [(file.key, version) for file in files for version in file.replaces.versions]),
        crashed=before.crashed,
        waited=before.waited,
        carries=service.store.uri(report_name(replace(attempt, number=its.report.attempt))) if its else "",
        left_out=left_out,
    )


def _carried(files: Iterable[FileVersion], data_files: Mapping[str, tuple[str, ...]]) -> list[JobFile]:
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
