"""Rejected files of a batch, as main has them now. It decides nothing, and does not ask who works on them."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from lakegate.errors import Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.landing.standing import first_of_each_key, standing
from lakegate.ports import MAIN, Decided, Ref
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.ledger.receipts import receipts_at
from lakegate.workflow.service import Service


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """Files of a batch that are rejected now, each with its receipt's entry; `receipts` are those of their keys."""

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
        """The versions to try first, oldest first."""
        first = first_of_each_key((file, entry.attempt) for file, entry in self.files)
        return sorted(first, key=lambda file: file.order)

    def without_keys(self, keys: Container[str]) -> "Rejected":
        return replace(self, files=tuple(pair for pair in self.files if pair[0].key not in keys))

    def publishable(self, reuploads: Reuploads) -> tuple["Rejected", dict[str, str]]:
        """Return the files that may still be published, and why the others may not, by key: other versions of these
        keys are on main, and `reuploads` of the contract decides.
        """
        stand = {file.id: standing(self.receipts[file.key], file, self.table, reuploads) for file, _ in self.files}
        closed = {file.key: its.reason for file, _ in self.files if (its := stand[file.id]).decision}
        return replace(self, files=tuple(it for it in self.files if not stand[it[0].id].decision)), closed

    def refused(self, why: str) -> Refused:
        return Refused(f"batch {self.batch} of {self.table}: {why}")


def decisions_of(service: Service, batch: str) -> list[Decided]:
    """Return the decisions of a batch, newest first. Raise Misconfigured if main's log has none."""
    found = list(service.ledger.decisions(DECISIONS, batch=batch))
    if not found:
        raise Misconfigured(f"batch {batch} has no decision on main; run: lakegate status")
    return found


def rejected_files(service: Service, batch: str) -> Rejected:
    """Return the rejected files of a batch. Raise Misconfigured if the batch was never decided, and Refused if none of
    its files is rejected.
    """
    decisions = decisions_of(service, batch)
    found = rejections(service, decisions[0].note.table, batch, decisions)
    if not found.files:
        raise found.refused(f"{_why_none(decisions)}; run: lakegate show {batch}")
    return found


def _why_none(decisions: Sequence[Decided]) -> str:
    files = [file for decided in decisions for file in decided.note.files]
    if any(file.would_reject or file.would_quarantine for file in files):
        return "its contract observes, so its files are published and there is nothing to do for them"
    return "none of its files is rejected"


def rejections(service: Service, table: str, batch: str, decisions: Sequence[Decided]) -> Rejected:
    """Return the files that are rejected now, of those that these decisions of the batch name; perhaps none."""
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
