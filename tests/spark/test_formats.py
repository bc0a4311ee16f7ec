"""Files of each typed format, good and hostile, as the first look tells them: written by the formats' own libraries."""

from __future__ import annotations

import gzip
import io
import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from py4j.java_gateway import get_field, set_field
from pyarrow import orc
from pyspark.sql import DataFrame, SparkSession

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.limits import DEFAULTS, Limits
from lakegate.audit.model.plan import Plan, SchemaPolicy, Stance
from spark_jobs.appending.faults import find_corrupt
from spark_jobs.appending.rows import rows_of
from spark_jobs.formats.text.rows import parse_files
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.gateway import jvm
from tests.support.inspection import PLAN, by, inspections
from tests.support.jobs import parquet
from tests.support.plans import plan

pytestmark = pytest.mark.spark
GOOD = pa.table({"id": pa.array(range(1000), pa.int32()), "name": [f"name {number}" for number in range(1000)]})
EVERY = tuple(kind for kind in FileKind if not kind.is_text)


def written_orc(table: pa.Table) -> bytes:
    out = io.BytesIO()
    orc.write_table(table, out)
    return out.getvalue()


def written(frame: DataFrame, folder: Path, kind: FileKind = FileKind.AVRO) -> bytes:
    """By Spark's own writer, as one file."""
    frame.coalesce(1).write.format(kind).mode("overwrite").save(f"file:{folder}/written")
    return next((folder / "written").glob(f"*.{kind}")).read_bytes()


def header(schema: object) -> bytes:
    """An Avro file of no blocks, whose schema no library would write."""
    said = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    return b"Obj\x01" + _number(1) + _number(11) + b"avro.schema" + _number(len(said)) + said + b"\0" + b"s" * 16


def _number(value: int) -> bytes:
    left, out = value << 1, b""
    while left > 127:
        left, out = left >> 7, out + bytes([left & 127 | 128])
    return out + bytes([left])


def record(*fields: tuple[str, object]) -> dict[str, object]:
    return {"type": "record", "name": "r", "fields": [{"name": name, "type": kind} for name, kind in fields]}


def good(spark: SparkSession, folder: Path, kind: FileKind, table: pa.Table = GOOD) -> bytes:
    if kind is FileKind.AVRO:
        (folder / "rows.parquet").write_bytes(parquet(table))
        return written(spark.read.parquet(f"file:{folder}/rows.parquet"), folder)
    return written_orc(table) if kind is FileKind.ORC else parquet(table)


@pytest.mark.parametrize("kind", EVERY)
def test_every_format_is_read_with_the_same_policy(spark: SparkSession, tmp_path: Path, kind: FileKind) -> None:
    fewer, more = GOOD.select(["id"]), GOOD.append_column("new", GOOD["name"])
    bodies = [good(spark, tmp_path, kind, table) for table in (GOOD, fewer, more)]
    assert [(it.rows, it.faults) for it in inspections(spark, tmp_path, by(kind), *bodies)] == [
        (1000, ()),
        (1000, ('column "name" is missing',)),
        (1000, ('column "new" is not in the contract',)),
    ]
    lenient = SchemaPolicy(new_columns=Stance.DISCARD, missing_columns=Stance.ALLOW)
    plan = by(kind, replace(PLAN, policy=lenient))
    found = inspections(spark, tmp_path, plan, *bodies)
    rows = rows_of(spark, plan, found).groupBy("_lakegate_file").agg({"id": "sum", "name": "count"})
    total = sum(range(1000))
    assert {row[0][-1]: (row[1], row[2]) for row in rows.collect()} == {
        "0": (1000, total),
        "1": (0, total),
        "2": (1000, total),
    }


def test_orc_is_typed_as_spark_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table(
        {
            "i": pa.array([1], pa.int8()),
            "f": pa.array([1], pa.float32()),
            "dec": pa.array([Decimal("1.25")], pa.decimal128(12, 2)),
            "at": pa.array([datetime(2013, 1, 1)], pa.timestamp("us")),  # noqa: DTZ001 - ORC's knows no zone
            "day": [date(1600, 1, 1)],
            'a "b".c': pa.array([{"k": 1}], pa.map_(pa.string(), pa.int32())),
            "nested": [{"a b": 1, "c": [{"d": 0.5}]}],
        }
    )
    types = ("tinyint", "float", "decimal(12,2)", "timestamp", "date", "map<string,int>")
    plan = _typed_as(table.schema.names, (*types, "struct<`a b`:bigint,`c`:array<struct<`d`:double>>>"), FileKind.ORC)
    [found] = inspections(spark, tmp_path, plan, written_orc(table))
    assert found.faults == ()
    [row] = rows_of(spark, plan, [found]).collect()
    assert (row["dec"], row["day"], row["at"]) == (Decimal("1.25"), date(1600, 1, 1), datetime(2013, 1, 1))  # noqa: DTZ001
    assert (row['a "b".c'], row["nested"]["c"][0]["d"]) == ({"k": 1}, 0.5)


def test_avro_is_typed_as_spark_reads_it(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.sql(
        "select 1 i, 1.5f f, 1.25bd dec, timestamp'2013-01-01' at, timestamp_ntz'2013-01-01' wall,"
        " date'2013-01-01' day, map('k', 1) m, named_struct('q', 1, 'R', array('x')) nested"
    )
    types = ("int", "float", "decimal(3,2)", "timestamp", "timestamp_ntz", "date", "map<string,int>")
    plan = _typed_as(frame.columns, (*types, "struct<`q`:int,`R`:array<string>>"), FileKind.AVRO)
    [found] = inspections(spark, tmp_path, plan, written(frame, tmp_path))
    assert found.faults == ()
    assert rows_of(spark, plan, [found]).drop("_lakegate_file").collect() == frame.collect()


def _typed_as(names: list[str], types: tuple[str, ...], kind: FileKind) -> Plan:
    return by(kind, plan("nyc.t", dict(zip(names, types, strict=True))))


@pytest.mark.parametrize("kind", [FileKind.ORC, FileKind.AVRO])
def test_a_map_of_intervals_is_no_column_of_a_table(spark: SparkSession, tmp_path: Path, kind: FileKind) -> None:
    body = written(spark.sql("select 1 id, 'a' name, map('k', interval '1' day) m"), tmp_path, kind)
    evolve = by(kind, replace(PLAN, policy=SchemaPolicy(new_columns=Stance.EVOLVE)))
    said = 'column "m" is new and is interval day, which a table cannot hold'
    assert [it.faults for it in inspections(spark, tmp_path, evolve, good(spark, tmp_path, kind), body)] == [
        (),
        (said,),
    ]


def test_a_record_without_fields_is_no_column_of_a_table(spark: SparkSession, tmp_path: Path) -> None:
    nothing = {"type": "record", "name": "nothing", "fields": []}
    row = _number(1) + _number(1) + b"a"
    body = header(record(("id", "int"), ("name", "string"), ("meta", nothing)))
    body += _number(1) + _number(len(row)) + row + b"s" * 16
    evolve = by(FileKind.AVRO, replace(PLAN, policy=SchemaPolicy(new_columns=Stance.EVOLVE)))
    said = 'column "meta" is new and is a struct without fields, which a table cannot hold'
    assert [(it.rows, it.faults) for it in inspections(spark, tmp_path, evolve, body)] == [(1, (said,))]


def nested(depth: int) -> pa.Table:
    value: Any = 1
    for _ in range(depth):
        value = {"a": value}
    return pa.table({"id": pa.array([value])})


def nested_schema(depth: int) -> object:
    kind: object = "int"
    for number in range(depth):
        kind = {"type": "record", "name": f"r{number}", "fields": [{"name": "a", "type": kind}]}
    return record(("id", kind))


WIDE = pa.table({f"c{number}": pa.array([1], pa.int32()) for number in range(6000)})
BODY, ORC = parquet(GOOD), written_orc(GOOD)
FOOTER = int.from_bytes(BODY[-8:-4], "little")
IN_UTC = pa.array([datetime(2013, 1, 1, tzinfo=UTC)], pa.timestamp("us", "UTC"))
EARLY = pa.array([date(1500, 1, 1)])
NO_NAMES = pa.table({"_col0": GOOD["id"], "_col1": GOOD["name"]})
LIES = b"\x15\x02\x29\xfc\xff\xff\xff\xff\x07"  # version 1, and a schema of 2,147,483,647 elements


def lying(length: int) -> bytes:
    return BODY[:-8] + length.to_bytes(4, "little") + b"PAR1"


HOSTILE: dict[str, tuple[FileKind, Callable[[], bytes], str]] = {
    "length beyond the file": (FileKind.PARQUET, lambda: lying(2**31 - 1), "its footer says that it has 2,147,483,647"),
    "negative length": (FileKind.PARQUET, lambda: lying(2**32 - 1), "its footer says that it has 4,294,967,295 bytes"),
    "no length": (FileKind.PARQUET, lambda: lying(0), "its footer says that it has 0 bytes"),
    "short length": (FileKind.PARQUET, lambda: lying(FOOTER - 10), "its footer cannot be read"),
    "list that lies": (
        FileKind.PARQUET,
        lambda: BODY[: -8 - FOOTER] + LIES + BODY[-8 - FOOTER + len(LIES) :],
        "its footer cannot be read",
    ),
    "wide": (FileKind.PARQUET, lambda: parquet(WIDE), "it has 6,000 columns, and the limit is 5,000"),
    "deep": (FileKind.PARQUET, lambda: parquet(nested(100)), "its columns are nested 101 deep, and the limit is 32"),
    "magic alone": (FileKind.PARQUET, lambda: b"PAR1", "it is truncated"),
    "orc is parquet": (FileKind.ORC, lambda: BODY, "it is not an ORC file"),
    "orc is empty": (FileKind.ORC, lambda: b"", "it is empty: 0 bytes"),
    "orc without its end": (FileKind.ORC, lambda: ORC[:-1], "it is truncated"),
    "orc without its tail": (FileKind.ORC, lambda: ORC[: len(ORC) // 2], "it is truncated"),
    "orc magic alone": (FileKind.ORC, lambda: b"ORC\x03ORC\x03", "it is truncated"),
    "orc broken footer": (
        FileKind.ORC,
        lambda: ORC[: -ORC[-1] - 61] + b"\xa5" * 60 + ORC[-ORC[-1] - 1 :],
        "its footer cannot be read",
    ),
    "orc deep": (FileKind.ORC, lambda: written_orc(nested(100)), "its columns are nested 101 deep"),
    "orc without rows": (FileKind.ORC, lambda: written_orc(GOOD.slice(0, 0)), "it has no rows"),
    "orc with zones": (
        FileKind.ORC,
        lambda: written_orc(pa.table({"id": IN_UTC})),
        'column "id" is timestamp with local time zone, which Spark does not read from ORC',
    ),
    "orc before the calendar's reform": (
        FileKind.ORC,
        lambda: written_orc(pa.table({"id": EARLY})),
        'column "id" has days before 1582-10-15',
    ),
    "orc without names": (FileKind.ORC, lambda: written_orc(NO_NAMES), "its columns have no names"),
    "avro magic alone": (FileKind.AVRO, lambda: b"Obj\x01", "it is truncated"),
    "avro is parquet": (FileKind.AVRO, lambda: BODY, "it is not an Avro file"),
    "avro without a schema": (FileKind.AVRO, lambda: b"Obj\x01\0" + b"s" * 16, "it has no schema that can be read"),
    "avro map that lies": (FileKind.AVRO, lambda: b"Obj\x01\xfe\xff\xff\xff\x0f" + b"abc" * 99, "its header is broken"),
    "avro without rows": (FileKind.AVRO, lambda: header(record(("id", "int"), ("name", "string"))), "it has no rows"),
    "avro of numbers": (FileKind.AVRO, lambda: header("int"), "its rows are not records"),
    "avro of no JSON": (FileKind.AVRO, lambda: header(b'{"type":'), "it has no schema that can be read"),
    "avro of deep JSON": (
        FileKind.AVRO,
        lambda: header(b"[" * 100_000 + b"]" * 100_000),
        "it has no schema that can be read",
    ),
    "avro of odd JSON": (FileKind.AVRO, lambda: header({"type": "record", "name": "r", "fields": 5}), "its schema"),
    "avro in itself": (FileKind.AVRO, lambda: header(record(("id", "int"), ("r", ["null", "r"]))), "its schema"),
    "avro twice": (FileKind.AVRO, lambda: header(record(("id", "int"), ("id", "int"))), "its schema cannot be read"),
    "avro in two cases": (FileKind.AVRO, lambda: header(record(("id", "int"), ("ID", "int"))), "it has no rows"),
    "avro deep": (FileKind.AVRO, lambda: header(nested_schema(100)), "its columns are nested 101 deep"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.share(10)
def test_a_hostile_file_is_refused_in_plain_words(spark: SparkSession, tmp_path: Path, name: str) -> None:
    kind, body, said = HOSTILE[name]
    [found] = inspections(spark, tmp_path, by(kind), body())
    assert any(fault.startswith(said) for fault in found.faults), found.faults
    assert str(tmp_path) not in str(found.faults)


def misplaced_parquet(spark: SparkSession, change: Callable[[Any], object]) -> bytes:
    """A file whose footer says something else of its one row group."""
    java, out = jvm(spark), jvm(spark).java.io.ByteArrayOutputStream()
    about = java.org.apache.parquet.format.Util.readFileMetaData(
        java.java.io.ByteArrayInputStream(bytearray(BODY[-8 - FOOTER : -8]))
    )
    change(about.getRow_groups().get(0))
    java.org.apache.parquet.format.Util.writeFileMetaData(about, out)
    written = bytes(out.toByteArray())
    return BODY[: -8 - FOOTER] + written + len(written).to_bytes(4, "little") + b"PAR1"


def misplaced_orc(spark: SparkSession, offset: int) -> bytes:
    """A file whose footer has its one stripe somewhere else."""
    protos, out = jvm(spark).org.apache.orc.OrcProto, io.BytesIO()
    orc.write_table(GOOD, out, compression="uncompressed")
    body = out.getvalue()
    last = protos.PostScript.parseFrom(body[-1 - body[-1] : -1])
    start = len(body) - 1 - body[-1] - last.getFooterLength()
    footer = protos.Footer.parseFrom(body[start : start + last.getFooterLength()])
    stripe = footer.getStripes(0).toBuilder().setOffset(offset).build()
    written = bytes(footer.toBuilder().setStripes(0, stripe).build().toByteArray())
    tail = bytes(last.toBuilder().setFooterLength(len(written)).build().toByteArray())
    return body[:start] + written + tail + bytes([len(tail)])


FAR = 2**40
PLACES: dict[str, Callable[[Any], object]] = {
    "size": lambda group: group.setTotal_compressed_size(FAR),
    "most": lambda group: group.setTotal_compressed_size(2**63 - 1),
    "less than nothing": lambda group: group.setTotal_compressed_size(-FAR),
    "nothing": lambda group: group.getColumns().get(0).unsetMeta_data(),
    "sum": lambda group: [
        group.unsetTotal_compressed_size(),
        group.getColumns().get(1).getMeta_data().setTotal_compressed_size(FAR),
    ],
    "page": lambda group: [
        part.getMeta_data().unsetDictionary_page_offset() or part.getMeta_data().setData_page_offset(FAR)
        for part in group.getColumns()
    ],
}


def test_rows_where_the_file_has_none_are_a_contradiction(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would read no row of them, and say nothing."""
    bodies = [misplaced_parquet(spark, change) for change in PLACES.values()]
    whole = misplaced_parquet(spark, lambda group: group.unsetTotal_compressed_size())
    for kind, right, far in (
        (FileKind.PARQUET, whole, bodies),
        (FileKind.ORC, misplaced_orc(spark, 3), [misplaced_orc(spark, at) for at in (FAR, 2**63 - 1, -1)]),
    ):
        sound, *found = inspections(spark, tmp_path, by(kind), right, *far)
        assert (sound.faults, rows_of(spark, by(kind), [sound]).count()) == ((), 1000)
        assert [inspection.faults[0].split(":")[0] for inspection in found] == ["its footer contradicts itself"] * len(
            far
        )


def with_keys(spark: SparkSession, folder: Path, *, null: bool) -> bytes:
    """An ORC file of one map of two keys, by Java's writer: pyarrow writes no null there."""
    java, path = jvm(spark).org.apache.orc, folder / f"{null}.orc"
    schema = java.TypeDescription.fromString("struct<id:array<map<int,int>>>")
    options = java.OrcFile.writerOptions(hadoop.configuration(spark)).setSchema(schema)
    writer, batch = java.OrcFile.createWriter(hadoop.path(spark, f"file:{path}"), options), schema.createRowBatch()
    items = get_field(batch, "cols")[0]
    entries = get_field(items, "child")
    keys = get_field(entries, "keys")
    get_field(items, "lengths")[0], get_field(entries, "lengths")[0] = 1, 2
    get_field(keys, "vector")[0], get_field(keys, "isNull")[1] = 1, null
    for vector, name, value in (
        (batch, "size", 1), (items, "childCount", 1), (entries, "childCount", 2), (keys, "noNulls", not null),
    ):  # fmt: skip
        set_field(vector, name, value)
    writer.addRowBatch(batch)
    writer.close()
    return path.read_bytes()


def test_a_null_that_is_a_key_in_orc_is_refused(spark: SparkSession, tmp_path: Path) -> None:
    """Spark would take it for one of the map's other keys, or for 0."""
    of = by(FileKind.ORC, plan("nyc.t", {"id": "array<map<int,int>>"}))
    bodies = [with_keys(spark, tmp_path, null=null) for null in (False, True)]
    sound, found = inspections(spark, tmp_path, of, *bodies)
    assert (sound.faults, [row["id"] for row in rows_of(spark, of, [sound]).collect()]) == ((), [[{1: 0, 0: 0}]])
    assert found.faults == ('column "id" has a map with a null among its keys',)


@pytest.mark.parametrize(
    ("limit", "at_most", "said"),
    [
        ("bytes", 100, f"it has {len(BODY):,} bytes, and the limit is 100"),
        ("uncompressed", 100, "bytes uncompressed, and the limit is 100"),
        ("rows", 500, "it has 1,000 rows, and the limit is 500"),
        ("columns", 1, "it has 2 columns, and the limit is 1"),
        ("footer", FOOTER - 1, f"{FOOTER} bytes, and the limit is {FOOTER - 1}"),
    ],
)
@pytest.mark.share(2)
def test_a_limit_says_itself_and_how_to_change_it(
    spark: SparkSession, tmp_path: Path, limit: str, at_most: int, said: str
) -> None:
    [found] = inspections(spark, tmp_path, by(FileKind.PARQUET, limits=replace(DEFAULTS, **{limit: at_most})), BODY)
    assert said in found.faults[0]
    [within] = inspections(spark, tmp_path, by(FileKind.PARQUET, limits=replace(DEFAULTS, **{limit: 10**9})), BODY)
    assert within.faults == ()


def in_groups(rows: int) -> Iterator[tuple[FileKind, bytes]]:
    """The good rows in row groups, and in stripes, of so many."""
    out = io.BytesIO()
    pq.write_table(GOOD, out, row_group_size=rows)
    yield FileKind.PARQUET, out.getvalue()
    orc.write_table(GOOD, out := io.BytesIO(), batch_size=rows, stripe_size=1)
    yield FileKind.ORC, out.getvalue()


def test_row_groups_and_stripes_are_counted_before_any_is_read(spark: SparkSession, tmp_path: Path) -> None:
    for kind, body in in_groups(250):
        many, few = (
            inspections(spark, tmp_path, by(kind, limits=Limits(row_groups=most)), body)[0].faults for most in (3, 4)
        )
        said = "it has 4 row groups, and the limit is 3"
        assert (many, few) == ((said,), ()), kind


@pytest.mark.parametrize("kind", [FileKind.ORC, FileKind.AVRO])
def test_a_file_that_breaks_off_in_its_rows_is_at_fault_alone(
    spark: SparkSession, tmp_path: Path, kind: FileKind
) -> None:
    whole = good(spark, tmp_path, kind)
    start, end = (3, 203) if kind is FileKind.ORC else (whole.index(whole[-16:]) + 20, len(whole) - 16)
    broken = whole[:start] + b"\xa5" * (end - start) + whole[end:]
    found = inspections(spark, tmp_path, by(kind), whole, broken)
    read = find_corrupt(spark, by(kind), [inspection for inspection in found if not inspection.faults])
    faults = {inspection.id[-1]: inspection.faults for inspection in (*found, *read) if inspection.faults}
    assert list(faults) == ["1"]
    assert faults["1"][0].startswith("its rows cannot be read to the end, a")


def test_fractions_before_1970_that_spark_cannot_read_are_not_called_corrupt(
    spark: SparkSession, tmp_path: Path
) -> None:
    """As others than Java's writer have them in ORC; whether the footer tells it or the rows do."""
    at = [datetime(1969, 12, 31, 23, 59, 59, 999_999), datetime(1890, 1, 1, 0, 0, 0, 5), datetime(1890, 1, 1)]  # noqa: DTZ001
    of = by(FileKind.ORC, plan("nyc.t", {"at": "timestamp"}))
    bodies = [written_orc(pa.table({"at": pa.array([each], pa.timestamp("us"))})) for each in at]
    inspected = inspections(spark, tmp_path, of, *bodies)
    read = find_corrupt(spark, of, [inspection for inspection in inspected if not inspection.faults])
    told = {inspection.id[-1]: inspection.faults for inspection in (*inspected, *read)}
    said = "it has parts of a second before 1970, which Spark reads from ORC only as Java's writer has them"
    assert told == {"0": (said,), "1": (said,), "2": ()}


@pytest.mark.parametrize("kind", [FileKind.PARQUET, FileKind.AVRO])
def test_a_column_that_has_no_type_for_it_has_no_values_is_null(
    spark: SparkSession, tmp_path: Path, kind: FileKind
) -> None:
    of = by(kind, plan("nyc.t", {"id": "int", "name": "string"}))
    bodies = {
        FileKind.PARQUET: parquet(pa.table({"id": pa.array([1], pa.int32()), "name": pa.nulls(1)})),
        FileKind.AVRO: header(record(("id", "int"), ("name", "null"))) + b"\x02\x02\x02" + b"s" * 16,
    }
    alone = parquet(pa.table({"id": pa.nulls(2), "name": pa.nulls(2)}))
    found = inspections(spark, tmp_path, of, bodies[kind], *([alone] if kind is FileKind.PARQUET else []))
    assert [(inspection.faults, inspection.rows) for inspection in found] == [((), 1), ((), 2)][: len(found)]
    rows = [tuple(row)[:-1] for row in rows_of(spark, of, found).collect()]
    assert sorted(rows, key=str) == [(1, None), *[(None, None)] * 2][: sum(inspection.rows for inspection in found)]


def test_a_block_that_lies_of_its_size_does_not_take_the_others_with_it(spark: SparkSession, tmp_path: Path) -> None:
    whole = good(spark, tmp_path, FileKind.AVRO)
    first = whole.index(whole[-16:]) + 16
    lies = whole[:first] + b"\xd0\x0f\xfe\xff\xff\xff\x0f" + whole[first + 4 :]  # 1,000 rows in 2,147,483,647 bytes
    sound, found = inspections(spark, tmp_path, by(FileKind.AVRO), whole, lies)
    assert (sound.rows, sound.faults) == (1000, ())
    assert found.faults[0].startswith("its rows cannot be read to the end, a block is corrupt")


@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.share(1)
def test_a_file_cut_anywhere_is_refused(spark: SparkSession, tmp_path: Path, kind: FileKind) -> None:
    whole = good(spark, tmp_path, kind, GOOD.slice(0, 3))
    cuts = [whole[:size] for size in range(1, len(whole) - 1, max(1, len(whole) // 25))]
    assert all(inspection.faults for inspection in inspections(spark, tmp_path, by(kind), *cuts))


def test_thousands_of_faults_are_told_in_short(spark: SparkSession, tmp_path: Path) -> None:
    [found] = inspections(spark, tmp_path, by(FileKind.PARQUET, limits=Limits(columns=10_000)), parquet(WIDE))
    assert len(found.faults) == 1
    assert found.faults[0].startswith("this file is of another table: it has none of the contract's 2 columns, and ")
    assert found.faults[0].endswith(" and 5,997 more beside")


def test_a_line_with_too_many_fields_is_a_row_that_does_not_parse(spark: SparkSession, tmp_path: Path) -> None:
    plan = by(FileKind.CSV)
    [found] = inspections(spark, tmp_path, plan, b"id,name\n1,x\n2" + b",y" * 30_000 + b"\n3,z\n")
    assert (found.faults, found.rows) == ((), 3)
    [part] = parse_files(spark, plan, [found])
    assert [(row["at"], row["why"]) for row in part.malformed().collect()] == [(2, "it does not have 2 fields")]
    assert [row["id"] for row in rows_of(spark, plan, [found]).collect()] == [1, 3]


@pytest.mark.parametrize(
    ("body", "limits", "said"),
    [
        (b",".join(b"c%d" % number for number in range(30_000)), Limits(), "it has 30,000 columns, and the limit is 5"),
        (b"id,name\n" + b"1,x\n" * 6, Limits(rows=5), "it has 6 rows, and the limit is 5"),
    ],
)
def test_text_has_limits_too(spark: SparkSession, tmp_path: Path, body: bytes, limits: Limits, said: str) -> None:
    [found] = inspections(spark, tmp_path, by(FileKind.CSV, limits=limits), body)
    assert found.faults[0].startswith(said)


@pytest.mark.parametrize("packing", ["gzip", "zstd"])
@pytest.mark.share(1)
def test_what_comes_out_of_a_compressed_file_is_counted_no_further_than_the_limit(
    spark: SparkSession, tmp_path: Path, packing: str
) -> None:
    form = FileFormat(kind=FileKind.CSV, compression=packing, limits=Limits(uncompressed=1_000_000))
    packed = partial(pa.Codec(packing).compress, asbytes=True)
    sound, bomb = packed(b"id,name\n1,x\n"), packed(b"id,name\n" + b"1,x\n" * 1_000_000)
    taken, refused = inspections(spark, tmp_path, replace(PLAN, files=form), sound, bomb)
    assert (taken.faults, taken.rows) == ((), 1)
    assert refused.faults[0].startswith("it has more than 1,000,000 bytes uncompressed, and the limit is 1,000,000")


ROWS = b"id,name\n1,x\n2,y\n"
NOT_ITS_TABLES = "this file is of another table: it has none of the contract's 2 columns"
NO_TEXT = {
    "cut off": (gzip.compress(ROWS * 1000)[:-20], "it cannot be read to its end (Unexpected end of input stream)"),
    "corrupt": (
        gzip.compress(ROWS)[:12] + b"\xa5" * 20,
        "it cannot be read to its end (invalid distance too far back)",
    ),
    "magic alone": (b"\x1f\x8b", "it cannot be read to its end (Unexpected end of input stream)"),
    "junk behind": (gzip.compress(ROWS) + b"junk" * 10, "it cannot be read to its end (not a gzip file)"),
    "not compressed": (ROWS, "it is not compressed as its name or the contract says"),
    "in itself": (gzip.compress(gzip.compress(ROWS)), NOT_ITS_TABLES),
    "nothing but NUL": (gzip.compress(b"\0" * 1000), NOT_ITS_TABLES),
    "sound, in two members": (gzip.compress(ROWS) + gzip.compress(b"3,z\n"), ""),
}


def test_compressed_text_that_breaks_off_is_at_fault_alone(spark: SparkSession, tmp_path: Path) -> None:
    form = FileFormat(kind=FileKind.CSV, compression="gzip")
    found = inspections(spark, tmp_path, replace(PLAN, files=form), *(body for body, _ in NO_TEXT.values()))
    told = {name: (*inspection.faults, "")[0] for name, inspection in zip(NO_TEXT, found, strict=True)}
    assert {name: told[name].partition(", and ")[0] for name in told} == {
        name: said for name, (_, said) in NO_TEXT.items()
    }
    assert found[-1].rows == 3


def test_a_row_of_many_lines_with_too_many_fields_is_told_plainly(spark: SparkSession, tmp_path: Path) -> None:
    form = FileFormat(kind=FileKind.CSV, multiline=True)
    [found] = inspections(spark, tmp_path, replace(PLAN, files=form), ROWS + b"2" + b",y" * 30_000 + b"\n")
    assert found.faults == ("it cannot be read to its end (a row has too many fields)",)
