"""The append: every row as the contract says, every data file of one file version, and statistics that say so."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.completeness import by_file, prove
from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from lakegate.audit.errors import JobError
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import Limits
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import DataFile
from lakegate.audit.run import Run, resume
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection, fit_all
from spark_jobs.appending import append as appending
from spark_jobs.appending import partition_counts, path_lengths, text_sizes
from spark_jobs.appending.rows import rows_of
from spark_jobs.engine import SparkAttempt, SparkEngine
from spark_jobs.formats.inspection import inspect_all
from spark_jobs.jvm.session import LAKE
from spark_jobs.tables import iceberg, nessie
from spark_jobs.tables.ddl import prepare
from spark_jobs.tables.overwrite import overwrite
from tests.support.jobs import job, parquet
from tests.support.plans import plan

FILE = IcebergField(id=3, name=FILE_COLUMN, type="string")
IDS = tuple(f"{number:020x}" for number in range(1, 6))


def inspections(spark: SparkSession, folder: Path, by: Plan, tables: list[pa.Table]) -> list[Inspection]:
    staged = []
    for file, table in zip(IDS, tables, strict=False):
        (folder / f"{file}.parquet").write_bytes(parquet(table))
        staged.append(JobFile(id=file, key=file, uri=f"file:{folder}/{file}.parquet", size=1))
    _, seen = fit_all(by, None, inspect_all(spark, by, staged))
    assert [inspection.faults for inspection in seen] == [()] * len(tables)
    return seen


def resumed(spark: SparkSession, by: Plan, seen: list[Inspection], there: dict[str, int]) -> list[Inspection]:
    its = replace(job(), plan=by)
    return resume(Run(job=its, engine=SparkEngine(source=SparkAttempt(spark=spark, job=its)), inspections=seen), there)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody else writes to the branch."""
    monkeypatch.setattr(nessie, "head", lambda *_: "0" * 64)


def append(spark: SparkSession, by: Plan, seen: list[Inspection]) -> None:
    rows_of(spark, by, seen).writeTo(f"{LAKE}.{by.table}").append()


@pytest.mark.spark
def test_files_of_different_shapes_become_the_contracts_rows(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint", "x": "double", "d": "decimal(12,4)"})
    narrow = {"x": pa.array([0.5], pa.float32()), "id": pa.array([1], pa.int32())}
    wide = {"id": pa.array([2], pa.int64()), "x": pa.array([None], pa.float64())}
    decimals = [pa.array([Decimal("1.25")], pa.decimal128(*size)) for size in ((5, 2), (12, 4))]
    tables = [pa.table({**kinds, "d": d}) for kinds, d in zip((narrow, wide), decimals, strict=True)]
    prepare(spark, by, None)
    append(spark, by, inspections(spark, tmp_path, by, tables))
    assert {tuple(row) for row in spark.table("lake.nyc.t").collect()} == {
        (1, 0.5, Decimal("1.2500"), IDS[0]),
        (2, None, Decimal("1.2500"), IDS[1]),
    }


@pytest.mark.spark
def test_no_column_of_a_file_says_where_its_rows_came_from(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint", "_metadata": "struct<`file_name`:string>"})
    tables = [pa.table({"id": [number], "_metadata": [{"file_name": "other.parquet"}]}) for number in range(3)]
    found = rows_of(spark, by, inspections(spark, tmp_path, by, tables)).select("id", FILE_COLUMN).collect()
    assert {tuple(row) for row in found} == {(number, IDS[number]) for number in range(3)}


@pytest.mark.spark
def test_a_data_file_holds_rows_of_one_file_version_only(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint", "part": "int"}, partitions=["part", "bucket(2, id)"])
    rows = {"id": pa.array(range(40), pa.int64()), "part": pa.array([n % 3 for n in range(40)], pa.int32())}
    prepare(spark, by, None)
    seen = inspections(spark, tmp_path, by, [pa.table(rows)] * 5)
    append(spark, by, seen)
    table = iceberg.load(spark, LAKE, by.table)
    added = iceberg.compare(spark, None, table).new_files
    column = iceberg.fields(spark, table)[FILE_COLUMN]
    by_id: dict[str | None, int] = {}
    for data in added.statistics.values():
        by_id[data.constant(column)] = by_id.get(data.constant(column), 0) + data.rows
    assert by_id == dict.fromkeys(IDS, 40)
    assert len(added.statistics) == 5 * 6


@pytest.mark.spark
@pytest.mark.usefixtures("alone")
def test_a_file_with_a_value_that_no_path_has_room_for_is_refused_alone(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint", "name": "string"}, partitions=["name"])
    tables = [pa.table({"id": [number], "name": [name]}) for number, name in enumerate(("a", "ä" * 120, "b"))]
    prepare(spark, by, None)
    seen = inspections(spark, tmp_path, by, tables)
    done = appending.append(spark, replace(job(), plan=by), seen)
    said = 'its values of the partition columns "name" take 720 bytes in a path, and the most is 700'
    assert [inspection.faults for inspection in done] == [(), (said,), ()]
    assert {row["id"] for row in spark.table("lake.nyc.t").collect()} == {0, 2}
    again = resumed(spark, by, seen, {IDS[0]: 1, IDS[2]: 1})
    assert again == done


def repeating(rows: int, letters: int = 100_000) -> pa.Table:
    """Rows that all have one text, which stands in their file once."""
    names = pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), ["x" * letters])
    return pa.table({"id": pa.array(range(rows), pa.int64()), "name": names})


@pytest.mark.spark
@pytest.mark.usefixtures("alone")
def test_a_file_whose_rows_come_to_more_than_is_taken_is_refused_alone(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint", "name": "string"})
    by = replace(by, files=FileFormat(kind=FileKind.PARQUET, limits=Limits(uncompressed=200_000_000)))
    tables = [repeating(1_500), repeating(3_000), repeating(2, letters=5), repeating(1, letters=1_000_000)]
    prepare(spark, by, None)
    seen = inspections(spark, tmp_path, by, tables)
    done = appending.append(spark, replace(job(), plan=by), seen)
    assert [bool(inspection.faults) for inspection in done] == [False, True, False, False]
    assert done[1].faults[0].startswith("it has 300,000,000 bytes uncompressed, and the limit is 200,000,000")
    assert spark.table("lake.nyc.t").count() == 1_503
    again = resumed(spark, by, seen, {IDS[0]: 1_500, IDS[2]: 2, IDS[3]: 1})
    assert again == done


@pytest.mark.spark
@pytest.mark.usefixtures("alone")
def test_where_no_row_has_more_than_its_share_nothing_is_read_for_its_size(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = plan("nyc.t", {"id": "bigint", "name": "string"})
    prepare(spark, by, None)
    seen = inspections(spark, tmp_path, by, [repeating(2_000, letters=50)])
    monkeypatch.setattr(text_sizes, "too_large", lambda *_: pytest.fail("the file was read for its size"))
    appending.append(spark, replace(job(), plan=by), seen)
    assert spark.table("lake.nyc.t").count() == 2_000


def days(*numbers: int | None) -> pa.Table:
    """A row for each, of an id and a day."""
    at = [None if number is None else datetime(2013, 1, 1, tzinfo=UTC) + timedelta(days=number) for number in numbers]
    return pa.table({"id": [1] * len(at), "at": pa.array(at, pa.timestamp("us", "UTC"))})


@pytest.fixture
def three_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(partition_counts, "LIMIT", 3)


@pytest.mark.spark
@pytest.mark.usefixtures("alone", "three_at_most")
def test_a_file_with_too_many_partitions_for_its_task_is_refused_alone(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    by = plan("nyc.t", {"id": "bigint", "at": "timestamp"}, partitions=["days(`at`)", "bucket(2, `id`)"])
    prepare(spark, by, None)
    seen = inspections(spark, tmp_path, by, [days(1, 2, None, 2), days(1, 2, None, 4), days(7)])
    write = appending._write

    def runs_out(spark: SparkSession, by: Plan, those: list[Inspection], **more: bool) -> None:
        if seen[1] in those:
            spark.range(1).select(F.raise_error(F.lit("Java heap space"))).collect()
        write(spark, by, those, **more)

    monkeypatch.setattr(appending, "_write", runs_out)
    done = appending.append(spark, replace(job(), plan=by), seen)
    said = 'its values of the partition columns "at", "id" make 4 partitions, and the most is 3'
    assert [inspection.faults for inspection in done] == [(), (said,), ()]
    assert spark.table("lake.nyc.t").count() == 5
    again = resumed(spark, by, seen, {IDS[0]: 4, IDS[2]: 1})
    assert again == done


@pytest.mark.spark
@pytest.mark.usefixtures("alone", "three_at_most")
def test_a_file_with_many_partitions_is_not_refused_for_the_fault_of_another(
    spark: SparkSession, tmp_path: Path
) -> None:
    by = plan("nyc.t", {"name": "string"}, partitions=["name"])
    prepare(spark, by, None)
    seen = inspections(spark, tmp_path, by, [pa.table({"name": ["ä" * 120]}), pa.table({"name": ["a", "b", "c", "d"]})])
    done = appending.append(spark, replace(job(), plan=by), seen)
    assert [bool(inspection.faults) for inspection in done] == [True, False]
    assert spark.table("lake.nyc.t").count() == 4


@pytest.mark.spark
@pytest.mark.parametrize(
    "by",
    [
        [],
        ["`at`"],
        ["years(`at`)", "`ok`"],
        ["months(`day`)"],
        ["days(`clock`)", "days(`at`)"],
        ["hours(`at`)"],
        ["truncate(2, `a name`)", "truncate(5, `id`)"],
        ["truncate(1, `raw`)", "`d`"],
        ["bucket(3, `id`)", "bucket(4, `a name`)", "bucket(2, `clock`)"],
    ],
)
@pytest.mark.share(3)
def test_a_file_has_as_many_partitions_as_iceberg_makes_of_its_rows(spark: SparkSession, by: list[str]) -> None:
    kinds = {"id": "bigint", "at": "timestamp", "clock": "timestamp_ntz", "day": "date", "a name": "string"}
    made = plan("nyc.t", kinds | {"raw": "binary", "d": "decimal(9,2)", "ok": "boolean"}, partitions=by)
    rows = spark.range(12).selectExpr(
        "id",
        "if(id = 2, null, timestamp_seconds(id * 2000000 - 9000000)) at",
        "timestamp_ntz'1969-12-31 20:00:00' + id * interval '7' hour clock",
        "if(id = 3, null, date_from_unix_date(int(id * 20 - 100))) day",
        "if(id = 5, null, concat('n', id % 4, id)) `a name`",
        "binary(string(id % 3)) raw",
        "cast(id % 5 as decimal(9,2)) d",
        "id > 9 ok",
        f"'f1' {FILE_COLUMN}",
    )
    prepare(spark, made, None)
    rows.writeTo(f"{LAKE}.nyc.t").append()
    there = spark.table(f"{LAKE}.nyc.t.partitions").count()
    assert partition_counts.count_partitions(made, rows) == ({"f1": there} if by else {})


def beyond_its_type(number: str) -> pa.Array:
    """A file's decimal(5,2) with a number that is none."""
    return pa.array([Decimal(number)], pa.decimal128(10, 2)).cast(pa.decimal128(5, 2), safe=False)


@pytest.mark.spark
@pytest.mark.usefixtures("alone")
@pytest.mark.parametrize("kind", ["decimal(5,2)", "decimal(6,2)", "decimal(9,2)"])
@pytest.mark.share(1)
def test_a_file_with_decimals_beyond_its_own_type_is_refused_alone(
    spark: SparkSession, tmp_path: Path, kind: str
) -> None:
    by = plan("nyc.t", {"id": "bigint", "d": kind, "in": f"array<struct<`m`:map<string,{kind}>>>"})
    most, over, under = beyond_its_type("999.99"), beyond_its_type("1000.00"), beyond_its_type("-12345.67")
    pairs = [(most, most), (over, most), (most, under), (pa.nulls(1, most.type), most)]
    tables = [pa.table({"id": [at], "d": d, "in": nested_in(part)}) for at, (d, part) in enumerate(pairs)]
    prepare(spark, by, None)
    done = appending.append(spark, replace(job(), plan=by), inspections(spark, tmp_path, by, tables))
    said = "it holds a number that does not fit the type that the file declares"
    assert [inspection.faults for inspection in done] == [(), (f'{said}: column "d"',), (said,), ()]
    found = {row["id"]: (row["d"], row["in"][0]["m"]["k"]) for row in spark.table("lake.nyc.t").collect()}
    assert found == {0: (Decimal("999.99"), Decimal("999.99")), 3: (None, Decimal("999.99"))}


@pytest.mark.spark
@pytest.mark.usefixtures("alone")
def test_a_file_with_text_that_is_not_utf_8_is_refused_alone(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint", "name": "string"}, partitions=["name"])
    texts = [pa.array([text], pa.binary()).view(pa.string()) for text in (b"a", b"caf\xe9", b"\xc0\xaf", b"z")]
    prepare(spark, by, None)
    tables = [pa.table({"id": [at], "name": text}) for at, text in enumerate(texts)]
    done = appending.append(spark, replace(job(), plan=by), inspections(spark, tmp_path, by, tables))
    said = ('column "name" has text that is not UTF-8, in 1 row',)
    assert [inspection.faults for inspection in done] == [(), said, said, ()]
    assert {row["name"] for row in spark.table("lake.nyc.t").collect()} == {"a", "z"}


@pytest.mark.spark
@pytest.mark.usefixtures("alone")
def test_a_second_file_with_another_fault_is_refused_alone_too(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"d": "decimal(5,2)", "name": "string"}, partitions=["name"])
    most, over = beyond_its_type("999.99"), beyond_its_type("1000.00")
    tables = [pa.table({"d": d, "name": [name]}) for d, name in ((over, "a" * 700), (most, "ä" * 120), (most, "b"))]
    prepare(spark, by, None)
    spark.conf.set("spark.sql.files.minPartitionNum", 1)  # one task has them all, the largest first
    done = appending.append(spark, replace(job(), plan=by), inspections(spark, tmp_path, by, tables))
    assert [bool(inspection.faults) for inspection in done] == [True, True, False]
    assert [row["name"] for row in spark.table("lake.nyc.t").collect()] == ["b"]


def nested_in(decimals: pa.Array) -> pa.Array:
    """One value as [{"m": {"k": value}}]."""
    inner = pa.MapArray.from_arrays(pa.array([0, 1], pa.int32()), pa.array(["k"]), decimals)
    return pa.ListArray.from_arrays(pa.array([0, 1], pa.int32()), pa.StructArray.from_arrays([inner], ["m"]))


@pytest.mark.spark
@pytest.mark.parametrize(
    ("partitions", "text", "size"),
    [
        (["name"], "x" * 700, 700),
        (["name"], " " * 701, 701),
        (["name"], "\U0001f600" * 10, 120),
        (["name", "truncate(10, raw)"], "x" * 10, 30),
        (["truncate(4, `name`)"], "é" * 900, 24),
        (["raw"], "x" * 600, 800),
        (["bucket(4, name)", "id"], "x" * 900, 0),
    ],
)
@pytest.mark.share(2)
def test_what_a_value_takes_in_a_path_is_what_iceberg_writes_there(
    spark: SparkSession, partitions: list[str], text: str, size: int
) -> None:
    by = plan("nyc.t", {"id": "bigint", "name": "string", "raw": "binary"}, partitions=partitions)
    rows = [(1, text, text.encode(), "f1"), (2, None, None, "f2"), (3, "a", b"a", "f1")]
    found = path_lengths.longest_values(
        by, spark.createDataFrame(rows, f"id bigint, name string, raw binary, {FILE_COLUMN} string")
    )
    assert found.get("f1", 0) == size
    if 0 < size < 200:  # a file system has no room for more
        prepare(spark, by, None)
        spark.createDataFrame([row[:3] for row in rows[:1]], "id bigint, name string, raw binary").withColumn(
            FILE_COLUMN, F.lit("f1")
        ).writeTo("lake.nyc.t").append()
        [(path,)] = spark.sql("select file_path from lake.nyc.t.files").collect()
        values = [part.split("=")[1] for part in path.split("/") if "=" in part]
        assert sum(map(len, values)) == size


@pytest.mark.spark
def test_what_was_added_is_told_from_what_was_there(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint"})
    prepare(spark, by, None)
    first, second = inspections(spark, tmp_path, by, [pa.table({"id": [1]}), pa.table({"id": [2, 3]})])
    append(spark, by, [first])
    before = iceberg.load(spark, LAKE, by.table)
    append(spark, by, [second])
    difference = iceberg.compare(spark, before, iceberg.load(spark, LAKE, by.table))
    assert [data.rows for data in difference.new_files.statistics.values()] == [2]
    assert (difference.lost_files, difference.deletes) == (DataFiles(), False)


@pytest.mark.spark
def test_a_data_file_that_was_taken_away_is_missed(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint"})
    prepare(spark, by, None)
    append(spark, by, inspections(spark, tmp_path, by, [pa.table({"id": [1]})]))
    before = iceberg.load(spark, LAKE, by.table)
    spark.sql("DELETE FROM lake.nyc.t WHERE id = 1")
    assert len(iceberg.compare(spark, before, iceberg.load(spark, LAKE, by.table)).lost_files.entries) == 1


@pytest.mark.spark
def test_the_same_files_in_a_merged_manifest_are_neither_lost_nor_new(spark: SparkSession, tmp_path: Path) -> None:
    by = plan("nyc.t", {"id": "bigint"})
    prepare(spark, by, None)
    for seen in inspections(spark, tmp_path, by, [pa.table({"id": [1]}), pa.table({"id": [2]})]):
        append(spark, by, [seen])
    before = iceberg.load(spark, LAKE, by.table)
    spark.sql("CALL lake.system.rewrite_manifests('nyc.t')")
    difference = iceberg.compare(spark, before, iceberg.load(spark, LAKE, by.table))
    assert (difference.new_files, difference.lost_files) == (DataFiles(), DataFiles())


@pytest.mark.spark
@pytest.mark.parametrize("others", [0, 1000])
def test_data_files_of_other_file_versions_are_ruled_out_of_however_many_rows_are_wanted(
    spark: SparkSession, tmp_path: Path, others: int
) -> None:
    by = plan("nyc.t", {"id": "bigint"})
    prepare(spark, by, None)
    seen = inspections(spark, tmp_path, by, [pa.table({"id": [1, 2]}), pa.table({"id": [3]})])
    for each in seen:
        append(spark, by, [each])
    wanted = {seen[1].file.id, *(f"{seen[1].file.id}-{number}" for number in range(others))}
    tasks = iceberg.plan_tasks(spark, iceberg.load(spark, LAKE, by.table), iceberg.in_expression(FILE_COLUMN, wanted))
    assert iceberg.rows_in(tasks) == 1


@pytest.mark.spark
def test_data_files_are_parquet_whatever_somebody_has_said_of_the_table(spark: SparkSession, tmp_path: Path) -> None:
    """Of Avro, Iceberg knows no bounds, by which a data file shows whose rows it holds."""
    by = plan("nyc.t", {"id": "bigint"})
    prepare(spark, by, None)
    spark.sql(f"ALTER TABLE {LAKE}.{by.table} SET TBLPROPERTIES ('write.format.default' = 'avro')")
    prepare(spark, by, loaded(spark, by))
    append(spark, by, inspections(spark, tmp_path, by, [pa.table({"id": [1, 2]})]))
    [path] = iceberg.compare(spark, None, loaded(spark, by)).new_files.entries
    assert path.endswith(".parquet")


def loaded(spark: SparkSession, by: Plan) -> Any:
    return iceberg.load(spark, LAKE, by.table)


def with_delete_file(spark: SparkSession, folder: Path, by: Plan) -> list[Inspection]:
    """The table has two rows of one data file, and a file that deletes one of them. Returns what was not appended."""
    prepare(spark, by, None)
    spark.sql(f"ALTER TABLE {LAKE}.{by.table} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')")
    first, *others = inspections(spark, folder, by, [pa.table({"id": [1, 2]}), pa.table({"id": [3, 4]})])
    append(spark, by, [first])
    spark.sql(f"DELETE FROM {LAKE}.{by.table} WHERE id = 1")
    return others


@pytest.mark.spark
def test_delete_files_that_came_and_such_as_went_while_they_hide_rows_are_told(
    spark: SparkSession, tmp_path: Path
) -> None:
    by = plan("nyc.t", {"id": "bigint"})
    with_delete_file(spark, tmp_path, by)
    before, table = (loaded(spark, by) for _ in range(2))
    assert iceberg.compare(spark, None, before).deletes
    [task] = iceberg.plan_tasks(spark, table, iceberg.in_expression(FILE_COLUMN, IDS))
    table.newRowDelta().removeDeletes(task.deletes()[0]).commit()
    assert spark.table(f"{LAKE}.{by.table}").count() == 2
    assert iceberg.compare(spark, before, loaded(spark, by)).deletes


@pytest.mark.spark
def test_a_delete_file_that_is_older_than_all_data_files_may_go(spark: SparkSession, tmp_path: Path) -> None:
    """Iceberg drops it by itself, in the commit that puts rows aside."""
    by = plan("nyc.t", {"id": "bigint"})
    others, name = with_delete_file(spark, tmp_path, by), f"{LAKE}.{by.table}"
    [old] = iceberg.compare(spark, None, loaded(spark, by)).new_files.entries.values()
    loaded(spark, by).newDelete().deleteFile(old).commit()
    before = loaded(spark, by)
    append(spark, by, others)
    entries = iceberg.compare(spark, before, loaded(spark, by)).new_files.entries
    overwrite(spark, loaded(spark, by), entries.values(), spark.table(name).where("id = 3"))
    after = loaded(spark, by)
    assert (iceberg.has_deletes(spark, before), iceberg.has_deletes(spark, after)) == (True, False)
    difference = iceberg.compare(spark, before, after)
    assert ([data.rows for data in difference.new_files.statistics.values()], difference.deletes) == ([1], False)


def holding(**rows: int) -> Difference:
    """A commit with a data file for each file version."""
    files = {
        f"{file}.parquet": DataFileStatistics(
            path=f"{file}.parquet",
            rows=count,
            nulls={3: 0},
            lower={3: file.encode().hex()},
            upper={3: file.encode().hex()},
        )
        for file, count in rows.items()
    }
    return Difference(new_files=DataFiles(statistics=files), lost_files=DataFiles(), deletes=False)


def gone(*paths: str) -> DataFiles:
    return DataFiles(statistics={path: DataFileStatistics(path=path, rows=2) for path in paths})


def proved(difference: Difference, **rows: int) -> None:
    prove(job(), difference, by_file(job(), difference, {FILE_COLUMN: FILE}), rows)


def test_the_batchs_files_each_once_are_proved() -> None:
    proved(holding(f1=3, f2=4), f1=3, f2=4)


def test_the_base_may_lack_just_what_the_batch_replaces() -> None:
    difference, old = replace(holding(f1=3), lost_files=gone("old.parquet")), DataFile(path="old.parquet", rows=2)
    found = by_file(job(), difference, {FILE_COLUMN: FILE})
    prove(job(), difference, found, {"f1": 3}, [old])
    with pytest.raises(JobError, match="the batch replaces 1 data file that is still there"):
        prove(job(), difference, found, {"f1": 3}, [old, DataFile(path="other.parquet", rows=1)])
    with pytest.raises(JobError, match="its base has lost 1 data file, or"):
        prove(job(), replace(difference, lost_files=gone("old.parquet", "base.parquet")), found, {"f1": 3}, [old])


@pytest.mark.parametrize(
    ("difference", "rows"),
    [
        (holding(f1=3), {"f1": 3, "f2": 4}),
        (holding(f1=3, f2=4), {"f1": 3}),
        (holding(f1=2), {"f1": 3}),
        (replace(holding(f1=3), lost_files=gone("base.parquet")), {"f1": 3}),
        (replace(holding(f1=3), deletes=True), {"f1": 3}),
    ],
    ids=["a file is missing", "a stranger", "rows are missing", "the base lost a file", "rows were deleted"],
)
def test_anything_else_is_not(difference: Difference, rows: dict[str, int]) -> None:
    with pytest.raises(JobError, match="lakegate retry 20130131T0405-1a2b3c4d"):
        proved(difference, **rows)


def test_a_data_file_with_rows_of_two_file_versions_is_not() -> None:
    mixed = {"a": DataFileStatistics(path="a", rows=2, nulls={3: 0}, lower={3: "61"}, upper={3: "62"})}
    with pytest.raises(JobError, match="one file version alone"):
        proved(Difference(new_files=DataFiles(statistics=mixed), lost_files=DataFiles(), deletes=False), a=1, b=1)
