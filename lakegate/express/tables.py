"""Tables at one commit, by PyIceberg: their definition, and their difference from an earlier state."""

# ruff: noqa: ARG002 - the arguments are a protocol's

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyiceberg import types as iceberg
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table

from lakegate.adapters.iceberg.manifests import TableState
from lakegate.adapters.iceberg.specs import ids_by_name
from lakegate.audit.completeness import RowCounts
from lakegate.audit.data_files import manifests
from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from lakegate.audit.definition import Shape, partitions_of, properties
from lakegate.audit.errors import HandedOver
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.fit import FILE_COLUMN, columns_of
from lakegate.audit.schema.partitions import Partition
from lakegate.audit.schema.types import Struct, parse, spark_identifier, storage_of

_SPARK: Mapping[type[iceberg.IcebergType], str] = {
    iceberg.BooleanType: "boolean",
    iceberg.IntegerType: "int",
    iceberg.LongType: "bigint",
    iceberg.FloatType: "float",
    iceberg.DoubleType: "double",
    iceberg.StringType: "string",
    iceberg.BinaryType: "binary",
    iceberg.DateType: "date",
    iceberg.TimestamptzType: "timestamp",
    iceberg.TimestampType: "timestamp_ntz",
}
_WRITER_PREFIXES = ("write.metadata.metrics.", "write.parquet.compression-codec")
"""Write settings that this engine follows, beside those that the plan asks for."""


@dataclass(frozen=True, kw_only=True)
class ExpressTable:
    """A table as PyIceberg has loaded it."""

    table: Table

    def columns(self) -> Struct:
        return shape(self.table).own_columns

    def fields(self) -> dict[str, IcebergField]:
        return {
            field.name: IcebergField(
                id=field.field_id,
                name=field.name,
                type=str(field.field_type) if field.field_type.is_primitive else "nested",
            )
            for field in self.table.schema().fields
        }

    def types(self) -> pa.Schema:
        """Return Arrow's types of its columns."""
        return schema_to_pyarrow(self.table.schema(), include_field_ids=False)

    def names(self) -> dict[str, int]:
        """Return the field ids that the table has for names of columns, in data files without ids."""
        return ids_by_name(self.table.name_mapping())

    def has_deletes(self) -> bool:
        return manifests.has_deletes(TableState(self.table))

    def changes_since(self, before: "ExpressTable | None") -> Difference:
        difference = manifests.compare(TableState(before.table if before else None), TableState(self.table))
        return Difference(
            new_files=_describe(difference.new_files),
            lost_files=_describe(difference.lost_files),
            deletes=bool(difference.deletes),
        )

    def data_files_with(self, versions: Collection[str]) -> Mapping[str, Any]:
        raise HandedOver(_REWRITTEN)

    def row_counts(self, files: DataFiles, replaced_ids: Collection[str]) -> RowCounts:
        raise HandedOver(_REWRITTEN)


_REWRITTEN = "The batch replaces rows that somebody has rewritten, and only Spark takes those out of a table."


def _describe(files: Mapping[str, DataFile]) -> DataFiles:
    return DataFiles(statistics={path: statistics(file) for path, file in files.items()}, entries=files)


def statistics(file: DataFile) -> DataFileStatistics:
    """Return what the manifest's entry of a data file says."""
    return DataFileStatistics(
        path=file.file_path,
        rows=file.record_count,
        values=file.value_counts or {},
        nulls=file.null_value_counts or {},
        nans=file.nan_value_counts or {},
        lower=_hex(file.lower_bounds),
        upper=_hex(file.upper_bounds),
        row_groups=len(file.split_offsets or ()),
    )


def _hex(bounds: Mapping[int, bytes] | None) -> dict[int, str]:
    return {number: bytes(raw).hex() for number, raw in (bounds or {}).items()}


def shape(table: Table) -> Shape:
    """Return the definition of a table. Raise HandedOver if a column has a type that this engine does not write."""
    schema = table.schema()
    return Shape(
        columns={field.name: spark_type(field.field_type) for field in schema.fields},
        partitions=tuple(
            str(Partition.of_iceberg(str(schema.find_column_name(field.source_id)), str(field.transform)))
            for field in table.spec().fields
        ),
        properties=dict(table.properties),
    )


def spark_type(kind: iceberg.IcebergType) -> str:
    if isinstance(kind, iceberg.ListType):
        return f"array<{spark_type(kind.element_type)}>"
    if isinstance(kind, iceberg.MapType):
        return f"map<{spark_type(kind.key_type)},{spark_type(kind.value_type)}>"
    if isinstance(kind, iceberg.StructType):
        parts = (f"{spark_identifier(part.name)}:{spark_type(part.field_type)}" for part in kind.fields)
        return f"struct<{','.join(parts)}>"
    if isinstance(kind, iceberg.DecimalType):
        return f"decimal({kind.precision},{kind.scale})"
    for iceberg_type, spark_name in _SPARK.items():
        if type(kind) is iceberg_type:
            return spark_name
    raise HandedOver("The table has a column of a type that only Spark writes.")


def fit(plan: Plan, table: Table, columns: Sequence[TableColumn]) -> dict[str, str]:
    """Return the properties that the table lacks. Raise HandedOver unless it is else just what the plan and these
    columns ask for: only Spark changes columns.
    """
    current = shape(table)
    target = Struct({column.name: storage_of(parse(column.type)) for column in columns})
    if FILE_COLUMN not in current.columns or dict(current.own_columns.fields) != dict(target.fields):
        raise HandedOver("The table has other columns than it is to have, and only Spark changes it.")
    if current.partitions != partitions_of(plan):
        raise HandedOver("The table is not partitioned as its contract says.")
    table_properties = properties(plan, columns, current)
    changes = {name: value for name, value in table_properties.items() if current.properties.get(name) != value}
    if changes and dict(current.contract.fields) != dict(columns_of(plan).fields):
        raise HandedOver("The contract has other columns than at the last write, which Spark looks at.")
    _check_writable(table, table_properties)
    return changes


def _check_writable(table: Table, own_names: Collection[str]) -> None:
    strange = [name for name in table.properties if name.startswith("write.") and name not in own_names]
    if any(not name.startswith(_WRITER_PREFIXES) for name in strange):
        raise HandedOver("The table has settings for its writers that only Spark follows.")
    if any(field.required for field in table.schema().fields):
        raise HandedOver("The table has columns that take no null.")
    if table.metadata.format_version != 2:  # noqa: PLR2004 - what lakegate creates
        raise HandedOver(f"The table is of Iceberg's format version {table.metadata.format_version}.")
    if table.sort_order().fields:
        raise HandedOver("The table has a sort order, and only Spark sorts rows.")
