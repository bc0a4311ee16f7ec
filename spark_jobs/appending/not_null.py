"""Columns, and parts of nested ones, in which a table takes no null.

Tables that lakegate creates take nulls everywhere; other owners may have made a column NOT NULL. A null there fails the
whole write, and the error does not name the file.
"""

from collections.abc import Callable, Iterator, Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import places, spark_identifier
from spark_jobs.jvm.failures import mentions
from spark_jobs.jvm.session import LAKE
from spark_jobs.jvm.spark_sql import sql_type
from spark_jobs.tables.ddl import table_name

_NULL_ERROR = "Null value appeared in non-nullable field"
_Place = tuple[str, ...]
_HasNull = Callable[[Column], Column]


def is_null_error(error: Exception) -> bool:
    """Return True if the error is of a null that the table does not take."""
    return mentions(error, _NULL_ERROR)


def find_nulls(plan: Plan, rows: DataFrame) -> Mapping[str, tuple[Fault, ...]]:
    """Return the faults of files that have nulls which the table does not take, by file version."""
    schema = rows.sparkSession.table(table_name(LAKE, plan.table)).schema
    conditions = dict(_required_places(schema))
    if not conditions:
        return {}
    whole = F.struct(*(F.col(spark_identifier(name)) for name in rows.columns))
    flags = rows.groupBy(FILE_COLUMN).agg(*(F.max(has_null(whole)) for has_null in conditions.values())).collect()
    labels = {place: label for label, place in places(sql_type(schema.jsonValue()))}
    faults = [_fault(plan.table, labels[place], place) for place in conditions]
    return {file: tuple(fault for fault, is_so in zip(faults, wrong, strict=True) if is_so) for file, *wrong in flags}


def _required_places(kind: DataType) -> Iterator[tuple[_Place, _HasNull]]:
    """Yield each place in a value where no null may be, with a function that asks a value for a null there."""
    for name, part, nullable, ask in _parts(kind):
        if not nullable:
            yield (name,), ask(Column.isNull)
        for place, has_null in _required_places(part):
            yield (name, *place), ask(has_null)


def _parts(kind: DataType) -> Iterator[tuple[str, DataType, bool, Callable[[_HasNull], _HasNull]]]:
    """Yield the parts of a nested type: name, type, whether it may be null, and a function that turns a question about
    the part into one about the whole. Keys of a map are never null.
    """
    if isinstance(kind, StructType):
        for field in kind.fields:
            yield field.name, field.dataType, field.nullable, _of_field(field.name)
    if isinstance(kind, ArrayType):
        yield "element", kind.elementType, kind.containsNull, _of_items(lambda value: value)
    if isinstance(kind, MapType):
        yield "key", kind.keyType, True, _of_items(F.map_keys)
        yield "value", kind.valueType, kind.valueContainsNull, _of_items(F.map_values)


def _of_field(name: str) -> Callable[[_HasNull], _HasNull]:
    return lambda has_null: lambda value: value.isNotNull() & has_null(value.getField(name))


def _of_items(items: Callable[[Column], Column]) -> Callable[[_HasNull], _HasNull]:
    return lambda has_null: lambda value: value.isNotNull() & F.exists(items(value), has_null)


def _fault(table: str, label: str, place: _Place) -> Fault:
    column = ".".join(name if name.isidentifier() else spark_identifier(name) for name in place)
    statement = f"ALTER TABLE {table} ALTER COLUMN {column} DROP NOT NULL"
    return Fault(
        f"it has nulls in column {display_name(label)}, where the table takes none",
        Advice(
            vendor=f"write a value in each row of {display_name(label)}",
            operator=f"if the file is right, run {statement} on main as the table's owner, then lakegate retry",
        ),
    )
