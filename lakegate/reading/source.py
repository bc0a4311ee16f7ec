"""A file's bytes, unpacked as its name or the contract says, in blocks: a file is never in memory as a whole."""

import bz2
import gzip
import io
import zlib
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from lakegate.audit.model.files import SUFFIXES
from lakegate.audit.schema.kinds import FIRST
from lakegate.audit.text.first_bytes import TAIL

_BLOCK = 1024**2


class BrokenFile(Exception):
    """The file cannot be unpacked to its end, or a row of it taken apart: the job reads none of it."""


_UNPACK: Mapping[str, Callable[[BinaryIO], Any]] = {
    SUFFIXES["gzip"]: lambda file: gzip.GzipFile(fileobj=file),
    SUFFIXES["bzip2"]: bz2.BZ2File,
    SUFFIXES["zstd"]: lambda file: pa.CompressedInputStream(pa.PythonFile(file, mode="r"), "zstd"),
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file's content, in a folder or in memory, and the ending that names its compression ("": none)."""

    content: Path | bytes
    suffix: str = ""

    def open(self) -> BinaryIO:
        return self.content.open("rb") if isinstance(self.content, Path) else io.BytesIO(self.content)

    def ends(self) -> tuple[bytes, bytes]:
        """Return the file's first and last bytes as they are stored."""
        with self.open() as file:
            start = file.read(FIRST)
            size = file.seek(0, io.SEEK_END)
            file.seek(max(0, size - TAIL))
            return start, file.read()

    def blocks(self) -> Iterator[bytes]:
        """Yield what the file unpacks to. Raise Broken where that ends too early."""
        with self.open() as file:
            unpacker = _UNPACK[self.suffix](file) if self.suffix else file
            try:
                while block := unpacker.read(_BLOCK):
                    yield bytes(block)
            except (EOFError, OSError, ValueError, zlib.error, pa.ArrowException) as error:
                raise BrokenFile("it is not whole, or not as it was compressed") from error
