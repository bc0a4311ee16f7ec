"""Receipts, read from main and from the archive: objects in the service's bucket that hold what has left main.

Nessie's merges grow slower with every content on main, so main keeps the receipts of the last days alone. A key's
receipt is looked for on main first and in the archive then, so every decision is known for ever. An object of the
archive may be older than main's receipt of the same key, which counts; it is never newer.

A key that never rests keeps its receipt on main. Main has the entries that may still matter, and the archive has the
closed ones, which are read only for a version that main's receipt may lack.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt, receipt_name
from lakegate.ports import MAIN, Ref
from lakegate.workflow.service import Service

PREFIX, CLOSED = "receipts/", "closed/"


def receipts_at(service: Service, ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
    """Return the receipts of these landing keys at a commit of main, or in the archive; keys without one are
    absent. They may lack closed entries.
    """
    wanted = set(keys)
    found = service.ledger.receipts(ref, wanted)
    archived = _read(service, {archived_name(key): key for key in wanted - found.keys()})
    return found | {receipt.key: receipt for receipt in archived}


def receipts_of(service: Service, ref: Ref, files: Iterable[FileVersion]) -> dict[str, Receipt]:
    """Return the receipts of these files' keys, as `receipts_at` does, with every decision on these files."""
    files = list(files)
    return with_closed(service, receipts_at(service, ref, {file.key for file in files}), files)


def main_receipts(service: Service, files: Iterable[FileVersion]) -> tuple[str, dict[str, Receipt]]:
    """Return main's head, and the receipts of these files' keys at that commit."""
    head = service.branches.head(MAIN) or ""
    return head, receipts_of(service, Ref(MAIN, head), files)


def receipts_now(service: Service, files: Iterable[FileVersion]) -> dict[str, Receipt]:
    """Return the receipts of these files' keys on main now. Without files, nothing is asked."""
    files = list(files)
    return main_receipts(service, files)[1] if files else {}


def with_closed(service: Service, receipts: Mapping[str, Receipt], files: Iterable[FileVersion]) -> dict[str, Receipt]:
    """Return these receipts, with the archive's closed entries of those files that they may lack."""
    lacking = {closed_name(it): it.key for it in files if it.key in receipts and receipts[it.key].may_lack(it)}
    return _with(receipts, _read(service, lacking))


def whole_receipt(service: Service, key: str) -> Receipt | None:
    """Return a key's receipt on main with every entry it ever had, or None."""
    found = receipts_at(service, Ref(MAIN), [key])
    if key in found and found[key].truncated:
        names = service.store.names(f"{CLOSED}{receipt_name(key)}/")
        found = _with(found, _read(service, dict.fromkeys(names, key)))
    return found.get(key)


def _read(service: Service, names: Mapping[str, str]) -> list[Receipt]:
    """Return the archive's objects of these names. `names` holds the landing key of each."""
    found = service.store.read_many(sorted(names))
    return [Receipt.read(names[name], body) for name, body in found.items()]


def _with(receipts: Mapping[str, Receipt], more: Iterable[Receipt]) -> dict[str, Receipt]:
    """Return these receipts with more closed entries. If a part of a receipt cannot be read, it is unreadable whole."""
    found = dict(receipts)
    for closed in more:
        receipt = found[closed.key]
        entries = (*receipt.archived, *closed.entries)
        found[closed.key] = replace(receipt, archived=entries, unreadable=receipt.unreadable or closed.unreadable)
    return found


def archived_name(key: str) -> str:
    """Return the archive's name of a key's receipt. S3 spreads load by prefix, and the name begins with a hash."""
    return f"{PREFIX}{receipt_name(key)}.json"


def closed_name(file: FileVersion) -> str:
    """Return the archive's name of a version's closed entry: one object for a key and a month, so that none grows for
    ever.
    """
    return f"{CLOSED}{receipt_name(file.key)}/{file.landed_at:%Y-%m}.json"
