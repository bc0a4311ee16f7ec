"""What a person may do with a rejected batch: try it again, or discard it. Only rejected files can be changed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakegate.counts import count
from lakegate.errors import Misconfigured, Refused, noting
from lakegate.landing.attempts import Attempt, batches
from lakegate.landing.files import FileVersion
from lakegate.landing.findings import Finding
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.landing.standing import standing
from lakegate.ports import MAIN, Decided, Ref
from lakegate.workflow.attempts.baseline import DECISIONS
from lakegate.workflow.attempts.claims import find_open_claims
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.attempts.start import start_attempts
from lakegate.workflow.ledger.decisions import record
from lakegate.workflow.ledger.receipts import receipts_at
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service
from lakegate.workflow.settle import delete_settled


class UnderWay(Refused):
    """What is asked for is being done already."""


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

    @property
    def one_of_each_key(self) -> list[FileVersion]:
        """Versions of one key are tried one after the other: first what was tried least, of these the oldest."""
        tried = sorted(self.files, key=lambda pair: (pair[1].attempt, pair[0].order), reverse=True)
        first = {file.key: file for file, _ in tried}
        return sorted(first.values(), key=lambda file: file.order)

    def refused(self, why: str) -> Refused:
        return Refused(f"batch {self.batch} of {self.table}: {why}")

    def under_way(self, attempt: Attempt) -> UnderWay:
        return UnderWay(
            f"batch {self.batch} of {self.table} is being worked on at {attempt.branch}; "
            f"run: lakegate wait {self.batch}"
        )


def decisions_of(service: Service, batch: str) -> list[Decided]:
    """The decisions of a batch, newest first. Raises Misconfigured where main's log has none."""
    found = list(service.ledger.decisions(DECISIONS, batch=batch))
    if not found:
        raise Misconfigured(f"batch {batch} was never decided; run: lakegate status")
    return found


def rejected(service: Service, batch: str) -> Rejected:
    """What is rejected of a batch. Raises Refused where nothing is, or where some of it is being worked on."""
    found = _rejected(service, batch)
    if attempt := worked_on(service, found):
        raise found.under_way(attempt)
    return found


def _rejected(service: Service, batch: str) -> Rejected:
    decisions = decisions_of(service, batch)
    table = decisions[0].note.table
    found = rejections(service, table, batch, decisions)
    if not found.files:
        raise Refused(f"batch {batch} of {table}: none of its files is rejected; run: lakegate show {batch}")
    return found


def rejections(service: Service, table: str, batch: str, decisions: Sequence[Decided]) -> Rejected:
    """What is rejected of a batch by now, by its decisions; perhaps nothing."""
    keys = {file.key for decided in decisions for file in decided.note.files}
    receipts = receipts_at(service, Ref(MAIN), keys)
    files = [
        (entry.file(receipt.bucket, receipt.key), entry)
        for receipt in receipts.values()
        for entry in receipt.entries
        if entry.batch == batch and entry.decision is Decision.REJECTED
    ]
    ordered = tuple(sorted(files, key=lambda pair: pair[0].order))
    return Rejected(table=table, batch=batch, files=ordered, receipts=receipts)


def _claimed(service: Service, found: Rejected) -> dict[str, Attempt]:
    """The attempts that work on them, by key."""
    files = [file for file, _ in found.files]
    claims = find_open_claims(service, [file.key for file in files], found.receipts, found.table)
    return {file.key: attempt for file in files if (attempt := claims.attempt(file))}


def worked_on(service: Service, found: Rejected) -> Attempt | None:
    """The attempt that tries some of these files again, if one does."""
    return next(iter(_claimed(service, found).values()), None)


def without_closed(service: Service, found: Rejected) -> tuple[Rejected, dict[str, str]]:
    """What may be published of them still, by the contract of now, and why the rest may not, by key: another version of
    its key is on main. Raises Refused where nothing is left.
    """
    still, left = _not_closed(service, found)
    if not still.files:
        key, why = next(iter(left.items()))
        raise found.refused(f'{key}: {why}. Run: lakegate discard {found.batch} --why "…"')
    return still, left


def _not_closed(service: Service, found: Rejected) -> tuple[Rejected, dict[str, str]]:
    reuploads = contract_of(service.store, found.table).ingestion.reuploads
    stand = {file.id: standing(found.receipts[file.key], file, found.table, reuploads) for file, _ in found.files}
    left = {file.key: its.reason for file, _ in found.files if (its := stand[file.id]).decision}
    files = tuple(pair for pair in found.files if not stand[pair[0].id].decision)
    return replace(found, files=files), left


@dataclass(frozen=True, kw_only=True)
class Retried:
    """The attempts that are under way, and why the files that they leave out stay rejected, by key."""

    attempts: tuple[Attempt, ...]
    left: Mapping[str, str]


def retry(service: Service, batch: str) -> Retried:
    """Start new attempts at a batch's rejected files, with the contract of now: as many as its limits ask for. Done
    again, it goes on with those that nobody works on. Raises UnderWay where somebody does on all.
    """
    found, left = _free(service, _rejected(service, batch))
    limits = contract_of(service.store, found.table).ingestion
    sizes = {key: len(receipt.to_json()) for key, receipt in found.receipts.items()}
    its, first = found.one_of_each_key, found.last.next()
    opened = list(start_attempts(service, first, its, lambda files: next(batches(files, limits, sizes))))
    with noting(f"Attempt a{opened[0].number} at {batch} may be under way all the same. Run: lakegate show {batch}"):
        attempts = tuple([attempt for attempt in opened if _is_there(service, attempt)])
    if not attempts:
        raise found.refused(f"nothing of it may be tried by now. Run: lakegate show {batch}")
    return Retried(attempts=attempts, left=left)


def _free(service: Service, found: Rejected) -> tuple[Rejected, dict[str, str]]:
    """Of those that nobody works on: what may be published still, and why the rest may not."""
    claimed = _claimed(service, found)
    free = replace(found, files=tuple(pair for pair in found.files if pair[0].key not in claimed))
    if claimed and not _not_closed(service, free)[0].files:
        raise found.under_way(next(iter(claimed.values())))
    return without_closed(service, free)


def _is_there(service: Service, attempt: Attempt) -> bool:
    """Whether it has claimed something: without claims it has neither branch nor job."""
    return service.branches.head(attempt.branch) is not None or job_of(service.store, attempt) is not None


def discard(service: Service, batch: str, why: str, by: str) -> int:
    """Give up a batch's rejected files for good: receipts on main, their branches deleted. Returns how many files."""
    found = rejected(service, batch)
    attempt = found.last.next()
    findings = [Finding(file=file, reasons=entry.reasons) for file, entry in found.files]
    discarded = record(service, attempt, Decision.DISCARDED, findings, why=why, by=by)
    if discarded:
        with noting(f"{count(len(discarded), 'file')} of {batch} discarded all the same; the next sweep tidies up"):
            delete_settled(service, attempt)
    return len(discarded)
