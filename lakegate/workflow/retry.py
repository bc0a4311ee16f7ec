"""Retrying and discarding: a person has a rejected batch tried again, or gives it up. Only rejected files change."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakegate.counts import count
from lakegate.errors import Refused, error_note
from lakegate.landing.attempts import Attempt, batches
from lakegate.landing.findings import Finding
from lakegate.landing.lifecycle import Decision, State
from lakegate.workflow.attempts.claims import find_open_claims
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.attempts.start import start_attempts
from lakegate.workflow.ledger.decisions import REASON, record, require_reason
from lakegate.workflow.ledger.rejected import Rejected, rejected_files
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service
from lakegate.workflow.settle import delete_settled, settle


class UnderWay(Refused):
    """An attempt does already what is asked for."""

    def __init__(self, attempt: Attempt) -> None:
        self.attempt, batch, table = attempt, attempt.batch, attempt.table
        super().__init__(
            f"batch {batch} of {table} is already in progress on {attempt.branch}; run: lakegate wait {batch}"
        )


@dataclass(frozen=True, kw_only=True)
class RetryResult:
    """Attempts that are under way, and why the other files of the batch stay rejected, by key."""

    attempts: tuple[Attempt, ...]
    rest: Mapping[str, str]


def retry(service: Service, batch: str, keys: Sequence[str] = ()) -> RetryResult:
    """Start new attempts at a batch's rejected files, with the contract of now: as many as its limits ask for. A second
    call starts those at files that no attempt works on. With `keys`, only files with these landing keys are tried.

    Raise UnderWay if attempts work on all that may be published, and Refused if nothing may.
    """
    rejected, refusals = _free(service, rejected_files(service, batch, keys))
    limits = contract_of(service.store, rejected.table).ingestion
    sizes = {key: len(receipt.to_json()) for key, receipt in rejected.receipts.items()}
    own_files, first = rejected.one_of_each_key, rejected.last.next()
    new_attempts = list(start_attempts(service, first, own_files, lambda files: next(batches(files, limits, sizes))))
    with error_note(f"Attempt a{new_attempts[0].number} of batch {batch} may have started. Run: lakegate show {batch}"):
        attempts = tuple([attempt for attempt in new_attempts if _has_claims(service, attempt)])
    if not attempts:
        raise rejected.refusal(f"none of its files can be retried any more. Run: lakegate show {batch}")
    return RetryResult(attempts=attempts, rest=refusals)


def _free(service: Service, rejected: Rejected) -> tuple[Rejected, dict[str, str]]:
    """Return the files that no attempt works on and that may be published, and why others may not be, by key."""
    attempts_at_work = in_progress(service, rejected)
    free = rejected.without_keys(attempts_at_work)
    if attempts_at_work and not _publishable(service, free)[0].files:
        raise UnderWay(next(iter(attempts_at_work.values())))
    return require_publishable(service, free)


def _has_claims(service: Service, attempt: Attempt) -> bool:
    """Return True if the attempt has claimed something: without claims it has neither a branch nor a job."""
    return service.branches.head(attempt.branch) is not None or job_of(service.store, attempt) is not None


def discard(service: Service, batch: str, reason: str, by: str, keys: Sequence[str] = ()) -> int:
    """Discard a batch's rejected files, or those with these landing keys. Delete the branches that keep no other file,
    and take these files off the others. Return the number of files.
    """
    reason, by = require_reason(reason), by[:REASON]
    rejected = require_idle(service, rejected_files(service, batch, keys))
    attempt = rejected.last.next()
    findings = [Finding(file=file, reasons=entry.reasons) for file, entry in rejected.files]
    discarded = record(service, attempt, Decision.DISCARDED, findings, reason=reason, by=by)
    if discarded:
        with error_note(
            f"{count(len(discarded), 'file', 'was', 'were')} discarded from batch {batch}; the next sweep does the rest"
        ):
            delete_settled(service, attempt)
            for rejecting in rejected.attempts if keys else ():
                settle(service, rejecting)  # its branch still has what was discarded
    return len(discarded)


def require_idle(service: Service, rejected: Rejected) -> Rejected:
    """Return the same. Raise UnderWay if an attempt works on one of these files."""
    for attempt in in_progress(service, rejected).values():
        raise UnderWay(attempt)
    return rejected


def in_progress(service: Service, rejected: Rejected) -> dict[str, Attempt]:
    """Return the attempts that work on these files, by key."""
    files = [file for file, _ in rejected.files]
    claims = find_open_claims(service, [file.key for file in files], rejected.receipts, rejected.table)
    files_at_work = [file for file in files if claims.state(file, rejected.receipts) is State.IN_PROGRESS]
    return {file.key: attempt for file in files_at_work if (attempt := claims.attempt(file))}


def require_publishable(service: Service, rejected: Rejected) -> tuple[Rejected, dict[str, str]]:
    """Return the files that may be published by the contract of now, and why the others may not, by key. Raise Refused
    if none may.
    """
    free, refusals = _publishable(service, rejected)
    if not free.files:
        key, reason = next(iter(refusals.items()))
        raise rejected.refusal(f'{key}: {reason}. Run: lakegate discard {rejected.batch} --why "…"')
    return free, refusals


def _publishable(service: Service, rejected: Rejected) -> tuple[Rejected, dict[str, str]]:
    return rejected.publishable(contract_of(service.store, rejected.table).ingestion.reuploads)
