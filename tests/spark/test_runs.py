"""Runs of lakegate.wap with Spark: its data frames, its files, and its audit in the place of DuckDB's."""

from __future__ import annotations

import gzip
import time
from collections.abc import Iterator
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType
from pyspark.sql import SparkSession

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.audit.model.report import Verdict
from lakegate.audit.ref import Ref
from lakegate.contracts import Contract
from lakegate.errors import Misconfigured, Refused
from lakegate.wap import AuditFailed, Branch, Nessie, wap
from lakegate.wap.data import files_of
from lakegate.wap.spark.engine import check_reach
from spark_jobs.jvm.gateway import jvm
from tests.support.nessie import Lake, unique
from tests.support.pages import DOCS, fences
from tests.support.runs import (
    CONTRACT,
    REFERRING,
    TABLE,
    UNIQUE,
    FolderCatalog,
    branches_of,
    catalog,
    contract,
    ids_of,
    on_main,
    orders,
)

pytestmark = [pytest.mark.spark, pytest.mark.extended]

ORDERS = contract()
TEXT = contract(CONTRACT.replace("*.parquet, format: parquet}", "*.csv, format: csv, delimiter: ';'}"))
LINES = contract(CONTRACT.replace("*.parquet, format: parquet}", "*.json, format: json}"))
NESTED = contract(
    CONTRACT
    + """\
      - {name: tags, logicalType: array, items: {logicalType: string}}
      - name: place
        logicalType: object
        properties: [{name: zip, logicalType: string, required: true}, {name: at, logicalType: timestamp}]
      - name: sizes
        logicalType: map
        map: {key: {logicalType: string}, value: {logicalType: number, physicalType: "decimal(9,2)"}}
"""
)
OBSERVING = contract(
    CONTRACT
    + """\
    customProperties:
      - {property: mode, vendor: lakegate, value: observe}
"""
)


@pytest.fixture
def here(tmp_path: Path) -> Iterator[FolderCatalog]:
    found = catalog(tmp_path)
    yield found
    found.close()


def publish(here: Catalog | Nessie, spark: Any, *given: Any, by: Contract = ORDERS, **how: Any) -> Branch:
    with wap(here, by, spark=spark, **how) as branch:
        for each in given:
            branch.append(each)
        branch.publish()
    return branch


def rows_of(frame: Any) -> pa.Table:
    [given] = files_of(frame)
    return pq.read_table(pa.BufferReader(given.body))


# Data frames


def test_a_data_frame_is_the_same_rows_as_parquet(spark: SparkSession) -> None:
    at, day = datetime(2026, 1, 1, 12, 30, 1, 5, tzinfo=UTC), date(2026, 1, 1)
    rows = [
        (1, "a", 1.5, Decimal("1.25"), day, at, at.replace(tzinfo=None), True, b"\x00"),
        (2, "", float("inf"), Decimal("-9999999.99"), date(1, 1, 1), at, datetime(1969, 1, 1, 1), False, b""),  # noqa: DTZ001
        (None,) * 9,
    ]
    kinds = (
        "id bigint, note string, x double, amount decimal(9,2), day date, at timestamp, wall timestamp_ntz, "
        "is_so boolean, raw binary"
    )
    found = rows_of(spark.createDataFrame(rows, kinds))
    assert [tuple(row.values()) for row in found.to_pylist()] == rows
    assert [str(field.type) for field in found.schema] == [
        "int64", "string", "double", "decimal128(9, 2)", "date32[day]", "timestamp[us, tz=UTC]", "timestamp[us]",
        "bool", "binary",
    ]  # fmt: skip


def test_nested_values_are_the_same_at_every_depth(spark: SparkSession) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    kinds = (
        "a array<struct<at:timestamp,n:int>>, m map<string,array<decimal(9,2)>>, s struct<x:struct<y:timestamp_ntz>>"
    )
    rows = [
        ([(at, 1), None, (None, None)], {"k": [Decimal("1.10"), None]}, ((at.replace(tzinfo=None),),)),
        ([], {"l": None}, (None,)),
        (None, None, None),
    ]
    assert rows_of(spark.createDataFrame(rows, kinds)).to_pylist() == [
        {
            "a": [{"at": at, "n": 1}, None, {"at": None, "n": None}],
            "m": [("k", [Decimal("1.10"), None])],
            "s": {"x": {"y": at.replace(tzinfo=None)}},
        },
        {"a": [], "m": [("l", None)], "s": {"x": None}},
        {"a": None, "m": None, "s": None},
    ]


def test_instants_are_the_same_in_the_hour_that_a_clock_has_twice(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    instants = [datetime(2026, 11, 1, 4, 30, tzinfo=UTC) + timedelta(hours=hour) for hour in range(4)]
    frame = spark.createDataFrame([(it,) for it in instants], "at timestamp")
    try:
        monkeypatch.setenv("TZ", "America/New_York")
        time.tzset()
        assert rows_of(frame)["at"].to_pylist() == instants
    finally:
        monkeypatch.undo()
        time.tzset()


def test_many_rows_of_several_partitions_are_one_file(spark: SparkSession) -> None:
    assert rows_of(spark.range(25_000).repartition(3))["id"].to_numpy().sum() == 25_000 * 24_999 // 2


def test_a_data_frame_without_rows_has_its_columns(spark: SparkSession) -> None:
    assert rows_of(spark.createDataFrame([], "id bigint, x array<int>")).schema.names == ["id", "x"]


def test_a_data_frame_that_arrow_cannot_hold_is_refused(spark: SparkSession) -> None:
    with pytest.raises(Misconfigured, match="cannot become Arrow"):
        rows_of(spark.sql("SELECT INTERVAL '1' MONTH AS month"))


def test_a_data_frame_is_published_without_spark_in_the_audit(here: FolderCatalog, spark: SparkSession) -> None:
    publish(here, None, spark.createDataFrame([(1, 2.0, "a"), (2, 3.0, None)], "id bigint, amount double, note string"))
    assert on_main(here) == [1, 2]


# The audit in Spark


def test_what_passes_in_spark_is_on_main(here: FolderCatalog, spark: SparkSession) -> None:
    publish(here, spark, orders(1, 2), spark.createDataFrame([(3, 1.0, "a")], "id bigint, amount double, note string"))
    publish(here, spark, orders(4))
    assert (on_main(here), branches_of(here.load_table(TABLE))) == ([1, 2, 3, 4], [])


def test_a_null_stops_the_publish_in_spark(here: FolderCatalog, spark: SparkSession) -> None:
    with pytest.raises(AuditFailed, match="id required: 1 of 2 rows, expected none") as failed:
        publish(here, spark, orders(2, None))
    assert on_main(here) == []
    [check] = [it for it in failed.value.report.files[0].checks if it.verdict is Verdict.FAIL]
    assert check.sample == ({"id": None, "amount": 1.0, "note": "a"},)


def test_both_engines_report_the_same(here: FolderCatalog, spark: SparkSession) -> None:
    given = pa.concat_tables([orders(1, 1, None), orders(2, amount=-1.0, note=None)])
    told = []
    for session in (None, spark):
        with wap(here, UNIQUE, spark=session) as branch:
            branch.append(given)
            branch.append(orders(1))
            told.append([[(it.check, it.verdict, it.value) for it in each.checks] for each in branch.audit().files])
    assert told[0] == told[1]
    assert {verdict for file in told[0] for _, verdict, _ in file} == {Verdict.PASS, Verdict.FAIL}


def test_a_session_keeps_its_own_options(here: FolderCatalog, spark: SparkSession) -> None:
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    publish(here, spark, orders(1))
    assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"
    active = jvm(spark).org.apache.spark.sql.SparkSession.active()
    assert active.conf().get("spark.sql.session.timeZone") == "Asia/Tokyo"


def test_what_is_no_session_is_refused(here: FolderCatalog) -> None:
    with pytest.raises(Misconfigured, match="str is no Spark session"):
        publish(here, "local", orders(1))


def test_a_cluster_is_sent_to_write_by_itself() -> None:
    with pytest.raises(Misconfigured, match="write to branch wap-1 with Spark itself"):
        check_reach("yarn", "wap-1")
    check_reach("local[2]", "wap-1")


def test_rows_that_spark_itself_has_written_are_audited_in_spark(here: FolderCatalog, spark: SparkSession) -> None:
    publish(here, spark, orders(1))
    with wap(here, ORDERS, spark=spark) as branch:
        here.load_table(TABLE).append(orders(2, None), branch=branch.name)
        with pytest.raises(AuditFailed, match="id required: 1 of 2 rows"):
            branch.publish()
    assert on_main(here) == [1]


def test_a_function_is_a_check_in_spark(here: FolderCatalog, spark: SparkSession) -> None:
    def notes_are_short(rows: pa.Table) -> list[bool]:
        return [len(note) < 2 for note in rows["note"].to_pylist()]

    with pytest.raises(AuditFailed, match="notes are short: 1 of 1 row"):
        publish(here, spark, orders(2, note="long"), checks=[notes_are_short])
    publish(here, spark, orders(1), checks=[notes_are_short])
    assert on_main(here) == [1]


def test_a_key_of_main_or_of_another_append_is_found_in_spark(here: FolderCatalog, spark: SparkSession) -> None:
    publish(here, spark, orders(1, 2), by=UNIQUE)
    for again in ([orders(2, 3)], [orders(3), orders(3)]):
        with pytest.raises(AuditFailed, match="1 of"):
            publish(here, spark, *again, by=UNIQUE)
    publish(here, spark, orders(3), by=UNIQUE)
    assert on_main(here) == [1, 2, 3]


def test_a_key_that_refers_to_nothing_is_found_in_spark(here: FolderCatalog, spark: SparkSession) -> None:
    here.create_namespace("shop")
    here.create_table("shop.notes", Schema(NestedField(field_id=1, name="text", field_type=StringType())))
    here.load_table("shop.notes").append(pa.table({"text": ["b"]}))
    with pytest.raises(AuditFailed, match="1 of 1 row"):
        publish(here, spark, orders(1), by=REFERRING)
    publish(here, spark, orders(1, note="b"), by=REFERRING)
    assert on_main(here) == [1]


def test_a_contract_that_observes_publishes_in_spark_and_tells(here: FolderCatalog, spark: SparkSession) -> None:
    with wap(here, OBSERVING, spark=spark) as branch:
        branch.append(orders(1, None))
        report = branch.audit()
        branch.publish()
    assert "would fail" in {str(check.verdict) for check in report.files[0].checks}
    assert on_main(here) == [1, None]


def test_a_run_in_spark_that_is_overtaken_is_brought_to_main_as_it_is(
    tmp_path: Path, here: FolderCatalog, spark: SparkSession
) -> None:
    publish(here, spark, orders(0), by=UNIQUE)
    fast = catalog(tmp_path)

    def overtake(write: int) -> None:
        if write == 3:
            publish(fast, spark, orders(5), by=UNIQUE)

    here.writes, here.before = 0, overtake
    publish(here, spark, orders(1), orders(2), by=UNIQUE)
    fast.close()
    assert on_main(here) == [0, 1, 2, 5]


def test_the_page_s_example_runs(
    here: FolderCatalog, spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = list(fences(DOCS / "how-to/wap.md"))
    (tmp_path / "orders.yaml").write_text(next(it.text for it in page if it.language == "yaml"))
    monkeypatch.chdir(tmp_path)
    [program] = [it.text for it in page if it.language == "python" and "spark=session" in it.text]
    exec(program, {"wap": wap, "catalog": here, "session": spark})
    assert on_main(here) == [7]


@pytest.mark.nessie
def test_a_run_on_nessie_is_in_spark_what_it_is_in_duckdb(
    on_nessie: SparkSession, lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    here, name = Nessie(uri=lake.nessie_uri, warehouse=lake.warehouse), f"{unique('shop')}.orders"
    (tmp_path / "rows.csv").write_text("id;amount;note\n1;1;a\n")
    publish(here, on_nessie, tmp_path / "rows.csv", by=TEXT, table=name)
    publish(here, None, orders(2), by=UNIQUE, table=name)
    for given in (orders(3, 2), orders(None)):
        with pytest.raises(AuditFailed):
            publish(here, on_nessie, given, by=UNIQUE, table=name)
    publish(here, on_nessie, orders(3), orders(4), by=UNIQUE, table=name)
    main = RefCatalog(lake.nessie_uri, lake.warehouse, Ref("main"), storage())
    assert ids_of(main.find_table(name)) == [1, 2, 3, 4]


# Files and nested columns


def test_files_of_text_are_read_as_the_contract_says(here: FolderCatalog, spark: SparkSession, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "one.csv").write_text('id;amount;note\n1;2.5;"a;b"\n2;;\n')
    (data / "two.csv.gz").write_bytes(gzip.compress(b"note;id;amount\nc;3;1e1\n"))
    branch = publish(here, spark, data, orders(4), by=TEXT)
    assert branch.published
    assert branch.published.rows == 4
    rows = here.load_table(TABLE).scan().to_arrow().sort_by("id").to_pylist()
    assert rows[:3] == [
        {"id": 1, "amount": 2.5, "note": "a;b"},
        {"id": 2, "amount": None, "note": None},
        {"id": 3, "amount": 10.0, "note": "c"},
    ]
    (tmp_path / "bad.csv").write_text("id;amount;note\n9;-1;x\n")
    with pytest.raises(AuditFailed, match="amount"):
        publish(here, spark, tmp_path / "bad.csv", by=TEXT)
    assert len(on_main(here)) == 4


def test_lines_of_json_are_read_as_the_contract_says(here: FolderCatalog, spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"id": 1, "amount": 2, "note": "a"}\n{"id": 2, "amount": null, "note": "b"}\n')
    publish(here, spark, tmp_path / "rows.json", by=LINES)
    assert on_main(here) == [1, 2]


def test_rows_that_do_not_parse_are_told_and_nothing_is_appended(
    here: FolderCatalog, spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "rows.csv").write_text("id;amount;note\n1;1;a\nx;1;b\n2;y;c\n")
    with pytest.raises(Refused, match=r'2 of 3 rows did not parse \(line 3: column "id" is not a valid bigint; line 4'):
        publish(here, spark, tmp_path / "rows.csv", by=TEXT)
    assert on_main(here) == []


def test_text_that_is_not_utf_8_is_told_by_its_column_and_rows(here: FolderCatalog, spark: SparkSession) -> None:
    rows = spark.sql("select 1L id, 1d amount, cast(unhex(note) as string) note from values ('E9'), ('61') as t(note)")
    with pytest.raises(Refused, match='column "note" has text that is not UTF-8, in 1 row'):
        publish(here, spark, rows)
    assert on_main(here) == []


def test_files_of_text_are_refused_without_spark(here: FolderCatalog, tmp_path: Path) -> None:
    (tmp_path / "rows.csv").write_text("id;amount;note\n1;1;a\n")
    with pytest.raises(Refused, match=r"only Spark reads csv files .* wap\(…, spark=session\)"):
        publish(here, None, tmp_path / "rows.csv", by=TEXT)
    publish(here, None, orders(1), by=TEXT)
    assert on_main(here) == [1]


def test_nested_columns_are_published_by_spark_and_refused_without(here: FolderCatalog, spark: SparkSession) -> None:
    at = datetime(2026, 1, 1, tzinfo=UTC)
    kinds = "id bigint, amount double, note string, tags array<string>, place struct<zip:string,at:timestamp>, "
    kinds += "sizes map<string,decimal(9,2)>"
    rows = [(1, 1.0, "a", ["x"], ("1", at), {"k": Decimal("1.00")}), (2, 1.0, None, None, None, None)]
    for _ in range(2):
        publish(here, spark, spark.createDataFrame(rows, kinds), by=NESTED)
    found = here.load_table(TABLE).scan().to_arrow().sort_by("id").to_pylist()
    assert [found[0], found[3]] == [
        {**dict(zip(["id", "amount", "note", "tags"], rows[0], strict=False)),
         "place": {"zip": "1", "at": at}, "sizes": [("k", Decimal("1.00"))]},
        {"id": 2, "amount": 1.0, "note": None, "tags": None, "place": None, "sizes": None},
    ]  # fmt: skip
    with pytest.raises(Refused, match=r"nested.*spark=session"):
        publish(here, None, orders(1), by=NESTED)


def test_a_table_that_takes_no_null_is_told_by_spark(here: FolderCatalog, spark: SparkSession) -> None:
    here.create_namespace("shop")
    kind = pa.schema([pa.field("id", pa.int64(), nullable=False), ("amount", pa.float64()), ("note", pa.string())])
    here.create_table(TABLE, kind)
    publish(here, spark, orders(1))
    with pytest.raises(Refused, match="append 1: Spark cannot write its rows"):
        publish(here, spark, orders(None))
    assert on_main(here) == [1]
