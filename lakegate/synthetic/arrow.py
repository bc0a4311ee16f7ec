"""Columns of Python values as arrow tables, with the types that a plan's columns have in files."""

import re
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lakegate.audit.plan import Plan
from lakegate.errors import Misconfigured

_TYPES = {
    "boolean": pa.bool_(),
    "tinyint": pa.int8(),
    "smallint": pa.int16(),
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "string": pa.string(),
    "binary": pa.binary(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
}
_DECIMAL = re.compile(r"decimal\((\d+),\s*(\d+)\)")


def arrow_type(kind: str) -> pa.DataType:
    """The arrow type of a Spark SQL type."""
    if found := _DECIMAL.fullmatch(kind):
        return pa.decimal128(int(found[1]), int(found[2]))
    if kind not in _TYPES:
        raise Misconfigured(f"rows with a column of type {kind} cannot be made up")
    return _TYPES[kind]


def table_of(plan: Plan, rows: Mapping[str, list[Any]]) -> pa.Table:
    """The plan's columns, as far as they are there, in the plan's order."""
    columns = [column for column in plan.columns if column.name in rows]
    fields = [pa.field(column.name, arrow_type(column.type)) for column in columns]
    return pa.table([pa.array(rows[f.name], f.type) for f in fields], schema=pa.schema(fields))
