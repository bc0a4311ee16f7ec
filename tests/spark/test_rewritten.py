"""Replaced rows that somebody has written into other data files, on a real Nessie: just they leave the branch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakegate.audit.completeness import DELETE_FILES, RowCounts, prove_removed
from lakegate.audit.errors import JobError
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Budget, Metric, MetricKind, Operator, Plan, Scope, Severity
from lakegate.audit.model.report import DataFile, ReplacedFiles, Report, Rewritten, Verdict
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.ports import MAIN, FileChanges, Ref
from lakegate.publishing.nessie import NessieTables
from spark_jobs import append_and_audit, engine
from spark_jobs.appending import append as appending
from spark_jobs.jvm.failures import FAILURES
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import LAKE, open_catalog
from spark_jobs.tables import iceberg
from spark_jobs.tables.ddl import table_name
from spark_jobs.tables.overwrite import overwrite
from tests.support.jobs import job as unrun
from tests.support.jobs import moved, parquet, stage
from tests.support.nessie import Lake, unique
from tests.support.plans import duplicates, failing, none_of, nulls, orphans, plan
from tests.support.proxy import Fault, Request, proxy
from tests.support.spark import reaching

pytestmark = [pytest.mark.spark, pytest.mark.nessie]
VARIANT = pytest.mark.extended  # the gate asks each promise once, and its variants run beside it
Run = Callable[[Job], Report]
IDS = tuple(f"{number:020x}" for number in range(1, 10))
OLD, OTHER, THIRD = IDS[0], IDS[4], IDS[8]
NEW, NEWER = IDS[2], IDS[6]  # between the others: bounds of a data file with rows of those don't rule these out
COMPACTED = ("CALL {catalog}.system.rewrite_data_files(table => '{table}', options => map('rewrite-all', 'true'))",)


def a_plan(*metrics: Metric, **columns: str) -> Plan:
    return plan(f"{unique('nyc')}.flights", {"id": "bigint", "name": "string"} | columns, [nulls("id"), *metrics])


def rows(*ids: int | None, name: str = "a", **more: Any) -> bytes:
    columns = {"id": pa.array(ids, pa.int64()), "name": [name if (number or 0) % 2 else "even" for number in ids]}
    return parquet(pa.table(columns | more))


@dataclass(frozen=True, kw_only=True)
class Main:
    """A table of some commits; whoever commits to it makes a branch of his own, so that tests share one Nessie."""

    spark: SparkSession
    lake: Lake
    run: Run
    plan: Plan
    at: str
    anything: Job  # that says where the lake is

    def job(self, files: Mapping[str, bytes], replaces: Mapping[str, ReplacedFiles] | None = None) -> Job:
        branch = unique("wap-flights")
        job = stage(self.lake, self.plan, branch, self.lake.branch(branch, self.at), files).job
        return replace(job, files=tuple(_replacing(file, (replaces or {}).get(file.id)) for file in job.files))

    @property
    def ref(self) -> str:
        return str(Ref(MAIN, self.at))

    def published(self, **files: bytes) -> Main:
        report = self.run(self.job({file.removeprefix("f"): body for file, body in files.items()}))
        assert {file.verdict for file in report.files} == {Verdict.PASS}
        return replace(self, at=report.audited)

    def then(self, *statements: str) -> Main:
        """Return what somebody did to the table."""
        branch = unique("somebody")
        self.lake.branch(branch, self.at)
        self.by_somebody(branch, *statements)
        return replace(self, at=self.lake.head(branch))

    def by_somebody(self, branch: str, *statements: str) -> None:
        catalog = unique("theirs")
        open_catalog(self.spark, catalog, self.anything.catalog, Ref(branch))
        for statement in statements:
            self.spark.sql(
                statement.format(catalog=catalog, table=self.plan.table, name=f"{catalog}.{self.plan.table}")
            )

    def held(self, ref: str, *columns: str, table: str = "") -> list[tuple[Any, ...]]:
        """The rows at a reference, in their order: file version, id and name, or these columns."""
        found = self.inspection(ref, table).select(*(columns or (FILE_COLUMN, "id", "name"))).collect()
        return sorted((tuple(row) for row in found), key=str)

    def inspection(self, ref: str, table: str = "", of: str = "") -> Any:
        catalog = unique("look")
        open_catalog(self.spark, catalog, self.anything.catalog, Ref.parse(ref))
        return self.spark.table(f"{catalog}.{table or self.plan.table}{of}")

    def data_files(self, ref: str) -> dict[str, int]:
        return {
            row[0]: row[1] for row in self.inspection(ref, of=".files").select("file_path", "record_count").collect()
        }


def _replacing(file: JobFile, replaces: ReplacedFiles | None) -> JobFile:
    return replace(file, replaces=replaces) if replaces else file


def rewritten(*ids: str) -> ReplacedFiles:
    return ReplacedFiles(versions=tuple(f"v{file}" for file in ids), rewritten=ids)


@pytest.fixture(scope="module")
def main(cluster: SparkSession, lake: Lake) -> Callable[[Plan], Main]:
    spark = reaching(cluster, lake)

    def of(by: Plan) -> Main:
        anything = stage(lake, by, unique("wap-none"), lake.head(), {}).job
        return Main(spark=spark, lake=lake, run=run, plan=by, at=lake.head(), anything=anything)

    def run(job: Job) -> Report:
        return append_and_audit.append_and_audit(reaching(cluster, lake), job)

    return of


@pytest.fixture(scope="module")
def compacted(main: Callable[[Plan], Main]) -> Main:
    """Two files' rows in one data file. It is made once: whoever changes it has a branch of his own."""
    return main(a_plan()).published(**files((OLD, rows(1, 2)), (OTHER, rows(3, 4)))).then(*COMPACTED)


@pytest.fixture(scope="module")
def with_another(compacted: Main) -> Main:
    """A third one's beside."""
    return compacted.published(**files((THIRD, rows(6))))


def said(report: Report) -> dict[str, tuple[Verdict, int]]:
    return {file.id: (file.verdict, file.rows) for file in report.files}


def files(*pairs: tuple[str, bytes]) -> dict[str, bytes]:
    return {f"f{file}": body for file, body in pairs}


@pytest.mark.extended
def test_of_rows_compacted_with_others_just_the_replaced_leave(main: Callable[[Plan], Main]) -> None:
    table = main(a_plan()).published(**files((OLD, rows(1, 2)), (OTHER, rows(3, 4, name="c")))).then(*COMPACTED)
    [compacted] = table.data_files(table.ref)
    job = table.job({NEW: rows(1, 5, name="b")}, {NEW: rewritten(OLD)})
    report = table.run(job)
    assert table.held(job.branch) == [(NEW, 1, "b"), (NEW, 5, "b"), (OTHER, 3, "c"), (OTHER, 4, "even")]
    [file] = report.files
    own = {data.path for data in file.data_files}
    left = {path: number for path, number in table.data_files(job.branch).items() if path not in own}
    assert report.rewritten == Rewritten(
        data_files=(DataFile(path=compacted, rows=4),),
        left=tuple(DataFile(path=path, rows=number) for path, number in left.items()),
    )
    assert (said(report), sum(left.values())) == ({NEW: (Verdict.PASS, 2)}, 2)
    assert (file.replaces.rewritten_rows, file.replaces.rows, file.replaces.versions) == (2, 2, (f"v{OLD}",))
    assert report.audited == table.lake.head(job.branch)
    assert report.error == ""


def test_publish_finds_on_the_branch_just_what_the_report_says(
    main: Callable[[Plan], Main], monkeypatch: pytest.MonkeyPatch
) -> None:
    table = main(replace(a_plan(), partitions=("name",)))
    table = table.published(**files((OLD, rows(1, 2)), (OTHER, rows(3, 4)))).then(*COMPACTED)
    job = table.job({NEW: rows(1, 2)}, {NEW: rewritten(OLD)})
    report = table.run(job)
    for name, value in table.lake.environment.items():
        monkeypatch.setenv(name, value)
    tables = NessieTables(table.lake.nessie_uri, table.lake.warehouse)
    own = [data for file in report.files for data in file.data_files]
    assert tables.compare(table.plan.table, Ref(MAIN, job.base), Ref(job.branch, report.audited)) == FileChanges(
        adds=frozenset(data.path for data in (*own, *report.rewritten.left)),
        removes=frozenset(data.path for data in report.rewritten.data_files),
    )


@VARIANT
def test_two_files_may_replace_what_was_compacted_into_one_data_file(main: Callable[[Plan], Main]) -> None:
    old = files((OLD, rows(1, 2)), (OTHER, rows(3)), (THIRD, rows(4, 5, 6)))
    table = main(a_plan()).published(**old).then(*COMPACTED)
    replaces = {NEW: rewritten(OLD), NEWER: rewritten(THIRD), IDS[7]: rewritten(IDS[5])}
    job = table.job({NEW: rows(1), NEWER: rows(4), IDS[7]: b"no parquet"}, replaces)
    report = table.run(job)
    assert said(report) == {NEW: (Verdict.PASS, 1), NEWER: (Verdict.PASS, 1), IDS[7]: (Verdict.FAIL, 0)}
    assert [file.replaces.rewritten_rows for file in report.files] == [2, 3, 0]
    assert table.held(job.branch, FILE_COLUMN, "id") == [(NEW, 1), (OTHER, 3), (NEWER, 4)]
    assert [(data.rows) for data in (*report.rewritten.data_files, *report.rewritten.left)] == [6, 1]


@VARIANT
def test_what_a_file_replaces_leaves_with_it_where_another_cannot_be_read(compacted: Main) -> None:
    table = compacted
    unreadable = rewritten(OTHER)
    job = table.job({NEW: rows(1), NEWER: b"no parquet"}, {NEW: rewritten(OLD), NEWER: unreadable})
    report = table.run(job)
    assert table.held(job.branch, FILE_COLUMN, "id") == [(NEW, 1)]
    assert report.rewritten.left == ()
    assert (report.files[0].replaces.rewritten_rows, report.files[1].replaces) == (2, unreadable)


def test_the_same_job_again_takes_nothing_out_and_appends_once(
    compacted: Main, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = compacted
    job = table.job({NEW: rows(1, 5)}, {NEW: rewritten(OLD)})

    def dies(*_: object) -> None:
        raise RuntimeError("the driver died")

    with monkeypatch.context() as patch:
        patch.setattr(engine, "append", dies)
        with pytest.raises(RuntimeError, match="the driver died"):
            table.run(job)
    taken_out = table.lake.head(job.branch)
    assert table.held(str(Ref(job.branch, taken_out)), FILE_COLUMN, "id") == [(OTHER, 3), (OTHER, 4)]
    report = table.run(job)
    assert table.lake.commits(taken_out, job.branch) == 1
    assert table.held(job.branch, FILE_COLUMN, "id") == [(NEW, 1), (NEW, 5), (OTHER, 3), (OTHER, 4)]
    again = table.run(job)
    assert table.lake.head(job.branch) == report.audited == again.audited
    assert (again.rewritten, again.files) == (report.rewritten, report.files)
    assert [file.replaces.rewritten_rows for file in again.files] == [2]


@pytest.mark.parametrize("fault", [Fault.UNANSWERED, pytest.param(Fault.TWICE, marks=VARIANT)])
def test_a_commit_of_which_nobody_knows_ends_the_job_and_is_not_made_again(compacted: Main, fault: Fault) -> None:
    def meets(request: Request) -> tuple[Fault, int]:
        return (fault if request.commits_a_table else Fault.NONE), 0

    table = compacted
    job = table.job({NEW: rows(1)}, {NEW: rewritten(OLD)})
    with proxy(table.lake.nessie_uri, meets) as network, pytest.raises(Py4JJavaError):
        table.run(moved(job, network.uri))
    assert len(network.met) == 1
    assert table.lake.commits(job.base, job.branch) == 1
    assert said(table.run(job)) == {NEW: (Verdict.PASS, 1)}
    assert table.held(job.branch, FILE_COLUMN, "id") == [(NEW, 1), (OTHER, 3), (OTHER, 4)]


def test_a_table_that_somebody_changes_meanwhile_is_not_overwritten(main: Callable[[Plan], Main]) -> None:
    table = main(a_plan()).published(**files((OLD, rows(1, 2)))).then(*COMPACTED)
    job, catalog = table.job({}), unique("slow")
    open_catalog(table.spark, catalog, job.catalog, Ref(job.branch))
    loaded = iceberg.load(table.spark, catalog, table.plan.table)
    entries = iceberg.compare(table.spark, None, loaded).new_files.entries
    table.by_somebody(job.branch, *COMPACTED)
    head = table.lake.head(job.branch)
    with pytest.raises(FAILURES):
        overwrite(table.spark, loaded, entries.values(), table.inspection(job.branch).where("id = 1"))
    assert table.lake.head(job.branch) == head
    assert table.held(job.branch, "id") == [(1,), (2,)]


@VARIANT
def test_a_partitioned_and_ordered_table_stays_so(main: Callable[[Plan], Main]) -> None:
    by = replace(a_plan(), partitions=("name", "bucket(2, id)"))
    old = files((OLD, rows(*range(20))), (OTHER, rows(*range(20, 40), name="c")))
    table = main(by).published(**old).then("ALTER TABLE {name} WRITE ORDERED BY id DESC", *COMPACTED)
    job = table.job({NEW: rows(1, 2)}, {NEW: rewritten(OLD)})
    report = table.run(job)
    kept = [row for row in table.held(job.branch) if row[0] == OTHER]
    assert kept == [row for row in table.held(table.ref) if row[0] == OTHER]
    assert (said(report), len(kept)) == ({NEW: (Verdict.PASS, 2)}, 20)
    assert [row[:2] for row in table.held(job.branch) if row[0] != OTHER] == [(NEW, 1), (NEW, 2)]
    left = [data.path for data in report.rewritten.left]
    in_files = table.inspection(job.branch, of=".files").where(f"file_path IN ({', '.join(map(repr, left))})")
    gone = [data.rows for data in report.rewritten.data_files]
    assert (len(gone), sum(gone)) == (4, 30)  # not those of its partition that hold no such row
    assert {row["sort_order_id"] for row in in_files.collect()} == {1}
    assert len(left) == 2 == in_files.select("partition").distinct().count()


NESTED = {"deep": "struct<a: int, b: array<struct<c: string>>>", "named": "map<string, bigint>"}


def nested(*ids: int, **more: Any) -> bytes:
    deep = pa.array(
        [{"a": number, "b": [{"c": str(number)}, None]} if number % 2 else None for number in ids],
        pa.struct([("a", pa.int32()), ("b", pa.list_(pa.struct([("c", pa.string())])))]),
    )
    named = pa.array([[("x", number)] for number in ids], pa.map_(pa.string(), pa.int64()))
    return rows(*ids, deep=deep, named=named, **more)


@VARIANT
def test_nested_columns_and_columns_that_came_or_widened_later_stay_as_they_are(main: Callable[[Plan], Main]) -> None:
    by = a_plan(n="int", **NESTED)
    n, wide = pa.array([1, None], pa.int32()), pa.array([2**40, None], pa.int64())
    table = main(by).published(**files((OLD, nested(1, 2, n=n)), (OTHER, nested(3, 4, n=n)))).then(*COMPACTED)
    grown = a_plan(n="bigint", **NESTED, late="string")
    grown = replace(grown, table=by.table, contract_hash="h2")
    table = replace(table, plan=grown)
    job = table.job({NEW: nested(5, 6, n=wide, late=["x", "y"])}, {NEW: rewritten(OLD)})
    report = table.run(job)
    assert said(report) == {NEW: (Verdict.PASS, 2)}
    deep = [None if number % 2 == 0 else (number, [(str(number),), None]) for number in (3, 4, 5, 6)]
    assert [tuple(row[2:]) for row in table.held(job.branch, FILE_COLUMN, "id", "deep", "named", "n", "late")] == [
        (deep[2], {"x": 5}, 2**40, "x"),
        (deep[3], {"x": 6}, None, "y"),
        (deep[0], {"x": 3}, 1, None),
        (deep[1], {"x": 4}, None, None),
    ]


@VARIANT
def test_rows_of_no_file_version_stay(main: Callable[[Plan], Main]) -> None:
    own = "INSERT INTO {name} VALUES (7, 'own', NULL)"
    table = main(a_plan()).published(**files((OLD, rows(1, 2)))).then(own, *COMPACTED)
    job = table.job({NEW: rows(1)}, {NEW: rewritten(OLD)})
    assert said(table.run(job)) == {NEW: (Verdict.PASS, 1)}
    assert table.held(job.branch) == [(NEW, 1, "a"), (None, 7, "own")]


@VARIANT
def test_a_data_file_of_which_nothing_is_left_is_only_taken_off(main: Callable[[Plan], Main]) -> None:
    table = main(a_plan()).published(**files((OLD, rows(1, 2)), (OTHER, rows(3))))
    table = table.then("DELETE FROM {name} WHERE id = 2")
    assert sorted(table.data_files(table.ref).values()) == [1, 1]
    job = table.job({NEW: rows(5)}, {NEW: rewritten(OLD)})
    report = table.run(job)
    assert ([data.rows for data in report.rewritten.data_files], report.rewritten.left) == ([1], ())
    assert [file.replaces.rewritten_rows for file in report.files] == [1]
    assert table.held(job.branch, FILE_COLUMN, "id") == [(NEW, 5), (OTHER, 3)]


@VARIANT
def test_data_files_that_are_there_still_leave_by_metadata_and_the_rest_by_rows(main: Callable[[Plan], Main]) -> None:
    by = replace(a_plan(), partitions=("name",))
    in_part = COMPACTED[0].replace("options", "where => 'name = \"a\"', options")
    table = main(by).published(**files((OLD, rows(1, 2)), (OTHER, rows(3)))).then(in_part)
    [there] = [path for path in table.data_files(table.ref) if "name=even" in path]
    replaces = replace(rewritten(OLD), data_files=(DataFile(path=there, rows=1),))
    job = table.job({NEW: rows(5)}, {NEW: replaces})
    table.by_somebody(job.branch, "DELETE FROM {name} WHERE name = 'even'")  # as taking it off by metadata does
    report = table.run(job)
    assert table.held(job.branch, FILE_COLUMN, "id") == [(NEW, 5), (OTHER, 3)]
    [file] = report.files
    assert (file.replaces.rewritten_rows, file.replaces.rows) == (1, 2)
    assert [data.rows for data in report.rewritten.data_files] == [2]


def test_ids_without_rows_commit_nothing(compacted: Main) -> None:
    table = compacted
    job = table.job({NEW: rows(4)}, {NEW: rewritten(IDS[1])})
    report = table.run(job)
    assert (said(report), report.rewritten) == ({NEW: (Verdict.PASS, 1)}, Rewritten())
    assert report.files[0].replaces == rewritten(IDS[1])
    before = table.job({NEW: rows(4)})
    table.run(before)
    assert table.lake.commits(job.base, job.branch) == table.lake.commits(before.base, before.branch)
    assert set(table.data_files(table.ref)) < set(table.data_files(job.branch))


KEY = duplicates("id", scope=Scope.TABLE)
NUMBER = Metric(id="number", kind=MetricKind.ROWS, scope=Scope.TABLE)


def test_the_table_is_judged_without_the_replaced_rows(main: Callable[[Plan], Main]) -> None:
    by = a_plan(KEY, boss="bigint")
    boss = orphans(["boss"], by.table, ["id"])
    number = replace(none_of(NUMBER), operator=Operator.LESS_OR_EQUAL, threshold=(4,))
    by = replace(by, metrics=(*by.metrics, boss, NUMBER), checks=(*by.checks, none_of(boss), number))

    def staff(*ids: int, boss: int | None = None) -> bytes:
        return rows(*ids, boss=pa.array([boss] * len(ids), pa.int64()))

    table = main(by).published(**files((OLD, staff(1, 2)), (OTHER, staff(3)))).then(*COMPACTED)
    job = table.job({NEW: staff(1, 2, 4)}, {NEW: rewritten(OLD)})
    assert table.run(job).files[0].reasons == ()
    refused = table.job({NEW: staff(3, 5, 6, 7, boss=1)}, {NEW: rewritten(OLD)})
    [file] = table.run(refused).files
    assert file.reasons == (
        "duplicates-id: 1 of 4 rows, expected none",
        "orphans-boss: 4 of 4 rows, expected none",
        "number: 5, expected at most 4",
    )
    assert [row["id"] for row in file.checks[1].sample] == [3]


@pytest.mark.extended
def test_rows_are_put_aside_beside_what_is_left(main: Callable[[Plan], Main]) -> None:
    low = failing("x", "COALESCE(x < 0, FALSE)")
    by = replace(a_plan(x="double"), budget=Budget(rows=4), partitions=("name",))
    by = replace(by, metrics=(*by.metrics, low), checks=(*by.checks, none_of(low, Severity.QUARANTINE)))
    old = files((OLD, rows(1, 2, x=[1.0, 1.0])), (OTHER, rows(3, 4, x=[1.0, 1.0])), (THIRD, rows(5, x=[1.0])))
    table = main(by).published(**old).then(*COMPACTED)
    job = table.job({NEWER: rows(1, 2, 5, x=[1.0, -1.0, -2.0])}, {NEWER: rewritten(OLD)})
    report = table.run(job)
    [file] = report.files
    assert (file.verdict, file.rows, file.quarantined_rows) == (Verdict.QUARANTINE, 1, 2)
    assert table.held(job.branch, FILE_COLUMN, "id") == [(OTHER, 3), (OTHER, 4), (NEWER, 1), (THIRD, 5)]
    assert table.held(job.branch, FILE_COLUMN, table=quarantine_of(by.table)) == [(NEWER,), (NEWER,)]
    assert (sum(data.rows for data in report.rewritten.left), file.replaces.rewritten_rows) == (3, 2)
    assert report.audited == table.lake.head(job.branch)


@VARIANT
def test_rows_are_put_aside_of_a_table_that_somebody_has_compacted(main: Callable[[Plan], Main]) -> None:
    low = failing("x", "COALESCE(x < 0, FALSE)")
    by = replace(a_plan(x="double"), budget=Budget(rows=4))
    by = replace(by, metrics=(*by.metrics, low), checks=(*by.checks, none_of(low, Severity.QUARANTINE)))
    table = main(by).published(**files((OLD, rows(1, x=[1.0])), (OTHER, rows(3, x=[1.0])))).then(*COMPACTED)
    job = table.job({NEW: rows(1, 2, x=[1.0, -1.0])})
    report = table.run(job)
    assert (said(report), report.rewritten) == ({NEW: (Verdict.QUARANTINE, 1)}, Rewritten())
    assert table.held(job.branch, FILE_COLUMN, "id") == [(OLD, 1), (NEW, 1), (OTHER, 3)]


MERGE_ON_READ = "ALTER TABLE {name} SET TBLPROPERTIES ('write.delete.mode' = 'merge-on-read')"


def advised(error: str) -> tuple[str, ...]:
    """Return what somebody does who is told so, in a catalog of his own."""
    [call] = re.findall(r"run twice, in Spark, (CALL system\.\S+\(.*\)\)), then run lakegate retry", error)
    return (call.replace("CALL ", "CALL {catalog}."),) * 2


@VARIANT
def test_whatever_the_tables_mode_of_deletes_no_delete_file_is_written(compacted: Main) -> None:
    table = compacted.then(MERGE_ON_READ)
    job = table.job({NEW: rows(1)}, {NEW: rewritten(OLD)})
    assert said(table.run(job)) == {NEW: (Verdict.PASS, 1)}
    assert table.inspection(job.branch, of=".all_delete_files").count() == 0
    assert table.held(job.branch, FILE_COLUMN, "id") == [(NEW, 1), (OTHER, 3), (OTHER, 4)]


@pytest.mark.extended
def test_a_table_with_delete_files_is_told_and_left_alone_until_it_has_none(compacted: Main) -> None:
    table = compacted.then(MERGE_ON_READ, "DELETE FROM {name} WHERE id = 4")
    job = table.job({NEW: rows(1)}, {NEW: rewritten(OLD)})
    report = table.run(job)
    assert said(report) == {NEW: (Verdict.FAIL, 0)}
    for part in (job.batch, table.plan.table, job.branch, "delete files", f"lakegate retry {job.batch}"):
        assert part in report.error
    assert table.held(job.branch, FILE_COLUMN, "id") == [(OLD, 1), (OLD, 2), (OTHER, 3)]

    mended = table.then(*advised(report.error))
    job = mended.job({NEW: rows(1)}, {NEW: rewritten(OLD)})
    assert said(mended.run(job)) == {NEW: (Verdict.PASS, 1)}
    assert mended.held(job.branch, FILE_COLUMN, "id") == [(NEW, 1), (OTHER, 3)]


def delete_by_value(spark: SparkSession, table: Any, folder: Path, number: int) -> None:
    """As Flink does it: a file that has the values whose rows are deleted (its id is the first column's)."""
    gateway: Any = spark.sparkContext._gateway
    java, ids = jvm(spark), gateway.new_array(jvm(spark).int, 1)
    ids[0] = 1
    path, column = folder / "deletes.parquet", pa.field("id", pa.int64(), metadata={"PARQUET:field_id": "1"})
    pq.write_table(pa.table({"id": [number]}, schema=pa.schema([column])), path)
    file = java.org.apache.iceberg.FileMetadata.deleteFileBuilder(table.spec()).ofEqualityDeletes(ids)
    file = file.withPath(f"file:{path}").withFormat("PARQUET").withFileSizeInBytes(path.stat().st_size)
    table.newRowDelta().addDeletes(file.withRecordCount(1).build()).commit()


@VARIANT
def test_what_is_advised_helps_whatever_kind_the_delete_files_are_of(spark: SparkSession, tmp_path: Path) -> None:
    spark.sql(f"CREATE TABLE {LAKE}.nyc.flights (id bigint) USING iceberg TBLPROPERTIES ('format-version' = '2')")
    spark.sql(f"INSERT INTO {LAKE}.nyc.flights VALUES (1), (2), (3)")
    for statement in (MERGE_ON_READ, "DELETE FROM {name} WHERE id = 1"):
        spark.sql(statement.format(name=f"{LAKE}.nyc.flights"))
    delete_by_value(spark, iceberg.load(spark, LAKE, "nyc.flights"), tmp_path, 3)
    for statement in advised(DELETE_FILES):
        assert iceberg.has_deletes(spark, iceberg.load(spark, LAKE, "nyc.flights"))
        spark.sql(statement.format(catalog=LAKE, table="nyc.flights"))
    assert not iceberg.has_deletes(spark, iceberg.load(spark, LAKE, "nyc.flights"))
    assert [tuple(row) for row in spark.table(f"{LAKE}.nyc.flights").collect()] == [(2,)]


@VARIANT
def test_rows_that_delete_files_hide_at_the_base_prove_nothing(compacted: Main) -> None:
    table = compacted.then(MERGE_ON_READ, "DELETE FROM {name} WHERE id = 4")
    job = table.job({NEW: rows(1)}, {NEW: rewritten(OLD)})
    table.by_somebody(job.branch, *advised(DELETE_FILES))
    with pytest.raises(JobError, match=f"has delete files.* lakegate retry {job.batch}"):
        table.run(job)


STRANGE = {
    "another file version": f"INSERT INTO {{name}} VALUES (9, 'x', '{IDS[7]}')",
    "no file version": "INSERT INTO {name} VALUES (9, 'x', NULL)",
    "what is left, twice": f"INSERT INTO {{name}} VALUES (3, 'a', '{OTHER}')",
    "what was replaced, again": f"INSERT INTO {{name}} VALUES (1, 'a', '{OLD}')",
    "less than was left": "DELETE FROM {name} WHERE id = 4",
    "another data file is gone": "DELETE FROM {name} WHERE id = 6",
    "the batch's rows among others": COMPACTED[0],
}


@pytest.mark.parametrize("statement", STRANGE.values(), ids=STRANGE.keys())
@pytest.mark.share(2)
def test_a_branch_that_a_stranger_has_touched_is_refused(
    with_another: Main, monkeypatch: pytest.MonkeyPatch, statement: str
) -> None:
    table = with_another
    job, append = table.job({NEW: rows(1)}, {NEW: rewritten(OLD)}), appending.append

    def and_then(*arguments: Any) -> list[Inspection]:
        inspections = append(*arguments)
        table.by_somebody(job.branch, statement)
        return inspections

    monkeypatch.setattr(engine, "append", and_then)
    with pytest.raises(JobError, match=f"lakegate retry {job.batch}"):
        table.run(job)


@pytest.mark.parametrize(
    ("x", "told"),
    [
        pytest.param([1.0], "does not hold each file of the batch once", id="no row is put aside", marks=VARIANT),
        pytest.param([1.0, -1.0], "an earlier run of this job has written there", id="a row is put aside"),
    ],
)
def test_a_stranger_in_the_quarantine_is_refused(main: Callable[[Plan], Main], x: list[float], told: str) -> None:
    low = failing("x", "COALESCE(x < 0, FALSE)")
    by = replace(a_plan(x="double"), budget=Budget(rows=4))
    by = replace(by, metrics=(*by.metrics, low), checks=(*by.checks, none_of(low, Severity.QUARANTINE)))
    table = main(by)
    first = table.run(table.job({OLD: rows(1, 2, x=[1.0, -1.0]), OTHER: rows(3, x=[1.0])}))
    table = replace(table, at=first.audited).then(*COMPACTED)
    replaces = replace(rewritten(OLD), quarantined=first.files[0].quarantined)
    job = table.job({NEW: rows(*range(len(x)), x=x)}, {NEW: replaces})
    aside = table_name("{catalog}", quarantine_of(by.table))
    table.by_somebody(
        job.branch,
        f"DELETE FROM {aside} WHERE true",
        f"INSERT INTO {aside} VALUES ('{IDS[7]}'{', NULL' * 9})",
    )
    with pytest.raises(JobError, match=told):
        table.run(job)


def test_the_proof_holds_what_was_lost_against_what_is_left() -> None:
    job = unrun(JobFile(id=NEW, key="k", uri="", size=1, replaces=rewritten(OLD)))
    others: dict[str | None, int] = {OTHER: 3, None: 1}
    base = RowCounts(replaced_rows={"a": {OLD: 2}, "b": {OLD: 1}}, other_rows=others)
    prove_removed(job, base, RowCounts(other_rows=dict(reversed(others.items()))), 0)
    with pytest.raises(JobError, match="its base has lost 1 data file that held nothing"):
        prove_removed(
            job, replace(base, replaced_rows={**base.replaced_rows, "c": {}}), RowCounts(other_rows=others), 0
        )
    with pytest.raises(JobError, match="rows that the batch replaces are still in 7 data files"):
        prove_removed(job, base, RowCounts(other_rows=others), 7)
    wrong: list[dict[str | None, int]] = [{}, {OTHER: 3}, {OTHER: 2, None: 1}, {OTHER: 4, None: 1}, {**others, NEW: 1}]
    for left in wrong:
        with pytest.raises(
            JobError, match=f"its rewritten data files do not keep the rows of .* lakegate retry {job.batch}"
        ):
            prove_removed(job, base, RowCounts(other_rows=left), 0)
