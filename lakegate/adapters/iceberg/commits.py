"""Commits by PyIceberg, each made once. Its own repetitions may last half an hour, which no function has, and a table's
properties may ask for more of them; and what a repetition commits to is a state that nobody has looked at.
"""

from collections.abc import Iterator
from contextlib import contextmanager

from pyiceberg.table import Table, TableProperties, Transaction

ONE_TRY = {TableProperties.COMMIT_NUM_RETRIES: "0"}


@contextmanager
def one_commit(table: Table) -> Iterator[Transaction]:
    """Yield a transaction of the table that is committed once at its end."""
    table.metadata.properties.update(ONE_TRY)  # of this copy alone: the table keeps its own
    with table.transaction() as transaction:
        yield transaction
