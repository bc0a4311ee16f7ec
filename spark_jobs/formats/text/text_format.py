"""One text format as Spark reads it, in one value: how its lines are scanned and parsed. It reads nothing by itself."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyspark.sql import SparkSession

from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.plan import Plan
from lakegate.audit.text.scan import Scan
from spark_jobs.formats.text.parsed_files import ParsedFiles


@dataclass(frozen=True, kw_only=True)
class Layout:
    """Columns of a file, in its order; "" is a field that is not read. `sound`: all its bytes are known to be text."""

    names: tuple[str, ...]
    sound: bool


@dataclass(frozen=True, kw_only=True)
class TextFormat:
    """A text format's part of its row in the registry.

    `scan` returns each file's lines by file version. `parse` reads files of one layout as the plan's columns; those
    that a file lacks are null.
    """

    scan: Callable[[SparkSession, FileFormat, Sequence[str]], dict[str, Scan]]
    parse: Callable[[SparkSession, Plan, Layout, Sequence[str]], ParsedFiles]
