"""Dialect of a CSV that is not its contract's: another delimiter, quote or encoding, or no header, told by its first
line. It shows neither names nor values.
"""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from lakegate.audit.advice import Advice, Fault, setting
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.kinds import NO_TEXT, of_format
from lakegate.audit.schema.lines import quote
from lakegate.audit.schema.names import REPLACEMENT, fold
from lakegate.audit.schema.types import canonical
from lakegate.audit.text.fields import header_names
from lakegate.audit.text.first_bytes import UTF_16, UTF_32
from lakegate.audit.text.values import NO_NUMBER, NUMBER, spelling
from lakegate.counts import count

_LONGEST = 256 * 1024  # characters of a first line that are looked at
_DELIMITERS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", ":": "colons", "^": "carets", "~": "tildes"}
_QUOTES = ('"', "'", "`")
_SHARE_OF_NAMES = 2  # a dialect is the file's if at least one in so many of the contract's columns is read by it
_NULS = 3  # of so many characters of UTF-16, one or two are NUL; of UTF-32 more
_ALL = "at the contract's landing server, if all files of the table are"


def dialect_fault(plan: Plan, header: str) -> Fault | None:
    """Return the fault of a file whose first line is of another dialect than the contract's; None if it may be of
    this.
    """
    line, form = header[:_LONGEST], plan.files
    if wide := wide_letters(line.count("\0"), len(line)):
        return wide
    if not form.header or NO_TEXT.search(line.encode()):
        return None
    if fault := _json_fault(line):
        return fault
    names = [fold(column.name) for column in plan.columns]
    matches = _count_names(form, line, names)
    if fault := _encoding_fault(form, line, names, matches):
        return fault
    if matches:
        return None
    return next(_other_dialects(form, line, names), None) or _no_header(plan, line)


def wide_letters(nuls: int, of: int) -> Fault | None:
    """Return the fault of a text with so many NUL among its bytes or letters: each of its letters has two or four.

    A line of UTF-32 has three NUL a letter, and those of its line's end. A text with more of them is of no letters.
    """
    if not nuls or of > nuls * _NULS or nuls == of or nuls * 4 > of * 3 + 4:
        return None
    return UTF_16 if nuls * _NULS <= 2 * of else UTF_32


def _json_fault(line: str) -> Fault | None:
    """Return the fault of a file of JSON in place of CSV."""
    vendor = "write it as CSV"
    try:
        value = json.loads(line)
    except (ValueError, RecursionError):
        value = [] if line.strip() in ("[", "[{") else {} if line.strip() == "{" else None
        return Fault("it is JSON over several lines", Advice(vendor=vendor)) if value is not None else None
    if isinstance(value, dict):
        return Fault("it is JSON lines", of_format(FileKind.JSON, vendor))
    return Fault("it is a JSON array", Advice(vendor=vendor)) if isinstance(value, list) else None


def _count_names(form: FileFormat, line: str, names: Sequence[str]) -> int:
    """Count the contract's columns among the fields of a first line."""
    return len({fold(field.strip()) for field in _fields(form, line)}.intersection(names))


def _fields(form: FileFormat, line: str) -> list[str]:
    try:
        return header_names(replace(form, multiline=False), line)
    except csv.Error:
        return []


def _encoding_fault(form: FileFormat, line: str, names: Sequence[str], matches: int) -> Fault | None:
    if form.encoding == "UTF-8" and REPLACEMENT in line and not any(REPLACEMENT in name for name in names):
        return _of_encoding("its first line is not UTF-8", "UTF-8", "windows-1252")
    try:
        decoded_again = line.encode(form.encoding).decode("utf-8-sig")
    except (UnicodeError, LookupError):
        return None
    if form.encoding == "UTF-8" or decoded_again == line or _count_names(form, decoded_again, names) <= matches:
        return None
    return _of_encoding("its first line is UTF-8", form.encoding, "UTF-8")


def _of_encoding(problem: str, encoding: str, word: str) -> Fault:
    advice = Advice(vendor=f"write it as {encoding}", contract=f"say so, {_ALL}", lines=f"encoding: {word}")
    return Fault(f"{problem}, and the contract says {encoding}", advice)


def _other_dialects(form: FileFormat, line: str, names: Sequence[str]) -> Iterator[Fault]:
    """Yield the fault of the delimiter, the quote, or both by which a first line has most of the contract's columns."""
    ways = [
        replace(form, delimiter=delimiter, quote=quote, escape=quote)
        for quote in dict.fromkeys((form.quote, *_QUOTES))
        for delimiter in dict.fromkeys((form.delimiter, *_DELIMITERS))
        if delimiter != quote and (delimiter in line or len(names) == 1)
    ]
    if not ways:
        return
    best = max(ways, key=lambda way: _count_names(way, line, names))
    if _count_names(best, line, names) * _SHARE_OF_NAMES >= len(names):
        yield _of_signs(form, best)


def _of_signs(form: FileFormat, actual: FileFormat) -> Fault:
    problems, requests, lines = list[str](), list[str](), list[str]()
    if actual.delimiter != form.delimiter:
        problems.append(f"its fields are separated by {_sign_name(actual.delimiter)}")
        requests.append(f"separate its fields by {_sign_name(form.delimiter)}")
        lines.append(f"delimiter: {quote(actual.delimiter)}")
    if actual.quote != form.quote:
        problems.append(f"its fields are quoted by {actual.quote}")
        requests.append(f"quote its fields by {form.quote}" if form.quote else "leave out the quotes around its fields")
        lines.append(setting("quote", quote(actual.quote)))
    advice = Advice(vendor=", and to ".join(requests), contract=f"say so, {_ALL}", lines="\n".join(lines))
    return Fault(f"{' and '.join(problems)}, which the contract does not say", advice)


def _sign_name(sign: str) -> str:
    return _DELIMITERS.get(sign, sign)


def _no_header(plan: Plan, line: str) -> Fault | None:
    """Return the fault of a file without a header: as many fields as the contract has columns, and values of the types
    of all that have a spelling.
    """
    fields = _fields(plan.files, line)
    kinds = [canonical(column.type) for column in plan.columns if column.name not in plan.files.patterns]
    typed_kinds = [kind for kind in kinds if _pattern(kind)]
    if len(fields) != len(plan.columns) or not typed_kinds or plan.files.patterns:
        return None
    if not all(
        _is_value(plan.files, field, canonical(column.type)) for field, column in zip(fields, plan.columns, strict=True)
    ):
        return None
    message = f"its first line has {count(len(fields), 'value')}, and the contract says that the names stand there"
    advice = Advice(
        vendor="write the columns' names in its first line",
        contract=f"say that files have no header, {_ALL.replace('are', 'have none')}",
        lines=setting("header", "false"),
    )
    return Fault(message, advice)


def _pattern(kind: str) -> str:
    return f"{NUMBER}|{NO_NUMBER.removeprefix('(?i)')}" if kind in ("float", "double") else spelling(kind)


def _is_value(form: FileFormat, field: str, kind: str) -> bool:
    pattern, text = _pattern(kind), field.strip(" ")
    return not pattern or text in form.nulls or re.fullmatch(pattern, text, re.ASCII) is not None
