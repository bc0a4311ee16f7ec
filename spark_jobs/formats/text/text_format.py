"""One text format as Spark reads it, in one value: how its lines are scanned and parsed. It reads nothing by itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from lakegate.audit.advice import Advice, setting
from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.plan import Plan
from spark_jobs.formats.text.parsed import Parsed

HEADER = Advice(
    vendor="write the columns' names in its first line",
    contract="say that files have no header, at the contract's landing server",
    lines=setting("header", "false"),
)
"""For a file whose first line names no columns."""


@dataclass(frozen=True, kw_only=True)
class Scan:
    """One file as its lines show it, without parsing a value.

    `longest` is in bytes. `keys` are those of JSON objects, at most one more than the limit of columns; `widest` is the
    most keys that one object has, and `twice` is true if an object repeats a key. Of CSV whose fields may hold line
    ends, `left_open` is true if a quote is never closed, and `sound` if all bytes are text of the encoding.
    """

    rows: int = 0
    header: str = ""
    keys: tuple[str, ...] = ()
    twice: bool = False
    left_open: bool = False
    sound: bool = False
    widest: int = 0
    longest: int = 0


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Columns of a file, in its order; "" is a field that is not read. `sound`: all its bytes are known to be text."""

    names: tuple[str, ...]
    sound: bool


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """A text format's part of its row in the registry.

    `scan` returns each file's lines by file version, and `columns` the names that a scan shows. `parse` reads files of
    one layout as the plan's columns; those that a file lacks are null. `is_positional` is true if a value's place names
    its column. `no_names` is the fault of a file with no column of the contract.
    """

    scan: Callable[[SparkSession, FileFormat, Sequence[str]], dict[str, Scan]]
    columns: Callable[[Plan, Scan], list[str]]
    parse: Callable[[SparkSession, Plan, Layout, Sequence[str]], Parsed]
    no_names: str
    is_positional: bool = False
    has_header: Callable[[FileFormat], bool] = lambda _: False
