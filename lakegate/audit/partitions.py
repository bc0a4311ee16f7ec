"""The partitions of a table as a plan spells them, read and written: a column, or a transform of one."""

import re
from dataclasses import dataclass

from lakegate.audit.types import quoted

# A name without quotes is a plain word.
_SPELLED = re.compile(r"(?:(\w+)\((?:(\d+),\s*)?)?(?:`((?:[^`]|``)+)`|(\w+))(?(1)\))")
# What Iceberg puts behind a column's name to have one for the partition field of its transform.
_SUFFIXES = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
_SUFFIXES |= {"bucket": "bucket", "truncate": "trunc"}
IDENTITY = "identity"


@dataclass(frozen=True, kw_only=True)
class Partition:
    """By what a table is partitioned: the values of a column, or what a transform makes of them."""

    column: str
    transform: str = IDENTITY
    width: int | None = None

    def __str__(self) -> str:
        """In Spark SQL: ``months(`placed`)``."""
        if self.transform == IDENTITY:
            return quoted(self.column)
        width = "" if self.width is None else f"{self.width}, "
        return f"{self.transform}({width}{quoted(self.column)})"

    @property
    def field(self) -> str:
        """What Iceberg calls it."""
        return f"{self.column}_{_SUFFIXES[self.transform]}" if self.transform in _SUFFIXES else self.column


def partition(spelled: str) -> Partition:
    """A partition of a plan; ValueError where it is none."""
    found = _SPELLED.fullmatch(spelled)
    if found is None:
        raise ValueError(f"{spelled!r} is no partition of a plan")
    transform, width, name, word = found.groups()
    column = word or name.replace("``", "`")
    return Partition(column=column, transform=transform or IDENTITY, width=int(width) if width else None)
