"""Spark's types of an Arrow table's columns, for the translation of expressions over them. It opens no DuckDB."""

from functools import lru_cache

import pyarrow as pa


@lru_cache(maxsize=64)
def types_of(schema: pa.Schema) -> frozenset[tuple[str, str]]:
    """Return the types of the columns that hold numbers or days, by name. They are the same object for the same schema,
    because translations are kept by it.
    """
    return frozenset((field.name, kind) for field in schema if (kind := _kind(field.type)))


def _kind(arrow: pa.DataType) -> str:
    if pa.types.is_decimal(arrow):
        return f"decimal({arrow.precision},{arrow.scale})"
    return _KINDS.get(arrow, "")


_KINDS = {pa.int32(): "int", pa.int64(): "bigint", pa.float32(): "float", pa.float64(): "double", pa.date32(): "date"}
