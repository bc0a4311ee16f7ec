"""Encodings of landed files: parquet, ORC, Avro, or text with its delimiter and spellings. It opens no file."""

from dataclasses import dataclass, field
from enum import StrEnum

from lakegate.audit.model.limits import DEFAULTS, Limits


class FileKind(StrEnum):
    """A file's format."""

    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    CSV = "csv"
    JSON = "json"  # JSON lines: one object per line

    @property
    def is_text(self) -> bool:
        """True if values have no types in the file: each is parsed as the contract's type."""
        return self in (FileKind.CSV, FileKind.JSON)


SUFFIXES = {"none": "", "gzip": ".gz", "bzip2": ".bz2", "zstd": ".zstd"}
"""Endings of compressed text files' staged copies: the readers choose their codec by it. Hadoop's own codec for `.zst`
needs a library that not every machine has; parquet's, for `.zstd`, includes it.
"""
_ENDINGS = {".gz": ".gz", ".bz2": ".bz2", ".zst": ".zstd", ".zstd": ".zstd"}
SUFFIX_CHOICES = ("", *_ENDINGS)
"""Endings of text files' names that name their compression, in lower case."""


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """A table's file format. All fields but `kind` and `limits` concern text alone; the values here are the defaults.

    `nulls` are the spellings of null: "" is an empty field. `compression` is one of SUFFIXES, or "" if the file's name
    tells it. `patterns` are the spellings of dates and timestamps, by column; ISO 8601 for the others. `column_nulls`
    are the spellings of null in columns that have their own.
    """

    kind: FileKind = FileKind.PARQUET
    header: bool = True
    delimiter: str = ","
    quote: str = '"'  # "": no quotes
    escape: str = '"'  # precedes a quote within quotes
    nulls: tuple[str, ...] = ("",)
    multiline: bool = False  # True: a quoted field may hold line ends
    encoding: str = "UTF-8"
    compression: str = ""
    patterns: dict[str, str] = field(default_factory=dict)
    column_nulls: dict[str, tuple[str, ...]] = field(default_factory=dict)
    limits: Limits = DEFAULTS

    def nulls_of(self, column: str) -> tuple[str, ...]:
        """Return the spellings of null in a column: its own, or else the file's."""
        return self.column_nulls.get(column, self.nulls)

    def suffix(self, key: str) -> str:
        """Return the ending of a staged copy's name: `.parquet`, `.csv.gz`. Only known endings of the landing key
        count.
        """
        if not self.kind.is_text:
            return f".{self.kind}"
        if self.compression:
            return f".{self.kind}{SUFFIXES[self.compression]}"
        packing = next((suffix for end, suffix in _ENDINGS.items() if key.lower().endswith(end)), "")
        return f".{self.kind}{packing}"


PARQUET = FileFormat()
