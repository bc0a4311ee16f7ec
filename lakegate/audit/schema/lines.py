"""Lines of a contract as YAML, for a person to paste. They are written by hand, because Spark has no YAML.

The contract's reader is the judge of them: the tests have it read every kind of line.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator

from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, digits, storage_of

LONGEST = 300
"""Characters of a name that is spelled in full; with a longer one there are no lines."""
_UNWRITABLE = ("Cc", "Cs")  # categories of letters that no name in a contract may have
_PLAIN = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ODD = "`\u115f\u1160\u3164\uffa0"  # it ends code in Slack; letters that nobody sees
_NO_TEXT = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"}
_TYPES = {
    "boolean": ("logicalType: boolean",),
    "int": ("logicalType: integer",),
    "bigint": ("logicalType: integer", "logicalTypeOptions: {format: i64}"),
    "float": ("logicalType: number", "logicalTypeOptions: {format: f32}"),
    "double": ("logicalType: number",),
    "string": ("logicalType: string",),
    "binary": ("physicalType: binary",),
    "date": ("logicalType: date",),
    "timestamp": ("logicalType: timestamp", "logicalTypeOptions: {timezone: true}"),
    "timestamp_ntz": ("logicalType: timestamp", "logicalTypeOptions: {timezone: false}"),
}


class NoLines(Exception):
    """A contract has no words for it."""


def scalar(text: str) -> str:
    """Return a text as YAML, quoted unless it is a plain word. Whatever could not be seen, or would not be shown as it
    is, is spelled by its number: that is the same text in any surroundings.
    """
    if _PLAIN.fullmatch(text) and text.lower() not in _NO_TEXT:
        return text
    return quote(text)


def quote(text: str) -> str:
    """Return a text as YAML, in quotes."""
    return '"' + "".join(map(_letter, text)) + '"'


def _letter(letter: str) -> str:
    if letter not in _ODD and (letter.isalnum() or (letter.isascii() and letter.isprintable())):
        return json.dumps(letter, ensure_ascii=False)[1:-1]
    return f"\\U{ord(letter):08x}" if ord(letter) > 0xFFFF else f"\\u{ord(letter):04x}"  # noqa: PLR2004 - four digits


def columns(types: Iterable[tuple[str, Type]]) -> str:
    """Return the lines of columns; of those alone that a contract can say."""
    return "\n".join(filter(None, (column(name, kind) for name, kind in types)))


def column(name: str, kind: Type) -> str:
    """Return the lines of one column, or nothing if a contract cannot say it."""
    try:
        return "\n".join(_property(name, kind))
    except NoLines:
        return ""


def type_of(kind: Type) -> str:
    """Return the lines of a type alone, or nothing if a contract cannot say it."""
    try:
        return "\n".join(_type(kind))
    except NoLines:
        return ""


def renamed_line(name: str, physical: str) -> str:
    """Return the lines of a column that files call by another name."""
    if not _is_sayable(physical):
        return ""
    return f"- name: {scalar(name)}\n  physicalName: {scalar(physical)}"


def _property(name: str, kind: Type) -> Iterator[str]:
    if not _is_sayable(name):
        raise NoLines
    yield f"- name: {scalar(name)}"
    yield from _indent(_type(kind))


def _is_sayable(name: str) -> bool:
    return 0 < len(name) <= LONGEST and not any(unicodedata.category(letter) in _UNWRITABLE for letter in name)


def _type(kind: Type) -> Iterator[str]:
    if isinstance(kind, Struct):
        yield from ("logicalType: object", "properties:")
        for name, part in kind.fields.items():
            yield from _indent(_property(name, part))
    elif isinstance(kind, Array):
        yield from ("logicalType: array", "items:", *_indent(_type(kind.element)))
    elif isinstance(kind, Map):
        yield from ("logicalType: map", "map:")
        for word, part in (("key", kind.key), ("value", kind.value)):
            yield f"  {word}:"
            yield from _indent(_indent(_type(part)))
    else:
        yield from _atom(kind)


def _atom(kind: Atom) -> Iterable[str]:
    name = str(storage_of(kind))
    if digits(kind):
        return (f"physicalType: {name}",)
    if name not in _TYPES:
        raise NoLines
    return _TYPES[name]


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
