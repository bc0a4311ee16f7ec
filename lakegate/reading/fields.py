"""Fields of a CSV's lines, each a text or None, as Spark's parser takes them apart."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.plan import TableColumn
from lakegate.audit.schema.types import canonical
from lakegate.audit.text.fields import atomic, most_fields, quoting, well_quoted
from lakegate.audit.text.scan import row_faults
from lakegate.reading.lines import Line

Fields = Sequence[str | None]
OPTIONS = re.compile("[\ufdd0-\ufdd2]")
"""Letters that no file should have, and that options of the job are made of."""


@dataclass(frozen=True, kw_only=True)
class BrokenLine:
    """A line that is no row, and why."""

    reason: str


def splitter(form: FileFormat, width: int) -> Callable[[Line], Fields | BrokenLine]:
    """Return the function that takes a line apart."""
    strange, bad_quotes, unequal = (BrokenLine(reason=reason) for reason in row_faults(form, width))
    well, fields, limit = re.compile(well_quoted(form, atomic)), quoted_fields(form), most_fields(width)

    def split(line: Line) -> Fields | BrokenLine:
        text = line.text
        if not line.sound:
            return strange
        if OPTIONS.search(text):
            raise HandedOver("Only Spark can say what it makes of letters such as U+FDD0.")
        has_quotes = bool(form.quote) and form.quote in text
        if has_quotes and not well.fullmatch(text):
            return bad_quotes
        if _is_too_wide(form, text, limit):
            return unequal
        values = fields(text) if has_quotes else [field or None for field in text.split(form.delimiter)]
        return values if len(values) == width else unequal

    return split


def _is_too_wide(form: FileFormat, text: str, limit: int) -> bool:
    """Return True for a line with too many fields for the job's parser: it counts the delimiters in quotes as well."""
    return len(text) >= limit // 4 and len(text.encode()) >= limit and text.count(form.delimiter) >= limit


def quoted_fields(form: FileFormat) -> Callable[[str], list[str | None]]:
    """Return the function that takes apart a well-quoted line with quotes."""
    quote, inner, delimiter = quoting(form, atomic) if form.quote else ("", "", re.escape(form.delimiter))
    field = re.compile(f"(?s)(?:{quote}({inner}){quote}|([^{delimiter}]*+))(?:{delimiter}|\\Z)")
    plain = unescape(form)

    def split(text: str) -> list[str | None]:
        values, at = list[str | None](), 0
        while match := field.match(text, at):
            values.append(match[2] or None if match[1] is None else plain(match[1]))
            at = match.end()
            if at == len(text) and (match.end(2) == at or match.end(1) == at - 1):
                return values
        return values

    return split


def unescape(form: FileFormat) -> Callable[[str], str]:
    """Return the function from a text between quotes to the text that it means."""
    quote, escape = form.quote, form.escape
    if escape in ("", quote):
        return lambda text: text.replace(quote * 2, quote)
    escapes = re.compile(f"{re.escape(escape)}([{re.escape(quote + escape)}])")
    return lambda text: escapes.sub(r"\1", text)


def text_of(form: FileFormat, column: TableColumn) -> Callable[[str | None], str | None]:
    """Return the function from a field to its text, None where the contract says that it is null. An empty text between
    quotes is null unless the column is a string.
    """
    spellings = form.nulls_of(column.name)
    nulls = {text for text in spellings if text or canonical(column.type) != "string"}
    empty = None if "" in spellings else ""

    def read(field: str | None) -> str | None:
        text = empty if field is None else field
        return None if text in nulls else text

    return read
