"""Standing of a file version whose key has other versions on main, by its contract and the order of upload.

It reads receipts alone and decides nothing.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt, entry_of

IDENTICAL = "the same bytes are already published under this key"  # receipts hold it, and standings depend on it
SUPERSEDED = "superseded: a newer version of this key, {current}, is published or has the published bytes"
IGNORED_REASON = "ignored: this key's version {current} is on main, and the contract ignores re-uploads"
REFUSED_REASON = (
    "already published: this key's version {current} is on main, and the contract rejects re-uploads. To publish this "
    "one, push the contract with reuploads: replace or append, then run: lakegate retry"
)


@dataclass(frozen=True, kw_only=True)
class Standing:
    """A file version's standing among the versions of its key. With a `decision` it needs no attempt, and `reason` says
    why. Otherwise it is ingested, and replaces the versions in `replaces` (their ids).
    """

    decision: Decision | None = None
    reason: str = ""
    replaces: frozenset[str] = frozenset()


def is_open(receipts: Mapping[str, Receipt], file: FileVersion, attempt: Attempt) -> bool:
    """Return True if an attempt may still decide this file version, by the receipts on main.

    A published or discarded one is closed. A rejected one is open to later attempts of its batch alone.
    """
    entry = entry_of(receipts, file)
    if entry is None:
        return True
    is_earlier_attempt = entry.batch == attempt.batch and entry.attempt < attempt.number
    return entry.decision is Decision.REJECTED and is_earlier_attempt


def first_of_each_key(attempts: Iterable[tuple[FileVersion, int]]) -> list[FileVersion]:
    """Return one version of each key, because versions of a key are tried one after the other: the one that the
    earliest attempt rejected last (0: none did), and of these the oldest. So a version that fails each time goes after
    newer ones, and these are tried, too.
    """
    last_first = sorted(attempts, key=lambda pair: (pair[1], pair[0].order), reverse=True)
    return list({file.key: file for file, _ in last_first}.values())


def standing_of(receipt: Receipt | None, file: FileVersion, table: str, reuploads: Reuploads) -> Standing:
    """Return the file's standing by the key's receipt on main. Its own entry does not count, nor do versions that were
    published to another table while that table's contract routed the key.
    """
    if receipt is None:
        return Standing()
    rivals = [entry for entry in receipt.on_main if entry.table == table and entry.version_id != file.version_id]
    if not rivals:
        return Standing()
    is_there = file.content in {entry.content for entry in rivals} - {None}
    if is_there and (reuploads is not Reuploads.REPLACE or len(rivals) == 1):  # of several versions, one must stay
        return Standing(decision=Decision.DISCARDED, reason=IDENTICAL)
    if reuploads is Reuploads.APPEND:
        return Standing()
    if reuploads is Reuploads.REPLACE:
        return _in_order(receipt, file, rivals)
    decision, reason = _DECISIONS_AFTER_FIRST[reuploads]
    return Standing(decision=decision, reason=reason.format(current=rivals[-1].version_id))


def _in_order(receipt: Receipt, file: FileVersion, rivals: list[Entry]) -> Standing:
    current = max([*rivals, *_repeat_entries(receipt, rivals)], key=lambda entry: entry.order)
    if file.order > current.order:
        return Standing(replaces=frozenset(entry.version_id for entry in rivals))
    return Standing(decision=Decision.DISCARDED, reason=SUPERSEDED.format(current=current.version_id))


def _repeat_entries(receipt: Receipt, on_main: Iterable[Entry]) -> list[Entry]:
    """Return the versions that were discarded because their bytes are on main, in the same table. Each is a new upload
    of those bytes, so it supersedes older versions even if these come, or are retried, later. A version that a person
    discarded says nothing.
    """
    contents = {(entry.table, entry.content) for entry in on_main}
    return [
        entry for entry in receipt.entries if IDENTICAL in entry.reasons and (entry.table, entry.content) in contents
    ]


def truncate(receipt: Receipt, before: datetime) -> tuple[Receipt, tuple[Entry, ...]]:
    """Split a receipt into what stays and what is closed. Closed entries landed before that time, were replaced or
    discarded, and no standing depends on them. The newest of those that repeat bytes on main stays. So do rejected
    ones, which may be retried, and the last entry, which is what people ask for.
    """
    repeats = sorted(_repeat_entries(receipt, receipt.on_main), key=lambda entry: entry.order)
    newest = {(entry.table, entry.content): entry for entry in repeats}.values()
    needed_ids = {entry.version_id for entry in (*receipt.on_main, *newest, *receipt.entries[-1:])}
    closed_entries = tuple(
        entry
        for entry in receipt.entries
        if entry.landed_at < before and entry.decision is not Decision.REJECTED and entry.version_id not in needed_ids
    )
    closed_ids = {entry.version_id for entry in closed_entries}
    open_entries = tuple(entry for entry in receipt.entries if entry.version_id not in closed_ids)
    return replace(receipt, entries=open_entries, truncated=max(before, receipt.truncated or before)), closed_entries


_DECISIONS_AFTER_FIRST = {
    Reuploads.IGNORE: (Decision.DISCARDED, IGNORED_REASON),
    Reuploads.REJECT: (Decision.REJECTED, REFUSED_REASON),
}
