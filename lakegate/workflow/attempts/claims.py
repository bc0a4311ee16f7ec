"""Claims: which file versions are being worked on, and where. They are read from open branches, never from memory."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import structlog

from lakegate.audit.model.job import Job
from lakegate.errors import PASSING
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
    """A file version that is being worked on, and the versions of its key that it is to replace."""

    file: FileVersion
    replaces: tuple[Entry, ...]


def claims_in(receipts: Mapping[str, Receipt | None], attempt: Attempt) -> list[Claim]:
    """What these receipts of an attempt's branch claim for it, oldest first."""
    mine = [
        _claim(receipt, entry)
        for receipt in receipts.values()
        if receipt is not None
        for entry in receipt.entries
        if entry.is_of(attempt)
    ]
    return sorted(mine, key=lambda claim: claim.file.order)


def _claim(receipt: Receipt, entry: Entry) -> Claim:
    replaces = (receipt.entry(version) for version in entry.replaces)
    return Claim(file=entry.file(receipt.bucket, receipt.key), replaces=tuple(old for old in replaces if old))


def files_claimed_in(receipts: Mapping[str, Receipt | None], attempt: Attempt) -> list[FileVersion]:
    """The file versions that these receipts of an attempt's branch claim for it, oldest first."""
    return [claim.file for claim in claims_in(receipts, attempt)]


def base_of(service: Service, attempt: Attempt) -> str:
    """The commit of main that the attempt's branch was made from.

    The frozen job says it at once; the catalog has to look for it, for longer the more main has moved on.
    """
    job = readable_job_of(service.store, attempt)
    return job.base if job else service.branches.base(attempt.branch)


def files_claimed_on(service: Service, attempt: Attempt, job: Job | None = None) -> list[FileVersion]:
    """What the attempt's branch claims; empty where the branch is gone or was never given claims. `job` is the
    attempt's, where it was read already.
    """
    head = service.branches.head(attempt.branch)
    if head is None:
        return []
    return files_claimed_at(service, attempt, head, job)


def files_claimed_at(service: Service, attempt: Attempt, head: str, job: Job | None = None) -> list[FileVersion]:
    """What the attempt's branch claims where this is its head."""
    base = job.base if job else base_of(service, attempt)
    return [claim.file for claim in claims_since(service, attempt, base, head)]


def claims_since(service: Service, attempt: Attempt, base: str, head: str) -> list[Claim]:
    """What the attempt's branch claims at `head`, and what each is to replace."""
    return claims_in(service.branches.changes(base, head).receipts, attempt)


def list_open_attempts(branches: Branches) -> list[Attempt]:
    """The attempts whose branches are open."""
    return list(list_open_branches(branches).values())


def list_open_branches(branches: Branches) -> Mapping[Branch, Attempt]:
    """The open branches with their attempts. Branches of rebases are their workers' own, and none."""
    found = ((branch, Attempt.parse(branch.name)) for branch in branches.list_branches())
    return {branch: attempt for branch, attempt in found if attempt and not attempt.nonce}


def files_open_to(service: Service, attempt: Attempt, files: Iterable[FileVersion]) -> list[FileVersion]:
    """Those of the files that the attempt may still decide."""
    files = list(files)
    receipts = receipts_now(service, files)
    return [file for file in files if is_open(receipts, file, attempt)]


def not_claimed_later(service: Service, attempt: Attempt, files: Iterable[FileVersion]) -> list[FileVersion]:
    """Those of an attempt's files that no later attempt at its batch has claimed: these are that one's matter."""
    others = list_open_attempts(service.branches)
    later = [it for it in others if it.batch == attempt.batch and it.number > attempt.number]
    taken = {file.id for other in later for file in files_claimed_on(service, other)}
    return [file for file in files if file.id not in taken]


@dataclass(frozen=True, kw_only=True)
class OpenClaims:
    """Claims of undecided file versions of some keys: landing key → version id → the attempt that works on it."""

    by_key: Mapping[str, Mapping[str, Attempt]]

    def attempt(self, file: FileVersion) -> Attempt | None:
        return self.by_key.get(file.key, {}).get(file.version_id)

    def state(self, file: FileVersion, receipts: Mapping[str, Receipt]) -> State:
        """Where a version stands that a contract routes, by main's receipts and these claims. It is not asked here what
        its key's other versions make of one that is rejected.
        """
        entry, working = entry_of(receipts, file), self.by_key.get(file.key, {})
        return state_of(
            entry.decision if entry else None,
            worked_on=file.version_id in working,
            blocked=bool(working.keys() - {file.version_id}),
        )


class ClaimIndex:
    """Looks at what open branches claim of these keys. What a branch claims where its head stands never changes: it is
    asked for once, however often somebody looks.
    """

    def __init__(self, service: Service, keys: Iterable[str]) -> None:
        self._service, self._keys = service, sorted(set(keys))
        self._seen: dict[Branch, list[FileVersion]] = {}

    def find_open(self, keys: Iterable[str], decided: Mapping[str, Receipt], table: str = "") -> OpenClaims:
        """Who works on these of the keys now; `decided` are main's receipts for them, and `table` is that of which
        files are to be claimed, if any are.

        Of a batch's attempts at the same file the last one works on it.
        """
        claims = self._claimed(set(keys), table)
        receipts = with_closed(self._service, decided, [file for file, _ in claims])
        found: dict[str, dict[str, Attempt]] = {}
        for file, attempt in claims:
            other = found.setdefault(file.key, {}).get(file.version_id)
            if is_open(receipts, file, attempt) and not (other and other.number > attempt.number):
                found[file.key][file.version_id] = attempt
        return OpenClaims(by_key=found)

    def _claimed(self, keys: set[str], table: str) -> list[tuple[FileVersion, Attempt]]:
        branches = list_open_branches(self._service.branches) if keys else {}
        found = [
            (file, attempt) for branch, attempt in branches.items() for file in self._claimed_on(branch, attempt, table)
        ]
        return [(file, attempt) for file, attempt in found if file.key in keys]

    def _claimed_on(self, branch: Branch, attempt: Attempt, table: str) -> list[FileVersion]:
        """What can't be read claims nothing, so that it keeps no other table from its files, and its own where it never
        can: who claims the same meets it as a conflict at the merge, and the sweep says what is wrong with the branch.
        """
        try:
            if branch not in self._seen:
                receipts = self._service.ledger.receipts(Ref(branch.name, branch.head), self._keys)
                self._seen[branch] = files_claimed_in(receipts, attempt)
            return self._seen[branch]
        except Exception as error:
            if attempt.table == table and isinstance(error, PASSING):
                raise
            log.warning("claims_not_read", branch=branch.name, error=str(error), kind=type(error).__name__)
            return []


def find_open_claims(
    service: Service, keys: Iterable[str], decided: Mapping[str, Receipt], table: str = ""
) -> OpenClaims:
    """Look once on every open attempt's branch for claims of these keys; the rest is as in `ClaimIndex.find_open`."""
    wanted = set(keys)
    return ClaimIndex(service, wanted).find_open(wanted, decided, table)


def claim_receipt(
    receipts: dict[str, Receipt], file: FileVersion, attempt: Attempt, replaces: Iterable[str] = ()
) -> Receipt:
    """The file's receipt as it will be when the attempt is published in the place of these versions."""
    receipt = receipts.get(file.key) or Receipt(bucket=file.bucket, key=file.key)
    return receipt.decided(Entry.of(file, Decision.PUBLISHED, attempt, replaces=replaces))
