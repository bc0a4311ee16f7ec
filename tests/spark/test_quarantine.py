"""Rows put aside by the whole job on a real Nessie: what the branch holds afterwards, and what the report says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakegate.audit.job import Job
from lakegate.audit.plan import Budget, Metric, MetricKind, Operator, Plan, Severity
from lakegate.audit.quarantine import quarantine_of
from lakegate.audit.report import Report, Verdict
from spark_jobs.errors import JobError
from spark_jobs.session import open_catalog
from tests.support.jobs import parquet, stage
from tests.support.nessie import Lake, unique
from tests.support.plans import ROWS, duplicates, failing, none_of, nulls, plan

pytestmark = [pytest.mark.spark, pytest.mark.nessie]
Run = Callable[[Job], Report]
IDS = tuple(f"{number:020x}" for number in range(1, 10))
NULL, LOW, SAME = nulls("id"), failing("x", "COALESCE(x < 0, FALSE)"), duplicates("id")
NAME = failing("name", "COALESCE(name NOT IN ('a', 'b'), FALSE)")
MEAN = Metric(id="mean", kind=MetricKind.VALUE, columns=("x",), sql="avg(x)")


def a_plan() -> Plan:
    """Null, low and repeated values go to quarantine; a wrong name rejects; the mean of what is left must be high."""
    by = plan(
        f"{unique('nyc')}.flights",
        {"id": "bigint", "name": "string", "x": "double", "at": "timestamp", "d": "decimal(20,2)"},
        (NULL, LOW, SAME, NAME, MEAN, ROWS),
        partitions=("name",),
    )
    mean = replace(none_of(MEAN), operator=Operator.GREATER_OR_EQUAL, threshold=(1,))
    aside = [none_of(metric, Severity.QUARANTINE) for metric in (NULL, LOW, SAME)]
    return replace(by, checks=(*aside, none_of(NAME), mean), budget=Budget(rows=4))


def rows(*values: tuple[int | None, float], name: str = "a") -> bytes:
    """Rows of id and x; the odd ones are of another partition."""
    columns = {
        "id": pa.array([number for number, _ in values], pa.int64()),
        "name": pa.array([name if at % 2 == 0 else "b" for at, _ in enumerate(values)], pa.string()),
        "x": pa.array([x for _, x in values], pa.float64()),
        "at": pa.array([1_357_000_000_123_456] * len(values), pa.timestamp("us", "UTC")),
        "d": pa.array([None] * len(values), pa.decimal128(20, 2)),
    }
    return parquet(pa.table(columns))


def job_for(lake: Lake, by: Plan, *files: bytes) -> Job:
    branch = unique("wap-flights")
    return stage(lake, by, branch, lake.branch(branch), dict(zip(IDS, files, strict=False))).job


@pytest.fixture
def rows_on(on_nessie: SparkSession) -> Callable[[Job, str], Sequence[Any]]:
    def read(job: Job, table: str) -> Sequence[Any]:
        name = unique("look")
        open_catalog(on_nessie, name, job, job.branch)
        return on_nessie.table(f"{name}.{table}").collect()

    return read


def test_failing_rows_leave_the_files_that_may_give_them_up(
    run: Run, lake: Lake, rows_on: Callable[[Job, str], Sequence[Any]]
) -> None:
    by = a_plan()
    job = job_for(
        lake,
        by,
        rows((1, 1.0), (2, 2.0), (None, -1.0), (3, -3.0), (4, 4.0)),
        rows((1, 1.0), (5, 5.0), (5, 6.0), (6, 7.0)),  # 1 is in the first file, and 5 is there twice
        rows((None, 1.0), (None, 1.0), (None, 1.0), (None, 1.0), (None, 1.0), (7, 1.0)),
        rows((8, -1.0), (9, 1.0), name="?"),
        rows((10, 1.0), (11, 1.0)),
        rows((12, -1.0), (13, 0.5)),  # its mean is too low, even of what is left
    )
    report = run(job)
    files = {file.id: file for file in report.files}
    assert {file: (entry.verdict, entry.rows, entry.quarantined_rows) for file, entry in files.items()} == {
        IDS[0]: (Verdict.QUARANTINE, 3, 2),
        IDS[1]: (Verdict.QUARANTINE, 2, 2),
        IDS[2]: (Verdict.FAIL, 6, 0),
        IDS[3]: (Verdict.FAIL, 2, 0),
        IDS[4]: (Verdict.PASS, 2, 0),
        IDS[5]: (Verdict.FAIL, 1, 1),
    }
    assert files[IDS[2]].reasons[0] == "rows for quarantine: 5 of 6 rows, expected at most 4, and not all"
    assert files[IDS[0]].warnings == (
        "in quarantine: 2 of 5 rows",
        "nulls-id: 1 of 5 rows, expected none",
        "failing-x: 2 of 5 rows, expected none",
    )
    [mean] = [check for check in files[IDS[0]].checks if check.check == "check-mean"]
    assert (mean.verdict, round(mean.value or 0, 3), mean.rows) == (Verdict.PASS, 2.333, 3)
    [low] = [check for check in files[IDS[0]].checks if check.check == "check-failing-x"]
    assert len(low.sample) == 2
    kept = {(row["_lakegate_file"], row["id"]) for row in rows_on(job, by.table)}
    assert {pair for pair in kept if pair[0] in IDS[:2]} == {
        *((IDS[0], number) for number in (1, 2, 4)),
        *((IDS[1], number) for number in (5, 6)),
    }
    aside = rows_on(job, quarantine_of(by.table))
    told = {(row["_lakegate_file"], json.loads(row["row_json"])["x"], tuple(row["reasons"])) for row in aside}
    assert told == {
        (IDS[0], -1.0, ("nulls-id", "failing-x")),
        (IDS[0], -3.0, ("failing-x",)),
        (IDS[1], 1.0, ("duplicates-id",)),
        (IDS[1], 5.0, ("duplicates-id",)),  # its partition comes second
        (IDS[5], -1.0, ("failing-x",)),
    }
    [first] = [row for row in aside if "nulls-id" in row["reasons"]]
    assert json.loads(first["row_json"]) == {
        "id": None,
        "name": "a",
        "x": -1.0,
        "at": "2013-01-01T00:26:40.123456Z",
        "d": None,
    }
    assert (first["key"], first["batch"], first["attempt"]) == (f"landed/{IDS[0]}", job.batch, 1)
    assert report.audited == lake.head(job.branch)
    with pytest.raises(JobError, match=f"lakegate retry {job.batch}"):
        run(job)
    assert report.audited == lake.head(job.branch)
