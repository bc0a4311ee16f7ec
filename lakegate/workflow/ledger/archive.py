"""Archive: receipts, and entries of receipts, that are about to leave main. It writes; `receipts` reads."""

from collections.abc import Iterable
from dataclasses import replace

from lakegate.landing.receipts import Entry, Receipt
from lakegate.workflow.ledger.receipts import archived_name, closed_name
from lakegate.workflow.service import Service


def archive(service: Service, receipts: Iterable[Receipt]) -> None:
    """Put receipts in the archive, before they are taken off main."""
    service.store.write_many({archived_name(receipt.key): receipt.to_json().encode() for receipt in receipts})


def archive_closed(service: Service, closures: Iterable[tuple[Receipt, Iterable[Entry]]]) -> None:
    """Add closed entries to those that the archive has of their receipts, before they are taken out of these on main.
    Raise Misconfigured if the archive's cannot be read.
    """
    entries_by_name: dict[str, tuple[Receipt, list[Entry]]] = {}
    for receipt, entries in closures:
        for entry in entries:
            name = closed_name(entry.file(receipt.bucket, receipt.key))
            entries_by_name.setdefault(name, (receipt, []))[1].append(entry)
    archive = {
        name: Receipt.read(entries_by_name[name][0].key, body)
        for name, body in service.store.read_many(entries_by_name).items()
    }
    for before in archive.values():
        before.refuse_unreadable()
    bodies = {}
    for name, (receipt, entries) in entries_by_name.items():
        old_entries = archive[name].entries if name in archive else ()
        all_entries = {entry.version_id: entry for entry in (*old_entries, *entries)}
        bodies[name] = replace(receipt, entries=tuple(all_entries.values()), truncated=None).to_json().encode()
    service.store.write_many(bodies)
