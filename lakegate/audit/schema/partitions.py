"""Partitions of a table as a plan spells them, read and written: a column, or a transform of one."""

import re
from dataclasses import dataclass
from typing import Self

from lakegate.audit.schema.types import spark_identifier

# An unquoted name is a plain word.
_PARTITION_FORM = re.compile(r"(?:(\w+)\((?:(\d+),\s*)?)?(?:`((?:[^`]|``)+)`|(\w+))(?(1)\))")
_OF_TIME = {"years": "year", "months": "month", "days": "day", "hours": "hour"}
"""Iceberg's names of transforms that have others in Spark SQL."""
_SPARKS = {iceberg: spark for spark, iceberg in _OF_TIME.items()}
# Iceberg names a transform's partition field by the column and one of these suffixes.
_SUFFIXES = {**_OF_TIME, "bucket": "bucket", "truncate": "trunc"}
_WIDTH_FORM = re.compile(r"(\w+)\[(\d+)]")
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

    @classmethod
    def of_iceberg(cls, column: str, transform: str) -> Self:
        """Return the partition of a column by a transform in Iceberg's spelling, `month` or `bucket[16]`."""
        if match := _WIDTH_FORM.fullmatch(transform):
            return cls(column=column, transform=match[1], width=int(match[2]))
        return cls(column=column, transform=_SPARKS.get(transform, transform))

    @property
    def iceberg(self) -> str:
        """Iceberg's spelling of the transform."""
        name = _OF_TIME.get(self.transform, self.transform)
        return name if self.width is None else f"{name}[{self.width}]"

    @property
    def field(self) -> str:
        """Iceberg's name of the partition field."""
        return f"{self.column}_{_SUFFIXES[self.transform]}" if self.transform in _SUFFIXES else self.column


def partition(text: str) -> Partition:
    """Parse a partition of a plan. Raise ValueError if the text is none."""
    match = _PARTITION_FORM.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r} is no partition of a plan")
    transform, width, name, word = match.groups()
    column = word or name.replace("``", "`")
    return Partition(column=column, transform=transform or IDENTITY, width=int(width) if width else None)
