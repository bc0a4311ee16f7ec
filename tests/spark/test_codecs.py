"""Compressions of typed files: each that the page names is read to the end, and any other is its file's fault."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyspark.sql import SparkSession

from lakegate.audit.model.files import FileKind
from spark_jobs.appending.faults import find_corrupt
from spark_jobs.appending.rows import rows_of
from tests.spark.test_formats import written
from tests.support.inspection import PLAN, by, inspections
from tests.support.vocabulary import DOCS

pytestmark = pytest.mark.spark
ROWS = pa.table({"id": pa.array(range(500), pa.int32()), "name": [f"name {number % 7}" for number in range(500)]})
PARQUET = {"none": "none", "snappy": "snappy", "gzip": "gzip", "zstd": "zstd", "lz4": "lz4"}
ORC = {"none": "uncompressed", "zlib": "zlib", "snappy": "snappy", "lz4": "lz4", "zstd": "zstd"}
AVRO = ("null", "deflate", "snappy", "zstandard", "bzip2", "xz")


def of_parquet(codec: str) -> bytes:
    out = io.BytesIO()
    pq.write_table(ROWS, out, compression=codec)
    return out.getvalue()


def of_orc(codec: str) -> bytes:
    out = io.BytesIO()
    orc.write_table(ROWS, out, compression=codec)
    return out.getvalue()


def of_avro(spark: SparkSession, folder: Path, codec: str) -> bytes:
    spark.conf.set("spark.sql.avro.compression.codec", {"null": "uncompressed"}.get(codec, codec))
    try:
        return written(spark.sql("select cast(id as int) id, concat('name ', id % 7) name from range(500)"), folder)
    finally:
        spark.conf.unset("spark.sql.avro.compression.codec")


def assert_read(spark: SparkSession, folder: Path, kind: FileKind, *bodies: bytes) -> None:
    of = by(kind, PLAN)
    found = inspections(spark, folder, of, *bodies)
    assert [(each.rows, each.faults) for each in found] == [(500, ())] * len(bodies)
    [[total, names]] = rows_of(spark, of, found).selectExpr("sum(id)", "count(distinct name)").collect()
    assert (total, names) == (len(bodies) * sum(range(500)), 7)


def test_every_compression_that_the_page_names_is_read(spark: SparkSession, tmp_path: Path) -> None:
    assert_read(spark, tmp_path, FileKind.PARQUET, *map(of_parquet, PARQUET.values()))
    assert_read(spark, tmp_path, FileKind.ORC, *map(of_orc, ORC.values()))
    assert_read(spark, tmp_path, FileKind.AVRO, *(of_avro(spark, tmp_path, codec) for codec in AVRO))


def test_a_compression_that_is_not_read_is_its_file_s_fault(spark: SparkSession, tmp_path: Path) -> None:
    of = by(FileKind.PARQUET, PLAN)
    good, brotli = find_corrupt(spark, of, inspections(spark, tmp_path, of, of_parquet("gzip"), of_parquet("brotli")))
    [fault] = brotli.faults
    assert good.faults == ()
    assert "Spark does not know how it is written" in fault
    assert fault.advice.vendor.endswith("none, snappy, gzip, zstd and lz4 are read")


def test_the_page_names_what_is_read() -> None:
    page = (DOCS / "how-to/text-files.md").read_text()
    named = {
        kind: re.findall(r"`(\w+)`", row)
        for kind, row in re.findall(r"^\| (parquet|ORC|Avro) \| (.*) \|$", page, re.MULTILINE)
    }
    assert named == {"parquet": [*PARQUET], "ORC": [*ORC], "Avro": [*AVRO]}
