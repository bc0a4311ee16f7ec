"""Records of a CSV whose fields may hold line ends, as Spark's parser takes a whole file apart.

The parser takes the first line end for that of all records; where a file has others between its records, HandedOver is
raised.
"""

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat
from lakegate.audit.text.fields import atomic, most_fields, quoting
from lakegate.reading.fields import OPTIONS, Fields, unescape
from lakegate.reading.lines import BOM, codec
from lakegate.reading.source import BrokenFile

_LOOKED_AT = 1_000_000  # letters in which the parser looks for a line end
_ENDS = re.compile("\r\n|\n|\r")


@dataclass(frozen=True, kw_only=True)
class Record:
    """A record's fields, and its text as it is in the file. `left_open` is true of one with a quote that is never
    closed.
    """

    fields: Fields
    text: str
    left_open: bool = False


class _Open(Exception):
    """A record goes on in text that is not there yet."""


def records(blocks: Iterable[bytes], form: FileFormat, width: int) -> Iterator[Record]:
    """Yield all records, the header among them. Raise Broken where the job's reading ends."""
    texts = _texts(blocks, form)
    text, parser, is_last = "", None, False
    while not is_last:
        block = next(texts, None)
        text, is_last = text + (block or ""), block is None
        if not parser and (is_last or len(text) >= _LOOKED_AT):
            parser = _Parser(form, width, text)
        at = 0
        while parser and at < len(text):
            try:
                record, at = parser.record(text, at, is_last=is_last)
            except _Open:
                break
            if record:
                yield record
        text = text[at:]


def _texts(blocks: Iterable[bytes], form: FileFormat) -> Iterator[str]:
    decoder, is_first = codecs.getincrementaldecoder(codec(form))("replace"), True
    for block in blocks:
        if is_first and block.startswith(BOM) and codec(form) != "utf-8":
            raise HandedOver("Only Spark can say what it makes of a byte order mark of UTF-8 in another encoding.")
        text = decoder.decode(block)
        if OPTIONS.search(text):
            raise HandedOver("Only Spark can say what it makes of letters such as U+FDD0.")
        yield text.removeprefix("\ufeff") if is_first else text
        is_first = False
    yield decoder.decode(b"", final=True)


class _Parser:
    """The parser of a file whose records end as its first line does."""

    def __init__(self, form: FileFormat, width: int, start: str) -> None:
        first = _ENDS.search(start, 0, _LOOKED_AT)
        if not first and len(start) >= _LOOKED_AT:
            raise HandedOver("Only Spark can say where the lines of a file end whose first one is so long.")
        self.end, self.limit = first[0] if first else "\n", most_fields(width)
        if self.end == "\r":
            raise HandedOver("Only Spark can say where lines end by \\r alone, if fields may hold line ends.")
        quote, inner, delimiter = quoting(form, atomic) if form.quote else ("", "", re.escape(form.delimiter))
        self.quote, self.delimiter = form.quote, form.delimiter
        self.quote_pattern = re.compile(f"(?s){quote}({inner}){quote} *+") if quote else None
        self.plain = re.compile(f"[^{delimiter}\r\n]*+")
        self.unescape = unescape(form)

    def record(self, text: str, start: int, *, is_last: bool) -> tuple[Record | None, int]:
        """Return the record that begins at a place, None for an empty line, and where the next one begins."""
        if text.startswith(self.end, start):
            return None, start + len(self.end)
        fields, at = list[str | None](), start
        while True:
            value, at, left_open = self.field(text, at, is_last=is_last)
            fields.append(value)
            if len(fields) > self.limit:
                raise BrokenFile("a row has too many fields")
            if at == len(text) or not text.startswith(self.delimiter, at):
                break
            at += 1
        if at == len(text) and not is_last:
            raise _Open
        after = self.after(text, at, is_last=is_last)
        return Record(fields=fields, text=text[start:at], left_open=left_open), after

    def after(self, text: str, at: int, *, is_last: bool) -> int:
        """Return where the next record begins."""
        if at + 1 == len(text) and not is_last:
            raise _Open  # the second half of a line end may follow
        if at == len(text):
            return at
        if (match := _ENDS.match(text, at)) and match[0] == self.end:
            return match.end()
        raise HandedOver("Only Spark can say where rows end whose line ends differ: end all lines in the same way.")

    def field(self, text: str, at: int, *, is_last: bool) -> tuple[str | None, int, bool]:
        """Return a field, where it ends, and whether its quote is never closed."""
        if not self.quote_pattern or not text.startswith(self.quote, at):
            match = self.plain.match(text, at)
            return (match[0] or None, match.end(), False) if match else (None, at, False)
        match = self.quote_pattern.match(text, at)
        if not match or match.end() == len(text):
            if not is_last:
                raise _Open
            if not match:
                return text[at:], len(text), True
        if match.end() < len(text) and text[match.end()] not in f"{self.delimiter}\r\n":
            if text[match.end()] <= " ":
                raise HandedOver("Only Spark can say what it makes of white space behind a quote.")
            raise BrokenFile("a quote is out of place")
        return self.with_line_ends(self.unescape(match[1])), match.end(), False

    def with_line_ends(self, text: str) -> str:
        """Return a text between quotes with its line ends as the parser leaves them."""
        if self.end == "\n" or ("\r" not in text and "\n" not in text):
            return text
        if any(end not in (self.end, "\n") for end in _ENDS.findall(text)):
            raise HandedOver("Only Spark can say what it makes of other line ends in a field than those of the lines.")
        return text.replace(self.end, "\n")
