"""What a file of a typed format says of itself before its rows: how each says it stands with each format."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from lakegate.audit.mask import raw
from lakegate.audit.plan import Column
from lakegate.audit.schema_fit import FileColumn
from spark_jobs.iceberg import sql_type


class Unreadable(Exception):
    """The file is none of its format, or lies about itself: the text is the fault, in a person's words. `quoted` is
    what a reader said besides, which may quote the file.
    """

    def __init__(self, why: str, quoted: str = "") -> None:
        super().__init__(why)
        self.why, self.quoted = why, quoted

    def told(self, columns: Iterable[Column]) -> str:
        """The fault of a file with such columns."""
        return f"{self.why}: {raw(columns, self.quoted)}" if self.quoted else self.why


@dataclass(frozen=True, kw_only=True)
class Footer:
    """The rows, and the columns as Spark would read them; with `faults` none of it is appended."""

    rows: int = 0
    columns: tuple[FileColumn, ...] = ()
    faults: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Ends:
    """How long a file is, and its first and last bytes."""

    length: int
    first: bytes
    last: bytes


def columns_in(schema: str) -> tuple[FileColumn, ...]:
    """The columns of a schema in Spark's JSON."""
    fields = json.loads(schema)["fields"]
    return tuple(FileColumn(name=field["name"], type=str(sql_type(field["type"]))) for field in fields)
