"""The express lane's job on a real Nessie and an S3 emulator: what it appends, proves, reports, and hands over."""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from jsonschema import Draft202012Validator
from pyiceberg.schema import Schema
from pyiceberg.types import NestedField, StringType

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.iceberg.manifests import data_files
from lakegate.adapters.lake import IcebergLake
from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.codec import to_json, to_plain
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import (
    Budget,
    Metric,
    MetricKind,
    Mode,
    Operator,
    Plan,
    Proof,
    SchemaPolicy,
    Scope,
    Severity,
    Stance,
    TableColumn,
)
from lakegate.audit.model.report import DataFile, ReplacedFiles, Report, Source, Verdict
from lakegate.audit.ref import Ref
from lakegate.audit.schema.fit import CONTRACT_HASH
from lakegate.cli.terminal import sound
from lakegate.express.attempt import Attempt
from lakegate.express.job import RUN_MARK, Outcome, run_job
from lakegate.express.limits import Limits
from lakegate.express.process import Process
from lakegate.ports import FileChanges
from lakegate.publishing.nessie import NessieTables
from tests.support.data_files import data_file
from tests.support.jobs import catalog_of, has_begun, parquet, report_of, stage
from tests.support.lanes import for_express, handed_over, make_table
from tests.support.nessie import ROOT, Lake, unique
from tests.support.plans import duplicates, failing, none_of, nulls, orphans, plan
from tests.support.proxy import Fault, Request, proxy
from tests.support.registered_files import register
from tests.support.schemas import of_report
from tests.support.tables import rows_of

pytestmark = pytest.mark.nessie
IDS = tuple(f"{number:020x}" for number in range(1, 10))
METRICS = (
    nulls("id"),
    failing("x", "COALESCE(x < 0, FALSE)", Proof(column="x", minimum=0)),
    failing("name", "COALESCE(name NOT IN ('a', 'b'), FALSE)"),
    duplicates("id"),
)
TAKEN_KEYS = duplicates("id", scope=Scope.TABLE)
ALL_ROWS = Metric(id="all-rows", kind=MetricKind.ROWS, scope=Scope.TABLE)
COLUMNS = {"id": "bigint", "name": "string", "x": "double", "at": "timestamp"}


@pytest.fixture(autouse=True)
def _storage(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)


def a_plan(*partitions: str, **more: Any) -> Plan:
    return replace(plan(f"{unique('nyc')}.flights", COLUMNS, METRICS, partitions), **more)


def rows(*ids: int | None, name: str = "a", x: float = 1.0, month: int = 1) -> bytes:
    columns = {
        "id": pa.array(ids, pa.int64()),
        "name": pa.array([name] * len(ids), pa.string()),
        "x": pa.array([x] * len(ids), pa.float64()),
        "at": pa.array([datetime(2013, month, 31, 5, tzinfo=UTC)] * len(ids), pa.timestamp("us", "UTC")),
    }
    return parquet(pa.table(columns))


def job_for(lake: Lake, by: Plan, *files: bytes, makes: bool = True, base: str = "", **more: Any) -> tuple[str, Job]:
    """A job on a branch of its own, whose base has the table, empty unless the base is given."""
    founding, branch = unique("founding"), unique("wap-flights")
    lake.branch(founding, base or None)
    if makes and not base:
        make_table(lake, by, founding)
    base = lake.branch(branch, lake.head(founding))
    staged = stage(lake, by, branch, base, dict(zip(IDS, files, strict=False)))
    job = replace(for_express(lake, staged.job), **more)
    freeze(lake, staged.uri, job)
    return staged.uri, job


def freeze(lake: Lake, uri: str, job: Job) -> None:
    key = uri.removeprefix(f"s3://{lake.bucket}/")
    lake.s3().put_object(Bucket=lake.bucket, Key=key, Body=to_json(job).encode())


def reported(lake: Lake, by: Plan, *files: bytes, base: str = "") -> tuple[Job, Report]:
    uri, job = job_for(lake, by, *files, base=base)
    assert run_job(uri, Process()) is Outcome.REPORTED, handed_over(lake, job)
    return job, report_of(lake, job)


def held(lake: Lake, job: Job, ref: Ref | None = None, table: str = "") -> Mapping[str, Any]:
    """The data files of the branch's table, by path."""
    catalog = RefCatalog(lake.nessie_uri, lake.warehouse, ref or Ref(job.branch))
    found = catalog.find_table(table or job.plan.table)
    return data_files(found) if found else {}


def test_good_files_pass_and_each_bad_one_is_told_its_own_fault(lake: Lake) -> None:
    strange = parquet(pa.table({"id": pa.array([1], pa.int64()), "other": ["a"]}))
    job, report = reported(
        lake, a_plan(), rows(1, 2, 3), rows(4, None), rows(5, 5), rows(6, x=-1.0), b"", strange, rows(7, name="c")
    )
    Draft202012Validator(of_report()).validate(sound(to_plain(report)))
    assert {file.id: file.reasons for file in report.files} == {
        IDS[0]: (),
        IDS[1]: ("nulls-id: 1 of 2 rows, expected none",),
        IDS[2]: ("duplicates-id: 1 of 2 rows, expected none",),
        IDS[3]: ("failing-x: 1 of 1 row, expected none",),
        IDS[4]: ("it is empty: 0 bytes",),
        IDS[5]: (
            'column "name" is missing',
            'column "x" is missing',
            'column "at" is missing',
            'column "other" is not in the contract',
        ),
        IDS[6]: ("failing-name: 1 of 1 row, expected none",),
    }
    assert report.audited == lake.head(job.branch) != job.base
    there = held(lake, job, Ref(job.branch, report.audited))
    assert {data.path: data.rows for file in report.files for data in file.data_files} == {
        path: file.record_count for path, file in there.items()
    }


def test_statistics_prove_what_they_can(lake: Lake) -> None:
    """But no range of floats: PyIceberg counts no NaN."""
    _, report = reported(lake, a_plan(), rows(1, 2))
    assert {check.name: check.source for check in report.files[0].checks} == {
        "nulls-id": Source.STATISTICS,
        "failing-x": Source.AGGREGATE,
        "failing-name": Source.AGGREGATE,
        "duplicates-id": Source.QUERY,
    }


def test_a_data_file_holds_rows_of_one_file_and_one_partition(lake: Lake) -> None:
    two = parquet(pa.concat_tables([_table(rows(1, month=1)), _table(rows(2, 3, month=3))]))
    job, report = reported(lake, a_plan("months(`at`)"), two, rows(4, month=3))
    assert [[data.rows for data in file.data_files] for file in report.files] == [[1, 2], [1]]
    assert sorted((file.partition[0], file.record_count) for file in held(lake, job).values()) == [
        (516, 1),
        (518, 1),
        (518, 2),
    ]


def _table(body: bytes) -> pa.Table:
    return pq.read_table(pa.BufferReader(body))


def loses_commits(request: Request) -> tuple[Fault, int]:
    return (Fault.UNANSWERED if request.commits_a_table else Fault.NONE), 0


def refuses_commits(request: Request) -> tuple[Fault, int]:
    return (Fault.LOST if request.commits_a_table else Fault.NONE), 0


def test_a_commit_whose_answer_is_lost_is_looked_at_and_never_repeated(lake: Lake) -> None:
    with proxy(lake.nessie_uri, loses_commits) as network:
        uri, job = job_for(lake, a_plan(), rows(1), catalog=catalog_of(replace(lake, nessie_uri=network.uri)))
        assert run_job(uri, Process()) is Outcome.REPORTED
    assert len(network.met) == 1
    assert lake.commits(job.base, job.branch) == 1
    assert report_of(lake, job).files[0].verdict is Verdict.PASS


def test_a_commit_that_is_lost_cuts_the_job_off_and_is_not_repeated(lake: Lake) -> None:
    with proxy(lake.nessie_uri, refuses_commits) as network:
        uri, job = job_for(lake, a_plan(), rows(1), catalog=catalog_of(replace(lake, nessie_uri=network.uri)))
        assert run_job(uri, Process()) is Outcome.CUT_OFF
    assert len(network.met) == 1
    assert (lake.commits(job.base, job.branch), has_begun(lake, job)) == (0, False)


def test_a_job_without_nessie_does_not_come_to_its_files(lake: Lake) -> None:
    uri, job = job_for(lake, a_plan(), rows(1), catalog=catalog_of(replace(lake, nessie_uri="http://127.0.0.1:1")))
    assert run_job(uri, Process()) is Outcome.CUT_OFF
    assert not has_begun(lake, job)


def test_only_one_run_works_on_an_attempt(lake: Lake) -> None:
    uri, job = job_for(lake, a_plan(), rows(1))
    assert [run_job(uri, Process()), run_job(uri, Process())] == [Outcome.REPORTED, Outcome.TAKEN]
    assert lake.commits(job.base, job.branch) == 1
    key = f"{job.begun_uri}/{RUN_MARK}".removeprefix(f"s3://{lake.bucket}/")
    lake.s3().head_object(Bucket=lake.bucket, Key=key)


@pytest.mark.parametrize(
    ("files", "more", "limits", "says"),
    [
        ((rows(1),), {"files": FileFormat(kind=FileKind.CSV)}, Limits(), "Only Spark reads files of format csv."),
        ((b"text",), {}, Limits(), "is no parquet file"),
        ((rows(1, 2),), {}, Limits(rows=1), "The batch has 2 rows, and the express engine takes 1."),
        ((rows(1, 2),), {}, Limits(arrow=8), "take more memory"),
        ((rows(1), rows(2)), {}, Limits(files=1), "The batch has 2 files"),
    ],
)
def test_what_is_not_for_this_engine_is_handed_over_before_a_byte_is_on_the_branch(
    lake: Lake, files: tuple[bytes, ...], more: dict[str, Any], limits: Limits, says: str
) -> None:
    uri, job = job_for(lake, a_plan(**more), *files)
    assert run_job(uri, Process(limits)) is Outcome.HANDED_OVER
    assert says in handed_over(lake, job)
    assert lake.head(job.branch) == job.base
    assert not held(lake, job)
    with pytest.raises(lake.s3().exceptions.NoSuchKey):
        report_of(lake, job)


def test_a_table_says_by_which_contract_it_was_written_last(lake: Lake) -> None:
    by = a_plan()
    uri, job = job_for(lake, by, rows(1), plan=replace(by, contract_hash="h2"))
    assert run_job(uri, Process()) is Outcome.REPORTED, handed_over(lake, job)
    table = RefCatalog(lake.nessie_uri, lake.warehouse, Ref(job.branch)).find_table(by.table)
    assert table is not None
    assert table.properties[CONTRACT_HASH] == "h2"
    assert "commit.retry.num-retries" not in table.properties


def test_a_table_whose_columns_are_to_change_is_handed_over(lake: Lake) -> None:
    by = a_plan()
    lenient = SchemaPolicy(missing_columns=Stance.ALLOW, new_columns=Stance.DISCARD)
    for columns in (by.columns[:-1], (*by.columns, TableColumn(name="more", type="int"))):
        other = replace(by, contract_hash="h2", columns=columns, policy=lenient)
        uri, job = job_for(lake, by, rows(1), plan=other)
        assert run_job(uri, Process()) is Outcome.HANDED_OVER
        assert "columns" in handed_over(lake, job)
        assert lake.head(job.branch) == job.base


def test_a_table_that_is_not_there_is_created_on_the_branch(lake: Lake) -> None:
    uri, job = job_for(lake, a_plan("months(`at`)", "`name`"), rows(1), rows(2), makes=False)
    assert run_job(uri, Process()) is Outcome.REPORTED, handed_over(lake, job)
    assert [file.verdict for file in report_of(lake, job).files] == [Verdict.PASS, Verdict.PASS]
    assert sum(file.record_count for file in held(lake, job).values()) == 2
    assert not held(lake, job, Ref(job.branch, job.base))


def test_a_key_that_the_table_has_is_handed_over_and_new_ones_pass(lake: Lake) -> None:
    some = replace(none_of(ALL_ROWS), operator=Operator.GREATER_THAN)
    by = replace(a_plan(), metrics=(TAKEN_KEYS, ALL_ROWS), checks=(none_of(TAKEN_KEYS), some))
    _, first = reported(lake, by, rows(1, 2), rows(3))
    assert [check.value for check in first.files[1].checks] == [0, 3]
    _, second = reported(lake, by, rows(4), rows(5, None, None), base=first.audited)
    assert [[check.value for check in file.checks] for file in second.files] == [[0, 4], [0, 7]]
    assert second.depends_on == (by.table,)
    for files in ((rows(6), rows(3)), (rows(7), rows(7))):
        uri, job = job_for(lake, by, *files, base=first.audited)
        assert run_job(uri, Process()) is Outcome.HANDED_OVER
        assert "A key repeats" in handed_over(lake, job)


def test_a_version_that_was_taken_off_before_is_replaced_and_its_keys_are_free(lake: Lake) -> None:
    by = replace(a_plan("`name`"), metrics=(TAKEN_KEYS,), checks=(none_of(TAKEN_KEYS),))
    _, first = reported(lake, by, rows(1), rows(2, 3))
    old = first.files[1]
    uri, job = job_for(lake, by, rows(3, 4), base=first.audited)
    gone = frozenset(data.path for data in old.data_files)
    replaces = ReplacedFiles(versions=(old.id,), data_files=old.data_files)
    job = replace(job, files=(replace(job.files[0], id=IDS[5], replaces=replaces),))
    freeze(lake, uri, job)
    refused = run_job(uri, Process())
    assert refused is Outcome.FAILED  # its rows are still there
    uri, other = job_for(lake, by, rows(3, 4), base=first.audited)
    NessieTables(lake.nessie_uri, lake.warehouse).remove(by.table, other.branch, gone)
    other = replace(other, files=(replace(other.files[0], id=IDS[5], replaces=replaces),))
    freeze(lake, uri, other)
    assert run_job(uri, Process()) is Outcome.REPORTED, handed_over(lake, other)
    [file] = report_of(lake, other).files
    assert (file.verdict, file.rows, file.replaces) == (Verdict.PASS, 2, replaces)
    assert held(lake, other).keys() == {data.path for data in (*first.files[0].data_files, *file.data_files)}


def test_a_key_that_refers_to_nothing_is_handed_over_and_others_pass(lake: Lake) -> None:
    parents = a_plan()
    _, known = reported(lake, parents, rows(1, 2, 3))
    refers = orphans(["id"], parents.table, ["id"])
    by = replace(a_plan(), metrics=(refers,), checks=(none_of(refers),))
    for_two, for_none = rows(1, None, 3), rows(2, 4)
    _, report = reported(lake, by, for_two, base=_with_table(lake, by, known.audited))
    assert [(check.value, check.verdict) for check in report.files[0].checks] == [(0, Verdict.PASS)]
    uri, job = job_for(lake, by, for_none, base=_with_table(lake, by, known.audited))
    assert run_job(uri, Process()) is Outcome.HANDED_OVER
    assert "refers to nothing" in handed_over(lake, job)


def _with_table(lake: Lake, by: Plan, base: str) -> str:
    """A commit that has the table beside those of another one."""
    founding = unique("founding")
    lake.branch(founding, base)
    make_table(lake, by, founding)
    return lake.head(founding)


def test_rows_for_quarantine_leave_their_file_and_the_rest_stays(lake: Lake) -> None:
    aside = tuple(none_of(metric, Severity.QUARANTINE) for metric in METRICS)
    by = a_plan("`name`", checks=aside, budget=Budget(percent=50))
    job, report = reported(lake, by, rows(1, 2), rows(3, 3, 4, 5))
    assert [(file.verdict, file.rows, file.quarantined_rows) for file in report.files] == [
        (Verdict.PASS, 2, 0),
        (Verdict.QUARANTINE, 3, 1),
    ]
    [data] = report.files[1].quarantined
    assert list(held(lake, job, table=quarantine_of(by.table))) == [data.path]
    assert {data.path for file in report.files for data in file.data_files} == held(lake, job).keys()
    job, report = reported(lake, replace(by, mode=Mode.OBSERVE), rows(1, 2), rows(3, 3, 4, 5), rows(9, 9, 9))
    assert [(file.verdict, file.rows, file.would_quarantine) for file in report.files] == [
        (Verdict.PASS, 2, 0),
        (Verdict.WOULD_QUARANTINE, 4, 1),
        (Verdict.WOULD_FAIL, 3, 0),
    ]
    assert len(held(lake, job)) == len(report.files)
    assert not held(lake, job, table=quarantine_of(by.table))
    job, report = reported(lake, by, rows(7, 8), rows(9, 9, 9))  # more than the budget takes
    assert [(file.verdict, file.rows) for file in report.files] == [(Verdict.PASS, 2), (Verdict.FAIL, 3)]
    assert not held(lake, job, table=quarantine_of(by.table))


def test_a_value_that_only_spark_knows_is_handed_over(lake: Lake) -> None:
    """Spark accepts more spellings of a moment than DuckDB."""
    metric = failing("name", "COALESCE(CAST(name AS TIMESTAMP) > x, FALSE)".replace("> x", "> at"))
    by = replace(a_plan(), metrics=(metric,), checks=(none_of(metric),))
    uri, job = job_for(lake, by, rows(1, name="2013-1-1 5:00"))
    assert run_job(uri, Process()) is Outcome.HANDED_OVER
    assert "only Spark can say" in handed_over(lake, job)


# What the function does with the jobs that it is given, within so many megabytes.
CALLS = """
import sys
from types import SimpleNamespace
from handlers.express import handler
from lakegate.audit.model.job import parse_job
from lakegate.express.objects import Objects
for uri in sys.argv[2:]:
    call = {"job": uri, "branch": parse_job(Objects().read(uri)).branch}
    print(handler(call, SimpleNamespace(memory_limit_in_mb=sys.argv[1]))["outcome"])
"""
MEGABYTES = 1200


def deep(*, as_dictionary: bool) -> bytes:
    """A small file of 65,000 rows, each of which is the same eight megabytes: half a terabyte."""
    texts = pa.DictionaryArray.from_arrays(pa.array([0] * 65_000, pa.int32()), ["x" * 2**23])
    columns = {"id": pa.array(range(65_000), pa.int64()), "name": texts}
    columns |= {"x": pa.nulls(65_000, pa.float64()), "at": pa.nulls(65_000, pa.timestamp("us", "UTC"))}
    pq.write_table(
        pa.table(columns), sink := BytesIO(), compression="zstd", dictionary_pagesize_limit=2**25,
        store_schema=as_dictionary,
    )  # fmt: skip
    return sink.getvalue()


@pytest.mark.parametrize("as_dictionary", [pytest.param(True, marks=pytest.mark.extended), False])
def test_a_file_that_takes_more_memory_than_there_is_ends_no_function(
    lake: Lake,
    as_dictionary: bool,  # noqa: FBT001 - a parameter of the test
) -> None:
    uri, job = job_for(lake, a_plan(), deep(as_dictionary=as_dictionary))
    assert job.files[0].size < 200_000
    after, _ = job_for(lake, a_plan(), rows(1, 2))
    command = [sys.executable, "-c", CALLS, str(MEGABYTES), uri, after]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.stdout.splitlines() == ["handed over", "reported"], done.stderr
    assert lake.head(job.branch) == job.base
    assert handed_over(lake, job)


def registered(lake: Lake, by: Plan, *files: bytes) -> tuple[str, dict[str, DataFile]]:
    """A commit whose table has these files as earlier releases registered them, and their data files."""
    branch = unique("founding")
    lake.branch(branch)
    make_table(lake, by, branch)
    entries = register(lake, branch, by.table, dict(zip(IDS, files, strict=False)))
    data = {file: DataFile(path=entry.file_path, rows=entry.record_count) for file, entry in entries.items()}
    return lake.head(branch), data


def test_keys_are_looked_for_in_registered_files_too(lake: Lake) -> None:
    by = replace(a_plan("months(`at`)"), metrics=(TAKEN_KEYS,), checks=(none_of(TAKEN_KEYS),))
    base, _ = registered(lake, by, rows(1, 2), rows(3))
    _, report = reported(lake, by, rows(4), base=base)
    assert report.files[0].verdict is Verdict.PASS
    uri, job = job_for(lake, by, rows(5), rows(3), base=report.audited)
    assert run_job(uri, Process()) is Outcome.HANDED_OVER
    assert "A key repeats" in handed_over(lake, job)


def test_registered_files_move_to_a_table_that_knows_of_none_and_leave_it_again(lake: Lake) -> None:
    """As a rebase moves those of a branch that a person approves, on a main whose table has had other commits."""
    by = a_plan("months(`at`)")
    job, _ = reported(lake, by, parquet(pa.concat_tables([_table(rows(3)), _table(rows(4, month=3))])))
    [entry] = register(lake, job.branch, by.table, {IDS[5]: rows(1, 2)}).values()
    tables, own, audited = NessieTables(lake.nessie_uri, lake.warehouse), unique("wap-rebase"), lake.head(job.branch)
    _, other = reported(lake, by, rows(9), base=job.base)  # what others have published meanwhile
    lake.branch(own, other.audited)
    tables.evolve(by.table, own, Ref(job.branch, job.base), Ref(job.branch, audited))
    paths = frozenset(held(lake, job))
    tables.append(by.table, own, Ref(job.branch, audited), paths)
    assert tables.identity(Ref(own), by.table) == tables.identity(Ref(job.branch), by.table)
    assert _ids(lake, own, by) == {1, 2, 3, 4, 9}
    people = IcebergLake(lake.nessie_uri, lake.warehouse)
    assert people.rows(Ref(own), by.table, ["id"], None, [IDS[5]]).to_pydict() == {"id": [1, 2]}
    assert tables.compare(by.table, Ref(own, other.audited), Ref(own)) == FileChanges(adds=paths)
    there = held(lake, job, Ref(own))
    assert there[entry.file_path].partition[1] == IDS[5]
    assert {there[path].spec_id for path in paths - {entry.file_path}} == {0} != {there[entry.file_path].spec_id}
    tables.remove(by.table, own, frozenset({entry.file_path}))
    assert _ids(lake, own, by) == {3, 4, 9}


def test_a_registered_file_is_replaced_by_a_job_that_writes_its_rows_anew(lake: Lake) -> None:
    """As a new version of its key comes."""
    by = a_plan("months(`at`)")
    base, there = registered(lake, by, rows(1, 2), rows(3))
    uri, job = job_for(lake, by, rows(4, 5), base=base)
    old = IDS[1]
    NessieTables(lake.nessie_uri, lake.warehouse).remove(by.table, job.branch, frozenset({there[old].path}))
    replaces = ReplacedFiles(versions=(old,), data_files=(there[old],))
    freeze(lake, uri, replace(job, files=(replace(job.files[0], id=IDS[5], replaces=replaces),)))
    assert run_job(uri, Process()) is Outcome.REPORTED, handed_over(lake, job)
    report = report_of(lake, job)
    assert held(lake, job).keys() == {there[IDS[0]].path, *(data.path for data in report.files[0].data_files)}
    assert {row["id"]: row["_lakegate_file"] for row in rows_of(lake, job.branch, by.table)} == {
        1: IDS[0],
        2: IDS[0],
        4: IDS[5],
        5: IDS[5],
    }


def _ids(lake: Lake, branch: str, by: Plan) -> set[int]:
    return {row["id"] for row in rows_of(lake, branch, by.table)}


def test_what_is_found_becomes_rows_of_the_audits_table_with_a_data_file_for_each_file(lake: Lake) -> None:
    by = a_plan()
    uri, job = job_for(lake, by, rows(1, 2), rows(3, None), b"", notes_audits=True, distinct=True)
    assert run_job(uri, Process()) is Outcome.REPORTED, handed_over(lake, job)
    report, name = report_of(lake, job), audits_of(by.table, distinct=True)
    assert report.audited == lake.head(job.branch)
    there = held(lake, job, table=name)
    assert [[there[data.path].record_count for data in file.noted] for file in report.files] == [[5], [5], [1]]
    found = rows_of(lake, job.branch, name)
    assert Counter((row["_lakegate_file"], row["verdict"]) for row in found) == {
        (IDS[0], "pass"): 5,
        (IDS[1], "pass"): 3,
        (IDS[1], "fail"): 2,
        (IDS[2], "fail"): 1,
    }
    [empty] = [row for row in found if row["_lakegate_file"] == IDS[2]]
    assert (empty["check_id"], empty["reason"], empty["table_name"]) == ("file", "it is empty: 0 bytes", by.table)
    [commit] = {row["audited_commit"] for row in found}
    assert lake.commits(commit, job.branch) >= 1
    judged = held(lake, job, Ref(job.branch, commit))
    assert judged.keys() == {data.path for file in report.files for data in file.data_files}


@pytest.mark.extended
def test_without_the_choice_no_audits_table_is_made(lake: Lake) -> None:
    job, report = reported(lake, a_plan(), rows(1))
    assert not report.files[0].noted
    assert held(lake, job, table=audits_of(job.plan.table)) == {}


@pytest.mark.extended
def test_an_audits_table_that_is_there_gets_more_rows_and_one_of_another_release_is_left_to_spark(lake: Lake) -> None:
    by = a_plan()
    uri, job = job_for(lake, by, rows(1), notes_audits=True)
    assert run_job(uri, Process()) is Outcome.REPORTED
    uri, again = job_for(lake, by, rows(2), base=lake.head(job.branch), notes_audits=True)
    assert run_job(uri, Process()) is Outcome.REPORTED
    name = audits_of(by.table)
    assert len(held(lake, again, table=name)) == 2
    table = RefCatalog(lake.nessie_uri, lake.warehouse, Ref(again.branch)).load_table(name)
    with table.transaction() as transaction:
        transaction.set_properties({"write.distribution-mode": "hash"})
    uri, strange = job_for(lake, by, rows(3), base=lake.head(again.branch), notes_audits=True)
    assert run_job(uri, Process()) is Outcome.HANDED_OVER
    assert handed_over(lake, strange) == f"Table {name} is of another release, and only Spark changes it."


@pytest.mark.extended
def test_an_audits_table_with_a_strange_column_keeps_no_file_from_its_report(lake: Lake) -> None:
    by = a_plan()
    uri, job = job_for(lake, by, rows(1), notes_audits=True)
    assert run_job(uri, Process()) is Outcome.REPORTED
    catalog = RefCatalog(lake.nessie_uri, lake.warehouse, Ref(job.branch))
    table = catalog.load_table(audits_of(by.table))
    number = table.metadata.last_column_id + 1
    mine = NestedField(number, "mine", StringType())
    catalog.set_schema(table, Schema(*table.schema().fields, mine), number, {})
    uri, again = job_for(lake, by, rows(2), base=lake.head(job.branch), notes_audits=True)
    assert run_job(uri, Process()) is Outcome.REPORTED
    report = report_of(lake, again)
    assert report.unnoted == f"table {audits_of(by.table)} has column mine, which lakegate has not made"
    assert (report.files[0].verdict, report.files[0].noted) == (Verdict.PASS, ())


@pytest.mark.extended
def test_a_note_whose_answer_is_lost_is_looked_at_and_never_repeated(lake: Lake) -> None:
    with proxy(lake.nessie_uri, loses_commits) as network:
        first, job = job_for(lake, a_plan(), rows(1), notes_audits=True)
        assert run_job(first, Process()) is Outcome.REPORTED
        uri, again = job_for(
            lake,
            job.plan,
            rows(2),
            base=lake.head(job.branch),
            notes_audits=True,
            catalog=catalog_of(replace(lake, nessie_uri=network.uri)),
        )
        assert run_job(uri, Process()) is Outcome.REPORTED
    assert lake.commits(again.base, again.branch) == 2
    assert [data.rows for data in report_of(lake, again).files[0].noted] == [5]


@pytest.mark.extended
def test_a_run_that_finds_what_an_earlier_one_has_noted_hands_over(lake: Lake) -> None:
    uri, job = job_for(lake, a_plan(), rows(1), notes_audits=True)
    assert run_job(uri, Process()) is Outcome.REPORTED
    lake.s3().delete_object(Bucket=lake.bucket, Key=f"begun/{job.branch}/{RUN_MARK}")
    assert run_job(uri, Process()) is Outcome.HANDED_OVER
    said = f"An earlier run of this attempt has written to {audits_of(job.plan.table)}."
    assert handed_over(lake, job) == said


@pytest.mark.extended
def test_a_commit_that_comes_between_the_audit_and_its_note_ends_the_job(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As one that the network repeats late."""
    uri, job = job_for(lake, a_plan(), rows(1), notes_audits=True)
    noted = Attempt.append_audits

    def late(engine: Attempt, rows: Any) -> None:
        noted(engine, rows)
        table = RefCatalog(lake.nessie_uri, lake.warehouse, Ref(job.branch)).load_table(job.plan.table)
        with table.transaction() as transaction, transaction.update_snapshot().fast_append() as append:
            append.append_data_file(data_file(f"s3://{lake.bucket}/late.parquet", 1))

    monkeypatch.setattr(Attempt, "append_audits", late)
    assert run_job(uri, Process()) is Outcome.FAILED
