"""Tables of lakegate's own beside a contract's: its quarantine, and its audits. It writes no row."""

from collections.abc import Collection, Sequence

from pyiceberg.table import Table

from lakegate.adapters.iceberg import RefCatalog
from lakegate.audit.definition import FIXED_PROPERTIES, refuse_strange
from lakegate.audit.errors import HandedOver
from lakegate.audit.model.plan import TableColumn
from lakegate.express import creating
from lakegate.express.tables import ExpressTable


def table_for(
    catalog: RefCatalog,
    name: str,
    columns: Sequence[TableColumn],
    current: ExpressTable | None,
    base: ExpressTable | None,
    replaced_paths: Collection[str] = (),
) -> Table:
    """Return the table on the branch, created if it is not there; its `replaced_paths` may have
    left it. Raise HandedOver if it is another than this release makes, or an earlier run has written there.
    """
    if current is None:
        return creating.create_own(catalog, name, columns)
    changes = current.changes_since(base)
    if changes.new_files.entries or changes.lost_files.entries.keys() - set(replaced_paths):
        raise HandedOver(f"An earlier run of this attempt has written to {name}.")
    names = [column.name for column in columns]
    if list(current.fields()) != names or any(
        current.table.properties.get(key) != value for key, value in FIXED_PROPERTIES.items()
    ):
        raise HandedOver(f"Table {name} is of another release, and only Spark changes it.")
    return current.table


def check(name: str, columns: Sequence[TableColumn], current: ExpressTable | None) -> None:
    """Raise Unfit if the table has columns that lakegate does not give it, or partitions."""
    if current is not None:
        strange = current.fields().keys() - {column.name for column in columns}
        refuse_strange(name, strange, is_partitioned=bool(current.table.spec().fields))
