"""Claims: file versions that attempts are working on. They are read from open branches, never from memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import structlog

from lakegate.audit.model.job import Job
from lakegate.errors import TRANSIENT
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision, State, state_of
from lakegate.landing.receipts import Entry, Receipt, entry_of
from lakegate.landing.standing import is_open
from lakegate.ports import Branch, Branches, Ref
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.ledger.receipts import receipts_now, with_closed
from lakegate.workflow.service import Service

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Claim:
    """A file version that an attempt works on, and the versions of its key that it is to replace."""

    file: FileVersion
    replaces: tuple[Entry, ...]


def claims_in(receipts: Mapping[str, Receipt | None], attempt: Attempt) -> list[Claim]:
    """Return the claims that these receipts of an attempt's branch make for it, oldest first."""
    claims = [
        Claim(
            file=entry.file(receipt.bucket, receipt.key),
            replaces=tuple(old for version in entry.replaces if (old := receipt.entry(version))),
        )
        for receipt in receipts.values()
        if receipt is not None
        for entry in receipt.entries
        if entry.is_of(attempt)
    ]
    return sorted(claims, key=lambda claim: claim.file.order)


def files_claimed_in(receipts: Mapping[str, Receipt | None], attempt: Attempt) -> list[FileVersion]:
    """Return the file versions that these receipts of an attempt's branch claim for it, oldest first."""
    return [claim.file for claim in claims_in(receipts, attempt)]


def base_of(service: Service, attempt: Attempt) -> str:
    """Return the commit of main that the attempt's branch was made from.

    The frozen job names it. The catalog has to search main's log for it, which takes longer as main moves on.
    """
    job = readable_job_of(service.store, attempt)
    return job.base if job else service.branches.base(attempt.branch)


def files_claimed_on(service: Service, attempt: Attempt, job: Job | None = None) -> list[FileVersion]:
    """Return the files that the attempt's branch claims; none if the branch is gone or has no claims yet. A caller that
    has read the attempt's `job` passes it, so that it is not read again.
    """
    head = service.branches.head(attempt.branch)
    return [] if head is None else files_claimed_at(service, attempt, head, job)


def files_claimed_at(service: Service, attempt: Attempt, head: str, job: Job | None = None) -> list[FileVersion]:
    """Return the files that the attempt's branch claims at this head."""
    base = job.base if job else base_of(service, attempt)
    return [claim.file for claim in claims_since(service, attempt, base, head)]


def claims_since(service: Service, attempt: Attempt, base: str, head: str) -> list[Claim]:
    """Return the claims on the attempt's branch at `head`; `base` is the commit it was made from."""
    return claims_in(service.branches.changes(base, head).receipts, attempt)


def list_open_attempts(branches: Branches) -> list[Attempt]:
    """Return the attempts whose branches are open."""
    return list(list_open_branches(branches).values())


def list_open_branches(branches: Branches) -> Mapping[Branch, Attempt]:
    """Return the open branches with their attempts. A rebase's branch is not among them: it belongs to one worker."""
    pairs = ((branch, Attempt.parse(branch.name)) for branch in branches.list_branches())
    return {branch: attempt for branch, attempt in pairs if attempt and not attempt.nonce}


def files_open_to(service: Service, attempt: Attempt, files: Iterable[FileVersion]) -> list[FileVersion]:
    """Return the files that the attempt may still decide."""
    files = list(files)
    receipts = receipts_now(service, files)
    return [file for file in files if is_open(receipts, file, attempt)]


def not_claimed_later(service: Service, attempt: Attempt, files: Iterable[FileVersion]) -> list[FileVersion]:
    """Return the files that no later attempt at the batch has claimed. What it has claimed is its own to decide."""
    open_attempts = list_open_attempts(service.branches)
    later_attempts = [
        other for other in open_attempts if other.batch == attempt.batch and other.number > attempt.number
    ]
    later_ids = {file.id for other in later_attempts for file in files_claimed_on(service, other)}
    return [file for file in files if file.id not in later_ids]


@dataclass(frozen=True, kw_only=True)
class OpenClaims:
    """Claims of undecided file versions, as landing key → version id → the attempt that works on it."""

    by_key: Mapping[str, Mapping[str, Attempt]]

    def attempt(self, file: FileVersion) -> Attempt | None:
        return self.by_key.get(file.key, {}).get(file.version_id)

    def state(self, file: FileVersion, receipts: Mapping[str, Receipt]) -> State:
        """Return the state of a version that a contract routes, by main's receipts and these claims. A rejected version
        stays rejected here, whatever other versions of its key are published.
        """
        entry, claims = entry_of(receipts, file), self.by_key.get(file.key, {})
        return state_of(
            entry.decision if entry else None,
            worked_on=file.version_id in claims,
            blocked=bool(claims.keys() - {file.version_id}),
        )


class ClaimIndex:
    """An index of what open branches claim of these keys. The claims at one head of a branch never change, so they are
    read once, however often the index is asked.
    """

    def __init__(self, service: Service, keys: Iterable[str]) -> None:
        self._service, self._keys = service, sorted(set(keys))
        self._files: dict[Branch, list[FileVersion]] = {}

    def find_open(self, keys: Iterable[str], receipts_on_main: Mapping[str, Receipt], table: str = "") -> OpenClaims:
        """Return the open claims of these keys, by their receipts on main. `table` is the table that the caller is
        about to claim files for, if it is.

        If several attempts of a batch claim a file, the last one works on it.
        """
        claims = self._claims_of(set(keys), table)
        receipts = with_closed(self._service, receipts_on_main, [file for file, _ in claims])
        by_key: dict[str, dict[str, Attempt]] = {}
        for file, attempt in claims:
            other = by_key.setdefault(file.key, {}).get(file.version_id)
            if is_open(receipts, file, attempt) and not (other and other.number > attempt.number):
                by_key[file.key][file.version_id] = attempt
        return OpenClaims(by_key=by_key)

    def _claims_of(self, keys: set[str], table: str) -> list[tuple[FileVersion, Attempt]]:
        branches = list_open_branches(self._service.branches) if keys else {}
        return [
            (file, attempt)
            for branch, attempt in branches.items()
            for file in self._claimed_on(branch, attempt, table)
            if file.key in keys
        ]

    def _claimed_on(self, branch: Branch, attempt: Attempt, table: str) -> list[FileVersion]:
        """Return what a branch claims; nothing if it cannot be read, so that one broken branch holds back no other
        table. A second claim of the same file then conflicts at the merge, and the sweep reports the branch. An error
        that will pass is raised for the caller's own `table`.
        """
        try:
            if branch not in self._files:
                receipts = self._service.ledger.receipts(Ref(branch.name, branch.head), self._keys)
                self._files[branch] = files_claimed_in(receipts, attempt)
            return self._files[branch]
        except Exception as error:
            if attempt.table == table and isinstance(error, TRANSIENT):
                raise
            log.warning("claims_not_read", branch=branch.name, error=str(error), kind=type(error).__name__)
            return []


def find_open_claims(
    service: Service, keys: Iterable[str], receipts_on_main: Mapping[str, Receipt], table: str = ""
) -> OpenClaims:
    """Return the open claims of these keys from every open branch, read once. See `ClaimIndex.find_open`."""
    landing_keys = set(keys)
    return ClaimIndex(service, landing_keys).find_open(landing_keys, receipts_on_main, table)


def claim_receipt(
    receipts: dict[str, Receipt], file: FileVersion, attempt: Attempt, replaces: Iterable[str] = ()
) -> Receipt:
    """Return the receipt that the file's key has once the attempt has published it in place of these versions."""
    receipt = receipts.get(file.key) or Receipt(bucket=file.bucket, key=file.key)
    return receipt.with_decision(Entry.of(file, Decision.PUBLISHED, attempt, replaces=replaces))
