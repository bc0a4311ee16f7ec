"""The table on the branch: created from the plan, or evolved by new and wider columns. It drops nothing."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import SparkSession

from lakegate.audit.advice import Advice
from lakegate.audit.definition import FILE, Shape, partitions_of, properties
from lakegate.audit.errors import Unfit
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema import lines
from lakegate.audit.schema.fit import FILE_COLUMN, columns_of, name_clashes
from lakegate.audit.schema.partitions import Partition
from lakegate.audit.schema.types import (
    Atom,
    Pair,
    Struct,
    Type,
    kind,
    pairs,
    parse,
    promotion,
    spark_identifier,
    storage_of,
)
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import LAKE
from spark_jobs.jvm.spark_sql import literal, sql_type


def prepare(spark: SparkSession, plan: Plan, table: Any | None, columns: Sequence[TableColumn] | None = None) -> None:
    """Create the branch's table, or evolve it to these columns (the plan's by default).

    Raise Unfit, and change nothing, if the table cannot become that.
    """
    columns_of_table = plan.columns if columns is None else columns
    for statement in (
        create_sql(plan, columns_of_table) if table is None else evolve_sql(plan, shape(spark, table), columns_of_table)
    ):
        spark.sql(statement)


def create_sql(plan: Plan, columns: Sequence[TableColumn]) -> list[str]:
    """Return the statements that create the plan's table and its namespace."""
    partitions = f" PARTITIONED BY ({_text_of(partitions_of(plan))})" if plan.partitions else ""
    return create_table_sql(plan.table, (*columns, FILE), properties(plan, columns), partitions)


def create_table_sql(
    table: str, columns: Iterable[TableColumn], values: Mapping[str, str], partitions: str = ""
) -> list[str]:
    """Return the statements that create a table and its namespace."""
    namespace = ".".join(map(spark_identifier, table.split(".")[:-1]))
    column_list = ", ".join(map(_column_sql, columns))
    properties_sql = f"TBLPROPERTIES ({_properties_sql({'format-version': '2', **values})})"
    return [
        f"CREATE NAMESPACE IF NOT EXISTS {LAKE}.{namespace}",
        f"CREATE TABLE {table_name(LAKE, table)} ({column_list}) USING iceberg{partitions} {properties_sql}",
    ]


def add_columns_sql(table: str, columns: Iterable[TableColumn]) -> str:
    """Return the statement that adds columns to a table."""
    return f"ALTER TABLE {table_name(LAKE, table)} ADD COLUMNS ({', '.join(map(_column_sql, columns))})"


def set_properties_sql(table: str, values: Mapping[str, str], current: Mapping[str, str]) -> list[str]:
    """Return the statement that sets the properties that differ; none if none do."""
    changes = {name: text for name, text in values.items() if current.get(name) != text}
    return [f"ALTER TABLE {table_name(LAKE, table)} SET TBLPROPERTIES ({_properties_sql(changes)})"] if changes else []


def evolve_sql(plan: Plan, current: Shape, columns: Sequence[TableColumn]) -> list[str]:
    """Return the statements that add new columns and widen others. Raise Unfit if anything else differs."""
    if differences := mismatches(plan, current):
        raise Unfit(
            f"table {plan.table} does not fit its contract: {'; '.join(differences)}. Nothing was appended. A table "
            f"gets new columns and wider types by itself, nothing else",
            _advice(plan, current),
        )
    alter = f"ALTER TABLE {table_name(LAKE, plan.table)}"
    docs = {column.name: column.doc for column in columns}
    target = Struct({column.name: storage_of(parse(column.type)) for column in columns})
    differences_of_types = [
        pair for pair in pairs(current.own_columns, target) if pair.other is not None and pair.base != pair.other
    ]
    additions = [_added_sql(pair, docs) for pair in differences_of_types if pair.base is None]
    # Someone else has created the table, so its rows are of no file version.
    additions += [] if FILE_COLUMN in current.columns else [_column_sql(FILE)]
    return [
        *([f"{alter} ADD COLUMNS ({', '.join(additions)})"] if additions else []),
        *(
            f"{alter} ALTER COLUMN {_path(pair)} TYPE {pair.other}"
            for pair in differences_of_types
            if pair.base is not None
        ),
        *set_properties_sql(plan.table, properties(plan, columns, current), current.properties),
    ]


def _advice(plan: Plan, current: Shape) -> Advice:
    """Return what to write for a contract to fit the table: the lines of the columns in which they differ."""
    old_contract, contract = current.contract, columns_of(plan)
    names = [pair.path[0] for pair in pairs(old_contract, contract) if _contract_mismatch(pair)]
    names += [pair.path[0] for pair in pairs(current.own_columns, contract) if _table_mismatch(pair)]
    table_columns = [
        (name, current.own_columns.fields[name]) for name in dict.fromkeys(names) if name in current.own_columns.fields
    ]
    steps = "run lakegate contract push, then lakegate retry; or give the new shape a table of its own"
    if not table_columns:
        return Advice(operator=f"correct the contract, {steps}, and upload the files again")
    return Advice(
        operator=f"{steps}, and upload the files again",
        contract="write these columns in the contract as the table has them",
        lines=lines.columns(table_columns),
    )


def shape(spark: SparkSession, table: Any) -> Shape:
    """Return the definition of a loaded Iceberg table."""
    utility = jvm(spark).org.apache.iceberg.spark.SparkSchemaUtil
    fields = json.loads(utility.convert(table.schema()).json())["fields"]
    spec = json.loads(jvm(spark).org.apache.iceberg.PartitionSpecParser.toJson(table.spec()))
    name = table.schema().findColumnName  # of a nested field, too
    return Shape(
        columns={field["name"]: str(sql_type(field["type"])) for field in fields},
        partitions=tuple(
            str(Partition.of_iceberg(str(name(field["source-id"])), field["transform"])) for field in spec["fields"]
        ),
        properties=dict(table.properties()),
    )


def mismatches(plan: Plan, current: Shape) -> list[str]:
    """Return why the table cannot become what the contract says; empty if it can."""
    contract, old_contract = columns_of(plan), current.contract
    differences = [_contract_mismatch(pair) for pair in pairs(old_contract, contract)]
    differences += [_table_mismatch(pair) for pair in pairs(current.own_columns, contract)]
    differences += name_clashes(current.own_columns, contract)
    partitions = partitions_of(plan)
    if current.partitions != partitions:
        differences.append(
            f"the table is partitioned by {_text_of(current.partitions)}, the contract says {_text_of(partitions)}"
        )
    return [*dict.fromkeys(filter(None, differences)), *_hints(old_contract, contract)]


def _contract_mismatch(pair: Pair) -> str:
    """Return how the contract differs from its earlier self: a column that is gone or of a type that is no widening."""
    if pair.other is None:
        return f'column "{pair.label}" is in the table and not in the contract'
    if pair.base is None or _promotion(pair) == pair.other:
        return ""
    return _type_mismatch(pair)


def _table_mismatch(pair: Pair) -> str:
    """Return how the table differs from the contract. Wider columns are fine: files made them so."""
    if pair.other is None:
        return ""
    if pair.base is None:
        return f'column "{pair.label}" is new, and the keys of a map cannot change' if pair.in_key else ""
    return "" if _promotion(pair) else _type_mismatch(pair)


def _promotion(pair: Pair) -> Type | None:
    if isinstance(pair.base, Atom) and isinstance(pair.other, Atom) and not pair.in_key:
        return promotion(pair.base, pair.other)
    return pair.base if pair.base == pair.other else None


def _type_mismatch(pair: Pair) -> str:
    table_type, contract_type = (kind(part) for part in (pair.base, pair.other) if part)
    return f'column "{pair.label}" is {table_type} in the table, the contract says {contract_type}'


def _hints(old_contract: Struct, contract: Struct) -> list[str]:
    lost_names = [name for name in old_contract.fields if name not in contract.fields]
    came = [name for name in contract.fields if name not in old_contract.fields]
    if lost_names and came:
        return [f'if "{came[0]}" is "{lost_names[0]}" by a new name, say so with physicalName: {lost_names[0]}']
    return (
        ["a column that files need not have any more stays in the contract, with missingColumns: allow"]
        if lost_names
        else []
    )


def _path(pair: Pair) -> str:
    return ".".join(map(spark_identifier, pair.path))


def _added_sql(pair: Pair, docs: Mapping[str, str]) -> str:
    comment = docs.get(pair.label, "") if len(pair.path) == 1 else ""
    return f"{_path(pair)} {pair.other}" + (f" COMMENT {literal(comment)}" if comment else "")


def _column_sql(column: TableColumn) -> str:
    definition = f"{spark_identifier(column.name)} {storage_of(parse(column.type))}"
    return definition + (f" COMMENT {literal(column.doc)}" if column.doc else "")


def table_name(catalog: str, table: str) -> str:
    """Return the table's name in a catalog of the session, for a statement."""
    return ".".join([catalog, *map(spark_identifier, table.split("."))])


def _properties_sql(values: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(name)} = {literal(value)}" for name, value in values.items())


def _text_of(partitions: Iterable[str]) -> str:
    return ", ".join(partitions) or "nothing"
