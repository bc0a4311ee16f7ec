"""The same attempt on both lanes, over one table on a real Nessie: they report the same, and leave the same table."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakegate.adapters.iceberg import RefCatalog
from lakegate.audit.model.codec import to_json, to_plain
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan, Proof
from lakegate.audit.model.report import Report, Verdict
from lakegate.audit.ref import Ref
from lakegate.express.job import Outcome, run_job
from spark_jobs.jvm.session import open_catalog
from tests.support.jobs import parquet, report_of, stage
from tests.support.lanes import for_express, handed_over
from tests.support.nessie import Lake, unique
from tests.support.plans import duplicates, failing, nulls, plan

pytestmark = [pytest.mark.spark, pytest.mark.nessie]
Run = Callable[[Job], Report]
IDS = tuple(f"{number:020x}" for number in range(1, 10))
TYPES = {
    "id": (pa.int64(), "bigint"),
    "naïve name": (pa.string(), "string"),
    "a.b": (pa.int32(), "int"),
    "small": (pa.int16(), "smallint"),
    "whole": (pa.int32(), "int"),
    "half": (pa.float32(), "float"),
    "real": (pa.float64(), "double"),
    "flag": (pa.bool_(), "boolean"),
    "day": (pa.date32(), "date"),
    "at": (pa.timestamp("us", "UTC"), "timestamp"),
    "clock": (pa.timestamp("us"), "timestamp_ntz"),
    "price": (pa.decimal128(7, 2), "decimal(7,2)"),
    "wide": (pa.decimal128(38, 10), "decimal(38,10)"),
    "raw": (pa.binary(), "binary"),
    "hidden": (pa.string(), "string"),
}
METRICS = (
    *(nulls(name) for name in TYPES),
    duplicates("id"),
    duplicates("naïve name", "day"),
    failing("real", "COALESCE(real < 0, FALSE)", Proof(column="real", minimum=0)),
    failing("whole", "COALESCE(whole > 5, FALSE)", Proof(column="whole", maximum=5)),
    failing("naïve name", "COALESCE(NOT `naïve name` IN ('a', 'b'), FALSE)", Proof(column="naïve name", values=("a",))),
    failing("at", "COALESCE(at < CAST('1970-01-01T00:00:00+00:00' AS TIMESTAMP), FALSE)"),
)
GOOD: Sequence[Any] = (
    1, "a", 4, 1, 1, 1.5, 2.5, True, date(2013, 1, 31), datetime(2013, 1, 31, 5, tzinfo=UTC),
    datetime.fromisoformat("2013-01-31T05:00:00.000120"), Decimal("1.10"), Decimal("1.1"), b"\x01\xff", "secret",
)  # fmt: skip
ODD: Sequence[Any] = (
    2, "é" * 300, None, -1, 9, 1.1, float("nan"), False, date(1582, 10, 4),
    datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    datetime.fromisoformat("0001-01-01"), Decimal("-0.01"), Decimal("0E-10"), b"x" * 300, "secret",
)  # fmt: skip


def a_plan(*partitions: str) -> Plan:
    made = plan(f"{unique('nyc')}.lanes", {name: spelled for name, (_, spelled) in TYPES.items()}, METRICS, partitions)
    masked = tuple(
        replace(column, masked=column.name == "hidden", doc=f"The {column.name}'s \\ doc." * (at % 2))
        for at, column in enumerate(made.columns)
    )
    return replace(made, columns=masked, key=("id",))


def file_of(*rows: Sequence[Any]) -> bytes:
    columns = {
        name: pa.array([row[at] for row in rows], kind, from_pandas=False)
        for at, (name, (kind, _)) in enumerate(TYPES.items())
    }
    return parquet(pa.table(columns))


def changed(row: Sequence[Any], **values: Any) -> tuple[Any, ...]:
    return tuple(values.get(name, value) for name, value in zip(TYPES, row, strict=True))


def numbered(row: Sequence[Any], *ids: int) -> list[tuple[Any, ...]]:
    return [changed(row, id=number) for number in ids]


FILES = (
    file_of(*numbered(GOOD, 1, 2, 3)),
    file_of(*numbered(GOOD, 4, 5), (None,) * len(TYPES), (None,) * len(TYPES)),
    file_of(*numbered(ODD, 6, 7), *numbered(GOOD, 7, 8)),
    file_of(*(changed(GOOD, id=1000 + at, real=-float(at)) for at in range(150))),
    b"",
    parquet(pa.table({"id": pa.array([1], pa.int64()), "other": ["a"]})),
    file_of(*numbered(changed(GOOD, real=float("inf"), half=float("-inf")), 9), *numbered(changed(GOOD, whole=6), 10)),
)


TOO_LONG = 2  # of the texts in this one a path has no room


def on(lake: Lake, by: Plan, base: str, *, files: Sequence[bytes] = FILES) -> tuple[str, Job]:
    branch = unique("wap-lanes")
    lake.branch(branch, base)
    staged = stage(lake, by, branch, base, dict(zip(IDS, files, strict=False)))
    job = for_express(lake, staged.job)
    key = staged.uri.removeprefix(f"s3://{lake.bucket}/")
    lake.s3().put_object(Bucket=lake.bucket, Key=key, Body=to_json(job).encode())
    return staged.uri, job


def told(report: Report) -> list[dict[str, Any]]:
    """What is said of the files, whatever it was found by, and however many data files hold them."""
    found: list[dict[str, Any]] = to_plain(report.files)
    for file in found:
        file["data_files"] = sum(data["rows"] for data in file["data_files"])
        for check in file["checks"]:
            del check["source"]
            check["sample"] = sorted(map(str, check["sample"]))
    return found


@pytest.mark.parametrize("partitions", [(), ("months(`at`)", "bucket(4, `id`)", "`naïve name`", "`a.b`")])
def test_both_lanes_report_the_same_and_leave_the_same_table(
    run: Run, on_nessie: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch, partitions: tuple[str, ...]
) -> None:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    by = a_plan(*partitions)
    _, first = on(lake, by, lake.head(), files=FILES[:1])
    uri, also = on(lake, by, lake.head(), files=FILES[:1])
    base = run(first).audited
    assert run_job(uri) is Outcome.REPORTED, handed_over(lake, also)
    assert defined(lake, also) == defined(lake, first)
    files = [body for at, body in enumerate(FILES) if not partitions or at != TOO_LONG]
    (uri, express), (_, spark) = on(lake, by, base, files=files), on(lake, by, base, files=files)
    assert run_job(uri) is Outcome.REPORTED, handed_over(lake, express)
    ours, theirs = report_of(lake, express), run(spark)
    assert told(ours) == told(theirs)
    assert {file.verdict for file in ours.files} == {Verdict.PASS, Verdict.FAIL}
    assert (ours.columns, ours.masked, ours.key, ours.depends_on) == (
        theirs.columns, theirs.masked, theirs.key, theirs.depends_on,
    )  # fmt: skip
    assert held(on_nessie, express, ours) == held(on_nessie, spark, theirs)


def defined(lake: Lake, job: Job) -> Mapping[str, Any]:
    """All that the branch's table is defined by, but what is of this one table alone."""
    table = RefCatalog(lake.nessie_uri, lake.warehouse, Ref(job.branch)).find_table(job.plan.table)
    assert table is not None
    told = json.loads(table.metadata.model_dump_json())
    told["properties"].pop("owner", None)  # who ran Spark; nothing asks for it
    names = ("format-version", "schemas", "partition-specs", "sort-orders", "last-column-id", "current-schema-id")
    values = {f"property {name}": value for name, value in told["properties"].items()}
    return {**{name: told[name] for name in (*names, "last-partition-id", "default-sort-order-id")}, **values}


def held(spark: SparkSession, job: Job, report: Report) -> Mapping[str, Any]:
    """The rows of the branch's table as Spark reads them, and its data files as Iceberg lists them."""
    name = unique("look")
    open_catalog(spark, name, job, Ref(job.branch, report.audited))
    table = f"{name}.{job.plan.table}"
    rows = sorted(map(str, spark.table(table).collect()))
    of_each = ["content", "file_format", "spec_id", "record_count", "value_counts", "null_value_counts"]
    partition = ["partition"] if job.plan.partitions else []
    files = spark.table(f"{table}.files").select(*of_each, *partition)
    schema = spark.table(table).schema.json()
    return {"rows": rows, "files": sorted(map(str, files.collect())), "schema": schema}
