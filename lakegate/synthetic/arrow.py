"""Columns of Python values as arrow tables, with the types that a plan's columns have in files."""

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from lakegate.audit.model.plan import Plan
from lakegate.reading.arrow import arrow_type


def table_of(plan: Plan, rows: Mapping[str, list[Any]]) -> pa.Table:
    """Return those of the plan's columns that `rows` has, in the plan's order."""
    columns = [column for column in plan.columns if column.name in rows]
    fields = [pa.field(column.name, arrow_type(column.type)) for column in columns]
    return pa.table([pa.array(rows[f.name], f.type) for f in fields], schema=pa.schema(fields))
