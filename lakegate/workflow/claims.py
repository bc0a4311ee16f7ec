"""Claims: which file versions are being worked on, and where. They are read from open branches, never from memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from lakegate.audit.job import Job
from lakegate.audit.wire import from_json
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.receipts import Decision, Entry, Receipt
from lakegate.ports import Catalog
from lakegate.workflow.service import Service


def is_open(receipts: Mapping[str, Receipt], file: FileVersion, attempt: Attempt) -> bool:
    """Whether an attempt may still decide this file version, by the receipts on main.

    A published or discarded one is closed. A rejected one is open to later attempts of its batch alone.
    """
    receipt = receipts.get(file.key)
    entry = receipt.entry(file.version_id) if receipt else None
    if entry is None:
        return True
    later = entry.batch == attempt.batch and entry.attempt < attempt.number
    return entry.decision is Decision.REJECTED and later


def published_instead(receipts: Mapping[str, Receipt], file: FileVersion) -> Entry | None:
    """The other version of this file's key whose rows are on main."""
    receipt = receipts.get(file.key)
    published = receipt.published if receipt else None
    return published if published and published.version_id != file.version_id else None


def claimed_files(receipts: Mapping[str, Receipt | None], attempt: Attempt) -> list[FileVersion]:
    """The file versions that these receipts of an attempt's branch claim for it, oldest first."""
    mine = [
        entry.file(receipt.bucket, receipt.key)
        for receipt in receipts.values()
        if receipt is not None
        for entry in receipt.entries
        if (entry.batch, entry.attempt) == (attempt.batch, attempt.number)
    ]
    return sorted(mine, key=lambda file: file.order)


def job_name(attempt: Attempt) -> str:
    return f"attempts/{attempt.branch}/job.json"


def base_of(service: Service, attempt: Attempt) -> str:
    """The commit of main that the attempt's branch was made from.

    The frozen job says it at once; the catalog has to look for it, for longer the more main has moved on.
    """
    body = service.store.read(job_name(attempt))
    return from_json(Job, body).base if body else service.catalog.base(attempt.branch)


def claims_on(service: Service, attempt: Attempt) -> list[FileVersion]:
    """What the attempt's branch claims; empty where the branch is gone or was never given claims."""
    head = service.catalog.head(attempt.branch)
    if head is None:
        return []
    changes = service.catalog.changes(base_of(service, attempt), head)
    return claimed_files(changes.receipts, attempt)


@dataclass(frozen=True, kw_only=True)
class OpenClaims:
    """Claims of undecided file versions of some keys: landing key → version id → the attempt that works on it."""

    by_key: Mapping[str, Mapping[str, Attempt]]

    def attempt(self, file: FileVersion) -> Attempt | None:
        return self.by_key.get(file.key, {}).get(file.version_id)

    def other_version(self, file: FileVersion) -> bool:
        """Whether another version of the same key is being worked on."""
        return bool(set(self.by_key.get(file.key, {})) - {file.version_id})


def open_claims(catalog: Catalog, keys: Iterable[str], decided: Mapping[str, Receipt]) -> OpenClaims:
    """Look on every open attempt's branch for claims of these keys; `decided` are main's receipts for them."""
    wanted = sorted(set(keys))
    found: dict[str, dict[str, Attempt]] = {}
    for branch in catalog.branches():
        attempt = Attempt.parse(branch.name)
        if attempt is None or attempt.nonce or not wanted:
            continue
        for file in claimed_files(catalog.receipts(f"{branch.name}@{branch.head}", wanted), attempt):
            if is_open(decided, file, attempt):
                found.setdefault(file.key, {})[file.version_id] = attempt
    return OpenClaims(by_key=found)
