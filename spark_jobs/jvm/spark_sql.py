"""Spark SQL's spelling of texts and types. It needs no session."""

from collections.abc import Sequence
from typing import Any

from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, canonical


def literal(text: str) -> str:
    """Return a text as a literal of Spark SQL."""
    quoted_text = text.replace("\\", "\\\\").replace("'", "\\'")
    return f"'{quoted_text}'"


def sum_sql(numbers: Sequence[str]) -> str:
    """Return the SQL of a sum, added in pairs: Spark has no stack for a chain of thousands."""
    if len(numbers) < 3:  # noqa: PLR2004 - a pair
        return " + ".join(numbers)
    half = len(numbers) // 2
    return f"({sum_sql(numbers[:half])}) + ({sum_sql(numbers[half:])})"


def sql_type(json_type: Any) -> Type:
    """Return a type from Spark's JSON."""
    if not isinstance(json_type, dict) or json_type["type"] == "udt":
        return Atom(canonical(str(json_type)))
    if json_type["type"] == "array":
        return Array(sql_type(json_type["elementType"]))
    if json_type["type"] == "map":
        return Map(sql_type(json_type["keyType"]), sql_type(json_type["valueType"]))
    return Struct({field["name"]: sql_type(field["type"]) for field in json_type["fields"]})
