"""Opening an attempt: its branch, its claims, its staged files, its job. Each step may be done again from the start."""

from collections.abc import Callable, Iterable, Iterator, Mapping

import structlog

from lakegate.audit.model.codec import BROKEN, from_json, to_json
from lakegate.errors import Conflict, Misconfigured, Retryable, noting
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.landing.standing import is_open, standing
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.claims import base_of, claim_receipt, claims_since, files_claimed_on
from lakegate.workflow.attempts.job import job_name
from lakegate.workflow.attempts.launch import launch
from lakegate.workflow.ledger.receipts import receipts_of
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service

log = structlog.get_logger()


def start_attempt(service: Service, attempt: Attempt, files: Iterable[FileVersion]) -> Attempt:
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


def start_attempts(
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
    if not files_claimed_on(service, attempt):
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
    its event, and whoever found that it is to be tried must not find here that it is superseded.

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
    claims = [claim_receipt(receipts, file, attempt, its.replaces) for file, its in first.values()]
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
