"""Starting an attempt: its number is taken, its branch made, its files claimed, its job launched.

Each step may be done again from the start. A number belongs to the files that it was first used for, because an
attempt's job, run and report are found by it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from enum import Enum

import structlog

from lakegate.audit.model.codec import PARSE_ERRORS, from_json, to_json
from lakegate.errors import Conflict, Misconfigured, Retryable, error_note
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.landing.standing import first_of_each_key, is_open, standing_of
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.claims import base_of, claim_receipt, claims_since
from lakegate.workflow.attempts.job import job_name
from lakegate.workflow.attempts.launch import NO_NEIGHBOURS, Neighbours, launch
from lakegate.workflow.ledger.receipts import receipts_of
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service

log = structlog.get_logger()


def start_attempt(
    service: Service, attempt: Attempt, files: Iterable[FileVersion], neighbours: Neighbours = NO_NEIGHBOURS
) -> Attempt:
    """Make the attempt's branch from main's head, claim the files on it and launch its job.

    Files that main does not let in any more are left out, for whoever receives them again, as are those that the
    attempt before it has rejected meanwhile: only a person may retry them. If none is left, the branch is deleted.
    Return the attempt, which has a later number if the given one is used for something else. If its job cannot be
    launched now, its files are claimed all the same, so that the next sweep launches it.
    """
    files, last = list(files), replace(attempt, number=attempt.number - 1)
    while not _claim(service, attempt, files, last):
        attempt = attempt.next()
    _launch(service, attempt, neighbours)
    return attempt


def start_attempts(
    service: Service,
    attempt: Attempt,
    files: Iterable[FileVersion],
    chunk: Callable[[list[FileVersion]], list[FileVersion]],
) -> Iterator[Attempt]:
    """Start as many attempts as the files need, from this number on. Each takes the files that are recorded for it, or
    the `chunk` of what is left. The notes keep two workers, or a second try, from giving one file to two attempts.
    """
    rest = list(files)
    while rest:
        ids = {file.id for file in _record_files(service, attempt, chunk(rest))}
        own_files = [file for file in rest if file.id in ids]
        if own_files and _claim(service, attempt, own_files, attempt):
            rest = [file for file in rest if file.id not in ids]
            _launch(service, attempt)
            yield attempt
        attempt = attempt.next()


def _launch(service: Service, attempt: Attempt, neighbours: Neighbours = NO_NEIGHBOURS) -> None:
    with error_note(f"Attempt a{attempt.number} of batch {attempt.batch} is noted; the next sweep starts it"):
        launch(service, attempt, neighbours)


def _claim(service: Service, attempt: Attempt, files: list[FileVersion], last: Attempt) -> bool:
    """Claim those files on the attempt's branch that are open to the `last` attempt, which may be this one. Return
    False if its number is used for something else.

    Raise Retryable if the branch is deleted meanwhile. A sweep deletes branches without claims, and the caller must
    know that its files are not claimed.
    """
    use = _use_of(service, attempt, files)
    if use is Use.OTHER or not (files := _agree_on_files(service, attempt, files)):
        return False
    if use is Use.THESE_FILES or _claim_on_new_branch(service, attempt, files, last):
        return True
    use = _use_of(service, attempt, files)  # another worker was first
    if use is Use.FREE:
        raise Retryable(f"branch {attempt.branch} was deleted before its files were claimed. Try again")
    return use is Use.THESE_FILES


class Use(Enum):
    """An attempt's number may be unused, used for some of the files in question, or used for something else."""

    FREE = "nothing"
    THESE_FILES = "these files"
    OTHER = "something else"


def _use_of(service: Service, attempt: Attempt, files: Iterable[FileVersion]) -> Use:
    """Return what the attempt's number is used for. A job without a branch is something else, as are claims of other
    files alone, and commits to a branch that has no claims: nothing on it could be published.
    """
    had_a_job = service.store.read(job_name(attempt)) is not None  # read before the branch, which is older than its job
    head = service.branches.head(attempt.branch)
    if head is None:
        return Use.OTHER if had_a_job else Use.FREE
    base = base_of(service, attempt)
    claimed_ids = {claim.file.id for claim in claims_since(service, attempt, base, head)}
    if not claimed_ids and head == base:
        return Use.FREE
    return Use.OTHER if claimed_ids.isdisjoint(file.id for file in files) else Use.THESE_FILES


def _agree_on_files(service: Service, attempt: Attempt, files: list[FileVersion]) -> list[FileVersion]:
    """Return all files that the attempt is for, as recorded first; none if some of these are not among them. These are
    returned as the caller has them: a listing may order the versions of a key otherwise than their events do, and the
    caller has found by its own order that they are to be tried.

    Nessie sees no conflict between claims of different files, so a slow worker could add its claims to another's branch
    whose job runs already. A first attempt needs no note, because its batch is named for its files.
    """
    if attempt.number == 1:
        return files
    files_for_attempt = _record_files(service, attempt, files)
    files_by_id = {file.id: file for file in files}
    return (
        [files_by_id.get(file.id, file) for file in files_for_attempt]
        if files_by_id.keys() <= {file.id for file in files_for_attempt}
        else []
    )


def _record_files(service: Service, attempt: Attempt, files: list[FileVersion]) -> tuple[FileVersion, ...]:
    """Record the files as those that the attempt is for, unless others are recorded already. Return the recorded."""
    name = f"attempts/{attempt.branch}/files.json"
    service.store.create(name, to_json(files).encode())
    try:
        return from_json(tuple[FileVersion, ...], service.store.read(name) or b"")
    except PARSE_ERRORS as error:
        problem = f"the note {name} can't be read: {error!r}"
        raise Misconfigured(f"{problem}. The attempt's files wait until it is repaired") from error


def _claim_on_new_branch(service: Service, attempt: Attempt, files: list[FileVersion], last: Attempt) -> bool:
    """Make the branch, if it is not there, and put receipts on it, which are claims; merged, they are the decision
    "published". Delete the branch if there is nothing to claim. Return False if another worker commits to it first.
    """
    try:
        service.branches.create_branch(attempt.branch, service.branches.head(MAIN) or "")
    except Conflict:
        log.info("branch_exists", branch=attempt.branch)
    base = service.branches.base(attempt.branch)
    if service.branches.head(attempt.branch) != base:
        return False
    receipts = receipts_of(service, Ref(MAIN, base), files)
    reuploads = contract_of(service.store, attempt.table).ingestion.reuploads
    open_files = [file for file in files if is_open(receipts, file, last)]
    claims = _claims_of(receipts, attempt, open_files, reuploads)
    if not claims:
        service.branches.delete_branch(attempt.branch, base)
        return True
    try:
        service.ledger.commit_receipts(attempt.branch, base, claims)
    except Conflict:
        log.info("claimed_already", branch=attempt.branch)
        return False
    return True


def _claims_of(
    receipts: dict[str, Receipt], attempt: Attempt, files: Iterable[FileVersion], reuploads: Reuploads
) -> list[Receipt]:
    """Return receipts that claim one version of each key, of those open files that main's receipts let in."""
    standings = {file: standing_of(receipts.get(file.key), file, attempt.table, reuploads) for file in files}
    open_files = [file for file, standing in standings.items() if not standing.decision]
    first = first_of_each_key(
        (file, entry.attempt if (entry := entry_of(receipts, file)) else 0) for file in open_files
    )
    return [claim_receipt(receipts, file, attempt, standings[file].replaces) for file in first]
