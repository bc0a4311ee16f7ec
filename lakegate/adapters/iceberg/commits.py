"""Commits by PyIceberg, each made once. Its own repetitions may last half an hour, which no function has, and a table's
properties may ask for more of them; and what a repetition commits to is a state that nobody has looked at.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyiceberg.exceptions import CommitFailedException
from pyiceberg.table import Table, TableProperties, Transaction


def one_try(table: Table) -> Transaction:
    """Return a transaction of the table whose commit is tried once."""
    table.metadata.properties[TableProperties.COMMIT_NUM_RETRIES] = "0"  # of this copy alone: the table keeps its own
    return table.transaction()


@contextmanager
def one_commit(table: Table) -> Iterator[Transaction]:
    """Yield a transaction of the table that makes a snapshot, and is committed once at its end. A commit that is
    refused because it is there already, as its request was delivered twice, is made.
    """
    transaction = one_try(table)
    try:
        with transaction:
            yield transaction
    except CommitFailedException:
        made = transaction.table_metadata.current_snapshot_id
        if made is None or table.catalog.load_table(table.name()).snapshot_by_id(made) is None:
            raise
