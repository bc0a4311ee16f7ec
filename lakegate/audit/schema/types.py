"""Column types as trees, read from and written as Spark SQL, and rules for which type holds another's values. It
reports no faults.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

_INTEGERS = {"tinyint": 1, "smallint": 2, "int": 3, "bigint": 4}
_ALIASES = {"byte": "tinyint", "short": "smallint", "integer": "int", "long": "bigint", "real": "float"}
_ALIASES |= {"decimal": "decimal(10,0)", "dec": "decimal(10,0)", "numeric": "decimal(10,0)"}
_ALIASES |= {"timestamp_ltz": "timestamp"}
_DECIMAL = re.compile(r"(?:decimal|dec|numeric)\((\d+)(?:,(\d+))?\)")
# A type may have several words: `interval day to second`.
_TOKEN = re.compile(r"\s*(?:`((?:[^`]|``)*)`|([<>,:])|([^\s<>,:()`]+(?:\s+[^\s<>,:()`]+)*(?:\s*\([^)]*\))?))")
MOST_DIGITS = 38
"""Digits of a decimal, at most."""
# Iceberg has no smaller integers.
_STORED_TYPES = {"tinyint": "int", "smallint": "int"}
_TYPE_NAMES = {*_STORED_TYPES, "int", "bigint", "float", "double", "boolean", "string", "binary", "date", "timestamp"}
_TYPE_NAMES |= {"timestamp_ntz"}


@dataclass(frozen=True)
class Atom:
    """A type without parts, in its canonical spelling."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Array:
    """A list of items of one type."""

    element: "Type"

    def __str__(self) -> str:
        return f"array<{self.element}>"


@dataclass(frozen=True)
class Map:
    """Keys and values, each of one type."""

    key: "Type"
    value: "Type"

    def __str__(self) -> str:
        return f"map<{self.key},{self.value}>"


@dataclass(frozen=True)
class Struct:
    """Fields by name, in their order. The columns of a table or of a file are a struct, too."""

    fields: Mapping[str, "Type"]

    def __str__(self) -> str:
        return f"struct<{','.join(f'{spark_identifier(name)}:{kind}' for name, kind in self.fields.items())}>"


Type = Atom | Array | Map | Struct


def spark_identifier(name: str) -> str:
    """Return a name in backquotes."""
    return f"`{name.replace('`', '``')}`"


def canonical(text: str) -> str:
    """Return the one spelling of a type: `INTEGER` → `int`, `decimal(10, 2)` → `decimal(10,2)`."""
    return str(parse(text))


def parse(text: str) -> Type:
    """Return a Spark SQL type as a tree. Unknown text is an atom, too."""
    try:
        kind, rest = _parse([match.groups() for match in _TOKEN.finditer(text)])
    except ValueError:
        return Atom(_squeeze(text))
    return Atom(_squeeze(text)) if rest else kind


_Tokens = list[tuple[str | None, ...]]


def _parse(tokens: _Tokens) -> tuple[Type, _Tokens]:
    word = (tokens[0][2] or "").lower() if tokens else ""
    if tokens[1:2] and tokens[1][1] == "<":
        return _parse_nested(word, tokens[2:])
    return Atom(_normal_word(word)), tokens[1:]


def _parse_nested(word: str, tokens: _Tokens) -> tuple[Type, _Tokens]:
    """Parse a nested type. Raise ValueError if an array has not one part, or a map not two."""
    fields, parts = {}, []
    while tokens and tokens[0][1] != ">":
        name = ""
        if word == "struct":
            name = (tokens[0][0] or "").replace("``", "`") if tokens[0][0] is not None else tokens[0][2] or ""
            tokens = tokens[2:]
        part, tokens = _parse(tokens)
        fields[name] = part
        parts.append(part)
        tokens = tokens[1:] if tokens and tokens[0][1] == "," else tokens
    if word == "struct":
        return Struct(fields), tokens[1:]
    if word == "array":
        [element] = parts
        return Array(element), tokens[1:]
    key, value = parts
    return Map(key, value), tokens[1:]


def _normal_word(word: str) -> str:
    if match := _DECIMAL.fullmatch(re.sub(r"\s+", "", word)):
        return f"decimal({match[1]},{match[2] or 0})"
    plain_word = _squeeze(word)
    return _ALIASES.get(plain_word, plain_word)


def _squeeze(text: str) -> str:
    return " ".join(text.split())


def kind(of: Type) -> str:
    """Return a person's word for the type: a nested one by its kind alone."""
    return str(of) if isinstance(of, Atom) else type(of).__name__.lower()


def storage_of(of: Type) -> Type:
    """Return the type in which a table stores it."""
    if isinstance(of, Atom):
        return Atom(_STORED_TYPES.get(of.name, of.name))
    if isinstance(of, Array):
        return Array(storage_of(of.element))
    if isinstance(of, Map):
        return Map(storage_of(of.key), storage_of(of.value))
    return Struct({name: storage_of(part) for name, part in of.fields.items()})


def strangers(of: Type) -> Iterator[str]:
    """Yield the types in it that a table cannot store."""
    if isinstance(of, Atom):
        if of.name not in _TYPE_NAMES and not _DECIMAL.fullmatch(of.name):
            yield of.name
        return
    if of == Struct({}):
        yield "a struct without fields"
    for _, part in parts(of):
        yield from strangers(part)


def parts(of: Type) -> Iterator[tuple[str, Type]]:
    """Yield the parts of a nested type, by Spark SQL's names for them."""
    if isinstance(of, Array):
        yield "element", of.element
    elif isinstance(of, Map):
        yield from (("key", of.key), ("value", of.value))
    elif isinstance(of, Struct):
        yield from of.fields.items()


def holds(wide: Atom, narrow: Atom) -> bool:
    """Return True if every value of the narrow type is a value of the wide one."""
    if wide.name in _INTEGERS and narrow.name in _INTEGERS:
        return _INTEGERS[narrow.name] <= _INTEGERS[wide.name]
    if (small := digits(narrow)) and (large := digits(wide)):
        return small[1] <= large[1] and small[0] - small[1] <= large[0] - large[1]
    return narrow == wide or (narrow.name, wide.name) == ("float", "double")


def promotion(current: Atom, actual: Atom) -> Atom | None:
    """Return the type that holds both and that a table's column may be widened to, or None: a column never narrows."""
    if (small := digits(current)) and (large := digits(actual)):
        whole_digits = max(small[0] - small[1], large[0] - large[1]) + small[1]
        return (
            Atom(f"decimal({whole_digits},{small[1]})")
            if large[1] <= small[1] and whole_digits <= MOST_DIGITS
            else None
        )
    widens = (current.name, actual.name) in (("int", "bigint"), ("float", "double"))
    return actual if widens else current if holds(current, actual) else None


def digits(of: Atom) -> tuple[int, int] | None:
    """Return a decimal's number of digits, and how many of them follow the point; None for another type."""
    match = _DECIMAL.fullmatch(of.name)
    return (int(match[1]), int(match[2] or 0)) if match else None


@dataclass(frozen=True, kw_only=True)
class Pair:
    """One place in two types. None: that type has no such part; if both have it they differ in kind, or are atoms.
    `label` is for people (`address.zip`, `tags[]`), `path` is Spark SQL's; `in_key` is inside a map's key.
    """

    label: str
    path: tuple[str, ...]
    base: Type | None
    other: Type | None
    in_key: bool = False


def pairs(
    base: Type, other: Type, label: str = "", path: tuple[str, ...] = (), *, is_in_key: bool = False
) -> Iterator[Pair]:
    """Yield the places where two types meet or part, outermost first. A part that one of them lacks is not descended
    into.
    """
    if isinstance(base, Atom) or type(base) is not type(other):
        yield Pair(label=label, path=path, base=base, other=other, in_key=is_in_key)
        return
    first, second = dict(parts(base)), dict(parts(other))
    for name in [*first, *(name for name in second if name not in first)]:
        inner, place = label_within(label, base, name), (*path, name)
        in_key = is_in_key or (isinstance(base, Map) and name == "key")
        if name in first and name in second:
            yield from pairs(first[name], second[name], inner, place, is_in_key=in_key)
        else:
            yield Pair(label=inner, path=place, base=first.get(name), other=second.get(name), in_key=in_key)


def leaves(of: Type, label: str = "") -> Iterator[tuple[str, Atom]]:
    """Yield the parts without parts, each by its label."""
    if isinstance(of, Atom):
        yield label, of
    for name, part in parts(of):
        yield from leaves(part, label_within(label, of, name))


def places(of: Type, label: str = "", at: tuple[str, ...] = ()) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield every part of a nested type, outermost first: its label and the names on the way to it."""
    for name, part in parts(of):
        inner, place = label_within(label, of, name), (*at, name)
        yield inner, place
        yield from places(part, inner, place)


def label_within(label: str, of: Type, part: str) -> str:
    """Return a person's name for a part of a nested type: `address.zip`, `tags[]`, `prices.key`."""
    if isinstance(of, Array):
        return f"{label}[]"
    return f"{label}.{part}" if label else part
