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
    wanted = plan.columns if columns is None else columns
    for statement in create_sql(plan, wanted) if table is None else evolve_sql(plan, shape(spark, table), wanted):
        spark.sql(statement)


def create_sql(plan: Plan, columns: Sequence[TableColumn]) -> list[str]:
    """Return the statements that create the plan's table and its namespace."""
    partitions = f" PARTITIONED BY ({_listed(partitions_of(plan))})" if plan.partitions else ""
    return create_table_sql(plan.table, (*columns, FILE), properties(plan, columns), partitions)


def create_table_sql(
    table: str, columns: Iterable[TableColumn], values: Mapping[str, str], partitions: str = ""
) -> list[str]:
    """Return the statements that create a table and its namespace."""
    namespace = ".".join(map(spark_identifier, table.split(".")[:-1]))
    defined = ", ".join(map(_column_sql, columns))
    stored = f"TBLPROPERTIES ({_properties_sql({'format-version': '2', **values})})"
    return [
        f"CREATE NAMESPACE IF NOT EXISTS {LAKE}.{namespace}",
        f"CREATE TABLE {table_name(LAKE, table)} ({defined}) USING iceberg{partitions} {stored}",
    ]


def add_columns_sql(table: str, columns: Iterable[TableColumn]) -> str:
    """Return the statement that adds columns to a table."""
    return f"ALTER TABLE {table_name(LAKE, table)} ADD COLUMNS ({', '.join(map(_column_sql, columns))})"


def set_properties_sql(table: str, values: Mapping[str, str], there: Mapping[str, str]) -> list[str]:
    """Return the statement that sets the properties that differ; none if none do."""
    changed = {name: text for name, text in values.items() if there.get(name) != text}
    return [f"ALTER TABLE {table_name(LAKE, table)} SET TBLPROPERTIES ({_properties_sql(changed)})"] if changed else []


def evolve_sql(plan: Plan, there: Shape, columns: Sequence[TableColumn]) -> list[str]:
    """Return the statements that add new columns and widen others. Raise Unfit if anything else differs."""
    if differences := mismatches(plan, there):
        raise Unfit(
            f"table {plan.table} does not fit its contract: {'; '.join(differences)}. Nothing was appended. A table "
            f"gets new columns and wider types by itself, nothing else",
            _advice(plan, there),
        )
    altered = f"ALTER TABLE {table_name(LAKE, plan.table)}"
    docs = {column.name: column.doc for column in columns}
    target = Struct({column.name: storage_of(parse(column.type)) for column in columns})
    differing = [pair for pair in pairs(there.own_columns, target) if pair.other is not None and pair.one != pair.other]
    added = [_added_sql(pair, docs) for pair in differing if pair.one is None]
    # Someone else has created the table, so its rows are of no file version.
    added += [] if FILE_COLUMN in there.columns else [_column_sql(FILE)]
    return [
        *([f"{altered} ADD COLUMNS ({', '.join(added)})"] if added else []),
        *(f"{altered} ALTER COLUMN {_path(pair)} TYPE {pair.other}" for pair in differing if pair.one is not None),
        *set_properties_sql(plan.table, properties(plan, columns, there), there.properties),
    ]


def _advice(plan: Plan, there: Shape) -> Advice:
    """Return what to write for a contract to fit the table: the lines of the columns in which they differ."""
    known, contract = there.contract, columns_of(plan)
    differing = [pair.path[0] for pair in pairs(known, contract) if _contract_mismatch(pair)]
    differing += [pair.path[0] for pair in pairs(there.own_columns, contract) if _table_mismatch(pair)]
    own = [
        (name, there.own_columns.fields[name]) for name in dict.fromkeys(differing) if name in there.own_columns.fields
    ]
    steps = "run lakegate contract push, then lakegate retry; or give the new shape a table of its own"
    if not own:
        return Advice(operator=f"correct the contract, {steps}, and upload the files again")
    return Advice(
        operator=f"{steps}, and upload the files again",
        contract="write these columns in the contract as the table has them",
        lines=lines.columns(own),
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


def mismatches(plan: Plan, there: Shape) -> list[str]:
    """Return why the table cannot become what the contract says; empty if it can."""
    contract, known = columns_of(plan), there.contract
    differences = [_contract_mismatch(pair) for pair in pairs(known, contract)]
    differences += [_table_mismatch(pair) for pair in pairs(there.own_columns, contract)]
    differences += name_clashes(there.own_columns, contract)
    asked = partitions_of(plan)
    if there.partitions != asked:
        differences.append(
            f"the table is partitioned by {_listed(there.partitions)}, the contract says {_listed(asked)}"
        )
    return [*dict.fromkeys(filter(None, differences)), *_hints(known, contract)]


def _contract_mismatch(pair: Pair) -> str:
    """Return how the contract differs from its earlier self: a column that is gone or of a type that is no widening."""
    if pair.other is None:
        return f'column "{pair.label}" is in the table and not in the contract'
    if pair.one is None or _promoted(pair) == pair.other:
        return ""
    return _type_mismatch(pair)


def _table_mismatch(pair: Pair) -> str:
    """Return how the table differs from the contract. Wider columns are fine: files made them so."""
    if pair.other is None:
        return ""
    if pair.one is None:
        return f'column "{pair.label}" is new, and the keys of a map cannot change' if pair.keyed else ""
    return "" if _promoted(pair) else _type_mismatch(pair)


def _promoted(pair: Pair) -> Type | None:
    if isinstance(pair.one, Atom) and isinstance(pair.other, Atom) and not pair.keyed:
        return promotion(pair.one, pair.other)
    return pair.one if pair.one == pair.other else None


def _type_mismatch(pair: Pair) -> str:
    found, wanted = (kind(each) for each in (pair.one, pair.other) if each)
    return f'column "{pair.label}" is {found} in the table, the contract says {wanted}'


def _hints(known: Struct, contract: Struct) -> list[str]:
    gone = [name for name in known.fields if name not in contract.fields]
    came = [name for name in contract.fields if name not in known.fields]
    if gone and came:
        return [f'if "{came[0]}" is "{gone[0]}" by a new name, say so with physicalName: {gone[0]}']
    return (
        ["a column that files need not have any more stays in the contract, with missingColumns: allow"] if gone else []
    )


def _path(pair: Pair) -> str:
    return ".".join(map(spark_identifier, pair.path))


def _added_sql(pair: Pair, docs: Mapping[str, str]) -> str:
    comment = docs.get(pair.label, "") if len(pair.path) == 1 else ""
    return f"{_path(pair)} {pair.other}" + (f" COMMENT {literal(comment)}" if comment else "")


def _column_sql(column: TableColumn) -> str:
    defined = f"{spark_identifier(column.name)} {storage_of(parse(column.type))}"
    return defined + (f" COMMENT {literal(column.doc)}" if column.doc else "")


def table_name(catalog: str, table: str) -> str:
    """Return the table's name in a catalog of the session, for a statement."""
    return ".".join([catalog, *map(spark_identifier, table.split("."))])


def _properties_sql(values: Mapping[str, str]) -> str:
    return ", ".join(f"{literal(name)} = {literal(value)}" for name, value in values.items())


def _listed(partitions: Iterable[str]) -> str:
    return ", ".join(partitions) or "nothing"
