"""Masks: no value of a column that the contract classifies as anything but public leaves the table.

The job applies them where samples are made, so that a report never contains a masked value. A null stays a null.
Numbers about all rows (a count, a mean) are no values of a row and are not masked.
"""

from collections.abc import Iterable

from lakegate.audit.model.plan import TableColumn

MASK = "•••"


def masked(columns: Iterable[TableColumn]) -> tuple[str, ...]:
    """Return the columns whose values are not shown."""
    return tuple(column.name for column in columns if column.masked)


def raw(columns: Iterable[TableColumn], text: str) -> str:
    """Return a piece of a file as it came (a line that does not parse, …), for a fault or a sample.

    Its column is unknown, so it is shown only if no column is masked. All raw text of a file that goes into a report
    passes through here.
    """
    return MASK if masked(columns) else text
