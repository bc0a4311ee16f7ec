"""Runs of lakegate.wap on a catalog in a folder, with a catalog that can be killed, or overtaken, at any commit."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import requests
from pyiceberg.catalog import Catalog
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.exceptions import CommitFailedException, CommitStateUnknownException
from pyiceberg.table import Table

from lakegate.adapters.http import TimeoutAdapter
from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.audit.ref import Ref
from lakegate.contracts import Contract, load
from lakegate.publishing.iceberg.branches import IcebergBranches
from lakegate.wap.iceberg import IcebergPlace
from lakegate.wap.nessie import NessiePlace
from lakegate.wap.publishing import names
from tests.support.nessie import Lake, unique

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
Hook = Callable[[int], None]
"""Called with the number of a write, from 1."""


class Killed(BaseException):
    """The process is gone: nothing that comes after runs."""


class FolderCatalog(SqlCatalog):
    """A catalog in a folder. `before` and `after` are called around each write with its number, from 1."""

    before: Hook | None = None
    after: Hook | None = None
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


def place(catalog: Catalog, table: str = TABLE) -> IcebergPlace:
    """The place of a table in a catalog that PyIceberg opens."""
    return IcebergPlace(branches=IcebergBranches(catalog=catalog, table=table))


def contract(text: str = CONTRACT, table: str = TABLE) -> Contract:
    return load(text.replace(TABLE, table), "orders.yaml")


UNIQUE = contract(
    CONTRACT
    + """\
    quality:
      - metric: duplicateValues
        arguments: {properties: [id]}
        mustBe: 0
        customProperties:
          - {property: scope, vendor: lakegate, value: table}
"""
)
REFERRING = contract(
    CONTRACT.replace("logicalType: string}", "logicalType: string, relationships: [{to: shop.notes.text}]}")
)


def orders(*ids: int | None, amount: float | None = 1.0, note: str | None = "a") -> pa.Table:
    columns = {
        "id": pa.array(ids, pa.int64()),
        "amount": pa.array([amount] * len(ids), pa.float64()),
        "note": pa.array([note] * len(ids), pa.string()),
    }
    return pa.table(columns)


def ids_of(table: Table | None) -> list[int | None]:
    """The ids that readers of a table find."""
    found = table.scan().to_arrow().column("id").to_pylist() if table else []
    return sorted(found, key=str)


def on_main(catalog: SqlCatalog, table: str = TABLE) -> list[int | None]:
    return ids_of(catalog.load_table(table) if catalog.table_exists(table) else None)


def branches_of(table: Table) -> list[str]:
    return sorted(table.refs().keys() - {"main"})


class World(Protocol):
    """A catalog of one kind with one table, as each process opens it anew. `writes` are those of a whole run with one
    append, on a catalog without the table; `publish` is the one that publishes. `lost` are errors of a write that was
    made.
    """

    contract: Contract
    writes: int
    publish: int
    lost: Sequence[Exception]

    def opened(self, before: Hook | None = None, after: Hook | None = None) -> Catalog | NessiePlace: ...

    def ids(self) -> list[int | None]:
        """The ids that readers of main find."""

    def branches(self) -> list[str]:
        """The names of runs' branches."""


class FolderWorld:
    """Iceberg's own branches in a folder. A run creates the table with a branch, appends, publishes."""

    writes, publish = 3, 3
    lost: Sequence[Exception] = (
        CommitFailedException("it was there already"),
        CommitStateUnknownException("no answer"),
    )

    def __init__(self, folder: Path) -> None:
        self.contract = contract()
        self._folder, self._open = folder, list[FolderCatalog]()

    def opened(self, before: Hook | None = None, after: Hook | None = None) -> FolderCatalog:
        self._open.append(catalog(self._folder))
        self._open[-1].before, self._open[-1].after = before, after
        return self._open[-1]

    def ids(self) -> list[int | None]:
        return on_main(self.opened())

    def branches(self) -> list[str]:
        return names(place(self.opened()))

    def close(self) -> None:
        for each in self._open:
            each.close()


class NessieWorld:
    """A Nessie. A run makes a branch, there a namespace and the table, appends, merges, drops the branch."""

    writes, publish = 6, 5
    lost: Sequence[Exception] = (requests.ReadTimeout("no answer"),)

    def __init__(self, lake: Lake) -> None:
        self._lake = lake
        self.contract = contract(table=f"{unique('shop')}.orders")
        branches = self._place.branches  # a first branch makes main's first commit, which is none of a run's writes
        branches.create_branch(unique("founding"), branches.head("main") or "")

    def opened(self, before: Hook | None = None, after: Hook | None = None) -> NessiePlace:
        return replace(self._place, http=Hooked(before, after))

    @property
    def _place(self) -> NessiePlace:
        return NessiePlace(uri=self._lake.nessie_uri, warehouse=self._lake.warehouse, table=self.contract.table)

    def ids(self) -> list[int | None]:
        reader = RefCatalog(self._lake.nessie_uri, self._lake.warehouse, Ref("main"), storage())
        return ids_of(reader.find_table(self.contract.table))

    def branches(self) -> list[str]:
        return names(self._place)


class Hooked(TimeoutAdapter):
    """Calls of one process to Nessie, with a hook around each that changes something."""

    def __init__(self, before: Hook | None, after: Hook | None) -> None:
        super().__init__()
        self._before, self._after, self.writes = before, after, 0

    def send(self, request: requests.PreparedRequest, *given: Any, **more: Any) -> requests.Response:
        if request.method in ("GET", "HEAD") or str(request.url).endswith("/contents"):
            return super().send(request, *given, **more)
        self.writes += 1
        number = self.writes
        if self._before:
            self._before(number)
        answer = super().send(request, *given, **more)
        if self._after:
            self._after(number)
        return answer
