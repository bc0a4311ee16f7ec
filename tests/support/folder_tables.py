"""Iceberg tables of a folder, which no catalog knows: of data files that are there already."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO, _pyarrow_to_schema_without_ids, parquet_file_to_data_file
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.schema import Schema, assign_fresh_schema_ids
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.name_mapping import create_mapping_from_schema
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata

from lakegate.adapters.iceberg.commits import stage_append
from lakegate.adapters.lake import IcebergLake
from lakegate.ports import Ref

NAME = "nyc.flights"


def table_of(paths: Sequence[Path], folder: Path) -> Table:
    """Return a table with the columns of the first file, by their names in the others."""
    return with_files(_pyarrow_to_schema_without_ids(pq.read_schema(paths[0])), paths, folder)


def with_files(schema: Schema, paths: Sequence[Path], folder: Path) -> Table:
    schema = assign_fresh_schema_ids(schema)
    names = create_mapping_from_schema(schema).model_dump_json()
    settings = {"format-version": "2", "schema.name-mapping.default": names}
    empty = _at(
        new_table_metadata(schema, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, str(folder / "table"), settings)
    )
    files = [parquet_file_to_data_file(empty.io, empty.metadata, str(path)) for path in paths]
    for file in files:
        file.spec_id = UNPARTITIONED_PARTITION_SPEC.spec_id
    _, (updates, _) = stage_append(empty, files, MAIN_BRANCH, {})
    return _at(update_table_metadata(empty.metadata, updates))


def _at(metadata: TableMetadata) -> Table:
    return Table(tuple(NAME.split(".")), metadata, "", PyArrowFileIO(), NoopCatalog("folder"))


class LakeOfOne(IcebergLake):
    """A lake whose catalog has one table."""

    def __init__(self, table: Table) -> None:
        super().__init__("", "")
        self._table = lambda _ref, name: table if name == NAME else None  # type: ignore[assignment]

    def tables(self, ref: Ref) -> list[str]:  # noqa: ARG002 - the argument is a protocol's
        return [NAME]
