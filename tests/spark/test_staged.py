"""The first look at a staged file: what is wrong with it, in words its owner understands."""

from __future__ import annotations

import io
from contextlib import closing
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from socket import socket
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from examples.bad_files import bad_files
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection, fit_all
from lakegate.bundles import EMR_7
from spark_jobs.appending.faults import find_corrupt
from spark_jobs.appending.rows import rows_of
from spark_jobs.formats.inspection import inspect_all
from spark_jobs.jvm.failures import FAILURES
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.isolate import per_file
from tests.support.image import BUNDLE
from tests.support.jobs import parquet
from tests.support.plans import plan
from tests.support.spark import raised

pytestmark = pytest.mark.spark
GOOD = pa.table({"id": pa.array(range(1000), pa.int32()), "name": [f"name {number}" for number in range(1000)]})
PLAN = plan("nyc.t", {"id": "int", "name": "string"})
AWAY = {
    "endpoint": "http://127.0.0.1:{}",
    "endpoint.region": "us-east-1",
    "attempts.maximum": "1",
    "retry.limit": "1",
    "retry.interval": "1ms",
    "aws.credentials.provider": "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    "access.key": "nobody",
    "secret.key": "nobody",
}
BAD = {bad.wrong: bad.body for bad in bad_files(GOOD, missing="name", wrong="id")}


def inspection(spark: SparkSession, folder: Path, body: bytes, by: Plan | None = PLAN) -> Inspection:
    path = folder / "0123456789abcdef0123.parquet"
    path.write_bytes(body)
    [seen] = inspect_all(spark, PLAN, [JobFile(id=path.stem, key="landed", uri=f"file:{path}", size=len(body))])
    return fit_all(by, None, [seen])[1][0] if by else seen


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ("empty object", "it is empty: 0 bytes"),
        ("text named parquet", "it is not a parquet file: it looks like CSV"),
        ("truncated parquet", "it is truncated: it begins as a parquet file and does not end as one"),
        ("encrypted parquet", "it is encrypted"),
        ("encrypted columns", "it is encrypted"),
        ("zero rows", "it has no rows"),
        ("missing column", 'column "name" is missing'),
        ("extra column", 'column "surprise" is not in the contract'),
        ("wrong type", 'column "id" is string, the contract says int'),
    ],
)
def test_a_bad_file_is_refused_with_the_reason(spark: SparkSession, tmp_path: Path, wrong: str, said: str) -> None:
    assert inspection(spark, tmp_path, BAD[wrong]).faults == (said,)


def test_every_kind_of_bad_file_is_known_here() -> None:
    assert set(BAD) == {
        *("empty object", "text named parquet", "truncated parquet", "encrypted parquet", "encrypted columns"),
        *("zero rows", "missing column", "extra column", "wrong type", "corrupt page"),
    }


def test_a_good_file_has_its_rows_counted(spark: SparkSession, tmp_path: Path) -> None:
    seen = inspection(spark, tmp_path, parquet(GOOD))
    assert (seen.faults, seen.rows) == ((), 1000)


@pytest.mark.parametrize("size", [1, 4, 8, 11])
@pytest.mark.share(2)
def test_a_scrap_of_a_parquet_file_is_refused(spark: SparkSession, tmp_path: Path, size: int) -> None:
    [said] = inspection(spark, tmp_path, (b"PAR1" * 3)[:size]).faults
    assert said.startswith(("it is not a parquet file", "it is truncated"))


def test_a_broken_footer_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    body = parquet(GOOD)
    [said] = inspection(spark, tmp_path, body[:-200] + b"\xff" * 192 + body[-8:]).faults
    assert said.startswith("its footer cannot be read")


def test_a_staged_copy_that_is_gone_is_that_files_fault(spark: SparkSession, tmp_path: Path) -> None:
    gone = JobFile(id="f", key="landed", uri=f"file:{tmp_path}/f.parquet", size=100)
    assert inspect_all(spark, PLAN, [gone])[0].faults == ("its staged copy is gone",)


def test_a_storage_that_cannot_be_reached_is_no_files_fault(spark: SparkSession, tmp_path: Path) -> None:
    with closing(socket()) as nobody:  # it holds a port, and takes no call
        nobody.bind(("127.0.0.1", 0))
        for option, value in AWAY.items():
            spark.conf.set(f"fs.s3a.{option}", value.format(nobody.getsockname()[1]))
        away = JobFile(id="f", key="landed", uri="s3a://away/f.parquet", size=100)
        with pytest.raises(FAILURES, match="Connection refused"):
            inspect_all(spark, PLAN, [away])
        seen = [inspection(spark, tmp_path, parquet(GOOD)), inspection(spark, tmp_path, BAD["corrupt page"])]
        with pytest.raises(FAILURES, match="Connection refused"):
            find_corrupt(spark, PLAN, [*seen, replace(seen[0], file=away)])


def test_what_is_reached_the_second_time_is_read(spark: SparkSession) -> None:
    tries: list[int] = []

    def read(number: int) -> int:
        tries.append(number)
        if number and tries.count(number) == 1:
            raise raised(spark, jvm(spark).java.net.ConnectException("Connection refused"))
        return number

    assert per_file([0, 1, 2], read, 2) == [0, 1, 2]


def test_corrupt_pages_are_found_by_reading_through(spark: SparkSession, tmp_path: Path) -> None:
    seen = inspection(spark, tmp_path, BAD["corrupt page"])
    assert seen.faults == ()
    [read] = find_corrupt(spark, PLAN, [seen])
    assert read.faults[0].startswith("its rows cannot be read to the end, a page is corrupt")
    assert str(tmp_path) not in read.faults[0]


UNKNOWN: dict[str, dict[str, Any]] = {
    "BrotliCodec": {"compression": "brotli"},
    "BYTE_STREAM_SPLIT": {"use_byte_stream_split": True, "use_dictionary": False},
}


@pytest.mark.parametrize("said", UNKNOWN)
def test_what_spark_does_not_know_is_not_called_corrupt(spark: SparkSession, tmp_path: Path, said: str) -> None:
    sink = io.BytesIO()
    pq.write_table(pa.table({"x": [1.5, 2.5]}), sink, **UNKNOWN[said])
    by = plan("nyc.t", {"x": "double"})
    seen = inspection(spark, tmp_path, sink.getvalue(), by)
    assert seen.faults == ()
    [fault] = find_corrupt(spark, by, [seen])[0].faults
    assert fault.startswith("its rows cannot be read to the end, Spark does not know how it is written")
    assert said in fault


# A newer Spark knows more types.
HALF, CLOCK = (
    ("of a newer type than Spark knows", "INT64 (TIME(MICROS,false))")
    if BUNDLE == EMR_7
    else ("FIXED_LEN_BYTE_ARRAY (FLOAT16), the contract says string", "time(6)")
)


def test_a_schema_that_spark_does_not_know_is_told(spark: SparkSession, tmp_path: Path) -> None:
    half = pa.table({"id": pa.array([1], pa.int32()), "name": pa.array([1.5], pa.float16())})
    assert inspection(spark, tmp_path, parquet(half)).faults == (f'column "name" is {HALF}',)
    assert inspection(spark, tmp_path, parquet(half.select([]))).faults == ("it has no columns",)


def test_nanoseconds_and_other_columns_are_judged_one_by_one(spark: SparkSession, tmp_path: Path) -> None:
    at = pa.array([datetime(2013, 1, 1, tzinfo=UTC)], pa.timestamp("ns", tz="UTC"))
    clock = pa.array([1], pa.time64("us"))
    by = plan("nyc.t", {"at": "timestamp", "id": "bigint", "clock": "bigint"})
    assert inspection(spark, tmp_path, parquet(pa.table({"at": at, "id": ["x"], "clock": clock})), by).faults == (
        'column "at" is a timestamp in nanoseconds: write it in microseconds',
        'column "id" is string, the contract says bigint',
        f'column "clock" is {CLOCK}, the contract says bigint',
    )


def test_a_nested_column_is_a_wrong_type(spark: SparkSession, tmp_path: Path) -> None:
    nested = pa.table({"id": pa.array([[1]]), "name": pa.array([{"a": 1}])})
    assert inspection(spark, tmp_path, parquet(nested)).faults == (
        'column "id" is array, the contract says int',
        'column "name" is struct, the contract says string',
    )


def test_a_column_that_is_there_twice_is_a_fault(spark: SparkSession, tmp_path: Path) -> None:
    one = pa.array([1], pa.int32())
    twice = pa.Table.from_arrays([one, one, pa.array(["x"])], names=["id", "id", "name"])
    assert inspection(spark, tmp_path, parquet(twice)).faults == ('column "id" is there 2 times',)


TYPES = {
    "boolean": (pa.array([True]), "boolean"),
    "int8": (pa.array([1], pa.int8()), "tinyint"),
    "int16": (pa.array([1], pa.int16()), "smallint"),
    "int32": (pa.array([1], pa.int32()), "int"),
    "int64": (pa.array([1], pa.int64()), "bigint"),
    "uint8": (pa.array([1], pa.uint8()), "smallint"),
    "uint16": (pa.array([1], pa.uint16()), "int"),
    "uint32": (pa.array([1], pa.uint32()), "bigint"),
    "uint64": (pa.array([1], pa.uint64()), "decimal(20,0)"),
    "float": (pa.array([1], pa.float32()), "float"),
    "double": (pa.array([1], pa.float64()), "double"),
    "decimal": (pa.array([Decimal("1.25")], pa.decimal128(12, 2)), "decimal(12,2)"),
    "string": (pa.array(["x"]), "string"),
    "large": (pa.array(["x"], pa.large_string()), "string"),
    "binary": (pa.array([b"x"]), "binary"),
    "date": (pa.array([date(2013, 1, 1)]), "date"),
    "instant": (pa.array([datetime(2013, 1, 1, tzinfo=UTC)], pa.timestamp("us", tz="UTC")), "timestamp"),
    "milliseconds": (pa.array([datetime(2013, 1, 1, tzinfo=UTC)], pa.timestamp("ms", tz="UTC")), "timestamp"),
    "local": (pa.array([datetime(2013, 1, 1)], pa.timestamp("us")), "timestamp_ntz"),  # noqa: DTZ001 - that's the point
    "list": (pa.array([[1]]), "array<bigint>"),
    "struct": (pa.array([{"a b": 1, "c": [{"d": 0.5}]}]), "struct<`a b`:bigint,`c`:array<struct<`d`:double>>>"),
    "map": (pa.array([{"k": 1}], pa.map_(pa.string(), pa.int32())), "map<string,int>"),
}


def test_every_type_is_named_as_spark_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    body = parquet(pa.table({name: column for name, (column, _) in TYPES.items()}))
    seen = {column.name: column.type for column in inspection(spark, tmp_path, body, None).columns}
    read = dict(spark.read.parquet(f"file:{tmp_path}/0123456789abcdef0123.parquet").dtypes)
    assert seen == {name: kind for name, (_, kind) in TYPES.items()}
    assert {name: kind.replace("`", "") for name, kind in seen.items()} == read


def test_days_long_ago_are_those_of_the_calendar(spark: SparkSession, tmp_path: Path) -> None:
    """Whoever knows no day writes the first that there is, or one of another program."""
    days = [datetime(1, 1, 1), datetime(1582, 10, 4), datetime(1582, 10, 10), datetime(1899, 12, 30)]  # noqa: DTZ001
    columns = {
        "day": pa.array([it.date() for it in days]),
        "at": pa.array(days, pa.timestamp("us", "UTC")),
        "milli": pa.array(days, pa.timestamp("ms", "UTC")),
    }
    by = plan("nyc.t", {"day": "date", "at": "timestamp", "milli": "timestamp"})
    assert texts(spark, by, inspection(spark, tmp_path, parquet(pa.table(columns)), by)) == [
        [f"{it:%d.%m.}{it.year:04}"] * 3 for it in days
    ]
    sink = io.BytesIO()
    pq.write_table(pa.table({"at": pa.array(days[3:])}), sink, use_deprecated_int96_timestamps=True)
    by = plan("nyc.t", {"at": "timestamp"})
    assert texts(spark, by, inspection(spark, tmp_path, sink.getvalue(), by)) == [["30.12.1899"]]


def texts(spark: SparkSession, by: Plan, seen: Inspection) -> list[list[str]]:
    assert seen.faults == ()
    shown = (F.date_format(column.name, "dd.MM.yyyy") for column in by.columns)
    return [list(row) for row in rows_of(spark, by, [seen]).select(*shown).collect()]


def test_old_timestamps_are_instants(spark: SparkSession, tmp_path: Path) -> None:
    at = pa.table({"at": pa.array([datetime(2013, 1, 1)], pa.timestamp("us"))})  # noqa: DTZ001 - INT96 knows no zone
    path = tmp_path / "f.parquet"
    pq.write_table(at, path, use_deprecated_int96_timestamps=True)
    assert inspection(spark, tmp_path, path.read_bytes(), plan("nyc.t", {"at": "timestamp"})).faults == ()
