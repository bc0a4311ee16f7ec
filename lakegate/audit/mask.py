"""Masks: no value of a column that the contract classifies as anything but public leaves the table.

They are put on in the job, where samples are made, so that a report never held what it must not show. A null stays a
null. Numbers about all rows (a count, a mean) are no values of a row and are not masked.
"""

from collections.abc import Iterable

from lakegate.audit.plan import Column

MASK = "•••"


def masked(columns: Iterable[Column]) -> tuple[str, ...]:
    """The columns whose values are not shown."""
    return tuple(column.name for column in columns if column.masked)


def raw(columns: Iterable[Column], text: str) -> str:
    """A piece of a file as it came (a line that does not parse, …), for a fault or a sample.

    Nobody can tell which column it belongs to, so it is shown only where no column is masked. Whoever puts raw text of
    a file into a report passes it through here.
    """
    return MASK if masked(columns) else text
