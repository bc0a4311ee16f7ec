"""PyIceberg's projection with nulls kept: it makes an empty list or map of structs of a null one, as it reads and as it
writes (apache/iceberg-python#3833).
"""

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyiceberg.io.pyarrow as own
from pyiceberg.types import ListType, MapType


class KeptNulls(own.ArrowProjectionVisitor):
    """A projection of nested values in which a null stays one."""

    def list(self, list_type: ListType, list_array: pa.Array | None, value_array: pa.Array | None) -> pa.Array | None:
        return _with_nulls(list_array, super().list(list_type, list_array, value_array))

    def map(
        self, map_type: MapType, map_array: pa.Array | None, key_result: pa.Array | None, value_result: pa.Array | None
    ) -> pa.Array | None:
        return _with_nulls(map_array, super().map(map_type, map_array, key_result, value_result))


def _with_nulls(before: pa.Array | None, after: pa.Array | None) -> pa.Array | None:
    if before is None or after is None or before.null_count == after.null_count:
        return after
    return pc.if_else(before.is_valid(), after, pa.scalar(None, after.type))


def keep_nulls() -> None:
    """Make PyIceberg use this projection in this process, until it keeps nulls by itself."""
    module: Any = own
    module.ArrowProjectionVisitor = KeptNulls
