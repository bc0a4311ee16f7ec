"""Clean: note the files that nothing needs, and delete those that a run at least a week ago has noted, too.

Any step that fails ends the run, and what is deleted by then was unneeded. A run may be given again at any time.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

import structlog

from lakegate.contracts import BRANCH_DAYS
from lakegate.errors import Misconfigured
from lakegate.ports import Warehouse
from lakegate.ports.warehouse import table_folder
from lakegate.workflow.cleaning.candidates import WEEK, Amount, Moment, Spared, is_unneeded, sort_files
from lakegate.workflow.cleaning.needed import Need, Needed, needed_files
from lakegate.workflow.cleaning.remembered import (
    Remembered,
    note_candidates,
    noted_candidates,
    remember,
    remembered,
)
from lakegate.workflow.registry import Registry
from lakegate.workflow.service import Service

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class CleanedFolder:
    """A table folder after a run: how many files are `kept` for what reason, and how many are `unneeded`. With files
    that wait, `next_run` is the first time at which another run may find some of them unneeded.
    """

    folder: str
    kept: Mapping[Need | Spared, Amount]
    unneeded: Amount
    next_run: datetime | None


@dataclass(frozen=True, kw_only=True)
class Cleaned:
    """A run. Main's commits since `since` can be read as before. Folders that are `unknown` to the catalog were left
    alone: some other program may need them.
    """

    since: datetime
    folders: tuple[CleanedFolder, ...]
    unknown: Mapping[str, Amount]


def clean(service: Service, warehouse: Warehouse, *, days: int, delete: bool, named: Collection[str] = ()) -> Cleaned:
    """Clean the folders of all tables that the catalog knows, or knew in an earlier run, and those that a person has
    `named`. What main needed in the last so many `days` is kept. Without `delete`, nothing is deleted.
    """
    now, before = service.clock.now(), remembered(service)
    since = max(now - timedelta(days=days), before.whole_since or datetime.min.replace(tzinfo=now.tzinfo))
    needed = needed_files(service, since)
    known = {*before.folders, *needed.folders, *(_folder(name, needed.location) for name in named)}
    after = Remembered(folders=tuple(sorted(known)), whole_since=since if delete else before.whole_since)
    remember(service, after)  # before anything is deleted
    moment = Moment(now=now, age=_age(service))
    there = list(warehouse.folders(needed.location))
    cleaned = [_clean(service, warehouse, it, needed, moment, delete=delete) for it in there if it in known]
    unknown = {folder: _amount(warehouse, folder) for folder in there if folder not in known}
    return Cleaned(since=since, folders=tuple(cleaned), unknown=unknown)


def _folder(name: str, location: str) -> str:
    """Return the URI of the folder that a person names by its place in the warehouse. Raise Misconfigured if no table
    has such a folder.
    """
    uri = f"{location}/{name.strip('/')}"
    if table_folder(uri, location) != uri:
        raise Misconfigured(f"{name} is no table's folder, such as nyc/flights_0f3a…; a run without it lists them")
    return uri


def _age(service: Service) -> timedelta:
    """Return the age below which a file may be one that its writer is about to commit. No job lives as long."""
    days = (contract.branch_days for contract in Registry.read(service.store).contracts)
    return timedelta(days=max([BRANCH_DAYS, *days])) + WEEK


def _clean(
    service: Service, warehouse: Warehouse, folder: str, needed: Needed, moment: Moment, *, delete: bool
) -> CleanedFolder:
    noted = noted_candidates(service, folder)
    found = sort_files(folder, warehouse.files(folder), needed.need_of, noted, moment)
    unneeded = [candidate for candidate in found.candidates if is_unneeded(candidate, moment.now)]
    waiting = [candidate for candidate in found.candidates if not is_unneeded(candidate, moment.now)]
    for candidate in waiting:
        found.keep(Spared.WAITING, candidate.size)
    note_candidates(service, folder, found.candidates)
    if delete:
        warehouse.delete(candidate.uri for candidate in unneeded)
        log.info("cleaned", folder=folder, files=len(unneeded))
    amount = Amount(len(unneeded), sum(candidate.size for candidate in unneeded))
    return CleanedFolder(
        folder=folder,
        kept=found.kept,
        unneeded=amount,
        next_run=min((candidate.since + WEEK for candidate in waiting), default=None),
    )


def _amount(warehouse: Warehouse, folder: str) -> Amount:
    amount = Amount()
    for file in warehouse.files(folder):
        amount = amount.and_also(file.size)
    return amount
