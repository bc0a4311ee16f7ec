"""The archive: receipts that were folded away from main, each an object in the service's bucket.

Nessie's merges grow slower with every content on main, so main keeps the receipts of the last days alone. A key's
receipt is looked for on main first and in the archive then: what was decided is known for ever, wherever it is kept. An
object of the archive may be older than main's receipt of the same key, which counts; it is never newer.
"""

from collections.abc import Iterable

from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Receipt, receipt_name
from lakegate.ports import MAIN
from lakegate.workflow.service import Service

PREFIX = "receipts/"


def receipts_at(service: Service, ref: str, keys: Iterable[str]) -> dict[str, Receipt]:
    """The receipts of these landing keys at a commit of main (`main@hash`), folded away or not; keys without one are
    absent.
    """
    wanted = set(keys)
    found = service.catalog.receipts(ref, wanted)
    folded = service.store.read_many(_name(key) for key in sorted(wanted - found.keys()))
    return found | {receipt.key: receipt for body in folded.values() for receipt in [Receipt.from_json(body.decode())]}


def main_receipts(service: Service, files: Iterable[FileVersion]) -> tuple[str, dict[str, Receipt]]:
    """Main's head, and the receipts of these files' keys exactly there."""
    head = service.catalog.head(MAIN) or ""
    return head, receipts_at(service, f"{MAIN}@{head}", {file.key for file in files})


def archive(service: Service, receipts: Iterable[Receipt]) -> None:
    """Put receipts in the archive, before they are taken off main."""
    service.store.write_many({_name(receipt.key): receipt.to_json().encode() for receipt in receipts})


def _name(key: str) -> str:
    """Spread over prefixes by its first digits, as S3 likes it."""
    return f"{PREFIX}{receipt_name(key)}.json"
