"""Names of a table's quarantine and audits. The first table to need a plain name gets it, for good, as a note in the
store says; tables of earlier releases keep theirs.
"""

from contextlib import suppress

from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.names import namesakes, owner_of_name, plain_name
from lakegate.errors import Misconfigured
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service

PREFIX = "notes/names/"


def needs_distinct_name(service: Service, table: str, base: str) -> bool:
    """Return True if another table has the plain name. `base` is a commit of main. A note is written once, and then
    read, so that two workers get the same.
    """
    same_names = namesakes(table)
    if not same_names:
        return False
    note_name = PREFIX + plain_name(table)
    if (owner := service.store.read(note_name)) is None:
        service.store.create(note_name, _owner(service, table, same_names, base).encode())
        owner = service.store.read(note_name)
    return owner != table.encode()


def _owner(service: Service, table: str, same_names: list[str], base: str) -> str:
    own_tables = (quarantine_of(table), audits_of(table))
    on_main = service.branches.table_folders(base, (table, *same_names, *own_tables))
    existing_names = [name for name in (table, *same_names) if name in on_main]
    with_quarantine = [name for name in existing_names if _may_quarantine(service, name)]
    return owner_of_name(table, existing_names, with_quarantine, is_in_use=any(name in on_main for name in own_tables))


def _may_quarantine(service: Service, table: str) -> bool:
    """Return True unless the table's contract says that no row goes to quarantine; it may be gone, with rows left."""
    with suppress(Misconfigured):
        return contract_of(service.store, table).plan.budget is not None
    return True
