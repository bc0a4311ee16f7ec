"""The same attempt on both lanes, over one table on a real Nessie: they report the same, and leave the same tables."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakegate.adapters.iceberg import RefCatalog
from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Budget, Plan, Proof, Severity
from lakegate.audit.model.report import FileReport, Report, Source, Verdict
from lakegate.audit.ref import Ref
from lakegate.express.job import Outcome, run_job
from lakegate.express.process import Process
from lakegate.trial.trial import try_files
from spark_jobs.jvm.session import open_catalog
from tests.support.jobs import parquet, report_of, stage
from tests.support.lanes import for_express, handed_over
from tests.support.nessie import Lake, unique
from tests.support.plans import duplicates, failing, none_of, nulls, plan

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
    2, 'é"\\\n' * 100, None, -1, 9, 1.1, float("nan"), False, date(1582, 10, 4),
    datetime(1969, 12, 31, 23, 59, 59, 999999, UTC),
    datetime.fromisoformat("0001-01-01"), Decimal("-0.01"), Decimal("0E-10"), b"x" * 300, "secret",
)  # fmt: skip


def a_plan(severity: Severity, *partitions: str) -> Plan:
    made = plan(f"{unique('nyc')}.lanes", {name: spelled for name, (_, spelled) in TYPES.items()}, METRICS, partitions)
    masked = tuple(
        replace(column, masked=column.name == "hidden", doc=f"The {column.name}'s \\ doc." * (at % 2))
        for at, column in enumerate(made.columns)
    )
    checks = tuple(none_of(metric, severity) for metric in METRICS)
    budget = Budget(percent=100) if severity is Severity.QUARANTINE else None
    return replace(made, columns=masked, key=("id",), checks=checks, budget=budget)


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


def odd_number(at: int) -> tuple[Any, ...]:
    return changed(GOOD, id=100 + at, whole=6, real=10.0**at, half=1e9 / 3**at, wide=Decimal(at) / 2**10)


FILES = (
    file_of(GOOD),
    file_of(*numbered(GOOD, 4, 5), (None,) * len(TYPES), (None,) * len(TYPES)),
    file_of(*numbered(ODD, 6, 7), *numbered(GOOD, 7, 8)),
    file_of(*(changed(GOOD, id=1000 + at, real=-float(at)) for at in range(90))),
    b"",
    parquet(pa.table({"id": pa.array([1], pa.int64()), "other": ["a"]})),
    file_of(*numbered(changed(GOOD, real=float("inf"), half=float("-inf")), 9), *map(odd_number, range(-9, 9))),
)


def on(lake: Lake, by: Plan, base: str, files: Sequence[bytes], *, notes: bool = False) -> tuple[str, Job]:
    branch = unique("wap-lanes")
    lake.branch(branch, base)
    staged = stage(lake, by, branch, base, dict(zip(IDS, files, strict=False)))
    job = replace(for_express(lake, staged.job), batch="20130131T0405-1a2b3c4d", notes_audits=notes)
    job = replace(job, distinct=True)
    key = staged.uri.removeprefix(f"s3://{lake.bucket}/")
    lake.s3().put_object(Bucket=lake.bucket, Key=key, Body=to_json(job).encode())
    return staged.uri, job


def told(report: Report) -> dict[str, Any]:
    """Return what is said of the files, one entry for each piece, whatever it was found by."""
    said: dict[str, Any] = {}
    for file in json.loads(to_json(report.files)):
        for held in ("data_files", "quarantined", "noted"):
            file[held] = sum(data["rows"] for data in file[held])
        for check in file.pop("checks"):
            del check["source"]
            # As it is written, because 1 is not 1.0; of data files side by side the order is anyone's.
            check["sample"] = sorted(map(to_json, check["sample"]))
            said |= {f"{file['id'][-1]} {check['name']} {name}": value for name, value in check.items()}
        said |= {f"{file['id'][-1]} {name}": value for name, value in file.items()}
    return said


@pytest.mark.parametrize(
    ("severity", "partitions"),
    [
        pytest.param(Severity.ERROR, (), marks=pytest.mark.extended),
        (Severity.QUARANTINE, ("months(`at`)", "bucket(4, `id`)", "truncate(3, `naïve name`)", "`a.b`")),
    ],
)
def test_both_lanes_report_the_same_and_leave_the_same_tables(
    run: Run,
    on_nessie: SparkSession,
    lake: Lake,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    severity: Severity,
    partitions: tuple[str, ...],
) -> None:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    by = a_plan(severity, *partitions)
    (uri, also), (_, first) = on(lake, by, lake.head(), FILES[:1]), on(lake, by, lake.head(), FILES[:1])
    assert run_job(uri, Process()) is Outcome.REPORTED, handed_over(lake, also)
    base = run(first).audited
    assert defined(lake, also) == defined(lake, first)
    (uri, express), (_, spark) = on(lake, by, base, FILES), on(lake, by, base, FILES)
    assert run_job(uri, Process()) is Outcome.REPORTED, handed_over(lake, express)
    ours, theirs = report_of(lake, express), run(spark)
    assert told(ours) == told(theirs)
    assert {Verdict.PASS, Verdict.FAIL} <= {file.verdict for file in ours.files}
    assert (ours.columns, ours.masked, ours.key, ours.depends_on) == (
        theirs.columns, theirs.masked, theirs.key, theirs.depends_on,
    )  # fmt: skip
    assert held(on_nessie, express, ours) == held(on_nessie, spark, theirs)
    if severity is Severity.QUARANTINE:
        assert put_aside(on_nessie, express, ours) == put_aside(on_nessie, spark, theirs) != []
    pairs = zip(of_checks(tried(by, tmp_path)), of_checks(theirs), strict=True)
    assert [(mine, its) for mine, its in pairs if mine != its] == []


def tried(by: Plan, folder: Path) -> Report:
    """Return what a trial says of the same files, on this machine, as a report is written and read."""
    paths = [folder / str(at) for at in range(len(FILES))]
    for path, body in zip(paths, FILES, strict=True):
        path.write_bytes(body)
    trial = try_files(by, paths)
    assert trial.omissions == ()
    return from_json(Report, to_json(trial.report).encode())


def of_checks(report: Report) -> list[Any]:
    """Faults and results of each file, whatever they were found by."""
    said = [replace(file, id="", key="") for file in report.files]
    return [(file.verdict, file.faults, results(file)) for file in said]


def results(file: FileReport) -> list[Any]:
    plain = [json.loads(to_json(replace(check, source=Source.QUERY, sample=()))) for check in file.checks]
    return [(check, sorted(map(to_json, it.sample))) for check, it in zip(plain, file.checks, strict=True)]


@pytest.mark.extended
def test_both_lanes_note_the_same_in_tables_that_are_the_same(
    run: Run, on_nessie: SparkSession, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rows leave for quarantine, so that the audits are of the third commit that is looked at."""
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    by = a_plan(Severity.QUARANTINE)
    base = run(on(lake, by, lake.head(), FILES[:1])[1]).audited
    (uri, express), (_, spark) = on(lake, by, base, FILES, notes=True), on(lake, by, base, FILES, notes=True)
    assert run_job(uri, Process()) is Outcome.REPORTED, handed_over(lake, express)
    ours, theirs = report_of(lake, express), run(spark)
    assert told(ours) == told(theirs)
    assert all([data.rows for data in file.noted] == [1 + len(file.checks)] for file in theirs.files)
    name = audits_of(by.table, distinct=express.distinct)
    assert defined(lake, express, name) == defined(lake, spark, name)
    assert noted(on_nessie, express, ours) == noted(on_nessie, spark, theirs) != []
    assert put_aside(on_nessie, express, ours) == put_aside(on_nessie, spark, theirs) != []


def noted(spark: SparkSession, job: Job, report: Report) -> list[str]:
    """The rows of the audits table, but what is of this one run alone."""
    rows = spark.table(opened(spark, job, report, audits_of(job.plan.table, distinct=job.distinct)))
    return sorted(map(str, rows.drop("audited_at", "audited_commit", "lane").collect()))


def defined(lake: Lake, job: Job, table: str = "") -> Mapping[str, Any]:
    """All that the branch's table is defined by, but what is of this one table alone."""
    found = RefCatalog(lake.nessie_uri, lake.warehouse, Ref(job.branch)).find_table(table or job.plan.table)
    assert found is not None
    told = json.loads(found.metadata.model_dump_json())
    names = ("format-version", "schemas", "partition-specs", "sort-orders", "last-column-id", "current-schema-id")
    own = ("owner", "created-at", "nessie.")  # who ran Spark, and what the catalog says of its commit
    values = {f"property {name}": it for name, it in told["properties"].items() if not name.startswith(own)}
    return {**{name: told[name] for name in (*names, "last-partition-id", "default-sort-order-id")}, **values}


def held(spark: SparkSession, job: Job, report: Report) -> Mapping[str, Any]:
    """The rows of the branch's table as Spark reads them, and its data files as Iceberg lists them."""
    table = opened(spark, job, report, job.plan.table)
    rows = sorted(map(str, spark.table(table).collect()))
    of_each = ["content", "file_format", "spec_id", "record_count", "value_counts", "null_value_counts"]
    partition = ["partition"] if job.plan.partitions else []
    files = spark.table(f"{table}.files").select(*of_each, *partition)
    return {"rows": rows, "files": sorted(map(str, files.collect())), "schema": spark.table(table).schema.json()}


def put_aside(spark: SparkSession, job: Job, report: Report) -> list[str]:
    """The rows of the quarantine table, but the moment at which they came there."""
    rows = spark.table(opened(spark, job, report, quarantine_of(job.plan.table, distinct=job.distinct))).drop(
        "quarantined_at"
    )
    return sorted(map(str, rows.collect()))


def opened(spark: SparkSession, job: Job, report: Report, table: str) -> str:
    name = unique("look")
    open_catalog(spark, name, job.catalog, Ref(job.branch, report.audited))
    return f"{name}.{table}"
