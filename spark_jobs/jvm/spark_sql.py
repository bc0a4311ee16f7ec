"""Spark SQL's spelling of texts and types. It needs no session."""

from collections.abc import Sequence
from typing import Any

from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, canonical


def literal(text: str) -> str:
    """Return a text as a literal of Spark SQL."""
    escaped = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{escaped}'"


def summed(numbers: Sequence[str]) -> str:
    """Return the SQL of a sum, added in pairs: Spark has no stack for a chain of thousands."""
    if len(numbers) < 3:  # noqa: PLR2004 - a pair
        return " + ".join(numbers)
    half = len(numbers) // 2
    return f"({summed(numbers[:half])}) + ({summed(numbers[half:])})"


def sql_type(spoken: Any) -> Type:
    """Return a type from Spark's JSON."""
    if not isinstance(spoken, dict) or spoken["type"] == "udt":
        return Atom(canonical(str(spoken)))
    if spoken["type"] == "array":
        return Array(sql_type(spoken["elementType"]))
    if spoken["type"] == "map":
        return Map(sql_type(spoken["keyType"]), sql_type(spoken["valueType"]))
    return Struct({field["name"]: sql_type(field["type"]) for field in spoken["fields"]})
