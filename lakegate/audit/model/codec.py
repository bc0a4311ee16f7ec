"""Frozen dataclasses to JSON and back, by their type hints. It supports only the few shapes of plans, jobs and reports.

A stored object has a `format`, and its default is the one that is written. A newer format is refused, never guessed,
and so is one older than the kind's `oldest_format`.
"""

import json
import types
from collections.abc import Callable
from dataclasses import fields, is_dataclass
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import cache
from typing import Any, TypeVar, Union, cast, get_args, get_origin, get_type_hints

T = TypeVar("T")
_PLAIN = (str, int, float, bool, type(None))
_JSON_TYPES: dict[Any, tuple[type, ...]] = {str: (str,), int: (int, bool), float: (float, int), bool: (bool,)}
PARSE_ERRORS = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""Errors raised by reading a text that is not of the expected kind."""


class NewerFormat(ValueError):
    """Data written by a newer release than the one that reads it."""

    def __init__(self, kind: str, actual: int, newest: int) -> None:
        super().__init__(
            f"this {kind.lower()} has format {actual}, and this release of lakegate reads up to format {newest}: "
            f"update lakegate here to the release that wrote it"
        )


class OlderFormat(ValueError):
    """Data written by an older release, which this one reads no more."""

    def __init__(self, kind: str, actual: int, oldest: int) -> None:
        super().__init__(
            f"this {kind.lower()} has format {actual}, of an earlier release of lakegate, and this release reads "
            f"format {oldest} and later"
        )


def to_plain(value: Any) -> Any:
    """Return dataclasses, tuples, enums and dates as JSON's types."""
    if type(value) in _PLAIN:
        return value
    if (names := _names(cast(Any, type(value)))) is not None:
        return {name: to_plain(getattr(value, name)) for name in names}
    if isinstance(value, dict):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_plain(item) for item in value]
    return _one_value(value)


def _one_value(value: Any) -> Any:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime | date):
        return value.isoformat()
    return str(value) if isinstance(value, Decimal) else value


@cache
def _names(kind: type) -> tuple[str, ...] | None:
    """Return a dataclass's members, or None for another class."""
    return tuple(member.name for member in fields(kind)) if is_dataclass(kind) else None


def to_json(value: Any) -> str:
    return json.dumps(value, default=_plain_members, sort_keys=True, ensure_ascii=False)


def _plain_members(value: Any) -> Any:
    """Return one level of a value that JSON's encoder does not know: the encoder itself descends far quicker."""
    if (names := _names(cast(Any, type(value)))) is not None:
        return {name: getattr(value, name) for name in names}
    return list(value) if isinstance(value, set | frozenset) else _one_value(value)


def from_json(kind: type[T], text: str | bytes) -> T:
    """Read `text` as a `kind`; unknown members are ignored. Raise NewerFormat, OlderFormat, or one of
    PARSE_ERRORS if it is none.
    """
    return cast(T, _reader(cast(Any, kind))(json.loads(text)))


def from_plain(kind: type[T], value: Any) -> T:
    return cast(T, _reader(cast(Any, kind))(value))


@cache
def _reader(kind: Any) -> Callable[[Any], Any]:
    """Return a reader for values of a kind, made once per kind: evaluating type hints costs more than all the rest."""
    origin = get_origin(kind)
    if origin in (Union, types.UnionType):
        read_value = _reader(_non_null_kind(kind))
        return lambda value: None if value is None else read_value(value)
    if origin is tuple:
        item = _reader(get_args(kind)[0])
        return lambda value: tuple([item(element) for element in _items(value)])
    if origin is dict:
        member = _reader(get_args(kind)[1])
        return lambda value: {key: member(element) for key, element in value.items()}
    return _dataclass_reader(cast(type, kind)) if is_dataclass(kind) else _one_reader(kind)


def _one_reader(kind: Any) -> Callable[[Any], Any]:
    if kind in _JSON_TYPES:
        return _plain_reader(_JSON_TYPES[kind])
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    return cast(Callable[[Any], Any], kind.fromisoformat) if kind in (datetime, date) else _as_it_is


def _as_it_is(value: Any) -> Any:
    return value


def _plain_reader(json_types: tuple[type, ...]) -> Callable[[Any], Any]:
    def read(value: Any) -> Any:
        if type(value) not in json_types:
            raise TypeError(f"{value!r:.40} is no {json_types[0].__name__}")
        return value

    return read


def _items(value: Any) -> list[Any]:
    if not isinstance(value, list):
        raise TypeError(f"{value!r:.40} is no list")
    return value


def _dataclass_reader(kind: type) -> Callable[[Any], Any]:
    hints, names = get_type_hints(kind), _names(kind) or ()
    readers = {name: _reader(hints[name]) for name in names}
    read_anew = [(name, reader) for name, reader in readers.items() if reader is not _as_it_is]
    newest, oldest = getattr(kind, "format", None), getattr(kind, "oldest_format", 1)

    def read(value: Any) -> Any:
        if isinstance(newest, int):
            _check_format(kind.__name__, value.get("format", newest), oldest, newest)
        members = {name: element for name, element in value.items() if name in readers}
        for name, reader in read_anew:
            if name in members:
                members[name] = reader(members[name])
        return kind(**members)

    return read


def _check_format(kind: str, actual: int, oldest: int, newest: int) -> None:
    if actual > newest:
        raise NewerFormat(kind, actual, newest)
    if actual < oldest:
        raise OlderFormat(kind, actual, oldest)


def _non_null_kind(kind: Any) -> Any:
    """Return the one member of `X | None`; other unions hold plain values."""
    members = [member for member in get_args(kind) if member is not type(None)]
    return members[0] if len(members) == 1 else object
