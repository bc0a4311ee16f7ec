"""Hostile files as the job's first look tells them: each is at fault alone, in plain words, before any row is made."""

from __future__ import annotations

import bz2
import lzma
import zlib
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from lakegate.audit.files import FileKind
from lakegate.audit.limits import Limits
from spark_jobs import avro_claims
from spark_jobs.append import rows_of
from spark_jobs.java import jvm
from tests.hostile import files
from tests.hostile.files import avro, number, record
from tests.support.looked import by, looks

pytestmark = pytest.mark.spark
KIND = record(("id", "int"), ("name", "string"))
GOOD = avro(KIND, [(2, b"\x02\x02a\x04\x02b"), (1, b"\x06\x02c")])
AVRO = by(FileKind.AVRO)


def faults(spark: SparkSession, folder: Path, body: bytes, limits: Limits | None = None) -> tuple[str, ...]:
    """Of a file beside a good one, which is taken whatever the other is."""
    sound, found = looks(spark, folder, by(FileKind.AVRO, limits=limits or Limits()), GOOD, body)
    assert (sound.rows, sound.faults) == (3, ())
    return found.faults


@pytest.mark.parametrize("rows", [1_000_001, 10**8, 10**18])
def test_rows_that_take_no_bytes_are_refused_by_their_number(spark: SparkSession, tmp_path: Path, rows: int) -> None:
    body = files.rows_of_nothing(rows)
    said = f"it says that it has {rows:,} rows that take no bytes, and the limit is 1,000,000"
    assert faults(spark, tmp_path, body) == (said,)
    assert len(body) < 200


def test_a_few_rows_that_take_no_bytes_are_rows(spark: SparkSession, tmp_path: Path) -> None:
    [found] = looks(spark, tmp_path, AVRO, files.rows_of_nothing(1000))
    assert (found.rows, found.faults) == (1000, ())
    assert rows_of(spark, AVRO, [found]).count() == 1000


def test_avro_has_a_limit_of_rows_and_of_blocks(spark: SparkSession, tmp_path: Path) -> None:
    most = "to take it, set {} of the contract's landing server"
    [rows] = faults(spark, tmp_path, files.tiny_blocks(5), Limits(rows=4))
    assert rows == f"it has 5 rows, and the limit is 4: {most.format('maxRows')}"
    [blocks] = faults(spark, tmp_path, files.tiny_blocks(5), Limits(blocks=4))
    assert blocks == f"it has more than 4 blocks, and the limit is 4: {most.format('maxBlocks')}"


def test_a_block_of_more_rows_than_its_bytes_can_hold_is_refused_with_what_it_claims(
    spark: SparkSession, tmp_path: Path
) -> None:
    said = "block 2 says that it has 1,000 rows in 20 bytes, which hold at most 10"
    assert faults(spark, tmp_path, avro(KIND, [(1, b"\x02\x02a"), (1000, b"\0" * 20)])) == (said,)
    packed = zlib.compress(b"\0" * 20, wbits=-15)
    said = f"block 1 says that it has 1,000,000 rows in {len(packed)} bytes, which hold at most {len(packed) * 516:,}"
    assert faults(spark, tmp_path, avro(KIND, [(10**6, packed)], "deflate")) == (said,)


@pytest.mark.parametrize("name", ["deflate", "bzip2", "xz", "zstandard"])
def test_what_comes_out_of_avro_is_counted_no_further_than_the_limit(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    rows = b"\x02" + files.text(b"a" * 2_000_000)
    body = avro(KIND, [(1, packed(spark, name, rows))] * 3, name)
    said = "it has more than 5,000,000 bytes uncompressed, and the limit is 5,000,000: to take it, set maxUncompressedB"
    assert faults(spark, tmp_path, body, Limits(uncompressed=5_000_000))[0].startswith(said)
    assert faults(spark, tmp_path, body, Limits(uncompressed=6_100_000)) == ()


def packed(spark: SparkSession, name: str, body: bytes) -> bytes:
    if name == "zstandard":
        return bytes(jvm(spark).com.github.luben.zstd.Zstd.compress(bytearray(body)))
    others = {"bzip2": bz2.compress, "xz": lzma.compress, "deflate": lambda it: zlib.compress(it, wbits=-15)}
    return others[name](body)


def test_a_block_that_no_reader_could_hold_is_refused_before_one_tries(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avro_claims, "MOST_BYTES", 10_000_000)
    said = "block 1 has more than 10,000,000 bytes uncompressed, which no reader takes"
    assert faults(spark, tmp_path, files.inflating(20_000_000)) == (said,)
    assert faults(spark, tmp_path, files.inflating(9_000_000)) == ()


def test_names_that_stand_for_billions_of_columns_are_refused(spark: SparkSession, tmp_path: Path) -> None:
    [said] = faults(spark, tmp_path, avro(files.doubling(60)), Limits(nesting=100))
    assert said.startswith("it has 3,458,764,513,820,540,865 columns, and the limit is 5,000")
    [said] = faults(spark, tmp_path, avro(files.doubling(60)), Limits(columns=2**62))
    assert said.startswith("its columns are nested 61 deep, and the limit is 32")


def test_an_array_of_nothing_is_refused_by_its_schema(spark: SparkSession, tmp_path: Path) -> None:
    kind = record(("id", "int"), ("name", {"type": "array", "items": "null"}))
    row = b"\x02" + number(10**9) + b"\0"
    [said] = faults(spark, tmp_path, avro(kind, [(1, row)]))
    assert said == "its schema has an array of what takes no bytes, of which a few bytes hold any number"


def test_a_codec_that_nobody_reads_is_named(spark: SparkSession, tmp_path: Path) -> None:
    [said] = faults(spark, tmp_path, avro(KIND, [(1, b"\x02\x02a")], "lz4"))
    assert said == "its blocks are packed by 'lz4', and null, deflate, snappy, zstandard, bzip2, xz are read"


def test_a_marker_within_a_block_of_a_large_file_is_found_where_the_file_is_split(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(avro_claims, "SPLIT", 1000)

    def body(within: bytes) -> bytes:
        value = b"x" * 400 + within + b"x" * 1000
        return avro(KIND, [(1, b"\x02" + files.text(b"y" * 800)), (1, b"\x02" + files.text(value)), (1, b"\x02\x02a")])

    said = "the marker between its blocks stands within one, too: readers take it for an end"
    assert faults(spark, tmp_path, body(files.SYNC)) == (said,)
    assert faults(spark, tmp_path, body(b"s" * 15)) == ()
