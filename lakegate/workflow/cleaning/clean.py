"""Clean: record the files that nothing needs, and delete those that a run at least a week ago has recorded, too.

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
from lakegate.workflow.cleaning.candidates import WEEK, Amount, Moment, Reprieve, is_unneeded, sort_files
from lakegate.workflow.cleaning.memory import (
    CleaningMemory,
    candidates_before,
    read_memory,
    record_candidates,
    remember,
)
from lakegate.workflow.cleaning.needs import Need, NeededFiles, needed_files
from lakegate.workflow.registry import Registry
from lakegate.workflow.service import Service

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class CleanedFolder:
    """A table folder after a run: the `amounts` of files that are kept, by reason, and the `amount_to_delete`. With
    files that wait, `next_run` is the first time at which another run may find some of them unneeded.
    """

    folder: str
    amounts: Mapping[Need | Reprieve, Amount]
    amount_to_delete: Amount
    next_run: datetime | None


@dataclass(frozen=True, kw_only=True)
class CleaningResult:
    """A run. Main's commits since `history_start` can be read as before. Folders that are `unknown` to the catalog were
    left alone: some other program may need them.
    """

    history_start: datetime
    folders: tuple[CleanedFolder, ...]
    unknown: Mapping[str, Amount]


def clean(
    service: Service, warehouse: Warehouse, *, days: int, delete: bool, names: Collection[str] = ()
) -> CleaningResult:
    """Clean the folders of all tables that the catalog knows, or knew in an earlier run, and those that a person has
    `names`. What main needed in the last so many `days` is kept. Without `delete`, nothing is deleted.
    """
    now, before = service.clock.now(), read_memory(service)
    history_start = max(now - timedelta(days=days), before.whole_since or datetime.min.replace(tzinfo=now.tzinfo))
    needs = needed_files(service, history_start)
    folders = {*before.folders, *needs.folders, *(_folder(name, needs.location) for name in names)}
    after = CleaningMemory(folders=tuple(sorted(folders)), whole_since=history_start if delete else before.whole_since)
    remember(service, after)  # before anything is deleted
    moment = Moment(now=now, age=_age(service))
    current_folders = list(warehouse.folders(needs.location))
    results = [
        _clean(service, warehouse, folder, needs, moment, delete=delete)
        for folder in current_folders
        if folder in folders
    ]
    unknown = {folder: _amount(warehouse, folder) for folder in current_folders if folder not in folders}
    return CleaningResult(history_start=history_start, folders=tuple(results), unknown=unknown)


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
    service: Service, warehouse: Warehouse, folder: str, needs: NeededFiles, moment: Moment, *, delete: bool
) -> CleanedFolder:
    earlier_candidates = candidates_before(service, folder)
    result = sort_files(folder, warehouse.files(folder), needs.need_of, earlier_candidates, moment)
    to_delete = [candidate for candidate in result.candidates if is_unneeded(candidate, moment.now)]
    to_wait = [candidate for candidate in result.candidates if not is_unneeded(candidate, moment.now)]
    for candidate in to_wait:
        result.keep(Reprieve.SECOND_RUN, candidate.size)
    record_candidates(service, folder, result.candidates)
    if delete:
        warehouse.delete(candidate.uri for candidate in to_delete)
        log.info("cleaned", folder=folder, files=len(to_delete))
    amount = Amount(len(to_delete), sum(candidate.size for candidate in to_delete))
    return CleanedFolder(
        folder=folder,
        amounts=result.amounts,
        amount_to_delete=amount,
        next_run=min((candidate.since + WEEK for candidate in to_wait), default=None),
    )


def _amount(warehouse: Warehouse, folder: str) -> Amount:
    amount = Amount()
    for file in warehouse.files(folder):
        amount = amount.and_also(file.size)
    return amount
