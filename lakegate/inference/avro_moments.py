"""Dates and timestamps of Avro that no calendar of four digits holds: Python has none, and readers fail at them."""

from collections.abc import Iterator, Mapping
from typing import Any

from lakegate.adapters.avro_blocks import Records
from lakegate.audit.schema.names import display_name

_DAY = 86_400
_FIRST, _LAST = -719_162, 2_932_896  # days from 1970 of 0001-01-01 and 9999-12-31
_SECOND = {"millis": 1_000, "micros": 1_000_000}


def out_of_range(records: Records) -> str:
    """Return what is wrong with the first moment outside the years 1 to 9999, as a clause; "" if there is none."""
    known: dict[str, Any] = {}
    for piece in records.pieces(_plain(records.schema)):
        for record in piece:
            for field in records.schema["fields"]:
                for logical, value in _moments(field["type"], record[field["name"]], known):
                    if not _is_within(logical, value):
                        said = f"column {display_name(field['name'])} has the {logical} {value}"
                        return f"{said}, which is outside the years 1 to 9999: write such values as null"
    return ""


def _is_within(logical: str, value: int) -> bool:
    parts = _SECOND.get(logical.rpartition("-")[2], 0) * _DAY or 1
    return _FIRST * parts <= value < (_LAST + 1) * parts


def _plain(said: Any) -> Any:
    """Return a schema without logical types."""
    if isinstance(said, list):
        return [_plain(part) for part in said]
    if not isinstance(said, Mapping):
        return said
    return {word: _plain(part) for word, part in said.items() if word != "logicalType"}


def _moments(said: Any, value: Any, known: dict[str, Any]) -> Iterator[tuple[str, int]]:
    """Yield the logical type and the number of each date and timestamp in a value."""
    said = known.get(said) if isinstance(said, str) else said
    if isinstance(said, Mapping) and "name" in said:
        known[said["name"]] = said
    if isinstance(said, Mapping) and isinstance(value, int) and _is_moment(said):
        yield said["logicalType"], value
    for inner, part in _parts(said, value):
        yield from _moments(inner, part, known)


def _parts(said: Any, value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield the parts of a value, each with its schema. A value of a union may be of any of its branches."""
    if isinstance(said, list):
        yield from ((branch, value) for branch in said)
    elif isinstance(said, Mapping) and said["type"] == "record" and isinstance(value, Mapping):
        yield from ((field["type"], value.get(field["name"])) for field in said["fields"])
    elif isinstance(said, Mapping) and said["type"] == "array" and isinstance(value, list):
        yield from ((said["items"], part) for part in value)
    elif isinstance(said, Mapping) and said["type"] == "map" and isinstance(value, Mapping):
        yield from ((said["values"], part) for part in value.values())


def _is_moment(said: Mapping[str, Any]) -> bool:
    logical = str(said.get("logicalType"))
    return logical == "date" or logical.removeprefix("local-") in ("timestamp-millis", "timestamp-micros")
