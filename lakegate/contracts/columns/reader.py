"""Columns of a contract, nested ones with their parts: names and types. It does not know what must be true of them."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakegate.audit.schema.names import fold
from lakegate.audit.schema.owners import reserved_for
from lakegate.audit.schema.types import Array, Map, Struct, parse, places
from lakegate.contracts.columns.fields import Field, Into, Step
from lakegate.contracts.columns.types import LOGICAL, TYPES, Type, agree, logical_of, nested_type, physical, widening
from lakegate.contracts.odcs import examples, vocabulary
from lakegate.contracts.odcs.document import Item

_UTC = ("UTC", "Etc/UTC")
_OF_THE_TABLE = {"unique": "be unique", "primaryKey": "belong to the primary key", "partitioned": "partition the table"}
_PARTS = {"properties": "object", "items": "array", "map": "map"}
_PHYSICAL = {"object": ("struct", "object"), "array": ("array", "list"), "map": ("map",)}


@dataclass(frozen=True, kw_only=True)
class Read:
    """A column, or a part of one, that could be read, and its place."""

    item: Item
    field: Field
    parts: "tuple[Read, ...]" = ()


@dataclass(frozen=True, kw_only=True)
class _Place:
    """A part's place in its column: the name that people call it by, and the steps to it."""

    label: str
    name: str
    steps: tuple[Step, ...] = ()

    def to(self, label: str, into: Into, name: str = "") -> "_Place":
        return _Place(label=label, name=self.name, steps=(*self.steps, Step(into=into, name=name)))


def read_column(item: Item) -> Read | None:
    """Read a column of the table; return None, and note a fault, if it cannot be read."""
    names = _names(item)
    place = _Place(label=names[0], name=names[1]) if names else _Place(label="", name="")
    result = _read(item, place)
    if names and (owner := reserved_for(names[1])):
        item.fault(f"the name {names[1]!r} is reserved: it is {owner}'s own")
    return result if names else None


def with_wider_types(read: Read) -> Read:
    """Return the column as it is if files may widen it and its parts."""
    parts = tuple(map(with_wider_types, read.parts))
    return replace(read, field=replace(read.field, type=widening(read.field.type)), parts=parts)


def _read(item: Item, place: _Place) -> Read | None:
    logical = item.plain("logicalType")
    for word, owner in _PARTS.items():
        if owner != logical and (part := item.get(word)):
            part.fault(f"{word!r} belongs to logicalType: {owner}")
    parts = _parts(item, str(logical), place) if logical in _PHYSICAL else ()
    kind = _nested_type(item, str(logical), parts) if logical in _PHYSICAL else _type(item)
    _check_options(item, kind)
    if kind is None or parts is None:
        return None
    field = Field(label=place.label, name=place.name, type=kind, steps=place.steps)
    return Read(item=item, field=field, parts=tuple(parts))


def _names(item: Item) -> tuple[str, str] | None:
    """Return the name in the contract, and the name in files; return None if there is none."""
    entry = item.get("physicalName") if item.has("physicalName") else item.get("name")
    if entry is None:
        return None
    if not entry.value or any(unicodedata.category(letter) in ("Cc", "Cs") for letter in entry.value):
        entry.fault("a column's name is text without control characters")
    return item.plain("name", entry.value), entry.value


def _parts(item: Item, logical: str, place: _Place) -> list[Read] | None:
    """Return the parts of a nested column, or None if one cannot be read."""
    if logical == "object":
        return _properties(item, place)
    if logical == "array":
        places = {"items": (item, place.to(f"{place.label}[]", Into.ITEMS))}
    else:
        owner = item.get("map") or item
        steps = {"key": Into.KEYS, "value": Into.VALUES}
        places = {word: (owner, place.to(f"{place.label}.{word}", into)) for word, into in steps.items()}
    parts = [_part(owner, word, part_place) for word, (owner, part_place) in places.items()]
    return None if None in parts else [part for part in parts if part]


def _part(owner: Item, word: str, place: _Place) -> Read | None:
    item = owner.get(word) if isinstance(owner.value, dict) else None
    if item is None or not isinstance(item.value, dict):
        owner.fault(f"{word!r} is missing: what is in it, as a mapping with a logicalType", examples.part(word))
        return None
    _refuse_within(item)
    return _read(item, place)


def _properties(item: Item, place: _Place) -> list[Read] | None:
    if not item.plain("properties"):
        item.fault("an object has no properties: list them under 'properties'", examples.COLUMNS)
        return None
    properties = [_property(entry, place) for entry in item.entries("properties")]
    readable = [part for part in properties if part]
    check_names(readable)
    return readable if len(readable) == len(item.plain("properties")) else None


def _property(item: Item, place: _Place) -> Read | None:
    if (names := _names(item)) is None:
        return None
    _refuse_within(item)
    return _read(item, place.to(f"{place.label}.{names[0]}", Into.FIELD, names[1]))


def _refuse_within(item: Item) -> None:
    for word, does in _OF_THE_TABLE.items():
        if item.plain(word) is True:
            item.document.close((*item.path, word), f"a part of a nested column cannot {does}")
    if quality := item.get("quality"):
        quality.fault("checks of a part of a nested column are said by its own words: required, enum, bounds, …")
    if relationships := item.get("relationships"):
        relationships.fault("a part of a nested column refers to nothing: foreign keys are of columns")


def _nested_type(item: Item, logical: str, parts: Sequence[Read] | None) -> Type | None:
    entry = item.get("physicalType")
    if entry and str(entry.value).lower() not in _PHYSICAL[logical]:
        entry.fault(f"physicalType {entry.value!r} says less than the parts do: leave it out")
    if not parts:
        return None
    kinds = [parse(part.field.type.name) for part in parts]
    if logical == "object":
        names = [part.field.steps[-1].name for part in parts]
        return nested_type(Struct(dict(zip(names, kinds, strict=True))))
    return nested_type(Array(*kinds) if logical == "array" else Map(*kinds))


def check_names(columns: Sequence[Read]) -> None:
    """Note a fault for each name that could mean two columns. Spark compares names without case, so two columns that
    differ only in case would be one.
    """
    first_by_name: dict[str, Read] = {}
    for read in columns:
        first = first_by_name.setdefault(fold(read.field.own_name), read)
        if first is not read:
            problem = f"the column {read.field.own_name!r} is given twice, first on line {first.item.line}"
            read.item.fault(f"{problem} (upper and lower case are the same)")
    by_label: dict[str, list[Read]] = {}
    for read in columns:
        by_label.setdefault(fold(read.field.label), []).append(read)
    for group in by_label.values():
        if len({fold(read.field.own_name) for read in group}) > 1:
            name = group[1].field.label
            group[1].item.fault(f"the name {name!r} is given twice, first on line {group[0].item.line}")
    for read in columns:
        other = first_by_name.get(fold(read.field.label), read)
        if fold(read.field.own_name) != fold(other.field.own_name) and other.field.label != read.field.label:
            text = f"{read.field.label!r} is also the physicalName of the column {other.field.label!r}"
            read.item.fault(f"{text}, on line {other.item.line}: SQL could mean either, so rename one")


def check_places(columns: Sequence[Read]) -> None:
    """Note a fault for each column with the name of a part: Iceberg writes the place of a part with dots."""
    names = {fold(read.field.own_name): read for read in columns}
    for read in columns:
        for _, place in places(parse(read.field.type.name)):
            if other := names.get(fold(".".join((read.field.own_name, *place)))):
                of = f"the column {read.field.own_name!r}"
                other.item.fault(f"a part of {of} goes by the name {other.field.own_name!r}: rename one")


def _type(item: Item) -> Type | None:
    """Return the column's type: `physicalType` if it is given, and then the other words must agree."""
    name = item.plain("logicalType")
    if (entry := item.get("physicalType")) is None:
        if not item.has("physicalType") and not item.has("logicalType"):
            item.fault("a column needs a type: logicalType or physicalType", examples.TYPE)
        logical, _ = _logical(item, name)
        return None if item.has("physicalType") else logical
    try:
        physical_type = physical(entry.value)
    except ValueError as error:
        entry.fault(f"physicalType {entry.value!r} {error}")
        return None
    logical, has_option = _logical(item, name or logical_of(physical_type))
    if name and not agree(physical_type, name):
        entry.fault(f"physicalType {entry.value!r} and logicalType {name!r} don't agree")
    elif logical and has_option and logical.name != physical_type.name:
        entry.fault(f"physicalType {entry.value!r} and logicalTypeOptions don't agree: the options say {logical.name}")
    return physical_type


def _logical(item: Item, name: str | None) -> tuple[Type | None, bool]:
    """Return the type of a logical one, and whether the options chose it."""
    if name is None:
        return None, False
    if name not in LOGICAL:
        (item.get("logicalType") or item).fault(f"columns of type {name!r} are not supported yet")
        return None, False
    _, widths = LOGICAL[name]
    width = _width(item, name)
    if width not in widths:
        formats = " or ".join(name for name in widths if name)
        item.document.fault(
            (*item.path, "logicalTypeOptions", "format"), f"the format {width!r} is not supported: {formats}"
        )
        return None, False
    return TYPES[widths[width]], width is not None


def _width(item: Item, logical: str) -> str | None:
    options = item.get("logicalTypeOptions")
    if options is None:
        return None
    if logical == "timestamp":
        return {True: "zoned", False: "local"}.get(options.plain("timezone"))
    width = options.plain("format") if logical in ("integer", "number") else None
    return str(width) if width is not None else None


def _check_options(item: Item, kind: Type | None) -> None:
    options = item.get("logicalTypeOptions")
    if options is None or kind is None:
        return
    vocabulary.check_words(options, kind.options, vocabulary=f"the options of a {kind.name}")
    zone = options.get("defaultTimezone")
    if zone and zone.value not in _UTC:
        zone.fault(f"defaultTimezone {zone.value!r} is not supported: timestamps are kept in UTC")
