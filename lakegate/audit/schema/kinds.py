"""Formats of files by their first bytes, and the fault of one that is not of its contract's."""

import re

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.model.files import FileKind

FIRST = 64
"""The bytes that show a format."""
MAGIC = {b"PAR1": FileKind.PARQUET, b"ORC": FileKind.ORC, b"Obj\x01": FileKind.AVRO}
"""First bytes of files with types of their own."""
NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
NAMES = {
    FileKind.PARQUET: "a parquet file",
    FileKind.ORC: "an ORC file",
    FileKind.AVRO: "an Avro file",
    FileKind.CSV: "CSV",
    FileKind.JSON: "JSON lines",
}
"""Formats as messages call them."""
_OBJECT = re.compile(rb"(?:\xef\xbb\xbf)?\s*[{]")


def kind_of(first: bytes) -> FileKind | None:
    """Return the format of a file with these first bytes; None if they are of none."""
    if kind := next((kind for magic, kind in MAGIC.items() if begins_as(first, magic)), None):
        return kind
    if not first or NO_TEXT.search(first):
        return None
    return FileKind.JSON if _OBJECT.match(first) else FileKind.CSV


def begins_as(first: bytes, magic: bytes) -> bool:
    """Return True if a file begins as another format. A header may begin with the same letters, but goes on as text."""
    return first.startswith(magic) and bool(not magic.isalnum() or NO_TEXT.search(first))


def not_of(kind: FileKind, first: bytes) -> Fault:
    """Return the fault of a file that is not of the contract's format, with the line for the one that it is of."""
    message, vendor = f"it is not {NAMES[kind]}", f"write it as {NAMES[kind]}"
    other = kind_of(first)
    if other is None or other is kind:
        return Fault(message, Advice(vendor=vendor))
    seems = "looks like" if other.is_text else "is"
    return Fault(f"{message}: it {seems} {NAMES[other]}", of_format(other, vendor))


def of_format(kind: FileKind, vendor: str) -> Advice:
    """Return the advice for a file of another format than the contract's."""
    rest = "" if kind.is_text else ", without the words that are of text alone (delimiter, encoding, quote)"
    change = f"say its format, at the contract's landing server{rest}, if all files of the table have it"
    return Advice(vendor=vendor, contract=change, lines=f"format: {kind}")
