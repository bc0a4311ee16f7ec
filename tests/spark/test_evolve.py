"""Files whose columns are not the contract's, and contracts whose columns are not the table's, in a real table."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakegate.audit.definition import CONTRACT_COLUMNS, Shape
from lakegate.audit.errors import Unfit
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.plan import Plan, SchemaPolicy, Stance
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import fit_all
from lakegate.audit.schema.owners import reserved_for
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import TYPES
from lakegate.contracts.metrics import aggregates
from spark_jobs.appending.rows import rows_of
from spark_jobs.formats.inspection import inspect_all
from spark_jobs.jvm.session import LAKE
from spark_jobs.tables import iceberg
from spark_jobs.tables.ddl import mismatches, prepare, shape
from tests.support.branch_table import Table
from tests.support.jobs import parquet
from tests.support.plans import plan

pytestmark = pytest.mark.spark
EVOLVE = SchemaPolicy(
    new_columns=Stance.EVOLVE, widened_types=Stance.EVOLVE, missing_columns=Stance.ALLOW, narrowed_types=Stance.ALLOW
)
LOOSE = SchemaPolicy(new_columns=Stance.DISCARD, missing_columns=Stance.ALLOW)


def ingest(spark: SparkSession, folder: Path, by: Plan, *tables: pa.Table) -> list[tuple[str, ...]]:
    """Append what fits, as the job does, and return every file's faults."""
    staged = []
    for number, table in enumerate(tables):
        path = folder / f"{len(list(folder.glob('*.parquet'))):020x}.parquet"
        path.write_bytes(parquet(table))
        staged.append(JobFile(id=path.stem, key=str(number), uri=f"file:{path}", size=path.stat().st_size))
    there = iceberg.load(spark, LAKE, by.table)
    agreed, inspections = fit_all(
        by, None if there is None else shape(spark, there).own_columns, inspect_all(spark, by, staged)
    )
    prepare(spark, by, there, agreed.columns)
    grown = Plan(**{**vars(by), "columns": agreed.columns})
    if good := [inspection for inspection in inspections if not inspection.faults]:
        rows_of(spark, grown, good).writeTo(f"{LAKE}.{by.table}").append()
    return [inspection.faults for inspection in inspections]


def rows(spark: SparkSession) -> list[dict[str, object]]:
    found = spark.table(f"{LAKE}.nyc.t").drop(FILE_COLUMN).orderBy("id").collect()
    return [row.asDict(recursive=True) for row in found]


def seen(spark: SparkSession) -> Shape:
    return shape(spark, iceberg.load(spark, LAKE, "nyc.t"))


def columns(spark: SparkSession) -> dict[str, str]:
    return {name: kind for name, kind in seen(spark).columns.items() if name != FILE_COLUMN}


def test_files_make_the_table_grow_and_wider_and_the_contract_catches_up(spark: SparkSession, tmp_path: Path) -> None:
    contract = {"id": "int", "d": "decimal(5,2)", "x": "float"}
    by = plan("nyc.t", contract, policy=EVOLVE, partitions=["bucket(2, id)"])
    d, x = pa.array([Decimal("1.25")], pa.decimal128(5, 2)), pa.array([0.5], pa.float32())
    first = pa.table({"id": pa.array([1], pa.int32()), "d": d, "x": x})
    wide = {"id": pa.array([2**40], pa.int64()), "d": pa.array([Decimal("123456.50")], pa.decimal128(9, 2))}
    at = pa.array([{"zip": "10001", "n": 1}])
    others = [pa.table(wide | {"x": pa.array([0.1])}), pa.table({"id": pa.array([3], pa.int16()), "at": at})]
    wrong = pa.table({"id": pa.array([4], pa.int32()), "at": ["text"]})
    assert ingest(spark, tmp_path, by, first) == [()]
    assert ingest(spark, tmp_path, by, *others, wrong) == [(), (), ('column "at" is string, the table has struct',)]
    grown = {"id": "bigint", "d": "decimal(9,2)", "x": "double", "at": "struct<`zip`:string,`n`:bigint>"}
    assert columns(spark) == grown
    nothing = {"d": None, "x": None, "at": None}
    assert rows(spark) == [
        nothing | {"id": 1, "d": Decimal("1.25"), "x": 0.5},
        nothing | {"id": 3, "at": {"n": 1, "zip": "10001"}},
        nothing | {"id": 2**40, "d": Decimal("123456.50"), "x": 0.1},
    ]
    assert "decimal(5,2)" in seen(spark).properties[CONTRACT_COLUMNS]
    frozen = plan("nyc.t", contract, partitions=["bucket(2, id)"], contract_hash="h2")
    assert ingest(spark, tmp_path, frozen, first, others[1])[0] == ()
    caught_up = plan("nyc.t", grown, partitions=["bucket(2, id)"], contract_hash="h3")
    assert ingest(spark, tmp_path, caught_up) == []
    assert "decimal(9,2)" in seen(spark).properties[CONTRACT_COLUMNS]
    with pytest.raises(Unfit, match='column "id" is bigint in the table, the contract says int'):
        ingest(spark, tmp_path, frozen)


def test_a_sum_of_numbers_that_a_file_widened_does_not_begin_again_from_below(
    spark: SparkSession, tmp_path: Path
) -> None:
    total = aggregates.total(Field(label="n", name="n", type=TYPES["int"]))
    by = plan("nyc.t", {"n": "int"}, [total], policy=EVOLVE)
    assert ingest(spark, tmp_path, by, pa.table({"n": pa.array([2**62, 2**62, 7])})) == [()]
    assert [file.metrics[total.id].value for file in Table(spark=spark, plan=by).measured()] == [float(2**63 + 7)]


def test_nested_fields_are_matched_by_name_cast_and_filled(spark: SparkSession, tmp_path: Path) -> None:
    nested = "struct<`a b`:string,`n`:bigint,`in`:array<struct<`x`:double,`y`:int>>>"
    by = plan("nyc.t", {"id": "int", "s": nested, "m": "map<string,struct<`k`:bigint,`l`:string>>"}, policy=LOOSE)
    inner = pa.struct([("y", pa.int16()), ("other", pa.string()), ("x", pa.float32())])
    s = pa.struct([("in", pa.list_(inner)), ("n", pa.int32()), ("more", pa.string())])
    m = pa.map_(pa.string(), pa.struct([("l", pa.string()), ("k", pa.int8())]))
    values = {
        "s": pa.array([{"in": [{"y": 1, "other": "o", "x": 0.5}, None], "n": 7, "more": "m"}, None], s),
        "m": pa.array([[("a", {"l": "el", "k": 3})], None], m),
        "id": pa.array([1, 2], pa.int32()),
    }
    assert ingest(spark, tmp_path, by, pa.table(values)) == [()]
    assert rows(spark) == [
        {
            "id": 1,
            "s": {"a b": None, "n": 7, "in": [{"x": 0.5, "y": 1}, None]},
            "m": {"a": {"k": 3, "l": "el"}},
        },
        {"id": 2, "s": None, "m": None},
    ]


@pytest.mark.parametrize("name", ["_file", "_pos", "_deleted", "_spec_id", "_partition", "_metadata"])
@pytest.mark.share(1)
def test_a_file_with_a_reserved_column_is_refused_and_the_others_are_published(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    by = plan("nyc.t", {"id": "bigint"}, policy=EVOLVE)
    good, bad = pa.table({"id": [1]}), pa.table({"id": [2], name: ["x"]})
    assert [len(faults) for faults in ingest(spark, tmp_path, by, good, bad)] == [0, 1]
    assert rows(spark) == [{"id": 1}]


@pytest.mark.parametrize(
    ("there", "new"),
    [
        ({"a": {"b": 1}}, {"a.b": 3}),
        ({"a": [{"b": 1}]}, {"a.b": 3}),
        ({"a.b": 1}, {"a": {"b": 3}}),
        ({}, {"s": {"x": 1, "X": 2}}),
        ({}, {"s": {"": 1}}),
        ({}, {"a": {"b": 1}, "a.b": 2}),
    ],
)
@pytest.mark.share(2)
def test_a_file_whose_names_no_table_can_have_is_refused_and_the_others_are_published(
    spark: SparkSession, tmp_path: Path, there: dict[str, object], new: dict[str, object]
) -> None:
    by = plan("nyc.t", {"id": "bigint"}, policy=EVOLVE)
    first, good, bad = ({"id": number} | more for number, more in ((1, there), (2, {}), (3, there | new)))
    assert ingest(spark, tmp_path, by, pa.Table.from_pylist([first])) == [()]
    refused = ingest(spark, tmp_path, by, *(pa.Table.from_pylist([row]) for row in (bad, good)))
    assert [len(faults) for faults in refused] == [1, 0]
    assert [row["id"] for row in rows(spark)] == [1, 2]


def test_names_with_dots_become_columns(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint"}, policy=EVOLVE)
    found: list[dict[str, object]] = [{"id": 1, "a.b": 1}, {"id": 2, "a": [{"b": 2}]}, {"id": 3, "a.c": 3}]
    for row in found:
        assert ingest(spark, tmp_path, by, pa.Table.from_pylist([row])) == [()]
    assert rows(spark) == [{"a.b": None, "a": None, "a.c": None} | row for row in found]


def test_every_name_that_iceberg_keeps_for_itself_is_reserved(spark: SparkSession, tmp_path: Path) -> None:
    ingest(spark, tmp_path, plan("nyc.t", {"id": "bigint"}))
    relation = spark.table("lake.nyc.t")._jdf.queryExecution().analyzed().children().head()
    own = [column.name() for column in relation.table().metadataColumns()]
    assert "_file" in own
    assert [name for name in own if reserved_for(name) != "Iceberg"] == []


def test_a_reserved_column_that_is_not_read_says_nothing_of_where_rows_came_from(
    spark: SparkSession, tmp_path: Path
) -> None:
    by = plan("nyc.t", {"id": "bigint"}, policy=LOOSE)
    tables = [pa.table({"id": [number], "_metadata": [{"file_name": "other.parquet"}]}) for number in range(3)]
    assert ingest(spark, tmp_path, by, *tables) == [(), (), ()]
    found = spark.table(f"{LAKE}.nyc.t").select("id", FILE_COLUMN).collect()
    assert {tuple(row) for row in found} == {(number, f"{number:020x}") for number in range(3)}


def test_a_contract_that_grows_and_widens_brings_its_table_along(spark: SparkSession, tmp_path: Path) -> None:
    first = plan("nyc.t", {"id": "int", "s": "struct<`a`:int,`l`:array<float>>"})
    s = pa.array([{"a": 1, "l": [0.5]}], pa.struct([("a", pa.int32()), ("l", pa.list_(pa.float32()))]))
    one = pa.table({"id": pa.array([1], pa.int32()), "s": s})
    assert ingest(spark, tmp_path, first, one) == [()]
    later = {"id": "bigint", "s": "struct<`l`:array<double>,`a`:bigint,`new`:string>", "new": "date"}
    second = plan("nyc.t", later, contract_hash="h2", policy=SchemaPolicy(missing_columns=Stance.ALLOW))
    assert ingest(spark, tmp_path, second, one) == [()]
    assert columns(spark) == {"id": "bigint", "s": "struct<`a`:bigint,`l`:array<double>,`new`:string>", "new": "date"}
    assert rows(spark) == [{"id": 1, "s": {"a": 1, "l": [0.5], "new": None}, "new": None}] * 2
    assert seen(spark).properties["lakegate.contract-hash"] == "h2"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"s": ""}, 'column "s" is in the table and not in the contract; a column that files need not have'),
        ({"s": "", "t": "struct<`a`:int>"}, 'if "t" is "s" by a new name, say so with physicalName: s'),
        ({"id": "string"}, 'column "id" is int in the table, the contract says string'),
        ({"s": "struct<`b`:int>"}, 'column "s.a" is in the table and not in the contract'),
        ({"m": "map<bigint,int>"}, 'column "m.key" is int in the table, the contract says bigint'),
        ({"s": "array<int>"}, 'column "s" is struct in the table, the contract says array'),
        ({"ID": "int"}, 'column "ID" is new, and a table cannot tell it from "id"'),
        ({"s": "struct<`a`:int,`A`:int>"}, 'column "s"."A" is new, and a table cannot tell it from "s"."a"'),
        ({"S.a": "int"}, 'column "S.a" is new, and a table cannot tell it from "s"."a"'),
    ],
)
@pytest.mark.share(3)
def test_a_contract_that_takes_away_or_narrows_is_unfit(change: dict[str, str], said: str) -> None:
    columns = {"id": "int", "s": "struct<`a`:int>", "m": "map<int,int>"}
    there = Shape(columns=columns | {FILE_COLUMN: "string"}, partitions=(), properties={})
    contract = {name: kind for name, kind in (columns | change).items() if kind}
    assert mismatches(plan("nyc.t", columns), there) == []
    assert said in "; ".join(mismatches(plan("nyc.t", contract), there))


def test_a_column_that_files_brought_is_not_the_contracts_by_a_name_in_other_case(
    spark: SparkSession, tmp_path: Path
) -> None:
    first = plan("nyc.t", {"id": "int"}, policy=EVOLVE)
    rows = {"id": pa.array([1], pa.int32())}
    assert ingest(spark, tmp_path, first, pa.table(rows | {"zip": ["10001"]})) == [()]
    for new in ({}, {"Zip": ["10001"]}):
        later = plan("nyc.t", {"id": "int", "Zip": "string"}, policy=EVOLVE, contract_hash="h2")
        with pytest.raises(Unfit, match='column "Zip" is new, and a table cannot tell it from "zip"'):
            ingest(spark, tmp_path, later, pa.table(rows | new))
    same = plan("nyc.t", {"id": "int", "zip": "string"}, policy=EVOLVE, contract_hash="h3")
    assert ingest(spark, tmp_path, same, pa.table(rows)) == [()]
