"""Hostile files as the job's first look tells them: each is at fault alone, in plain words, before any row is made."""

from __future__ import annotations

import bz2
import lzma
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakegate.audit.evaluation.mask import MASK
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.limits import Limits
from lakegate.audit.model.plan import Plan
from spark_jobs.appending.faults import check_sizes, find_corrupt
from spark_jobs.appending.rows import rows_of
from spark_jobs.formats.avro import claims
from spark_jobs.formats.text.rows import parse_files
from spark_jobs.jvm.gateway import jvm
from tests.hostile import files
from tests.hostile.files import avro, number, record
from tests.support.inspection import PLAN, by, inspections
from tests.support.jobs import parquet
from tests.support.plans import plan

pytestmark = pytest.mark.spark
KIND = record(("id", "int"), ("name", "string"))
GOOD = avro(KIND, [(2, b"\x02\x02a\x04\x02b"), (1, b"\x06\x02c")])
AVRO = by(FileKind.AVRO)


def faults(spark: SparkSession, folder: Path, body: bytes, limits: Limits | None = None) -> tuple[str, ...]:
    """Of a file beside a good one, which is taken whatever the other is."""
    sound, found = inspections(spark, folder, by(FileKind.AVRO, limits=limits or Limits()), GOOD, body)
    assert (sound.rows, sound.faults) == (3, ())
    return found.faults


@pytest.mark.parametrize("rows", [1_000_001, 10**8, 10**18])
@pytest.mark.share(1)
def test_rows_that_take_no_bytes_are_refused_by_their_number(spark: SparkSession, tmp_path: Path, rows: int) -> None:
    body = files.rows_of_nothing(rows)
    said = f"it says that it has {rows:,} rows that take no bytes, and the limit is 1,000,000"
    assert faults(spark, tmp_path, body) == (said,)
    assert len(body) < 200


def test_a_few_rows_that_take_no_bytes_are_rows(spark: SparkSession, tmp_path: Path) -> None:
    [found] = inspections(spark, tmp_path, AVRO, files.rows_of_nothing(1000))
    assert (found.rows, found.faults) == (1000, ())
    assert rows_of(spark, AVRO, [found]).count() == 1000


def test_avro_has_a_limit_of_rows_and_of_blocks(spark: SparkSession, tmp_path: Path) -> None:
    [rows] = faults(spark, tmp_path, files.tiny_blocks(5), Limits(rows=4))
    assert rows == "it has 5 rows, and the limit is 4"
    [blocks] = faults(spark, tmp_path, files.tiny_blocks(5), Limits(blocks=4))
    assert blocks == "it has more than 4 blocks, and the limit is 4"


def test_a_block_of_more_rows_than_its_bytes_can_hold_is_refused_with_what_it_claims(
    spark: SparkSession, tmp_path: Path
) -> None:
    said = "block 2 says that it has 1,000 rows in 20 bytes, which hold at most 10"
    assert faults(spark, tmp_path, avro(KIND, [(1, b"\x02\x02a"), (1000, b"\0" * 20)])) == (said,)
    packed = zlib.compress(b"\0" * 20, wbits=-15)
    said = f"block 1 says that it has 1,000,000 rows in {len(packed)} bytes, which hold at most {len(packed) * 516:,}"
    assert faults(spark, tmp_path, avro(KIND, [(10**6, packed)], "deflate")) == (said,)


@pytest.mark.parametrize("name", ["deflate", "bzip2", "xz", "zstandard"])
@pytest.mark.share(1)
def test_what_comes_out_of_avro_is_counted_no_further_than_the_limit(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    rows = b"\x02" + files.text(b"a" * 2_000_000)
    body = avro(KIND, [(1, packed(spark, name, rows))] * 3, name)
    said = "it has more than 5,000,000 bytes uncompressed, and the limit is 5,000,000"
    assert faults(spark, tmp_path, body, Limits(uncompressed=5_000_000))[0].startswith(said)
    assert faults(spark, tmp_path, body, Limits(uncompressed=6_100_000)) == ()


def packed(spark: SparkSession, name: str, body: bytes) -> bytes:
    if name == "zstandard":
        return bytes(jvm(spark).com.github.luben.zstd.Zstd.compress(bytearray(body)))
    if name == "deflate":
        return zlib.compress(body, wbits=-15)
    return bz2.compress(body) if name == "bzip2" else lzma.compress(body)


def test_a_block_that_no_reader_could_hold_is_refused_before_one_tries(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "MOST_BYTES", 10_000_000)
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
    known = "null, deflate, snappy, zstandard, bzip2, xz"
    assert said == f"its blocks are compressed by a codec that is none of {known}: lz4"


def test_a_marker_within_a_block_of_a_large_file_is_found_where_the_file_is_split(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims, "SPLIT", 1000)

    def body(within: bytes) -> bytes:
        value = b"x" * 400 + within + b"x" * 1000
        return avro(KIND, [(1, b"\x02" + files.text(b"y" * 800)), (1, b"\x02" + files.text(value)), (1, b"\x02\x02a")])

    said = "the marker between its blocks stands within one, too: readers take it for an end"
    assert faults(spark, tmp_path, body(files.SYNC)) == (said,)
    assert faults(spark, tmp_path, body(b"s" * 15)) == ()


JSON = by(FileKind.JSON)
LINES = b'{"id":1,"name":"a"}\n{"id":2,"name":"b"}\n'


@pytest.mark.parametrize("keys", [6_000, 60_000])
@pytest.mark.share(1)
def test_an_object_with_too_many_keys_is_refused_by_their_number(
    spark: SparkSession, tmp_path: Path, keys: int
) -> None:
    sound, found = inspections(spark, tmp_path, JSON, LINES, files.object_of(keys) + LINES)
    assert (sound.rows, sound.faults) == (2, ())
    assert [fault.split(":")[0] for fault in found.faults] == [f"it has {keys + 2:,} columns, and the limit is 5,000"]


def worked(process: psutil.Process) -> float:
    """The processor time that it has taken."""
    times = process.cpu_times()
    return times.user + times.system


def test_keys_of_objects_are_read_in_time_with_their_number(spark: SparkSession, tmp_path: Path) -> None:
    """Twenty times the keys take twenty times the JVM's processor time, not four hundred.

    The clock would tell how busy the machine is.
    """
    gateway: Any = spark.sparkContext._gateway
    java = psutil.Process(gateway.proc.pid)
    several = by(FileKind.JSON, limits=Limits(columns=100_000))
    inspections(spark, tmp_path, several, files.object_of(200))

    def seconds(keys: int) -> float:
        began = worked(java)
        [found] = inspections(spark, tmp_path, several, files.object_of(keys))
        assert found.faults[-1].startswith(f"{keys:,} columns are not in the contract: ")
        return worked(java) - began

    assert seconds(8_000) < 20 * seconds(400)


def test_keys_that_differ_from_line_to_line_are_counted_no_further_than_the_limit(
    spark: SparkSession, tmp_path: Path
) -> None:
    few = by(FileKind.JSON, limits=Limits(columns=50))
    sound, within, found = inspections(spark, tmp_path, few, LINES, files.objects_of(7, 7), files.objects_of(100, 40))
    assert (sound.rows, sound.faults, within.rows) == (2, (), 7)
    assert within.faults[-1].startswith("49 columns are not in the contract: ")
    assert found.faults[0].startswith("it has more than 50 columns, and the limit is 50")


@pytest.mark.parametrize(
    ("form", "body"),
    [
        (FileFormat(kind=FileKind.CSV), b"id,name\n1," + b"x" * 998 + b"\n2,y\n"),
        (FileFormat(kind=FileKind.CSV), b"id,name" + b"," * 993 + b"\n1,x\n"),
        (FileFormat(kind=FileKind.CSV, multiline=True), b'id,name\n2,y\n1,"' + b"\n" * 996 + b'"\n'),
        (FileFormat(kind=FileKind.JSON), b'{"id":2,"name":"' + b"x" * 982 + b'"}\n{"id":1}\n'),
        (FileFormat(kind=FileKind.JSON), b'{"id":2,"name":"' + b"x" * 10**6 + b'"}\n'),
    ],
)
@pytest.mark.share(2)
def test_a_line_has_a_limit_in_every_form_of_text(
    spark: SparkSession, tmp_path: Path, form: FileFormat, body: bytes
) -> None:
    of = replace(PLAN, files=replace(form, limits=Limits(line=999)))
    sound, found = inspections(
        spark, tmp_path, of, b'{"id":1}' if form.kind is FileKind.JSON else b"id,name\n1,x\n", body
    )
    assert sound.faults == ()
    size = "1,000,018" if len(body) > 10**6 else "1,000"
    assert found.faults == (f"one of its lines has {size} bytes, and the limit is 999",)


@pytest.mark.parametrize("depth", [1_001, 100_000])
@pytest.mark.share(1)
def test_a_line_that_is_nested_too_deep_is_a_row_that_does_not_parse(
    spark: SparkSession, tmp_path: Path, depth: int
) -> None:
    sound, found = inspections(spark, tmp_path, JSON, LINES, LINES + files.deep(depth))
    assert (sound.rows, found.rows, found.faults) == (2, 3, ())
    [part] = parse_files(spark, JSON, [found])
    assert [row["why"] for row in part.malformed().collect()] == ["it is not a JSON object"]
    assert rows_of(spark, JSON, [sound, found]).count() == 4


def hidden(kind: FileKind) -> Plan:
    """The plan, which shows no value of `name`."""
    columns = tuple(replace(column, masked=column.name == "name") for column in PLAN.columns)
    return by(kind, replace(PLAN, columns=columns))


def parquet_of_junk(junk: bytes) -> bytes:
    return b"PAR1" + junk + len(junk).to_bytes(4, "little") + b"PAR1"


SECRET = b"jane@example.com"
QUOTED = {
    "default of a field": (
        FileKind.AVRO,
        avro({**KIND, "fields": [{"name": "id", "type": "int", "default": SECRET.decode()}]}),
        "its schema cannot be read",
    ),
    "name of a type": (FileKind.AVRO, avro(record(("id", SECRET.decode()))), "its schema cannot be read"),
    "footer": (FileKind.PARQUET, parquet_of_junk(SECRET), "its footer cannot be read"),
    "codec": (
        FileKind.AVRO,
        avro(KIND, codec=SECRET.decode()),
        "its blocks are compressed by a codec that is none of null, deflate, snappy, zstandard, bzip2, xz",
    ),
}


@pytest.mark.parametrize("name", QUOTED)
@pytest.mark.share(2)
def test_an_error_that_quotes_a_file_is_not_told_where_columns_are_masked(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    kind, body, said = QUOTED[name]
    [shown] = inspections(spark, tmp_path, by(kind), body)
    [found] = inspections(spark, tmp_path, hidden(kind), body)
    assert shown.faults[0].startswith(said)
    assert SECRET.decode() in shown.faults[0] or name == "footer"
    assert (len(found.faults), found.faults[0]) == (1, f"{said}: {MASK}")


def test_keys_that_may_be_values_are_not_told_as_names_of_columns(spark: SparkSession, tmp_path: Path) -> None:
    body = b'{"jane@example.com":1}\n'
    [shown] = inspections(spark, tmp_path, JSON, body)
    [found] = inspections(spark, tmp_path, hidden(FileKind.JSON), body)
    assert shown.faults == ('column "jane@example.com" is not in the contract',)
    assert found.faults == ("its objects have none of the contract's columns",)


def repeating(rows: int, *, nested: bool = False) -> bytes:
    """A parquet file whose rows all have one text of a hundred thousand letters, which stands in it once."""
    places = pa.array([0] * rows, pa.int32())
    texts_of = pa.DictionaryArray.from_arrays(places, ["x" * 100_000])
    names = pa.ListArray.from_arrays(list(range(rows + 1)), texts_of) if nested else texts_of
    return parquet(pa.table({"id": pa.array(range(rows), pa.int32()), "name": names}))


@pytest.mark.parametrize("nested", [False, True])
def test_a_value_that_stands_once_counts_for_every_row_that_has_it(
    spark: SparkSession, tmp_path: Path, *, nested: bool
) -> None:
    of = plan("nyc.t", {"id": "int", "name": "array<string>" if nested else "string"})
    of = by(FileKind.PARQUET, of, Limits(uncompressed=200_000_000))
    bodies = [repeating(rows, nested=nested) for rows in (1_500, 3_000)]
    assert max(map(len, bodies)) < 200_000
    sound, found = check_sizes(spark, of, inspections(spark, tmp_path, of, *bodies))
    assert (sound.rows, sound.faults) == (1_500, ())
    assert [fault.split(":")[0] for fault in found.faults] == [
        "it has 300,000,000 bytes uncompressed, and the limit is 200,000,000"
    ]


def claiming(spark: SparkSession, rows: int) -> bytes:
    """A parquet file of two rows whose footer says that it has so many."""
    body = parquet(pa.table({"id": pa.array([1, 2], pa.int32()), "name": ["a", "b"]}))
    start, java = len(body) - 8 - int.from_bytes(body[-8:-4], "little"), jvm(spark).java.io
    util, out = jvm(spark).org.apache.parquet.format.Util, java.ByteArrayOutputStream()
    about = util.readFileMetaData(java.ByteArrayInputStream(bytearray(body[start:-8])))
    about.setNum_rows(rows)
    about.getRow_groups().get(0).setNum_rows(rows)
    for part in about.getRow_groups().get(0).getColumns():
        part.getMeta_data().setNum_values(rows)
    util.writeFileMetaData(about, out)
    footer = bytes(out.toByteArray())
    return body[:start] + footer + len(footer).to_bytes(4, "little") + b"PAR1"


def test_rows_that_a_footer_claims_and_no_page_has_are_told_plainly(spark: SparkSession, tmp_path: Path) -> None:
    of = by(FileKind.PARQUET)
    sound, found = find_corrupt(spark, of, inspections(spark, tmp_path, of, claiming(spark, 2), claiming(spark, 10**8)))
    assert (sound.rows, sound.faults) == (2, ())
    assert found.faults == ("its rows cannot be read to the end, a page is corrupt (it ends too early)",)
    [found] = inspections(spark, tmp_path, of, claiming(spark, 10**12))
    assert found.faults[0].startswith("it has 1,000,000,000,000 rows, and the limit is 1,000,000,000")


PACKED = {
    "zstd window": (b"\x28\xb5\x2f\xfd\x00\xf8\x01\x00\x00", "zstd"),
    "zstd content size": (
        b"\x28\xb5\x2f\xfd\xe0" + (2**60).to_bytes(8, "little") + b"\x61\x00\x00id,name\n3,c\n",
        "zstd",
    ),
    "zstd frame to be passed over": (b"\x50\x2a\x4d\x18\xff\xff\xff\xff" + b"id,name\n3,c\n", "zstd"),
    "gzip name without an end": (b"\x1f\x8b\x08\x08" + b"\0" * 6 + b"n" * 100_000, "gzip"),
}


@pytest.mark.parametrize("name", PACKED)
@pytest.mark.share(2)
def test_packed_text_that_claims_more_than_there_is_fails_alone(spark: SparkSession, tmp_path: Path, name: str) -> None:
    body, packing = PACKED[name]
    of = replace(PLAN, files=FileFormat(kind=FileKind.CSV, compression=packing))
    sound = pa.Codec(packing).compress(b"id,name\n1,x\n", asbytes=True)
    good, found = inspections(spark, tmp_path, of, sound, body)
    assert (good.rows, good.faults) == (1, ())
    assert found.faults[0].startswith("it cannot be read to its end (")
