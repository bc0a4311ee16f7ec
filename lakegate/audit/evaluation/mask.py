"""Masks: no value of a column that the contract classifies as anything but public leaves the table.

The job applies them where samples are made, so that a report never contains a masked value. A null stays a null.
Numbers about all rows (a count, a mean) are no values of a row and are not masked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from lakegate.audit.model.plan import TableColumn
from lakegate.audit.schema.names import fold

MASK = "•••"
TEXT = "text"
"""The column that holds a row as it came, where it does not parse."""


@dataclass(frozen=True, kw_only=True)
class Mask:
    """The mask of one table's rows, by every plan that names its columns: a column that any of them masks is hidden.

    Names compare as engines compare them. Values of a column that no plan names wait until a person asks for them.
    `fault` is why a plan cannot be read, which may mask any column.
    """

    columns: tuple[str, ...] = ()
    plan_columns: tuple[str, ...] = ()
    fault: str = ""

    def __or__(self, other: Mask) -> Mask:
        return Mask(
            columns=tuple(dict.fromkeys((*self.columns, *other.columns))),
            plan_columns=tuple(dict.fromkeys((*self.plan_columns, *other.plan_columns))),
            fault=self.fault or other.fault,
        )

    def hides(self, columns: Iterable[str]) -> list[bool]:
        """Return for each column True if a plan masks it."""
        masked_names = set(map(fold, self.columns))
        return [fold(name) in masked_names for name in columns]

    def hides_unparsed(self, columns: Iterable[str]) -> list[bool]:
        """Return the same for rows that do not parse: any column's value may be in their text."""
        return [name == TEXT and bool(self.columns or self.fault) for name in columns]

    def leaves_open(self, columns: Iterable[str]) -> list[bool]:
        """Return for each column True if it is unknown whether it is masked."""
        known_names = set[str]() if self.fault else set(map(fold, (*self.plan_columns, *self.columns)))
        return [fold(name) not in known_names for name in columns]


def of_columns(columns: Iterable[TableColumn]) -> Mask:
    """Return the mask of a plan's columns."""
    all_columns = tuple(columns)
    return Mask(columns=masked_columns(all_columns), plan_columns=tuple(column.name for column in all_columns))


def hide(row: Iterable[Any], hides_columns: Sequence[bool]) -> tuple[Any, ...]:
    """Return a row with the values of its hidden columns masked. A null stays a null."""
    return tuple(
        MASK if hides and value is not None else value for hides, value in zip(hides_columns, row, strict=True)
    )


def masked_columns(columns: Iterable[TableColumn]) -> tuple[str, ...]:
    """Return the columns whose values are not shown."""
    return tuple(column.name for column in columns if column.masked)


def raw(columns: Iterable[TableColumn], text: str) -> str:
    """Return a piece of a file as it came (a line that does not parse, …), for a fault or a sample.

    Its column is unknown, so it is shown only if no column is masked. All raw text of a file that goes into a report
    passes through here.
    """
    return MASK if masked_columns(columns) else text
