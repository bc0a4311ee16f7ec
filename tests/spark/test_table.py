"""The table and its contract: made once, grown by new columns, and never bent."""

from __future__ import annotations

from dataclasses import replace

import pytest
from pyspark.sql import SparkSession

from lakegate.audit.definition import Shape, properties
from lakegate.audit.errors import Unfit
from lakegate.audit.model.plan import Plan, Proof
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.appending import path_lengths
from spark_jobs.jvm.session import LAKE
from spark_jobs.tables import iceberg
from spark_jobs.tables.ddl import create_sql, evolve_sql, prepare, shape
from tests.support.plans import failing, nulls, plan

COLUMNS = {"id": "bigint", "at": "timestamp", "name": "string"}


def made(spark: SparkSession, by: Plan) -> Shape:
    prepare(spark, by, iceberg.load(spark, LAKE, by.table))
    return shape(spark, iceberg.load(spark, LAKE, by.table))


def statements(by: Plan, seen: Shape) -> list[str]:
    return evolve_sql(by, seen, by.columns)


def there(columns: dict[str, str], partitions: tuple[str, ...] = ()) -> Shape:
    by = plan("nyc.t", columns, partitions=partitions)
    return Shape(columns=columns | {FILE_COLUMN: "string"}, partitions=partitions, properties=properties(by))


def test_a_table_that_fits_is_left_alone() -> None:
    assert statements(plan("nyc.t", COLUMNS), there(COLUMNS)) == []


def test_a_column_that_is_new_is_added() -> None:
    wider = plan("nyc.t", {**COLUMNS, "new one": "double"}, contract_hash="h2")
    assert statements(wider, there(COLUMNS)) == [
        "ALTER TABLE lake.`nyc`.`t` ADD COLUMNS (`new one` double)",
        "ALTER TABLE lake.`nyc`.`t` SET TBLPROPERTIES ('lakegate.contract-hash' = 'h2')",
    ]


def test_another_check_changes_what_the_table_says_of_itself_and_none_of_its_columns() -> None:
    checked = plan("nyc.t", COLUMNS, [nulls("name")], contract_hash="h2")
    [statement] = statements(checked, there(COLUMNS))
    assert statement == (
        "ALTER TABLE lake.`nyc`.`t` SET TBLPROPERTIES ('lakegate.contract-hash' = 'h2', "
        "'write.metadata.metrics.column.name' = 'truncate(16)')"
    )


def test_a_table_of_an_earlier_release_is_told_to_keep_what_nobody_refers_to() -> None:
    by = plan("nyc.t", COLUMNS)
    seen = there(COLUMNS)
    before = {name: value for name, value in seen.properties.items() if name != "gc.enabled"}
    assert statements(by, replace(seen, properties=before)) == [
        "ALTER TABLE lake.`nyc`.`t` SET TBLPROPERTIES ('gc.enabled' = 'false')"
    ]


@pytest.mark.parametrize(
    ("wanted", "partitions", "said", "lines"),
    [
        (
            {"id": "bigint", "at": "timestamp"},
            (),
            'column "name" is in the table and not in the contract',
            "- name: name\n  logicalType: string",
        ),
        (
            COLUMNS | {"id": "int"},
            (),
            'column "id" is bigint in the table, the contract says int',
            "- name: id\n  logicalType: integer\n  logicalTypeOptions:\n    format: i64",
        ),
        (COLUMNS, ("days(at)",), "the table is partitioned by nothing, the contract says days(`at`)", ""),
    ],
)
def test_any_other_difference_says_what_to_write(
    wanted: dict[str, str], partitions: tuple[str, ...], said: str, lines: str
) -> None:
    with pytest.raises(Unfit, match="Nothing was appended") as caught:
        statements(plan("nyc.t", wanted, partitions=partitions), there(COLUMNS))
    assert said in str(caught.value)
    [advice] = caught.value.advice
    assert "run lakegate contract push, then lakegate retry" in advice.operator
    assert advice.lines == lines


def test_names_and_descriptions_cannot_leave_their_quotes() -> None:
    by = plan("nyc.t", {"a`b": "int"}, contract_hash="it's \\")
    table = create_sql(by, by.columns)[1]
    assert "`a``b` int" in table
    assert "'it\\'s \\\\'" in table


def test_every_column_with_a_check_has_statistics() -> None:
    by = plan("nyc.t", COLUMNS, [nulls("id"), failing("name", "…", Proof(column="name", minimum="a"))])
    assert {name for name in properties(by) if name.startswith("write.metadata.metrics.column.")} == {
        f"write.metadata.metrics.column.{name}" for name in ("id", "name", FILE_COLUMN)
    }


@pytest.mark.spark
def test_a_table_is_made_as_its_plan_says_and_then_fits(spark: SparkSession) -> None:
    kinds = ("boolean", "int", "bigint", "float", "double", "decimal(10,2)", "string", "binary", "date", "timestamp")
    columns = {f"c {number}": kind for number, kind in enumerate((*kinds, "timestamp_ntz"))}
    partitions = ("months(`c 9`)", "bucket(16, `c 2`)", "truncate(4, `c 6`)", "`c 8`")
    by = plan("nyc.t", columns, [nulls("c 1")], partitions)
    seen = made(spark, by)
    assert seen.columns == columns | {FILE_COLUMN: "string"}
    assert seen.partitions == partitions
    assert statements(by, seen) == []


@pytest.mark.spark
@pytest.mark.parametrize("unit", ["years", "months", "days", "hours"])
@pytest.mark.share(1)
def test_a_time_transform_is_recognised(spark: SparkSession, unit: str) -> None:
    by = plan("nyc.t", COLUMNS, partitions=[f"{unit}(at)"])
    assert statements(by, made(spark, by)) == []


@pytest.mark.spark
@pytest.mark.parametrize("name", ["amount(EUR)", "days(at)", "a`b", "`a`", "a,b", "bucket(2, a)", "a.b", "'a\" b"])
@pytest.mark.share(3)
def test_a_column_of_any_name_partitions_the_table(spark: SparkSession, name: str) -> None:
    column = spark_identifier(name)
    for table, spelled in (("nyc.whole", column), ("nyc.cut", f"truncate(4, {column})")):
        by = plan(table, {name: "string"}, partitions=[spelled])
        seen = made(spark, by)
        assert seen.partitions == (spelled,)
        assert statements(by, seen) == []
        spark.createDataFrame([("text", "f1")], f"{column} string, {FILE_COLUMN} string").writeTo(
            f"{LAKE}.{table}"
        ).append()
        assert path_lengths.longest_values(by, spark.table(f"{LAKE}.{table}")) == {"f1": 4}


@pytest.mark.spark
def test_small_integers_become_the_tables_integers(spark: SparkSession) -> None:
    by = plan("nyc.t", {"a": "tinyint", "b": "smallint"})
    seen = made(spark, by)
    assert (seen.columns["a"], seen.columns["b"]) == ("int", "int")
    assert statements(by, seen) == []


@pytest.mark.spark
def test_a_grown_contract_grows_the_table(spark: SparkSession) -> None:
    made(spark, plan("nyc.t", COLUMNS))
    grown = plan("nyc.t", {"new": "decimal(10,2)", **COLUMNS}, [nulls("new")], contract_hash="h2")
    seen = made(spark, grown)
    assert seen.columns["new"] == "decimal(10,2)"
    assert seen.properties["lakegate.contract-hash"] == "h2"
    assert statements(grown, seen) == []


@pytest.mark.spark
def test_a_table_of_somebody_elses_gets_the_column_of_file_versions(spark: SparkSession) -> None:
    spark.sql(f"CREATE NAMESPACE {LAKE}.nyc")
    spark.sql(f"CREATE TABLE {LAKE}.nyc.t (id bigint, at timestamp) USING iceberg")
    by = plan("nyc.t", COLUMNS)
    seen = made(spark, by)
    assert list(seen.columns.items()) == [*COLUMNS.items(), (FILE_COLUMN, "string")]
    assert statements(by, seen) == []


@pytest.mark.spark
def test_a_table_that_is_partitioned_by_a_nested_field_is_told(spark: SparkSession) -> None:
    spark.sql(f"CREATE NAMESPACE {LAKE}.nyc")
    spark.sql(f"CREATE TABLE {LAKE}.nyc.t (s struct<`a b`: timestamp>) USING iceberg PARTITIONED BY (days(s.`a b`))")
    with pytest.raises(Unfit, match=r"the table is partitioned by days\(`s\.a b`\), the contract says nothing"):
        made(spark, plan("nyc.t", {"s": "struct<`a b`: timestamp>"}))


@pytest.mark.spark
def test_a_table_that_does_not_fit_is_not_touched(spark: SparkSession) -> None:
    before = made(spark, plan("nyc.t", COLUMNS))
    with pytest.raises(Unfit):
        made(spark, plan("nyc.t", {"id": "string", "new": "int"}, contract_hash="h2"))
    assert shape(spark, iceberg.load(spark, LAKE, "nyc.t")) == before
