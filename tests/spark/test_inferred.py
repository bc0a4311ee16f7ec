"""An inferred contract says of each column what Spark reads there: no row of its sample is malformed or of another
type.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from pyarrow import orc, parquet
from pyspark.sql import SparkSession

from lakegate.contracts import load
from lakegate.inference.contract import infer
from spark_jobs.appending.rows import rows_of
from tests.spark.test_text import read
from tests.support import samples
from tests.support.inspection import inspections
from tests.support.samples import WRITERS, of
from tests.support.text_readers import by_reader, by_spark, comparable

pytestmark = pytest.mark.spark
EXAMPLES, WIDE = 3, [HealthCheck.function_scoped_fixture, HealthCheck.large_base_example]


@contextmanager
def folder() -> Iterator[Path]:
    with TemporaryDirectory() as made:
        yield Path(made)


def assert_spark_reads(spark: SparkSession, rows: pa.Table, form: str) -> None:
    with folder() as here:
        path = here / f"some.{form}"
        WRITERS[form](rows, path)
        plan = load(infer([path]), path.name).plan
        [inspection] = inspections(spark, here, plan, path.read_bytes())
        assert (inspection.faults, inspection.rows) == ((), rows.num_rows)
        assert rows_of(spark, plan, [inspection]).count() == rows.num_rows


@pytest.mark.extended
@settings(max_examples=EXAMPLES, suppress_health_check=WIDE)
@given(samples.every_type())
def test_every_type_of_parquet_is_the_one_that_spark_reads(spark: SparkSession, rows: pa.Table) -> None:
    assert_spark_reads(spark, rows, "parquet")


@pytest.mark.extended
@settings(max_examples=EXAMPLES, suppress_health_check=WIDE)
@given(samples.every_type(atoms=of(*samples.IN_ORC)))
def test_every_type_of_orc_is_the_one_that_spark_reads(spark: SparkSession, rows: pa.Table) -> None:
    assert_spark_reads(spark, rows, "orc")


@pytest.mark.extended
@settings(max_examples=EXAMPLES, suppress_health_check=WIDE)
@given(samples.every_type(atoms=of(*samples.IN_AVRO), inner="y"))
def test_every_type_of_avro_is_the_one_that_spark_reads(spark: SparkSession, rows: pa.Table) -> None:
    assert_spark_reads(spark, rows, "avro")


def assert_spark_parses(spark: SparkSession, text: str, name: str, rows: int) -> None:
    with folder() as here:
        (here / name).write_text(text, encoding="utf-8", newline="")
        plan = load(infer([here / name]), name).plan
        good, bad = read(spark, here, plan, text.encode())
        assert (len(good), bad) == (rows, [])


@pytest.mark.extended
@settings(max_examples=1, suppress_health_check=WIDE)
@given(samples.every_text())
def test_spark_parses_every_field_of_a_csv_as_the_type_that_was_inferred(spark: SparkSession, text: str) -> None:
    assert_spark_parses(spark, text, "some.csv", rows=8)


@pytest.mark.extended
@settings(max_examples=EXAMPLES, suppress_health_check=WIDE)
@given(samples.every_json())
def test_spark_parses_every_value_of_json_as_the_type_that_was_inferred(spark: SparkSession, text: str) -> None:
    assert_spark_parses(spark, text, "some.jsonl", rows=8)


QUOTED = [f"{at},client {at},{at}.50" for at in range(3_000)]
QUOTED[2_500] = '2500,"Smith, A",1.50'
TEXT_FILES: Mapping[str, tuple[str, str, tuple[object, ...]]] = {  # a file, and its last row on main
    "null texts": ("a.csv", "n,country,p\n1,DE,NA\n2,NA,2\n", ("2", "NA", "2")),
    "cents": ("a.csv", "n,b\n1,12345678901234568.01\n2,12345678901234569.02\n", ("2", "12345678901234569.02")),
    "codes": ("a.csv", "part,zip,tel\n12E2,00123,+49\n10E0,01000,+5\n", ("10E0", "01000", "+5")),
    "a late quote": ("a.csv", "\n".join(["id,name,x", *QUOTED]), ("2999", "client 2999", "2999.50")),
    "ends": ("a.csv", "id,name\r\n1,a\n2,b\r3,c\r\n", ("3", "c")),
    "long": ("a.csv", "id,name\n1," + "x" * 3_000_000 + "\n2,b\n", ("2", "b")),
    "line ends in fields": ("a.csv", 'id;name\r\n1;"a\nb"\r\n2;"c ""d"""\r\n', ("2", 'c "d"')),
    "single quotes": ("a.csv", "id,name\n1,'a,b'\n2,'c'\n3,'it''s'\n", ("3", "it's")),
    "backslashes": ("a.csv", 'id,name\n1,"a \\"b\\""\n2,"c"\n', ("2", "c")),
    "spaces": ("a.csv", "id, x\n1,  5\n2, 10\n", ("2", "10")),
    "numbers": ("a.csv", "a,b,c\n1.5,1e-05,True\n3,0.25,False\n", ("3.0", "0.25", False)),
    "latin": ("a.csv", "id|name\n1|M\u00fcller\n2|\u20ac\n", ("2", "\u20ac")),
    "parts": ("a.jsonl", '{"id": 1, "t": ["a", {"b": 1.50}]}\n{"id": 2, "t": [ ]}\n', ("2", "[]")),
    "strings": ("a.jsonl", '{"id": "1000", "ok": "true", "d": "2024-01-02"}', ("1000", "true", "19724")),
    "decimals": ("a.jsonl", '{"v": 12345678901234568.01}\n{"v": 1}', ("1.00",)),
    "huge": ("a.jsonl", '{"v": 123456789012345678901}\n{"v": 1}', ("1",)),
}


@pytest.mark.parametrize("said", TEXT_FILES)
@pytest.mark.share(6)
def test_main_gets_the_values_that_a_text_file_spells(spark: SparkSession, tmp_path: Path, said: str) -> None:
    name, text, last = TEXT_FILES[said]
    body = text.encode("cp1252" if said == "latin" else "utf-8")
    (tmp_path / name).write_bytes(body)
    plan = load(infer([tmp_path / name]), name).plan
    told = by_spark(spark, tmp_path, plan, body)
    assert (told.faults, told.malformed) == ((), ())
    assert told.rows[-1] == last
    assert by_reader(plan, body) in (told, None)


def _pandas(rows: pa.Table, path: Path) -> None:
    rows.to_pandas().to_parquet(path, coerce_timestamps="us", index=False)


def _polars(rows: pa.Table, path: Path) -> None:
    pl.from_arrow(rows).write_parquet(path)  # type: ignore[union-attr]


TYPED = pa.table(
    {
        "id": pa.array(range(30), pa.int64()),
        "s": [f"é{at}" for at in range(30)],
        "f": [at / 8 for at in range(30)],
        "at": pa.array([at * 10**12 + at for at in range(30)], pa.timestamp("us", "UTC")),
        "day": pa.array(range(30), pa.date32()),
    }
)
TYPED_WRITERS: Mapping[str, Callable[[pa.Table, Path], object]] = {
    "pyarrow.parquet": parquet.write_table,
    "int96.parquet": partial(parquet.write_table, use_deprecated_int96_timestamps=True),
    "gzip.parquet": partial(parquet.write_table, compression="gzip"),
    "zstd.parquet": partial(parquet.write_table, compression="zstd"),
    "pandas.parquet": _pandas,
    "polars.parquet": _polars,
    "zlib.orc": partial(orc.write_table, compression="zlib"),
    "snappy.orc": partial(orc.write_table, compression="snappy"),
    "zstd.orc": partial(orc.write_table, compression="zstd"),
    "fastavro.avro": WRITERS["avro"],
}


@pytest.mark.parametrize("name", TYPED_WRITERS)
@pytest.mark.share(3)
def test_main_gets_the_values_that_a_writer_wrote(spark: SparkSession, tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    rows = TYPED.drop_columns(["at"]) if path.suffix == ".orc" else TYPED
    TYPED_WRITERS[name](rows, path)
    plan = load(infer([path]), name).plan
    told = by_spark(spark, tmp_path, plan, path.read_bytes())
    assert told.faults == ()
    assert sorted(told.rows) == sorted(comparable(rows))
