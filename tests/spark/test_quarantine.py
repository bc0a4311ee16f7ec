"""Rows put aside by the whole job on a real Nessie: what the branch holds afterwards, and what the report says."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Any, Self

import pyarrow as pa
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakegate.audit.definition import QUARANTINE
from lakegate.audit.errors import JobError
from lakegate.audit.evaluation.quarantine import BUDGET, quarantine_of
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Budget, Metric, MetricKind, Mode, Operator, Plan, Scope, Severity
from lakegate.audit.model.report import Report, Verdict
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import TYPES
from lakegate.contracts.metrics.rows import age, in_future
from lakegate.ports import Ref
from spark_jobs import append_and_audit
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import LAKE, open_catalog
from spark_jobs.tables import iceberg
from spark_jobs.tables.ddl import create_table_sql
from tests.support.jobs import parquet, stage
from tests.support.nessie import Lake, unique
from tests.support.plans import ROWS, duplicates, failing, none_of, nulls, orphans, plan

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
        open_catalog(on_nessie, name, job.catalog, Ref(job.branch))
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
        rows((1, 1.0), (5, 5.0), (5, 6.0), (6, 7.0)),  # 1 is in the first file, too, and 5 is there twice
        rows((None, 1.0), (None, 1.0), (None, 1.0), (None, 1.0), (None, 1.0), (7, 1.0)),
        rows((8, -1.0), (9, 1.0), name="?"),
        rows((10, 1.0), (11, 1.0)),
        rows((12, -1.0), (13, 0.5)),  # its mean is too low, even of what is left
    )
    report = run(job)
    files = {file.id: file for file in report.files}
    assert {file: (entry.verdict, entry.rows, entry.quarantined_rows) for file, entry in files.items()} == {
        IDS[0]: (Verdict.QUARANTINE, 3, 2),
        IDS[1]: (Verdict.QUARANTINE, 3, 1),
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
        *((IDS[1], number) for number in (1, 5, 6)),
    }
    aside = rows_on(job, quarantine_of(by.table))
    told = {(row["_lakegate_file"], json.loads(row["row_json"])["x"], tuple(row["reasons"])) for row in aside}
    assert told == {
        (IDS[0], -1.0, ("nulls-id", "failing-x")),
        (IDS[0], -3.0, ("failing-x",)),
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


KEY, BOSS = duplicates("id", scope=Scope.TABLE), "boss"
MALFORMED = Metric(id="malformed", kind=MetricKind.MALFORMED)


def test_a_row_is_in_the_future_of_the_moment_at_which_the_job_began(
    run: Run, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long it takes: the row is counted, put aside and left out by one and the same moment."""

    class Clock(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Self:
            return cls(2000, 1, 1, tzinfo=tz)

    monkeypatch.setattr(append_and_audit, "datetime", Clock)
    columns = {"at": "timestamp", "day": "date", "clock": "timestamp_ntz"}
    fields = [Field(label=name, name=name, type=TYPES[kind]) for name, kind in columns.items()]
    late, old = [in_future(field) for field in fields], age(fields[0], 86_400)
    by = plan(f"{unique('nyc')}.flights", columns, (*late, old))
    aside = [none_of(metric, Severity.QUARANTINE) for metric in late]
    checks = (*aside, replace(none_of(old), operator=Operator.LESS_OR_EQUAL, threshold=(1,)))
    by = replace(by, checks=checks, budget=Budget(rows=9))
    seconds = [datetime(2000, 1, 1, tzinfo=UTC) + timedelta(seconds=ahead) for ahead in (-1, 0, 1, -2)]
    days = [date(2000, 1, 1), date(2000, 1, 1), date(2000, 1, 1), date(2000, 1, 2)]
    naive = [moment.replace(tzinfo=None) for moment in seconds]
    table = {"at": pa.array(seconds, pa.timestamp("us", "UTC")), "day": days, "clock": pa.array(naive)}
    job = job_for(lake, by, parquet(pa.table(table)))

    report = run(job)

    [file] = report.files
    assert (file.verdict, file.rows, file.quarantined_rows) == (Verdict.QUARANTINE, 2, 2)
    assert [check.value for check in file.checks if check.check != "rows for quarantine"][:3] == [1, 1, 1]
    assert report.plan_hash == by.hash


def staff() -> Plan:
    """Keys that are taken, bosses that are not there and rows that do not parse go to quarantine."""
    table = f"{unique('nyc')}.staff"
    metrics = (KEY, orphans([BOSS], table, ["id"]), MALFORMED)
    by = plan(table, {"id": "bigint", BOSS: "bigint", "x": "int"}, metrics)
    checks = tuple(none_of(metric, Severity.QUARANTINE) for metric in metrics)
    return replace(by, checks=checks, budget=Budget(rows=4), files=FileFormat(kind=FileKind.CSV))


def lines(*said: str) -> bytes:
    return "\n".join(("id,boss,x", *said, "")).encode()


@pytest.mark.parametrize("name", ["the table", "its quarantine"])
@pytest.mark.share(1)
def test_nobody_elses_tool_removes_files_that_main_does_not_name(
    run: Run, lake: Lake, on_nessie: SparkSession, name: str
) -> None:
    """Branches name them. As much is refused to whoever expires snapshots, which open branches are compared with."""
    job = job_for(lake, a_plan(), rows((1, 1.0), (2, -1.0), (3, 2.0)))
    run(job)
    look = unique("look")
    open_catalog(on_nessie, look, job.catalog, Ref(job.branch))
    table = iceberg.load(on_nessie, look, job.plan.table if name == "the table" else quarantine_of(job.plan.table))
    actions = jvm(on_nessie).org.apache.iceberg.spark.actions.SparkActions.get()
    for tool in (actions.deleteOrphanFiles, actions.expireSnapshots):
        with pytest.raises(Py4JJavaError, match="GC is disabled"):
            tool(table)


def with_old_quarantine(spark: SparkSession, lake: Lake, by: Plan, at: str) -> str:
    """A commit after this one, where the table's quarantine is one of an earlier release, which knows no lines, and
    of which somebody has said that it be written as Avro.
    """
    branch = unique("old")
    job = stage(lake, by, branch, lake.branch(branch, at), {}).job
    open_catalog(spark, LAKE, job.catalog, Ref(branch))
    for statement in create_table_sql(quarantine_of(by.table), QUARANTINE[:7], {"write.format.default": "avro"}):
        spark.sql(statement)
    return lake.head(branch)


STAFF = {
    IDS[1]: lines("3,1,0", "1,,0", "4,99,0", "x,1,0", "", "5,3,0", "1,98,0"),
    IDS[2]: lines("6,4,0", "7,3,0"),  # 4 is put aside, so that what is left of this file does not hold
    IDS[3]: lines("8,6,0"),  # which is why 6 is not published
    IDS[4]: lines("9,1,0", "y,1,0", "1,1,0", "2,1,0", "10,97,0", "11,96,0"),
    IDS[5]: lines("12,1,0", "13,2"),
    IDS[6]: lines("z,1,0"),
}


@pytest.mark.extended
def test_rows_that_tables_refuse_and_rows_that_do_not_parse_leave_their_file(
    run: Run, lake: Lake, on_nessie: SparkSession, rows_on: Callable[[Job, str], Sequence[Any]]
) -> None:
    by = staff()
    assert by.depends_on == (by.table,)
    before = run(job_for(lake, by, lines("1,,0", "2,1,0")))
    branch, base = unique("wap-flights"), with_old_quarantine(on_nessie, lake, by, before.audited)
    job = stage(lake, by, branch, lake.branch(branch, base), STAFF).job
    report = run(job)
    found = {file.id: (file.verdict, file.rows, file.quarantined_rows) for file in report.files}
    assert found == {
        IDS[1]: (Verdict.QUARANTINE, 2, 4),
        IDS[2]: (Verdict.FAIL, 2, 0),
        IDS[3]: (Verdict.FAIL, 1, 0),
        IDS[4]: (Verdict.FAIL, 5, 0),
        IDS[5]: (Verdict.QUARANTINE, 1, 1),
        IDS[6]: (Verdict.FAIL, 0, 0),
    }
    assert report.files[0].warnings == (
        "in quarantine: 4 of 6 rows",
        "duplicates-id: 2 of 5 rows, expected none",
        "orphans-boss: 2 of 5 rows, expected none",
        "malformed: 1 of 6 rows, expected none",
    )
    assert report.files[3].reasons[0] == "rows for quarantine: 5 of 6 rows, expected at most 4, and not all"
    kept = {row["id"] for row in rows_on(job, by.table) if row["_lakegate_file"] in (IDS[1], IDS[5])}
    assert kept == {3, 5, 12}
    aside = {
        (row["reasons"][0], *row["reasons"][1:]): (row["row_json"] and json.loads(row["row_json"])["id"], row["line"])
        for row in rows_on(job, quarantine_of(by.table))
        if row["_lakegate_file"] == IDS[1]
    }
    assert aside == {
        ("duplicates-id",): (1, None),
        ("orphans-boss",): (4, None),
        ("duplicates-id", "orphans-boss"): (1, None),
        ("malformed",): (None, 5),
    }
    [malformed] = [row for row in rows_on(job, quarantine_of(by.table)) if row["_lakegate_file"] == IDS[5]]
    assert (malformed["line"], malformed["text"], malformed["why"]) == (3, "13,2", "it does not have 3 fields")


@pytest.mark.extended
def test_a_contract_that_observes_keeps_all_rows_that_parse_and_tells_what_enforcing_tells(
    run: Run, lake: Lake, rows_on: Callable[[Job, str], Sequence[Any]]
) -> None:
    by = staff()
    before = run(job_for(lake, by, lines("1,,0", "2,1,0")))
    jobs = []
    for mode in (Mode.ENFORCE, Mode.OBSERVE):
        branch = unique("wap-flights")
        at = lake.branch(branch, before.audited)
        jobs.append(stage(lake, replace(by, mode=mode), branch, at, STAFF).job)
    enforced, observed = map(run, jobs)
    assert {
        file.id: (file.verdict, file.rows, file.quarantined_rows, file.would_quarantine) for file in observed.files
    } == {
        IDS[1]: (Verdict.QUARANTINE, 5, 1, 3),
        IDS[2]: (Verdict.WOULD_FAIL, 2, 0, 0),
        IDS[3]: (Verdict.WOULD_FAIL, 1, 0, 0),
        IDS[4]: (Verdict.WOULD_FAIL, 5, 1, 0),
        IDS[5]: (Verdict.QUARANTINE, 1, 1, 0),
        IDS[6]: (Verdict.FAIL, 0, 0, 0),
    }
    for theirs, ours in zip(enforced.files, observed.files, strict=True):
        said = [
            [(it.check, it.value, it.failing_rows, len(it.sample)) for it in file.checks if it.check != BUDGET]
            for file in (theirs, ours)
        ]
        assert said[0] == said[1]
    aside = {(row["_lakegate_file"], tuple(row["reasons"])) for row in rows_on(jobs[1], quarantine_of(by.table))}
    assert aside == {(IDS[at], ("malformed",)) for at in (1, 4, 5)}
    assert len(rows_on(jobs[1], by.table)) == 2 + 5 + 2 + 1 + 5 + 1
