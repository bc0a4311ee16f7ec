"""Partitions of a table as a plan spells them, read and written: a column, or a transform of one."""

import re
from dataclasses import dataclass

from lakegate.audit.schema.types import spark_identifier

# An unquoted name is a plain word.
_SPELLED = re.compile(r"(?:(\w+)\((?:(\d+),\s*)?)?(?:`((?:[^`]|``)+)`|(\w+))(?(1)\))")
# Iceberg names a transform's partition field by the column and one of these suffixes.
_SUFFIXES = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_SUFFIXES |= {"bucket": "bucket", "truncate": "trunc"}
IDENTITY = "identity"


@dataclass(frozen=True, kw_only=True)
class Partition:
    """A partition field: a column's values, or a transform of them."""

    column: str
    transform: str = IDENTITY
    width: int | None = None

    def __str__(self) -> str:
        """Return the Spark SQL: ``months(`placed`)``."""
        if self.transform == IDENTITY:
            return spark_identifier(self.column)
        width = "" if self.width is None else f"{self.width}, "
        return f"{self.transform}({width}{spark_identifier(self.column)})"

    @property
    def field(self) -> str:
        """Iceberg's name of the partition field."""
        return f"{self.column}_{_SUFFIXES[self.transform]}" if self.transform in _SUFFIXES else self.column


def partition(spelled: str) -> Partition:
    """Parse a partition of a plan. Raise ValueError if the text is none."""
    found = _SPELLED.fullmatch(spelled)
    if found is None:
        raise ValueError(f"{spelled!r} is no partition of a plan")
    transform, width, name, word = found.groups()
    column = word or name.replace("``", "`")
    return Partition(column=column, transform=transform or IDENTITY, width=int(width) if width else None)
