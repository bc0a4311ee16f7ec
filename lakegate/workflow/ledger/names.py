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
    others = namesakes(table)
    if not others:
        return False
    note = PREFIX + plain_name(table)
    if (owner := service.store.read(note)) is None:
        service.store.create(note, _owner(service, table, others, base).encode())
        owner = service.store.read(note)
    return owner != table.encode()


def _owner(service: Service, table: str, others: list[str], base: str) -> str:
    beside = (quarantine_of(table), audits_of(table))
    on_main = service.branches.table_folders(base, (table, *others, *beside))
    existing = [name for name in (table, *others) if name in on_main]
    with_quarantine = [name for name in existing if _may_quarantine(service, name)]
    return owner_of_name(table, existing, with_quarantine, is_in_use=any(name in on_main for name in beside))


def _may_quarantine(service: Service, table: str) -> bool:
    """Return True unless the table's contract says that no row goes to quarantine; it may be gone, with rows left."""
    with suppress(Misconfigured):
        return contract_of(service.store, table).plan.budget is not None
    return True
