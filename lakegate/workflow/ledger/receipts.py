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

PREFIX, CLOSED_PREFIX = "receipts/", "closed/"


def receipts_at(service: Service, ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
    """Return the receipts of these landing keys at a commit of main, or in the archive; keys without one are
    absent. They may lack closed entries.
    """
    landing_keys = set(keys)
    receipts = service.ledger.receipts(ref, landing_keys)
    archive = _read(service, {archived_name(key): key for key in landing_keys - receipts.keys()})
    return receipts | {receipt.key: receipt for receipt in archive}


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
    names = {
        closed_name(file): file.key for file in files if file.key in receipts and receipts[file.key].may_lack(file)
    }
    return _with(receipts, _read(service, names))


def whole_receipt(service: Service, key: str) -> Receipt | None:
    """Return a key's receipt on main with every entry it ever had, or None."""
    receipts = receipts_at(service, Ref(MAIN), [key])
    if key in receipts and receipts[key].truncated:
        names = service.store.names(f"{CLOSED_PREFIX}{receipt_name(key)}/")
        receipts = _with(receipts, _read(service, dict.fromkeys(names, key)))
    return receipts.get(key)


def _read(service: Service, names: Mapping[str, str]) -> list[Receipt]:
    """Return the archive's objects of these names. `names` holds the landing key of each."""
    bodies = service.store.read_many(sorted(names))
    return [Receipt.read(names[name], body) for name, body in bodies.items()]


def _with(receipts: Mapping[str, Receipt], parts: Iterable[Receipt]) -> dict[str, Receipt]:
    """Return these receipts with more closed entries. If a part of a receipt cannot be read, it is unreadable whole."""
    by_key = dict(receipts)
    for part in parts:
        receipt = by_key[part.key]
        entries = (*receipt.archive, *part.entries)
        by_key[part.key] = replace(receipt, archive=entries, unreadable=receipt.unreadable or part.unreadable)
    return by_key


def archived_name(key: str) -> str:
    """Return the archive's name of a key's receipt. S3 spreads load by prefix, and the name begins with a hash."""
    return f"{PREFIX}{receipt_name(key)}.json"


def closed_name(file: FileVersion) -> str:
    """Return the archive's name of a version's closed entry: one object for a key and a month, so that none grows for
    ever.
    """
    return f"{CLOSED_PREFIX}{receipt_name(file.key)}/{file.landed_at:%Y-%m}.json"
