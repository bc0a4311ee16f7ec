"""Runs of lakegate.wap on a catalog in a folder, with a catalog that can be killed, or overtaken, at any commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table

from lakegate.contracts import Contract, load

CONTRACT = """\
apiVersion: v3.2.0
kind: DataContract
id: shop-orders
version: 1.0.0
status: active
servers:
  - {server: landing, type: s3, location: s3://landing/orders/*.parquet, format: parquet}
schema:
  - name: orders
    physicalName: shop.orders
    properties:
      - {name: id, logicalType: integer, physicalType: bigint, required: true}
      - {name: amount, logicalType: number, physicalType: double, logicalTypeOptions: {minimum: 0}}
      - {name: note, logicalType: string}
"""
TABLE = "shop.orders"


class Killed(BaseException):
    """The process is gone: nothing that comes after runs."""


class FolderCatalog(SqlCatalog):
    """A catalog in a folder. `before` and `after` are called around each write with its number, from 1."""

    before: Callable[[int], None] | None = None
    after: Callable[[int], None] | None = None
    writes = 0

    @contextmanager
    def _write(self) -> Iterator[None]:
        self.writes += 1
        number = self.writes
        if self.before:
            self.before(number)
        yield
        if self.after:
            self.after(number)

    def commit_table(self, *given: Any, **more: Any) -> Any:
        with self._write():
            return super().commit_table(*given, **more)

    def create_table(self, *given: Any, **more: Any) -> Any:
        with self._write():
            return super().create_table(*given, **more)


def catalog(folder: Path) -> FolderCatalog:
    """The catalog of a folder, as another process opens it."""
    return FolderCatalog("here", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/warehouse")


def contract(text: str = CONTRACT) -> Contract:
    return load(text, "orders.yaml")


def orders(*ids: int | None, amount: float | None = 1.0, note: str | None = "a") -> pa.Table:
    columns = {
        "id": pa.array(ids, pa.int64()),
        "amount": pa.array([amount] * len(ids), pa.float64()),
        "note": pa.array([note] * len(ids), pa.string()),
    }
    return pa.table(columns)


def on_main(catalog: SqlCatalog, table: str = TABLE) -> list[int | None]:
    """The ids that readers of main find."""
    if not catalog.table_exists(table):
        return []
    return sorted(catalog.load_table(table).scan().to_arrow().column("id").to_pylist(), key=str)


def branches_of(table: Table) -> list[str]:
    return sorted(table.refs().keys() - {"main"})
