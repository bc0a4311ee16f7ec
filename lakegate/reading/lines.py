r"""Lines of a text file, as Hadoop's reader has them: each ends in `\n`, `\r\n` or `\r`. It parses no value."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lakegate.audit.model.files import FileFormat

BOM = b"\xef\xbb\xbf"
_CODECS = {
    "UTF-8": "utf-8",
    "US-ASCII": "ascii",
    "ISO-8859-1": "iso8859-1",
    "ISO-8859-15": "iso8859-15",
    "windows-1252": "cp1252",
}
REPLACEMENT = "\ufffd"
"""Letter in place of bytes that are no text."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A line by its number, from 1 on. It is `sound` if its bytes are text of the encoding."""

    number: int
    text: str
    sound: bool


def codec(form: FileFormat) -> str:
    """Return Python's name of the encoding."""
    return _CODECS[form.encoding]


def raw_lines(blocks: Iterable[bytes], limit: int) -> Iterator[bytes]:
    """Yield lines as bytes, without their ends and without a byte order mark. A line with over `limit` bytes comes in
    pieces of more than `limit`, so that no line takes more memory than that.
    """
    rest, first = b"", True
    for block in blocks:
        text = rest + block
        if first and len(text) < len(BOM):
            rest = text
            continue
        text, first = text.removeprefix(BOM) if first else text, False
        end = len(text) - 1 if text.endswith(b"\r") else len(text)  # its other half may follow
        pieces = text[:end].splitlines(keepends=True)
        tail = text[end:]
        if pieces and not pieces[-1].endswith((b"\n", b"\r")) and len(pieces[-1]) <= limit:
            tail = pieces.pop() + tail
        rest = tail
        yield from (piece.rstrip(b"\r\n") for piece in pieces)
    yield from rest.removeprefix(BOM if first else b"").splitlines()


def lines(blocks: Iterable[bytes], form: FileFormat) -> Iterator[Line]:
    """Yield every line, empty ones too."""
    name = codec(form)
    for number, line in enumerate(raw_lines(blocks, form.limits.line), 1):
        try:
            yield Line(number=number, text=line.decode(name), sound=True)
        except UnicodeDecodeError:
            yield Line(number=number, text=line.decode(name, "replace"), sound=False)
