"""Decimals of a file, checked against the type that the file gives them: Spark trusts it, and reads larger ones as
null.
"""

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, digits, parse, spark_identifier
from spark_jobs.jvm.spark_sql import literal

_BEYOND = "it holds a number that does not fit the type that the file declares"
_FITTING = Advice(vendor="write the column as decimals of as many digits as its largest number has")


def checked(name: str, type_name: str) -> str:
    """Return the SQL of a column, whose reading fails at a decimal with more digits than its type."""
    column, message = spark_identifier(name), f"{_BEYOND}: column {display_name(name)}"
    beyond = _exceeds_sql(column, parse(type_name))
    return f"CASE WHEN {beyond} THEN raise_error({literal(message)}) ELSE {column} END" if beyond else column


def explain(message: str) -> Fault | None:
    """Return the fault that an error means if it is about such a decimal. Spark itself fails on some nested ones."""
    if _BEYOND in message:
        return Fault(message, _FITTING)
    return Fault(_BEYOND, _FITTING) if "cannot be represented as Decimal" in message else None


def _exceeds_sql(value: str, kind: Type) -> str:
    """Return the SQL that is true if a value holds such a decimal; "" if its type can hold none."""
    if isinstance(kind, Struct):
        each = [_exceeds_sql(f"{value}.{spark_identifier(name)}", part) for name, part in kind.fields.items()]
        return " OR ".join(f"({it})" for it in each if it)
    if isinstance(kind, Array):
        return _any_sql(value, kind.element)
    if isinstance(kind, Map):
        each = [_any_sql(f"map_keys({value})", kind.key), _any_sql(f"map_values({value})", kind.value)]
        return " OR ".join(filter(None, each))
    return _atom_exceeds_sql(value, kind)


def _any_sql(values: str, kind: Type) -> str:
    item = f"it{values.count('(')}"  # lambdas within each other need names of their own
    beyond = _exceeds_sql(item, kind)
    return f"exists({values}, {item} -> {beyond})" if beyond else ""


def _atom_exceeds_sql(value: str, kind: Atom) -> str:
    """Return the same for one decimal. It does not take the absolute value, because Spark fails on that."""
    size = digits(kind)
    if not size:
        return ""
    most = f"{'9' * (size[0] - size[1]) or '0'}.{'9' * size[1]}BD"
    return f"{value} NOT BETWEEN -{most} AND {most}"
