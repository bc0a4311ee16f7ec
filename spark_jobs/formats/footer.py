"""A typed file's own description, which is before or after its rows: what every format's reader returns."""

import json
from collections.abc import Iterable
from dataclasses import dataclass

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.evaluation.mask import raw
from lakegate.audit.model.plan import TableColumn
from lakegate.audit.schema.fit import FileColumn
from lakegate.audit.schema.inspection import WRITTEN_ANEW
from spark_jobs.jvm.spark_sql import sql_type


class Unreadable(Exception):
    """The file is not of its format, or contradicts itself.

    `text` is the fault, in a person's words, with its own advice if it is a Fault; by default the file is to be written
    anew. `detail` is a reader's own message, which may quote the file.
    """

    def __init__(self, text: str, detail: str = "", advice: Advice = WRITTEN_ANEW) -> None:
        super().__init__(text)
        self.text, self.detail, self.advice = text, detail, text.advice if isinstance(text, Fault) else advice

    def fault(self, columns: Iterable[TableColumn]) -> Fault:
        """Return the fault of a file with these columns; the detail is hidden if any of them is masked."""
        return Fault(f"{self.text}: {raw(columns, self.detail)}" if self.detail else self.text, self.advice)


@dataclass(frozen=True, kw_only=True)
class Footer:
    """A file's rows, and its columns as Spark would read them. With `faults` nothing of it is appended."""

    rows: int = 0
    columns: tuple[FileColumn, ...] = ()
    faults: tuple[Fault, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Ends:
    """A file's length in bytes, and its first and last bytes."""

    length: int
    first: bytes
    last: bytes


def columns_in(schema: str) -> tuple[FileColumn, ...]:
    """Return the columns of a schema in Spark's JSON."""
    fields = json.loads(schema)["fields"]
    return tuple(FileColumn(name=field["name"], type=str(sql_type(field["type"]))) for field in fields)
