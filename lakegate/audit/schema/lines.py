"""A contract's words for columns, and their lines as YAML, for a person to paste.

Spark has no YAML, so the lines of an advice are put together here. They are those that `contracts.odcs.writing` writes
of the same words: the tests compare the two, and have the contract's reader read every kind of line.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from lakegate.audit.schema.types import Array, Map, Struct, Type, digits, leaves, places, storage_of

LONGEST = 300
"""Characters of a name that is spelled in full; with a longer one there are no lines."""
_UNWRITABLE = ("Cc", "Cs")  # categories of letters that no name in a contract may have
_PLAIN = re.compile(
    r"[A-Za-z_][A-Za-z0-9_.-]*|s3://landing/[a-z0-9_/.*-]+|decimal\([0-9]+,[0-9]+\)|[0-9]+([.][0-9]+){2}"
)
_ODD = "`\u115f\u1160\u2800\u3164\uffa0\U0001d159"  # it ends code in Slack; letters that nobody sees
_NO_TEXT = {"true", "false", "yes", "no", "on", "off", "null", "y", "n", "nan", "inf"}
Words = dict[str, Any]
_TYPES: Mapping[str, Words] = {
    "boolean": {"logicalType": "boolean"},
    "int": {"logicalType": "integer"},
    "bigint": {"logicalType": "integer", "logicalTypeOptions": {"format": "i64"}},
    "float": {"logicalType": "number", "logicalTypeOptions": {"format": "f32"}},
    "double": {"logicalType": "number"},
    "string": {"logicalType": "string"},
    "binary": {"logicalType": "string", "physicalType": "binary"},
    "date": {"logicalType": "date"},
    "timestamp": {"logicalType": "timestamp", "logicalTypeOptions": {"timezone": True}},
    "timestamp_ntz": {"logicalType": "timestamp", "logicalTypeOptions": {"timezone": False}},
}


def is_plain(text: str) -> bool:
    """Return True if a text is the same text in YAML without quotes, by any reader."""
    return bool(_PLAIN.fullmatch(text)) and text.lower() not in _NO_TEXT


def quote(text: str) -> str:
    """Return a text in quotes, as YAML has it. Whatever could not be seen, or would not be shown as it is, is spelled
    by its number: that is the same text in any surroundings.
    """
    return '"' + "".join(map(_letter, text)) + '"'


def _letter(letter: str) -> str:
    category = unicodedata.category(letter)
    if letter not in _ODD and (letter == " " or category == "Mc" or category[0] in "LNPS"):
        return json.dumps(letter, ensure_ascii=False)[1:-1]
    return f"\\U{ord(letter):08x}" if ord(letter) > 0xFFFF else f"\\u{ord(letter):04x}"  # noqa: PLR2004 - four digits


def columns(types: Iterable[tuple[str, Type]]) -> str:
    """Return the lines of columns; of those alone that a contract can say."""
    return "\n".join(filter(None, (column(name, kind) for name, kind in types)))


def column(name: str, kind: Type) -> str:
    """Return the lines of one column, or nothing if a contract cannot say it."""
    return "\n".join(_block([{"name": name, **words(kind)}])) if _is_name(name) and _is_sayable(kind) else ""


def type_of(kind: Type) -> str:
    """Return the lines of a type alone, or nothing if a contract cannot say it."""
    return "\n".join(_block(words(kind))) if _is_sayable(kind) else ""


def renamed_line(name: str, physical: str) -> str:
    """Return the lines of a column that files call by another name."""
    return "\n".join(_block([{"name": name, "physicalName": physical}])) if _is_name(physical) else ""


def _is_name(name: str) -> bool:
    return 0 < len(name) <= LONGEST and not any(unicodedata.category(letter) in _UNWRITABLE for letter in name)


def _is_sayable(kind: Type) -> bool:
    names = all(_is_name(path[-1]) for _, path in places(kind))
    return names and all(digits(atom) or str(storage_of(atom)) in _TYPES for _, atom in leaves(kind))


def words(kind: Type) -> Words:
    """Return a contract's words for a type."""
    if isinstance(kind, Struct):
        parts = [{"name": name, **words(part)} for name, part in kind.fields.items()]
        return {"logicalType": "object", "properties": parts}
    if isinstance(kind, Array):
        return {"logicalType": "array", "items": words(kind.element)}
    if isinstance(kind, Map):
        return {"logicalType": "map", "map": {"key": words(kind.key), "value": words(kind.value)}}
    name = str(storage_of(kind))
    return {"logicalType": "number", "physicalType": name} if digits(kind) else _TYPES[name]


def _block(value: Words | list[Words]) -> Iterator[str]:
    """Yield the lines of words, or of several, each behind a dash."""
    if isinstance(value, list):
        for first, *rest in (list(_block(item)) for item in value):
            yield from (f"- {first}", *_indent(rest))
        return
    for word, part in value.items():
        if isinstance(part, dict | list):
            yield from (f"{word}:", *_indent(_block(part)))
        else:
            yield f"{word}: {json.dumps(part) if isinstance(part, bool) else part if is_plain(part) else quote(part)}"


def _indent(lines: Iterable[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
