"""What a person may do with a rejected batch: try it again, or discard it. Only rejected files can be changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakegate.counts import count
from lakegate.errors import Misconfigured, Refused, noting
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Decision, Entry, Receipt
from lakegate.landing.standing import standing
from lakegate.ports import MAIN, Decided
from lakegate.workflow.archive import receipts_at
from lakegate.workflow.attempt import open_attempt
from lakegate.workflow.claims import job_of, open_claims
from lakegate.workflow.decide import Finding, decide
from lakegate.workflow.history import DECISIONS
from lakegate.workflow.service import Service
from lakegate.workflow.settle import delete_settled
from lakegate.workflow.shelf import contract_of


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """The files of a batch that are rejected now, each with its receipt's entry; `receipts` are all of their keys'."""

    table: str
    batch: str
    files: tuple[tuple[FileVersion, Entry], ...]
    receipts: Mapping[str, Receipt]

    @property
    def last(self) -> Attempt:
        number = max(entry.attempt for _, entry in self.files)
        return Attempt(table=self.table, batch=self.batch, number=number)

    def refused(self, why: str) -> Refused:
        return Refused(f"batch {self.batch} of {self.table}: {why}")


def decisions_of(service: Service, batch: str) -> list[Decided]:
    """The decisions of a batch, newest first. Raises Misconfigured where main's log has none."""
    found = list(service.catalog.decisions(DECISIONS, batch=batch))
    if not found:
        raise Misconfigured(f"batch {batch} was never decided; run: lakegate status")
    return found


def rejected(service: Service, batch: str) -> Rejected:
    """What is rejected of a batch. Raises Refused where nothing is, or where it is being worked on."""
    decisions = decisions_of(service, batch)
    table = decisions[0].note.table
    found = rejections(service, table, batch, decisions)
    if not found.files:
        raise Refused(f"batch {batch} of {table}: none of its files is rejected; run: lakegate show {batch}")
    if attempt := worked_on(service, found):
        raise Refused(f"batch {batch} of {table} is being worked on at {attempt.branch}; run: lakegate wait {batch}")
    return found


def rejections(service: Service, table: str, batch: str, decisions: Sequence[Decided]) -> Rejected:
    """What is rejected of a batch by now, by its decisions; perhaps nothing."""
    keys = {file.key for decided in decisions for file in decided.note.files}
    receipts = receipts_at(service, MAIN, keys)
    files = [
        (entry.file(receipt.bucket, receipt.key), entry)
        for receipt in receipts.values()
        for entry in receipt.entries
        if entry.batch == batch and entry.decision is Decision.REJECTED
    ]
    ordered = tuple(sorted(files, key=lambda pair: pair[0].order))
    return Rejected(table=table, batch=batch, files=ordered, receipts=receipts)


def worked_on(service: Service, found: Rejected) -> Attempt | None:
    """The attempt that tries some of these files again, if one does."""
    claims = open_claims(service, [file.key for file, _ in found.files], found.receipts)
    return next((attempt for file, _ in found.files if (attempt := claims.attempt(file))), None)


def without_closed(service: Service, found: Rejected) -> tuple[Rejected, dict[str, str]]:
    """What may be published of them still, by the contract of now, and why the rest may not, by key: another version of
    its key is on main. Raises Refused where nothing is left.
    """
    reuploads = contract_of(service.store, found.table).ingestion.reuploads
    stand = {file.id: standing(found.receipts[file.key], file, found.table, reuploads) for file, _ in found.files}
    left = {file.key: its.reason for file, _ in found.files if (its := stand[file.id]).decision}
    files = tuple(pair for pair in found.files if not stand[pair[0].id].decision)
    if not files:
        key, why = next(iter(left.items()))
        raise found.refused(f'{key}: {why}. Run: lakegate discard {found.batch} --why "…"')
    return replace(found, files=files), left


@dataclass(frozen=True, kw_only=True)
class Retried:
    """The attempt that is under way, and why the files that it leaves out stay rejected, by key."""

    attempt: Attempt
    left: Mapping[str, str]


def retry(service: Service, batch: str) -> Retried:
    """Start a new attempt at a batch's rejected files, with the contract of now."""
    found = rejected(service, batch)
    _, left = without_closed(service, found)
    attempt = open_attempt(service, found.last.next(), [file for file, _ in found.files])  # which leaves them out, too
    with noting(f"Attempt a{attempt.number} at {batch} may be under way all the same. Run: lakegate show {batch}"):
        is_open = service.catalog.head(attempt.branch) is not None or job_of(service.store, attempt) is not None
    if not is_open:
        raise found.refused(f"nothing of it may be tried by now. Run: lakegate show {batch}")
    return Retried(attempt=attempt, left=left)


def discard(service: Service, batch: str, why: str, by: str) -> int:
    """Give up a batch's rejected files for good: receipts on main, their branches deleted. Returns how many files."""
    found = rejected(service, batch)
    attempt = found.last.next()
    findings = [Finding(file=file, reasons=entry.reasons) for file, entry in found.files]
    discarded = decide(service, attempt, Decision.DISCARDED, findings, why=why, by=by)
    if discarded:
        with noting(f"{count(len(discarded), 'file')} of {batch} discarded all the same; the next sweep tidies up"):
            delete_settled(service, attempt)
    return len(discarded)
