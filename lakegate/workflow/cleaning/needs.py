"""Needed files: all that main, its last days, any other reference or an open attempt needs to be read.

An approval reads the commit that was audited, and the base that it was audited against. Neither is the branch's head,
so all commits of a branch count, and its base.
"""

import hashlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, MetadataFile, Reference
from lakegate.ports.warehouse import normal_uri, table_folder
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.attempts.reuse import reused_report
from lakegate.workflow.service import Service

LOST_FILE = (
    "Restore the file from the bucket's earlier versions. If it is lost: discard the branch's batch or delete the "
    "branch or tag, and for main's last days give fewer --days"
)


class Need(StrEnum):
    """A reason to need a file; of several the first is told."""

    MAIN = "main"
    HISTORY = "main's last days"
    BRANCHES = "branches"


@dataclass(frozen=True, kw_only=True)
class CommitRange:
    """Commits up to `head`, from `start` on, whose tables are needed. `name` is for people."""

    need: Need
    name: str
    head: str
    start: str | datetime


class NeededFiles:
    """Needed paths as hashes of eight bytes. A collision only keeps a file longer."""

    def __init__(self, location: str) -> None:
        self.location = location
        self.folders: set[str] = set()
        self._needs: dict[bytes, Need] = {}

    def __contains__(self, uri: object) -> bool:
        return _digest(str(uri)) in self._needs

    def add(self, uri: str, need: Need) -> None:
        self._needs.setdefault(_digest(uri), need)

    def need_of(self, uri: str) -> Need | None:
        return self._needs.get(_digest(uri))


def _digest(uri: str) -> bytes:
    """Return a digest of the place that a URI names."""
    return hashlib.blake2b(normal_uri(uri).encode(), digest_size=8).digest()


def needed_files(service: Service, start: datetime) -> NeededFiles:
    """Return what is needed, with main's history since this moment, and the folders of all tables in it.

    Raise Refused if a needed file is missing: what it lists would not be known.
    """
    service.ledger.watermark()  # raises Misconfigured for a role that may not read the ledger, and sees no branch
    needs = NeededFiles(normal_uri(service.tables.location()))
    for line in _commit_ranges(service, start):
        files = set(service.branches.metadata_files(line.head, line.start))
        try:
            _add(service, needs, files, line.need)
        except Refused as error:
            error.add_note(f"{line.name} needs it, so nothing is deleted. {LOST_FILE}")
            raise
    return needs


def _add(service: Service, needs: NeededFiles, files: Iterable[MetadataFile], need: Need) -> None:
    folders = {table_folder(file.uri, needs.location) for file in files}
    needs.folders |= {folder for folder in folders if folder}
    for view in (file.uri for file in files if file.is_view):
        needs.add(view, need)
    for uri in service.tables.readable_files([file.uri for file in files if not file.is_view], needs):
        needs.add(uri, need)


def _commit_ranges(service: Service, start: datetime) -> Iterator[CommitRange]:
    """Yield main first, and read its head last: what a merge takes off a branch meanwhile is then found on main."""
    references = [reference for reference in service.branches.references() if reference.name != MAIN]
    head = service.branches.head(MAIN) or ""
    yield CommitRange(need=Need.MAIN, name=MAIN, head=head, start=head)
    yield CommitRange(need=Need.HISTORY, name=f"{MAIN} since {start:%Y-%m-%d}", head=head, start=start)
    for reference in references:
        yield CommitRange(
            need=Need.BRANCHES, name=reference.name, head=reference.head, start=reference.base or reference.head
        )
    yield from _reuse_ranges(service, references)


def _reuse_ranges(service: Service, references: Iterable[Reference]) -> Iterator[CommitRange]:
    """Yield the audited commits whose data files a frozen job takes over, because their own branch may be gone."""
    for reference in references:
        attempt = Attempt.parse(reference.name)
        job = job_of(service.store, attempt) if attempt and not attempt.nonce else None
        if job and job.reuses:
            report = reused_report(service, job)
            yield CommitRange(need=Need.BRANCHES, name=reference.name, head=report.audited, start=report.base)
