"""Decimals of a file, checked against the type that the file gives them: Spark trusts it, and reads larger ones as
null.
"""

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, digits, parse, spark_identifier
from spark_jobs.jvm.spark_sql import literal

_TOO_LARGE = "it holds a number that does not fit the type that the file declares"
_ADVICE = Advice(vendor="write the column as decimals of as many digits as its largest number has")


def checked_sql(name: str, type_name: str) -> str:
    """Return the SQL of a column, whose reading fails at a decimal with more digits than its type."""
    column, message = spark_identifier(name), f"{_TOO_LARGE}: column {display_name(name)}"
    excess = _exceeds_sql(column, parse(type_name))
    return f"CASE WHEN {excess} THEN raise_error({literal(message)}) ELSE {column} END" if excess else column


def explain(message: str) -> Fault | None:
    """Return the fault that an error means if it is about such a decimal. Spark itself fails on some nested ones."""
    if _TOO_LARGE in message:
        return Fault(message, _ADVICE)
    return Fault(_TOO_LARGE, _ADVICE) if "cannot be represented as Decimal" in message else None


def _exceeds_sql(value: str, kind: Type) -> str:
    """Return the SQL that is true if a value holds such a decimal; "" if its type can hold none."""
    if isinstance(kind, Struct):
        conditions = [_exceeds_sql(f"{value}.{spark_identifier(name)}", part) for name, part in kind.fields.items()]
        return " OR ".join(f"({sql})" for sql in conditions if sql)
    if isinstance(kind, Array):
        return _any_sql(value, kind.element)
    if isinstance(kind, Map):
        conditions = [_any_sql(f"map_keys({value})", kind.key), _any_sql(f"map_values({value})", kind.value)]
        return " OR ".join(filter(None, conditions))
    return _atom_exceeds_sql(value, kind)


def _any_sql(values: str, kind: Type) -> str:
    item = f"it{values.count('(')}"  # lambdas within each other need names of their own
    excess = _exceeds_sql(item, kind)
    return f"exists({values}, {item} -> {excess})" if excess else ""


def _atom_exceeds_sql(value: str, kind: Atom) -> str:
    """Return the same for one decimal. It does not take the absolute value, because Spark fails on that."""
    size = digits(kind)
    if not size:
        return ""
    limit = f"{'9' * (size[0] - size[1]) or '0'}.{'9' * size[1]}BD"
    return f"{value} NOT BETWEEN -{limit} AND {limit}"
