"""Fields of a CSV's lines: the names in its header, its quotes, and how many fields a line may have."""

import csv
import re
from collections.abc import Callable, Mapping
from typing import Any

from lakegate.audit.model.files import FileFormat

DEFAULT_FIELDS = 20_480
"""The most fields of a line that Spark's parser takes unless told otherwise."""


def header_names(form: FileFormat, header: str) -> list[str]:
    """Return the names in a header. Raise csv.Error if a name is too long, or goes on in the next line."""
    quoting = {"quotechar": form.quote} if form.quote else {"quotechar": None, "quoting": csv.QUOTE_NONE}
    escapes = {"escapechar": form.escape, "doublequote": False} if form.escape not in ("", form.quote) else {}
    options: dict[str, Any] = {"delimiter": form.delimiter, **quoting, **escapes}
    if form.multiline:
        _refuse_open_quote(header, options)
    return next(csv.reader([header], **options))


def _refuse_open_quote(header: str, options: Mapping[str, Any]) -> None:
    """Raise csv.Error if a quote is open at the end of the line: the header goes on in the next one."""
    try:
        next(csv.reader([header], strict=True, **options))
    except csv.Error as error:
        if "end of data" in str(error):
            raise


def most_fields(width: int) -> int:
    """Return the fields of which a line with one more is not taken apart, where a line has `width`."""
    return max(DEFAULT_FIELDS, width + 1)


def possessive(part: str) -> str:
    """Return the pattern of a repeated part that gives nothing back: Java then needs no recursion for a long line."""
    return f"(?:{part})*+"


def atomic(part: str) -> str:
    """Return the same for Python, which before 3.11.5 matches a repeated group wrongly if it is possessive
    (python/cpython#106052).
    """
    return f"(?>(?:{part})*)"


Repeat = Callable[[str], str]


def well_quoted(form: FileFormat, repeat: Repeat = possessive) -> str:
    """Return the pattern of a whole line with quotes where they may stand: around a whole field, and escaped within
    one. "" matches every line.
    """
    if not form.quote:
        return ""
    quote, inner, delimiter = quoting(form, repeat)
    field = f"(?:{quote}{inner}{quote}|(?!{quote})[^{delimiter}]*+)"
    return f"(?s){field}{repeat(delimiter + field)}"


def left_open(form: FileFormat, repeat: Repeat = possessive) -> str:
    """Return the pattern of a whole record with a quote that is never closed; only a file's last can have one."""
    quote, inner, delimiter = quoting(form, repeat)
    field = f"(?:{quote}{inner}{quote} *+|(?!{quote})[^{delimiter}]*+)"
    cut_off = "" if form.escape in ("", form.quote) else f"{re.escape(form.escape)}?+"
    return rf"(?s)[\r\n]*+{repeat(field + delimiter)}{quote}{inner}{cut_off}"


def quoting(form: FileFormat, repeat: Repeat = possessive) -> tuple[str, str, str]:
    """Return the patterns of a quote, of the text between two of them, and of the delimiter."""
    quote, escape, delimiter = (re.escape(sign) for sign in (form.quote, form.escape or form.quote, form.delimiter))
    escapes = f"{quote}{quote}" if quote == escape else f"{escape}."
    return quote, repeat(f"[^{quote}{escape}]++|{escapes}"), delimiter
