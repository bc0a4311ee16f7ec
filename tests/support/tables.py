"""Read tables of a real Nessie, with PyIceberg and PyArrow as a user has them."""

from __future__ import annotations

from typing import Any

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.ports import Ref
from tests.support.nessie import Lake


def rows_of(lake: Lake, ref: str, table: str) -> list[dict[str, Any]]:
    """Every row of the table at a ref."""
    found: list[dict[str, Any]] = (
        RefCatalog(lake.nessie_uri, lake.warehouse, Ref(ref), storage()).load_table(table).scan().to_arrow().to_pylist()
    )
    return found
