"""How landed files are written: parquet, ORC, Avro, or text with its delimiter and spellings. It opens no file."""

from dataclasses import dataclass, field
from enum import StrEnum

from lakegate.audit.limits import DEFAULTS, Limits


class FileKind(StrEnum):
    """The formats of files."""

    PARQUET = "parquet"
    ORC = "orc"
    AVRO = "avro"
    CSV = "csv"
    JSON = "json"  # JSON lines: an object a line

    @property
    def is_text(self) -> bool:
        """Whether its values have no types: each is parsed as the contract's."""
        return self in (FileKind.CSV, FileKind.JSON)


SUFFIXES = {"none": "", "gzip": ".gz", "bzip2": ".bz2", "zstd": ".zstd"}
"""What a compressed text file's staged copy ends in: the readers choose their codec by it. Hadoop's own for `.zst`
needs a library that not every machine has; parquet's, for `.zstd`, brings it along.
"""
_ENDINGS = {".gz": ".gz", ".bz2": ".bz2", ".zst": ".zstd", ".zstd": ".zstd"}


@dataclass(frozen=True, kw_only=True)
class FileFormat:
    """How a table's files are written. All but `kind` and `limits` is about text alone; what stands here is
    the default.

    `nulls` are the fields that are null: "" is a field with nothing in it. `compression` is one of SUFFIXES, or ""
    where a file's name says it. `patterns` are how dates and timestamps are spelled, by column; ISO 8601 where none is.
    """

    kind: FileKind = FileKind.PARQUET
    header: bool = True
    delimiter: str = ","
    quote: str = '"'  # "": there are no quotes
    escape: str = '"'  # before a quote within quotes
    nulls: tuple[str, ...] = ("",)
    multiline: bool = False  # whether a quoted field may hold line ends
    encoding: str = "UTF-8"
    compression: str = ""
    patterns: dict[str, str] = field(default_factory=dict)
    limits: Limits = DEFAULTS

    def suffix(self, key: str) -> str:
        """The ending of a staged copy's name: `.parquet`, `.csv.gz`. Of a landing key, only known endings count."""
        if not self.kind.is_text:
            return f".{self.kind}"
        if self.compression:
            return f".{self.kind}{SUFFIXES[self.compression]}"
        packed = next((suffix for end, suffix in _ENDINGS.items() if key.lower().endswith(end)), "")
        return f".{self.kind}{packed}"


PARQUET = FileFormat()
