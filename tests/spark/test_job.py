"""The whole job on a real Nessie and an S3 emulator: what it appends, what it proves, and what it reports."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal
from json import loads
from pathlib import Path
from urllib.error import URLError

import pyarrow as pa
import pytest
from jsonschema import Draft202012Validator
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from examples.bad_files import corrupt
from lakegate.audit.errors import JobError
from lakegate.audit.model.codec import to_plain
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Budget, Metric, MetricKind, Plan, Proof, Severity
from lakegate.audit.model.report import Report, Source, Verdict
from lakegate.audit.schema.inspection import Inspection
from lakegate.cli.terminal import sound
from lakegate.ports import Ref
from spark_jobs import engine
from spark_jobs.append_and_audit import record_cut_off
from spark_jobs.appending import append as appending
from spark_jobs.jvm import hadoop, session
from spark_jobs.jvm.failures import FAILURES
from spark_jobs.jvm.session import open_catalog
from spark_jobs.tables import nessie
from tests.support.jobs import has_begun, moved, parquet, report_of, stage, submit
from tests.support.nessie import ROOT, Lake, unique
from tests.support.plans import duplicates, failing, none_of, nulls, plan
from tests.support.proxy import Fault, Request, proxy
from tests.support.schemas import of_report

pytestmark = [pytest.mark.spark, pytest.mark.nessie]
Run = Callable[[Job], Report]
IDS = tuple(f"{number:020x}" for number in range(1, 10))
METRICS = (
    nulls("id"),
    failing("x", "COALESCE(x < 0, FALSE)", Proof(column="x", minimum=0)),
    failing("name", "COALESCE(name NOT IN ('a', 'b'), FALSE)"),
    duplicates("id"),
)


def a_plan(**columns: str) -> Plan:
    return plan(f"{unique('nyc')}.flights", {"id": "bigint", "name": "string", "x": "double"} | columns, METRICS)


def rows(*ids: int | None, name: str = "a", x: float = 1.0, **more: object) -> bytes:
    columns = {
        "id": pa.array(ids, pa.int64()),
        "name": pa.array([name] * len(ids), pa.string()),
        "x": pa.array([x] * len(ids), pa.float64()),
    }
    return parquet(pa.table(columns | {column: [value] * len(ids) for column, value in more.items()}))


def job_for(lake: Lake, by: Plan, *files: bytes, base: str = "") -> Job:
    branch = unique("wap-flights")
    base = lake.branch(branch, base or None)
    return stage(lake, by, branch, base, dict(zip(IDS, files, strict=False))).job


def said(report: Report) -> Mapping[str, tuple[Verdict, int]]:
    return {file.id: (file.verdict, file.rows) for file in report.files}


def counted(spark: SparkSession, job: Job, ref: Ref) -> int:
    name = unique("look")
    open_catalog(spark, name, job.catalog, ref)
    return spark.table(f"{name}.{job.plan.table}").count()


def test_good_files_pass_and_each_bad_one_is_told_its_own_fault(run: Run, on_nessie: SparkSession, lake: Lake) -> None:
    job = job_for(
        lake, a_plan(), rows(1, 2, 3), rows(4, None), rows(5, 5), rows(6, x=-1.0), b"", b"text", rows(7, name="c")
    )
    report = run(job)
    Draft202012Validator(of_report()).validate(sound(to_plain(report)))
    assert {file.id: file.reasons for file in report.files} == {
        IDS[0]: (),
        IDS[1]: ("nulls-id: 1 of 2 rows, expected none",),
        IDS[2]: ("duplicates-id: 1 of 2 rows, expected none",),
        IDS[3]: ("failing-x: 1 of 1 row, expected none",),
        IDS[4]: ("it is empty: 0 bytes",),
        IDS[5]: ("it is not a parquet file: it looks like CSV",),
        IDS[6]: ("failing-name: 1 of 1 row, expected none",),
    }
    assert report.audited == lake.head(job.branch) != job.base
    assert report.rows == 9 == counted(on_nessie, job, Ref(job.branch, report.audited))


def test_the_report_names_the_data_files_that_main_will_hold(run: Run, on_nessie: SparkSession, lake: Lake) -> None:
    job = job_for(lake, a_plan(), rows(1, 2, 3))
    [file] = run(job).files
    name = unique("look")
    open_catalog(on_nessie, name, job.catalog, Ref(job.branch))
    [there] = on_nessie.table(f"{name}.{job.plan.table}.files").select("file_path", "record_count").collect()
    assert [(data.path, data.rows) for data in file.data_files] == [tuple(there)]


def test_statistics_prove_what_they_can(run: Run, lake: Lake) -> None:
    [file] = run(job_for(lake, a_plan(), rows(1, 2))).files
    assert {check.name: check.source for check in file.checks} == {
        "nulls-id": Source.STATISTICS,
        "failing-x": Source.STATISTICS,
        "failing-name": Source.AGGREGATE,
        "duplicates-id": Source.QUERY,
    }


def test_a_second_batch_neither_loses_nor_reads_the_first(run: Run, lake: Lake) -> None:
    by = a_plan()
    first = run(job_for(lake, by, rows(1, 2)))
    [data] = first.files[0].data_files
    lake.s3().delete_object(Bucket=lake.bucket, Key=data.path.removeprefix(f"s3://{lake.bucket}/"))
    second = run(job_for(lake, by, rows(3, None), base=first.audited))
    assert said(second) == {IDS[0]: (Verdict.FAIL, 2)}
    assert second.files[0].checks[0].sample == ({"id": None, "name": "a", "x": 1.0},)


def test_the_same_job_again_appends_nothing(run: Run, lake: Lake) -> None:
    job = job_for(lake, a_plan(), rows(1, 2), rows(3))
    first = run(job)
    again = run(job)
    assert (again.audited, said(again)) == (first.audited, said(first))
    assert {data.path for file in again.files for data in file.data_files} == {
        data.path for file in first.files for data in file.data_files
    }


def test_a_branch_with_other_rows_is_refused(run: Run, lake: Lake) -> None:
    job = job_for(lake, a_plan(), rows(1, 2), rows(3))
    run(replace(job, files=job.files[:1]))
    head = lake.head(job.branch)
    with pytest.raises(JobError, match=f"lakegate retry {job.batch}"):
        run(job)
    assert lake.head(job.branch) == head


def test_a_batch_of_bad_files_appends_nothing(run: Run, lake: Lake) -> None:
    job = job_for(lake, a_plan(), b"", rows())
    report = run(job)
    assert report.audited == job.base == lake.head(job.branch)
    assert [file.faults for file in report.files] == [("it is empty: 0 bytes",), ("it has no rows",)]


def test_corrupt_pages_are_one_files_fault(run: Run, lake: Lake) -> None:
    job = job_for(lake, a_plan(), rows(1, 2), corrupt(rows(*range(10, 1000))), rows(3))
    report = run(job)
    assert said(report) == {IDS[0]: (Verdict.PASS, 2), IDS[1]: (Verdict.FAIL, 0), IDS[2]: (Verdict.PASS, 1)}
    assert report.files[1].faults[0].startswith("its rows cannot be read")
    assert said(run(job)) == said(report)


def test_nothing_but_corrupt_pages_appends_nothing(run: Run, lake: Lake) -> None:
    job = job_for(lake, a_plan(), corrupt(rows(*range(10, 1000))))
    report = run(job)
    assert said(report) == {IDS[0]: (Verdict.FAIL, 0)}
    assert report.audited == lake.head(job.branch)


def test_a_new_column_grows_the_table_on_the_branch(run: Run, on_nessie: SparkSession, lake: Lake) -> None:
    by = a_plan()
    first = run(job_for(lake, by, rows(1)))
    grown = replace(a_plan(extra="string"), table=by.table, contract_hash="h2")
    job = job_for(lake, grown, rows(2, extra="x"), base=first.audited)
    assert said(run(job)) == {IDS[0]: (Verdict.PASS, 1)}
    assert counted(on_nessie, job, Ref(job.branch)) == 2


def test_a_table_that_does_not_fit_is_reported_and_left_alone(run: Run, lake: Lake) -> None:
    by = a_plan()
    first = run(job_for(lake, by, rows(1)))
    bent = plan(by.table, {"id": "bigint", "name": "string"}, contract_hash="h2")
    job = job_for(lake, bent, parquet(pa.table({"id": [1], "name": ["a"]})), base=first.audited)
    report = run(job)
    assert 'column "x" is in the table and not in the contract' in report.error
    assert (said(report), report.audited) == ({IDS[0]: (Verdict.FAIL, 0)}, lake.head(job.branch))
    assert lake.head(job.branch) == first.audited


@pytest.mark.parametrize(
    ("writes_first", "then"),
    [(True, "SELECT raise_error('lost')"), (False, "SELECT lost")],
    ids=["a task fails after the commit", "no task fails"],
)
def test_an_append_is_repeated_only_if_nothing_can_have_happened(
    run: Run, lake: Lake, monkeypatch: pytest.MonkeyPatch, *, writes_first: bool, then: str
) -> None:
    job = job_for(lake, a_plan(), rows(1, 2), corrupt(rows(*range(10, 1000))))
    writes, write = [], appending._write

    def fails(spark: SparkSession, by: Plan, inspections: Sequence[Inspection], **more: bool) -> None:
        """An append that fails in a way that does not say whether it was committed."""
        writes.append(inspections)
        if writes_first:
            write(spark, by, inspections[:1], **more)
        spark.sql(then).collect()

    monkeypatch.setattr(appending, "_write", fails)
    with pytest.raises(FAILURES, match="lost"):
        run(job)
    assert len(writes) == 1


def loses_commits(request: Request) -> tuple[Fault, int]:
    return (Fault.UNANSWERED if request.commits_a_table else Fault.NONE), 0


def test_a_commit_whose_answer_is_lost_ends_the_job(run: Run, lake: Lake) -> None:
    by = a_plan()
    base = run(job_for(lake, by, rows(1))).audited
    job = job_for(lake, by, rows(2), base=base)
    with proxy(lake.nessie_uri, loses_commits) as network, pytest.raises(Py4JJavaError, match="POST request"):
        run(moved(job, network.uri))
    assert len(network.met) == 1
    assert said(run(job)) == {IDS[0]: (Verdict.PASS, 1)}


@pytest.mark.extended
def test_a_submitted_job_writes_its_report(lake: Lake, tmp_path: Path) -> None:
    by = replace(a_plan(), partitions=("bucket(4, id)", "truncate(2, name)"))
    branch = unique("wap-flights")
    staged = stage(lake, by, branch, lake.branch(branch), {IDS[0]: rows(1, 2), IDS[1]: b"text"})
    done = submit(lake, tmp_path, ROOT / "spark_jobs/append_and_audit.py", [staged.uri])
    assert done.returncode == 0, done.stdout + done.stderr
    report = report_of(lake, staged.job)
    assert said(report) == {IDS[0]: (Verdict.PASS, 2), IDS[1]: (Verdict.FAIL, 0)}
    assert report.plan_hash == by.hash
    assert {"inspect", "prepare", "append", "prove", "measure"} <= report.timings.keys()


@pytest.mark.extended
def test_a_submitted_job_alters_its_table_and_puts_rows_aside(run: Run, lake: Lake, tmp_path: Path) -> None:
    """By Spark's own SQL: what a job does to tables beyond what it does to new ones."""
    assert "spark.sql.extensions" not in session.OPTIONS
    by = a_plan(old="decimal(4,1)")
    first = run(job_for(lake, by, rows(1, old=Decimal("1.5"))))
    assert said(first) == {IDS[0]: (Verdict.PASS, 1)}
    aside = tuple(none_of(metric, Severity.QUARANTINE) for metric in by.metrics)
    grown = replace(a_plan(old="decimal(9,1)", extra="string"), table=by.table, contract_hash="h2", checks=aside)
    grown = replace(grown, budget=Budget(rows=2))
    branch = unique("wap-flights")
    body = rows(2, None, 3, old=Decimal("123456.5"), extra="x")
    staged = stage(lake, grown, branch, lake.branch(branch, first.audited), {IDS[1]: body})
    done = submit(lake, tmp_path, ROOT / "spark_jobs/append_and_audit.py", [staged.uri])
    assert done.returncode == 0, done.stdout + done.stderr
    [file] = report_of(lake, staged.job).files
    assert (file.verdict, file.rows, file.quarantined_rows) == (Verdict.QUARANTINE, 2, 1)


def test_a_job_has_begun_on_its_files_before_it_meets_them(
    run: Run, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    def dies(*_: object) -> None:
        raise MemoryError

    monkeypatch.setattr(engine, "inspect_all", dies)
    job = job_for(lake, a_plan(), rows(1))
    with pytest.raises(MemoryError):
        run(job)
    assert has_begun(lake, job)


def test_a_job_has_not_begun_before_it_has_its_tables(run: Run, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(session._CATALOG, ".rest.client.max-retries", "1")  # five take a minute
    job = job_for(lake, a_plan(), rows(1))
    job = replace(job, catalog=replace(job.catalog, warehouse="nowhere"))
    with pytest.raises(Py4JJavaError):
        run(job)
    assert not has_begun(lake, job)


def test_a_job_that_loses_nessie_on_its_way_takes_back_that_it_began(
    on_nessie: SparkSession, run: Run, lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    heads = iter([lake.head()])

    def head(*_: str) -> str:
        if first := next(heads, ""):
            return first
        raise URLError("connection refused")

    monkeypatch.setattr(nessie, "head", head)
    job = job_for(lake, a_plan(), rows(1))
    with pytest.raises(URLError), record_cut_off(on_nessie, job):
        run(job)
    assert next(heads, None) is None
    assert not has_begun(lake, job)


def test_a_job_that_fails_by_itself_takes_nothing_back(on_nessie: SparkSession, lake: Lake) -> None:
    job = job_for(lake, a_plan(), rows(1))
    hadoop.write(on_nessie, job.begun_uri, b"")
    with pytest.raises(MemoryError), record_cut_off(on_nessie, job):
        raise MemoryError
    assert has_begun(lake, job)


def test_another_iceberg_than_the_jobs_own_ends_it(run: Run, lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    pinned = [jar["version"] for jar in loads((ROOT / "tools/jars.json").read_text()) if "iceberg" in jar["group"]]
    assert set(pinned) == {session.ICEBERG}
    monkeypatch.setattr(session, "ICEBERG", "9.9.9")
    job = job_for(lake, a_plan(), rows(1))
    with pytest.raises(JobError, match=rf"{job.branch}: .*Iceberg {pinned[0]}.* 9\.9\.9.*tried again"):
        run(job)
    assert (lake.head(job.branch), has_begun(lake, job)) == (job.base, False)


@pytest.mark.parametrize(
    ("found", "is_tested"),
    [
        (session.ICEBERG, True),
        (f"{session.ICEBERG}-amzn-0", True),
        (f"{session.ICEBERG}-amzn-12", True),
        (f"{session.ICEBERG}-amzn", False),
        (f"{session.ICEBERG}-SNAPSHOT", False),
        ("1.10.0-amzn-1", False),
        ("1x11x0", False),
    ],
)
def test_an_iceberg_is_the_tested_version_or_awss_build_of_it(found: str, is_tested: bool) -> None:  # noqa: FBT001
    assert session.is_tested(found) is is_tested


def test_a_job_that_cannot_go_on_fails_with_a_last_word(lake: Lake, tmp_path: Path) -> None:
    staged = stage(lake, a_plan(), unique("wap-nowhere"), lake.head(), {IDS[0]: rows(1)})
    done = submit(lake, tmp_path, ROOT / "spark_jobs/append_and_audit.py", [staged.uri])
    assert done.returncode == 1
    last = done.stdout.splitlines()[-1]
    assert last.startswith(f"JobError: Nessie at {lake.nessie_uri} does not return the branch: HTTP Error 404")
    assert not has_begun(lake, staged.job)
    assert last.endswith(f"; batch {staged.job.batch} of {staged.job.plan.table}, branch {staged.job.branch}")


TEXT_METRICS = (Metric(id="malformed", kind=MetricKind.MALFORMED), nulls("id"), duplicates("id"))


@pytest.mark.extended
def test_text_is_published_as_rows_or_told_by_its_lines(run: Run, on_nessie: SparkSession, lake: Lake) -> None:
    columns = {"id": "bigint", "day": "date"}
    csv = replace(plan(f"{unique('nyc')}.text", columns, TEXT_METRICS), files=FileFormat(kind=FileKind.CSV))
    bodies = (
        b"day,id\n2013-01-05,1\n,2\n",
        b"id,day\n3,\nx,\n1,2013\n,\n",
        b"id\n9\n",
        b"id,day\nx,\n",
        b"id,day\n1,\n1,\n",
    )
    job = job_for(lake, csv, *bodies)
    report = run(job)
    assert {file.id: (file.rows, file.reasons) for file in report.files} == {
        IDS[0]: (2, ()),
        IDS[1]: (2, ("malformed: 2 of 4 rows, expected none", "nulls-id: 1 of 2 rows, expected none")),
        IDS[2]: (0, ('column "day" is missing',)),
        IDS[3]: (0, ("malformed: 1 of 1 row, expected none",)),
        IDS[4]: (2, ("duplicates-id: 1 of 2 rows, expected none",)),
    }
    assert report.files[1].checks[0].sample == (
        {"line": 3, "why": 'column "id" is not a valid bigint', "text": "x,"},
        {"line": 4, "why": 'column "day" is not a valid date', "text": "1,2013"},
    )
    assert counted(on_nessie, job, Ref(job.branch, report.audited)) == 6
    assert said(run(job)) == said(report)
    json = replace(csv, files=FileFormat(kind=FileKind.JSON, compression="gzip"))
    lines = gzip.compress(b'{"id": 4, "day": "2013-01-05"}\n{"id": 5}\n'), gzip.compress(b'{"id": "6"}\n')
    later = job_for(lake, json, *lines, base=report.audited)
    assert said(run(later)) == {IDS[0]: (Verdict.PASS, 2), IDS[1]: (Verdict.FAIL, 0)}
    assert counted(on_nessie, later, Ref(later.branch)) == 8
    nothing = run(job_for(lake, json, lines[1], base=report.audited))
    assert {file.id: file.reasons for file in nothing.files} == {IDS[0]: ("malformed: 1 of 1 row, expected none",)}


def test_rows_left_out_without_a_check_that_tells_of_them_end_the_job(run: Run, lake: Lake) -> None:
    silent = replace(plan(f"{unique('nyc')}.text", {"id": "bigint"}), files=FileFormat(kind=FileKind.CSV))
    with pytest.raises(JobError, match="1 row there, 2 read"):
        run(job_for(lake, silent, b"id\n1\nx\n"))
