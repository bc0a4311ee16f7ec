"""The archive: receipts that were folded away from main, and what was taken out of long ones, each an object in the
service's bucket.

Nessie's merges grow slower with every content on main, so main keeps the receipts of the last days alone. A key's
receipt is looked for on main first and in the archive then: what was decided is known for ever, wherever it is kept. An
object of the archive may be older than main's receipt of the same key, which counts; it is never newer.

A key that never rests is never folded away. Of its receipt, main keeps what may still matter, and the archive has the
versions that are closed. Only who asks for one of these needs them.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace

from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt, receipt_name
from lakegate.ports import MAIN, Ref
from lakegate.workflow.service import Service

PREFIX, CLOSED = "receipts/", "closed/"


def receipts_at(service: Service, ref: Ref, keys: Iterable[str]) -> dict[str, Receipt]:
    """The receipts of these landing keys at a commit of main, folded away or not; keys without one are
    absent. They may lack versions that are closed.
    """
    wanted = set(keys)
    found = service.ledger.receipts(ref, wanted)
    return found | _read(service, {archived_name(key): key for key in wanted - found.keys()})


def receipts_of(service: Service, ref: Ref, files: Iterable[FileVersion]) -> dict[str, Receipt]:
    """The receipts of these files' keys, the same, with all that was decided of these files."""
    files = list(files)
    return with_closed(service, receipts_at(service, ref, {file.key for file in files}), files)


def with_closed(service: Service, receipts: Mapping[str, Receipt], files: Iterable[FileVersion]) -> dict[str, Receipt]:
    """These receipts, with what is closed of these files and not in them."""
    lacking = {closed_name(it): it.key for it in files if it.key in receipts and receipts[it.key].may_lack(it)}
    return _with(receipts, _bodies(service, lacking))


def all_of(service: Service, key: str) -> dict[str, Receipt]:
    """A key's receipt on main, with all that was ever decided of it."""
    found = receipts_at(service, Ref(MAIN), [key])
    if key in found and found[key].shortened:
        names = service.store.names(f"{CLOSED}{receipt_name(key)}/")
        found = _with(found, _bodies(service, dict.fromkeys(names, key)))
    return found


def main_receipts(service: Service, files: Iterable[FileVersion]) -> tuple[str, dict[str, Receipt]]:
    """Main's head, and the receipts of these files' keys exactly there."""
    head = service.branches.head(MAIN) or ""
    return head, receipts_of(service, Ref(MAIN, head), files)


def receipts_now(service: Service, files: Iterable[FileVersion]) -> dict[str, Receipt]:
    """The receipts of these files' keys on main now; nothing is asked where there are no files."""
    files = list(files)
    return main_receipts(service, files)[1] if files else {}


def _read(service: Service, names: Mapping[str, str]) -> dict[str, Receipt]:
    """By key, what the archive has under these names, each of a key of its own."""
    return {receipt.key: receipt for receipt in _bodies(service, names)}


def _bodies(service: Service, names: Mapping[str, str]) -> list[Receipt]:
    found = service.store.read_many(sorted(names))
    return [Receipt.read(names[name], body) for name, body in found.items()]


def _with(receipts: Mapping[str, Receipt], more: Iterable[Receipt]) -> dict[str, Receipt]:
    """These receipts, with what is closed of them; with what can't be read of one, it can't be read as a whole."""
    found = dict(receipts)
    for closed in more:
        receipt = found[closed.key]
        entries = (*receipt.closed, *closed.entries)
        found[closed.key] = replace(receipt, closed=entries, unreadable=receipt.unreadable or closed.unreadable)
    return found


def archived_name(key: str) -> str:
    """Spread over prefixes by its first digits, as S3 likes it."""
    return f"{PREFIX}{receipt_name(key)}.json"


def closed_name(file: FileVersion) -> str:
    """By the month in which a version landed, so that none grows for ever."""
    return f"{CLOSED}{receipt_name(file.key)}/{file.landed_at:%Y-%m}.json"
