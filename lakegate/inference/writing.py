"""A contract as YAML with comments, made of suggestions. It decides nothing.

Names and values come from strangers' files: what is no plain word is quoted, and a comment stays on its line.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, digits
from lakegate.inference.suggestions import Said, Suggestions
from lakegate.shown import is_mark, is_seen, shown, spelt

_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_.-]*|s3://landing/[a-z0-9_/.*-]+|decimal\([0-9,]+\)")
_WORDS = {"null", "true", "false", "yes", "no", "on", "off", "y", "n", "nan", "inf"}
_BEYOND = 0xFFFF
MOST_LINED = 1_000
"""Columns of which each has lines of its own, with its checks."""
_LOGICAL = {
    "boolean": "boolean",
    "int": "integer",
    "bigint": "integer",
    "float": "number",
    "double": "number",
    "string": "string",
    "binary": "string",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}
_FORMATS = {"bigint": ("format", "i64"), "float": ("format", "f32"), "timestamp_ntz": ("timezone", False)}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column with what is said of it."""

    name: str
    kind: Type
    suggestions: Suggestions
    pattern: str = ""
    nulls: Said | None = None
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class Draft:
    """A contract before it is text. `samples` says what it rests on. `rows` are the fewest that a file may have, and
    `fresh` is a column with the days that its newest value may be old.
    """

    table: str
    route: str
    form: FileFormat
    columns: Sequence[Column]
    samples: str
    rows: Said | None = None
    fresh: tuple[str, Said] | None = None


def written(draft: Draft) -> str:
    """Return the contract's text."""
    return "".join(f"{line}\n" for line in _lines(draft))


def _lines(draft: Draft) -> Iterator[str]:
    namespace, _, name = draft.table.partition(".")
    yield f"# Inferred from {_comment(draft.samples)}."
    yield "# Each comment tells the number that its line rests on: edit what you know better, and describe what it is."
    yield "apiVersion: v3.2.0"
    yield "kind: DataContract"
    yield f"id: {scalar(f'{namespace}-{name}'.replace('_', '-'))}"
    yield "version: 1.0.0"
    yield "status: draft"
    yield ""
    yield "servers:"
    yield "  - server: landing"
    yield "    type: s3"
    yield f"    location: {scalar(f's3://landing/{draft.route}')}"
    yield f"    format: {draft.form.kind}"
    yield from _dialect(draft)
    yield ""
    yield "schema:"
    yield f"  - name: {scalar(name)}"
    yield f"    physicalName: {scalar(draft.table)}"
    yield "    # To publish everything at first, and be told what would have been rejected, uncomment the next line."
    yield "    # customProperties: [{property: mode, vendor: lakegate, value: observe}]"
    is_wide = len(draft.columns) > MOST_LINED
    yield "    properties:" + (
        f"  # over {MOST_LINED:,} columns: their types, and no checks but the key" if is_wide else ""
    )
    for column in draft.columns:
        if is_wide and isinstance(column.kind, Atom):
            yield _in_one_line(column, column.kind)
        else:
            yield from _column(column)
    if draft.rows:
        yield "    quality:"
        yield from (f"      {line}" for line in _row_count(draft.rows))
    if draft.fresh:
        yield ""
        yield from _fresh(name, *draft.fresh)


def _row_count(said: Said) -> Iterator[str]:
    yield "- metric: rowCount"
    yield f"  mustBeGreaterOrEqualTo: {said.value}  # {_comment(said.why)}"


def _fresh(table: str, column: str, said: Said) -> Iterator[str]:
    yield "slaProperties:"
    yield "  - property: latency"
    yield f"    element: {scalar(f'{table}.{column}')}"
    yield f"    value: {said.value}  # {_comment(said.why)}"
    yield "    unit: d"


def _dialect(draft: Draft) -> Iterator[str]:
    form, usual = draft.form, FileFormat(kind=draft.form.kind)
    if form.encoding != usual.encoding:
        yield f"    encoding: {scalar(form.encoding)}"
    if form.kind is not FileKind.CSV:
        return
    if form.delimiter != usual.delimiter:
        yield f"    delimiter: {scalar(form.delimiter)}"
    said: list[tuple[str, Any, str]] = [
        ("header", form.header, "the first line holds values"),
        ("quote", form.quote, "" if form.quote else "quotes are letters"),
        ("escape", form.escape, ""),
        ("multiLine", form.multiline, "a field holds line ends"),
    ]
    known = {"header": True, "quote": '"', "escape": form.quote or '"', "multiLine": False}
    differing = [(word, value, why) for word, value, why in said if value != known[word]]
    if differing:
        yield "    customProperties:"
    for word, value, why in differing:
        yield f"      - {{property: {word}, vendor: lakegate, value: {scalar(value)}}}" + _remark(why)


def _column(column: Column) -> Iterator[str]:
    yield f"      - name: {scalar(column.name)}"
    said = column.suggestions
    options = {word: _said(value) for word, value in said.options.items()}
    if column.pattern:
        options = {"format": (column.pattern, "how the samples spell it"), **options}
    yield from (f"        {line}" for line in _type(column.kind, options, column.remark))
    if column.nulls:
        setting = f"{{property: nullValues, vendor: lakegate, value: {scalar(column.nulls.value)}}}"
        yield "        customProperties:"
        yield f"          - {setting}{_remark(column.nulls.why)}"
    for word, value in said.words.items():
        yield f"        {word}: {scalar(value.value)}  # {_comment(value.why)}"
    if said.values:
        yield f"        enum:  # {_comment(said.values.why)}"
        yield from (f"          - value: {scalar(value)}" for value in said.values.value)
    if said.personal:
        yield "        # The name sounds personal: to mask its values in reports, uncomment the next line."
        yield "        # classification: restricted"


def _in_one_line(column: Column, kind: Atom) -> str:
    """Return the line of one of very many columns: a contract has a limit of bytes, and of words."""
    said: dict[str, Any] = {"name": column.name, "logicalType": "number" if digits(kind) else _LOGICAL[str(kind)]}
    if digits(kind) or str(kind) in ("bigint", "binary", "float", "timestamp_ntz"):
        said["physicalType"] = str(kind)
    if column.pattern:
        said["logicalTypeOptions"] = {"format": column.pattern}
    if column.nulls:
        value = {"property": "nullValues", "vendor": "lakegate", "value": column.nulls.value}
        said["customProperties"] = [value]
    if "primaryKey" in column.suggestions.words:
        said["primaryKey"] = True
    return f"      - {_flow(said)}{_remark(column.remark)}"


def _flow(value: Any) -> str:
    """Return a value as YAML has it within braces, where a comma ends a plain word."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(part)}" for key, part in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return f'"{value}"' if isinstance(value, str) and "," in scalar(value) and scalar(value) == value else scalar(value)


_Options = dict[str, tuple[Any, str]]


def _said(said: Said) -> tuple[Any, str]:
    return said.value, said.why


def _type(kind: Type, options: _Options, remark: str = "") -> Iterator[str]:
    """Yield the lines of a type and its options, as those of a column."""
    if isinstance(kind, Struct):
        yield f"logicalType: object{_remark(remark)}"
        yield "properties:"
        for name, part in kind.fields.items():
            yield f"  - name: {scalar(name)}"
            yield from (f"    {line}" for line in _type(part, {}))
    elif isinstance(kind, Array):
        yield f"logicalType: array{_remark(remark)}"
        yield "items:"
        yield from (f"  {line}" for line in _type(kind.element, {}))
    elif isinstance(kind, Map):
        yield f"logicalType: map{_remark(remark)}"
        yield "map:"
        for word, part in (("key", kind.key), ("value", kind.value)):
            yield f"  {word}:"
            yield from (f"    {line}" for line in _type(part, {}))
    else:
        yield from _atom(kind, options, remark)


def _atom(kind: Atom, options: _Options, remark: str) -> Iterator[str]:
    logical = "number" if digits(kind) else _LOGICAL[kind.name]
    yield f"logicalType: {logical}{_remark(remark)}"
    if digits(kind) or kind.name == "binary":
        yield f"physicalType: {scalar(kind.name)}"
    if kind.name in _FORMATS:
        word, value = _FORMATS[kind.name]
        options = {word: (value, "no time zone" if word == "timezone" else ""), **options}
    if options:
        yield "logicalTypeOptions:"
    for word, (value, why) in options.items():
        yield f"  {word}: {scalar(value)}{_remark(why)}"


def _remark(why: str) -> str:
    return f"  # {_comment(why)}" if why else ""


def _comment(text: str) -> str:
    return shown(text, spelt)


def scalar(value: Any) -> str:
    """Return a value as YAML has it, on one line: a text that could be taken for something else is quoted."""
    if isinstance(value, list):
        return f"[{', '.join(map(scalar, value))}]"
    if isinstance(value, Decimal):
        return f"{value:f}"
    if not isinstance(value, str):
        return json.dumps(value)
    if _PLAIN.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return '"' + "".join(map(_escaped, value)) + '"'


def _escaped(char: str) -> str:
    if char in '"\\':
        return f"\\{char}"
    if is_seen(char) and not is_mark(char):
        return char
    return f"\\U{ord(char):08x}" if ord(char) > _BEYOND else f"\\u{ord(char):04x}"
