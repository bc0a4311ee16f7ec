"""Text that is not UTF-8 is the fault of its file, wherever it stands, on both lanes."""

from __future__ import annotations

import io
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import orc
from pyiceberg.io.pyarrow import schema_to_pyarrow
from pyspark.sql import SparkSession

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import DEFAULTS
from lakegate.audit.model.plan import Plan, SchemaPolicy, Stance
from lakegate.audit.schema.inspection import fit_all
from lakegate.express import footer, rows
from lakegate.express.creating import schema_of
from spark_jobs.appending.faults import find_corrupt
from spark_jobs.appending.rows import rows_of
from tests.spark.test_formats import EVERY, written
from tests.spark.test_text import MALFORMED, read
from tests.support.inspection import PLAN, by, inspections
from tests.support.plans import plan

pytestmark = pytest.mark.spark
NO_TEXT = {
    "latin-1": "636166E9",
    "a lone continuation": "80",
    "a cut sequence": "61E282",
    "a cut sequence before a letter": "F09F9861",
    "an overlong slash": "C0AF",
    "an overlong sign of three bytes": "E08080",
    "an overlong sign of four bytes": "F0808080",
    "half of a surrogate pair": "EDA080",
    "both halves of a surrogate pair": "EDA0BDEDB880",
    "a sign beyond the last": "F4908080",
    "a byte that none begins with": "F5808080",
    "a byte that none has": "FF",
}
TEXT = {
    "nothing": "",
    "a NUL": "00",
    "the replacement character": "EFBFBD",
    "the last of each length": "7FDFBFEFBFBFF48FBFBF",
    "around the surrogates": "ED9FBFEE8080",
    "no character": "EFBFBE",
}
COLUMNS = {
    "name": "string",
    "of": "struct<a:string,b:array<string>>",
    "kinds": "map<string,string>",
    "deep": "array<map<string,struct<of:array<string>>>>",
}
WITHIN = "array(map('k', named_struct('of', array('a', {}))))"
PLACES = {
    "name": "{} name, null of, null kinds, null deep",
    "of.a": "'a' name, named_struct('a', {}, 'b', array('a')) of, null kinds, null deep",
    "of.b[]": "'a' name, named_struct('a', 'a', 'b', array('a', null, {})) of, null kinds, null deep",
    "kinds.key": "'a' name, null of, map('k', 'b', {}, 'c') kinds, null deep",
    "kinds.value": "'a' name, null of, map('a', 'b', 'c', {}) kinds, null deep",
    "deep[].value.of[]": f"null name, null of, null kinds, {WITHIN} deep",
}


def body_of(spark: SparkSession, folder: Path, kind: FileKind, place: str, *texts: str) -> bytes:
    """A file of these texts, as bytes in hexadecimals, after a row of letters."""
    typed = ", ".join(f"cast({name} as {kind}) {name}" for name, kind in COLUMNS.items())
    rows = [f"select {PLACES[place].format(f'cast(unhex({text!r}) as string)')}" for text in ("61", *texts)]
    return written(spark.sql(f"select {typed} from ({' union all '.join(rows)})"), folder, kind)


def with_keys(spark: SparkSession, folder: Path) -> bytes:
    """An Avro file with such keys of a map, which Spark's writer would not write."""
    spark.conf.set("spark.sql.avro.compression.codec", "uncompressed")
    try:
        body = body_of(spark, folder, FileKind.AVRO, "kinds.key", b"QQQQ".hex(), b"ZZZZ".hex(), "62")
    finally:
        spark.conf.unset("spark.sql.avro.compression.codec")
    return body.replace(b"QQQQ", b"caf\xe9").replace(b"ZZZZ", b"\xed\xa0\x80a")


def judged(spark: SparkSession, folder: Path, of: Plan, *bodies: bytes) -> list[tuple[str, ...]]:
    found = find_corrupt(spark, of, inspections(spark, folder, of, *bodies))
    return [each.faults for each in found]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", EVERY)
@pytest.mark.share(7)  # each kind, and each place
def test_text_that_is_not_utf_8_is_told_where_it_stands(
    spark: SparkSession, tmp_path: Path, kind: FileKind, place: str
) -> None:
    of = by(kind, plan("nyc.t", COLUMNS))
    bodies = [body_of(spark, tmp_path, kind, place, *texts) for texts in (("E9", "FF", "62"), ("C3A9",))]
    if kind is FileKind.AVRO and place == "kinds.key":
        bodies[0] = with_keys(spark, tmp_path)
    said = f'column "{place}" has text that is not UTF-8, in 2 rows'
    assert judged(spark, tmp_path, of, *bodies) == [(said,), ()]


@pytest.mark.parametrize("kind", EVERY)
def test_whatever_is_no_text_is_found_and_all_text_is_taken(
    spark: SparkSession, tmp_path: Path, kind: FileKind
) -> None:
    """As many rows as there are of each: one that is missed, or is wrongly found, is another number."""
    of = by(kind, plan("nyc.t", COLUMNS))
    bad = body_of(spark, tmp_path, kind, "name", *NO_TEXT.values(), *TEXT.values())
    good = body_of(spark, tmp_path, kind, "name", *TEXT.values())
    said = f'column "name" has text that is not UTF-8, in {len(NO_TEXT)} rows'
    assert judged(spark, tmp_path, of, bad, good) == [(said,), ()]
    found = inspections(spark, tmp_path, of, good)
    kept = {row["name"].encode() for row in rows_of(spark, of, found).collect()}
    assert kept == {bytes.fromhex(text) for text in ("61", *TEXT.values())}


def test_many_columns_with_such_text_are_told_in_short(spark: SparkSession, tmp_path: Path) -> None:
    names = [f"c{at}" for at in range(30)]
    frame = spark.sql(f"select {', '.join(f'cast(unhex({chr(39)}E9{chr(39)}) as string) {name}' for name in names)}")
    of = by(FileKind.PARQUET, plan("nyc.t", dict.fromkeys(names, "string")))
    [(said,)] = judged(spark, tmp_path, of, written(frame, tmp_path, FileKind.PARQUET))
    assert said == '30 columns with text that is not UTF-8: "c0", "c1", "c2" and 27 more'


@pytest.mark.parametrize("form", ["csv", "csv of several lines", "json"])
def test_a_line_of_text_that_is_not_utf_8_does_not_parse_and_those_beside_it_do(
    spark: SparkSession, tmp_path: Path, form: str
) -> None:
    of = plan("nyc.t", {"id": "int", "say": "string"})
    is_json = form == "json"
    texts = [text for bad in NO_TEXT.values() for text in (bytes.fromhex(bad), b"good")]
    line = b'{"id": %d, "say": "%b"}' if is_json else b"%d,%b"
    lines = [*([] if is_json else [b"id,say"]), *(line % each for each in enumerate(texts))]
    written_as = FileFormat(kind=FileKind.JSON if is_json else FileKind.CSV, multiline=form.endswith("lines"))
    good, bad = read(spark, tmp_path, by_form(of, written_as), b"\n".join(lines) + b"\n")
    assert [row["id"] for row in good] == [at for at, text in enumerate(texts) if text == b"good"]
    assert [why for _, why in bad] == ["its bytes are not UTF-8"] * len(NO_TEXT)


def by_form(of: Plan, form: FileFormat) -> Plan:
    return replace(of, files=form, metrics=(MALFORMED,))


def express(of: Plan, body: bytes) -> pa.Table:
    file = JobFile(id="f1", key="landed", uri="file:landed", size=len(body))
    _, [found] = fit_all(of, None, [footer.inspect(file, body, DEFAULTS)])
    assert found.faults == ()
    return rows.rows_of(of, found, body, schema_to_pyarrow(schema_of(of.columns), include_field_ids=False), 10**9)


@pytest.mark.parametrize("dictionary", [False, True])
@pytest.mark.parametrize("text", NO_TEXT.values(), ids=NO_TEXT)
def test_the_express_lane_hands_over_what_is_no_text(text: str, *, dictionary: bool) -> None:
    of = plan("nyc.t", {"name": "string"})
    texts = pa.array([b"a", bytes.fromhex(text)], pa.binary()).view(pa.string())
    out = io.BytesIO()
    pq.write_table(pa.table({"name": texts}), out, use_dictionary=dictionary)
    with pytest.raises(HandedOver, match='Column "name" of file landed has text that is not UTF-8'):
        express(of, out.getvalue())


@pytest.mark.parametrize("text", TEXT.values(), ids=TEXT)
def test_the_express_lane_takes_all_text(text: str) -> None:
    out = io.BytesIO()
    pq.write_table(pa.table({"name": [bytes.fromhex(text).decode()]}), out)
    assert express(plan("nyc.t", {"name": "string"}), out.getvalue())["name"].to_pylist() == [
        bytes.fromhex(text).decode()
    ]


def with_name(kind: FileKind) -> bytes:
    """A file with a name of a column that is latin-1."""
    table = pa.table({"id": pa.array([1], pa.int32()), "name": ["a"], "QQQQ": ["b"]})
    out = io.BytesIO()
    if kind is FileKind.ORC:
        orc.write_table(table, out, compression="uncompressed")
    else:
        pq.write_table(table, out, store_schema=False)
    return out.getvalue().replace(b"QQQQ", b"caf\xe9")


@pytest.mark.parametrize("stance", [Stance.FREEZE, Stance.EVOLVE, Stance.DISCARD])
@pytest.mark.parametrize("kind", [FileKind.PARQUET, FileKind.ORC])
def test_a_name_that_is_not_utf_8_is_its_file_s_fault(
    spark: SparkSession, tmp_path: Path, kind: FileKind, stance: Stance
) -> None:
    of = by(kind, replace(PLAN, policy=SchemaPolicy(new_columns=stance)))
    [found] = inspections(spark, tmp_path, of, with_name(kind))
    assert found.faults == ('the name of column "caf\ufffd" is not UTF-8',)


def test_the_express_lane_hands_over_a_name_that_is_not_utf_8() -> None:
    with pytest.raises(HandedOver):
        express(PLAN, with_name(FileKind.PARQUET))
