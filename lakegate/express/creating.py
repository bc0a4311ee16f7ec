"""A table that is not there yet, created on the branch as Spark creates it from the same plan."""

from collections.abc import Iterator, Sequence
from itertools import count
from typing import TYPE_CHECKING

from pyiceberg import types as iceberg
from pyiceberg.partitioning import PARTITION_FIELD_ID_START, PartitionField, PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.transforms import parse_transform
from pyiceberg.types import NestedField

from lakegate.adapters.iceberg.errors import iceberg_errors
from lakegate.audit.definition import FILE, FIXED_PROPERTIES, properties
from lakegate.audit.errors import HandedOver
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.partitions import Partition, partition
from lakegate.audit.schema.types import Array, Map, Struct, Type, digits, parse, storage_of

if TYPE_CHECKING:
    from lakegate.adapters.iceberg import RefCatalog

_FIRST_NESTED_ID = 10_000  # any numbers: the catalog gives its own, in the order of the columns
_TYPES: dict[str, iceberg.PrimitiveType] = {
    "boolean": iceberg.BooleanType(),
    "int": iceberg.IntegerType(),
    "bigint": iceberg.LongType(),
    "float": iceberg.FloatType(),
    "double": iceberg.DoubleType(),
    "string": iceberg.StringType(),
    "binary": iceberg.BinaryType(),
    "date": iceberg.DateType(),
    "timestamp": iceberg.TimestamptzType(),
    "timestamp_ntz": iceberg.TimestampType(),
}


def create(catalog: "RefCatalog", plan: Plan, columns: Sequence[TableColumn]) -> Table:
    """Create the plan's table, and its namespace if there is none, with these columns. Raise OutcomeUnknown if nobody
    knows whether it was created.
    """
    schema = schema_of(columns)
    spec, values = spec_of(plan, schema), {"format-version": "2", **properties(plan, columns)}
    with iceberg_errors(f"creating {plan.table}", changes=True):
        catalog.create_namespace_if_not_exists(plan.table.rpartition(".")[0])
        table: Table = catalog.create_table(plan.table, schema, partition_spec=spec, properties=values)
    return table


def create_own(catalog: "RefCatalog", name: str, columns: Sequence[TableColumn]) -> Table:
    """Create a table of lakegate's own. Raise OutcomeUnknown if nobody knows whether it was created."""
    schema = Schema(*(_field(at, column) for at, column in enumerate(columns, 1)))
    with iceberg_errors(f"creating {name}", changes=True):
        catalog.create_namespace_if_not_exists(name.rpartition(".")[0])
        table: Table = catalog.create_table(name, schema, properties={"format-version": "2", **FIXED_PROPERTIES})
    return table


def schema_of(columns: Sequence[TableColumn]) -> Schema:
    """Return these columns, and lakegate's behind them, as Iceberg has them. All are optional."""
    return Schema(*(_field(at, column) for at, column in enumerate((*columns, FILE), 1)))


def _field(number: int, column: TableColumn) -> NestedField:
    kind = _type(column.name, storage_of(parse(column.type)), count(_FIRST_NESTED_ID * number))
    return NestedField(field_id=number, name=column.name, field_type=kind, required=False, doc=column.doc or None)


def _type(column: str, storage_type: Type, ids: Iterator[int]) -> iceberg.IcebergType:
    """Return a type as Iceberg has it. Parts of nested ones are optional, and get these ids."""
    if isinstance(storage_type, Array):
        return iceberg.ListType(next(ids), _type(column, storage_type.element, ids), element_required=False)
    if isinstance(storage_type, Map):
        key, value = (_type(column, part, ids) for part in (storage_type.key, storage_type.value))
        return iceberg.MapType(next(ids), key, next(ids), value, value_required=False)
    if isinstance(storage_type, Struct):
        parts = {name: _type(column, part, ids) for name, part in storage_type.fields.items()}
        return iceberg.StructType(*(NestedField(next(ids), name, part) for name, part in parts.items()))
    if size := digits(storage_type):
        return iceberg.DecimalType(*size)
    if (iceberg_type := _TYPES.get(str(storage_type))) is None:
        raise HandedOver(f"Column {display_name(column)} has a type that only Spark writes.")
    return iceberg_type


def spec_of(plan: Plan, schema: Schema) -> PartitionSpec:
    """Return the plan's partitions as Iceberg has them."""
    parts = [partition(text) for text in plan.partitions]
    return PartitionSpec(*(_part(schema, part, PARTITION_FIELD_ID_START + at) for at, part in enumerate(parts)))


def _part(schema: Schema, part: Partition, number: int) -> PartitionField:
    # By its name as it is: PyIceberg's own search takes a dot for a way into a nested column.
    [source] = [field.field_id for field in schema.fields if field.name == part.column]
    return PartitionField(source_id=source, field_id=number, transform=parse_transform(part.iceberg), name=part.field)
