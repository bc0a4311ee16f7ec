"""Rejected files of a batch, as main has them now. It decides nothing, and does not ask who works on them."""

import shlex
from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches

from lakegate.counts import count
from lakegate.errors import Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.landing.standing import first_of_each_key, standing_of
from lakegate.ports import MAIN, LogEntry, Ref
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.ledger.receipts import receipts_at
from lakegate.workflow.service import Service

MOST_NAMES = 3
"""Keys that an error names, and `show` has the others."""
_MOST_KEYS, _LONGEST = 1_000, 100  # keys, and letters of a name, that a wrong key is compared with


@dataclass(frozen=True, kw_only=True)
class Rejected:
    """Files of a batch that are rejected now, each with its receipt's entry; `receipts` are those of their keys. The
    `last` attempt is that of all rejected files of the batch, whichever of them these are.
    """

    table: str
    batch: str
    files: tuple[tuple[FileVersion, Entry], ...]
    receipts: Mapping[str, Receipt]
    last: Attempt

    @property
    def one_of_each_key(self) -> list[FileVersion]:
        """The versions to try first, oldest first."""
        first = first_of_each_key((file, entry.attempt) for file, entry in self.files)
        return sorted(first, key=lambda file: file.order)

    @property
    def attempts(self) -> list[Attempt]:
        """The attempts that rejected the files. Number 0 had neither a job nor a branch."""
        numbers = sorted({entry.attempt for _, entry in self.files} - {0})
        return [replace(self.last, number=number) for number in numbers]

    def with_keys(self, keys: Container[str]) -> "Rejected":
        return replace(self, files=tuple(pair for pair in self.files if pair[0].key in keys))

    def without_keys(self, keys: Container[str]) -> "Rejected":
        return replace(self, files=tuple(pair for pair in self.files if pair[0].key not in keys))

    def publishable(self, reuploads: Reuploads) -> tuple["Rejected", dict[str, str]]:
        """Return the files that may still be published, and why the others may not, by key: other versions of these
        keys are on main, and `reuploads` of the contract decides.
        """
        standings = {
            file.id: standing_of(self.receipts[file.key], file, self.table, reuploads) for file, _ in self.files
        }
        reasons = {file.key: standing.reason for file, _ in self.files if (standing := standings[file.id]).decision}
        return replace(self, files=tuple(pair for pair in self.files if not standings[pair[0].id].decision)), reasons

    def refusal(self, reason: str) -> Refused:
        return Refused(f"batch {self.batch} of {self.table}: {reason}")


def decisions_of(service: Service, batch: str) -> list[LogEntry]:
    """Return the decisions of a batch, newest first. Raise Misconfigured if main's log has none."""
    decisions = list(service.ledger.decisions(DECISIONS, batch=batch))
    if not decisions:
        raise Misconfigured(f"batch {batch} has no decision on main; run: lakegate status")
    return decisions


def rejected_files(service: Service, batch: str, keys: Sequence[str] = ()) -> Rejected:
    """Return the rejected files of a batch, or those with these landing keys alone. Raise Misconfigured if the batch
    was never decided or has no file with one of the keys, and Refused if none of its files is rejected, or one that is
    asked for is not.
    """
    decisions = decisions_of(service, batch)
    rejected = rejections(service, decisions[0].record.table, batch, decisions)
    selection = rejected.with_keys(keys) if keys else rejected
    _require_each_once(rejected, keys)
    for key in keys:
        if key not in {file.key for file, _ in selection.files}:
            raise _not_rejected(service, rejected, key, decisions)
    if not rejected.files:
        raise rejected.refusal(f"{_why_none(decisions)}; run: lakegate show {batch}")
    return selection


def _require_each_once(rejected: Rejected, keys: Sequence[str]) -> None:
    """Raise Misconfigured if a key is given twice: another one may have been meant."""
    repeated_key = next((key for key, number in Counter(keys).items() if number > 1), None)
    if repeated_key is not None:
        times = count(keys.count(repeated_key), "time")
        raise Misconfigured(
            f"batch {rejected.batch} of {rejected.table}: --file {repeated_key} is given {times}. "
            f"Give each file once; run: lakegate show {rejected.batch}"
        )


def _not_rejected(
    service: Service, rejected: Rejected, key: str, decisions: Sequence[LogEntry]
) -> Misconfigured | Refused:
    """Return why a file that is asked for is not among the rejected ones. Its receipt knows better than main's log,
    whose notes may leave out names; but it may be truncated.
    """
    receipt = receipts_at(service, Ref(MAIN), [key]).get(key)
    states = [entry.decision for entry in (receipt.entries if receipt else ()) if entry.batch == rejected.batch]
    states += [entry.record.decision for entry in decisions if key in {file.key for file in entry.record.files}]
    last = next(iter(states), None)
    if last is None:
        keys = list(dict.fromkeys(file.key for decision in decisions for file in decision.record.files))
        return Misconfigured(
            f"batch {rejected.batch} of {rejected.table} has decided no file {key}. {_keys_like(key, keys)}"
            f"All of its files: lakegate show {rejected.batch}"
        )
    state = "no longer rejected" if last is Decision.REJECTED else f"{last} and not rejected"
    return rejected.refusal(f"{key} is {state}; run: lakegate show {rejected.batch}")


def _keys_like(key: str, keys: Sequence[str]) -> str:
    """Return the keys that may have been meant instead, or else the first ones, as a sentence."""
    names = {other: _name(other) for other in keys[:_MOST_KEYS]}
    near = set(get_close_matches(_name(key), names.values(), n=MOST_NAMES, cutoff=0.85))
    alike = [other for other, name in names.items() if name == _name(key)]
    alike = alike or [other for other, name in names.items() if name in near]
    if alike and key:
        return f"Did you mean {' or '.join(f'--file {shlex.quote(other)}' for other in alike[:MOST_NAMES])}? "
    rest = f" and {len(keys) - MOST_NAMES:,} more" if len(keys) > MOST_NAMES else ""
    return f"It has {', '.join(keys[:MOST_NAMES])}{rest}. " if keys else ""


def _name(key: str) -> str:
    return key.rpartition("/")[2][-_LONGEST:].casefold()


def _why_none(decisions: Sequence[LogEntry]) -> str:
    files = [file for decision in decisions for file in decision.record.files]
    if any(file.would_reject or file.would_quarantine for file in files):
        return "its contract observes, so its files are published and there is nothing to do for them"
    return "none of its files is rejected"


def rejections(service: Service, table: str, batch: str, decisions: Sequence[LogEntry]) -> Rejected:
    """Return the files that are rejected now, of those that these decisions of the batch name; perhaps none."""
    keys = {file.key for decision in decisions for file in decision.record.files}
    receipts = receipts_at(service, Ref(MAIN), keys)
    files = [
        (entry.file(receipt.bucket, receipt.key), entry)
        for receipt in receipts.values()
        for entry in receipt.entries
        if entry.batch == batch and entry.decision is Decision.REJECTED
    ]
    in_order = tuple(sorted(files, key=lambda pair: pair[0].order))
    last = Attempt(table=table, batch=batch, number=max((entry.attempt for _, entry in files), default=0))
    return Rejected(table=table, batch=batch, files=in_order, receipts=receipts, last=last)
