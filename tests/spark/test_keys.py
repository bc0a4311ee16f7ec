"""Keys against the batch, the table and other tables: every verdict is what reading the rows in turn would say."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal

import pytest
from pyspark.sql import SparkSession

from lakegate.audit.errors import Unfit
from lakegate.audit.model.plan import Check, Metric, MetricKind, Operator, Scope
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.jvm.session import LAKE
from spark_jobs.metrics import keys as of_keys
from spark_jobs.tables.base import Candidates, check_references
from tests.support.branch_table import Table
from tests.support.plans import duplicates, nulls, orphans, plan

pytestmark = pytest.mark.spark
VARIANT = pytest.mark.extended  # the gate asks of a few types and scenes, and the rest runs beside it
TABLE = Scope.TABLE
LOCAL = datetime(2013, 1, 1, tzinfo=UTC).replace(tzinfo=None)
Rows = Sequence[tuple[object, ...]]


def said(table: Table) -> dict[str, list[float | None]]:
    return {file: [check.value for check in checks] for file, checks in table.judged().items()}


def make(spark: SparkSession, name: str, columns: Mapping[str, str], rows: Rows) -> None:
    """A table that somebody else filled, as they like."""
    schema = ", ".join(f"{spark_identifier(column)} {kind}" for column, kind in columns.items())
    spark.sql(f"CREATE NAMESPACE IF NOT EXISTS {LAKE}.{name.split('.', maxsplit=1)[0]}")
    spark.createDataFrame(list(rows), schema).writeTo(f"{LAKE}.{name}").using("iceberg").create()


def test_a_key_that_the_table_has_is_a_duplicate_and_shown(spark: SparkSession) -> None:
    by = plan("nyc.t", {"id": "bigint"}, [duplicates("id", scope=TABLE)])
    table = Table(spark=spark, plan=by).on_main({"f0": [(1, None), (2, None), (None, None)]})
    table.hold({"f1": [(3, None), (None, None), (None, None)], "f2": [(2, None), (1, None), (1, None), (9, None)]})
    judged = table.judged()
    assert [checks[0].value for checks in judged.values()] == [0, 3]
    assert sorted(row["id"] for row in judged["f2"][0].sample) == [1, 1, 2]


def test_what_the_batch_replaces_is_no_part_of_the_table(spark: SparkSession) -> None:
    by = plan("nyc.t", {"id": "bigint"}, [duplicates("id", scope=TABLE)])
    table = Table(spark=spark, plan=by).on_main({"f0": [(1, None)], "old": [(2, None), (3, None)]})
    table.hold({"new": [(1, None), (2, None), (3, None), (4, None)]})
    assert (said(table), table.base.rows("nyc.t")) == ({"new": [3]}, 3)
    table.replaced = frozenset({"old"})
    assert (said(table), table.base.rows("nyc.t")) == ({"new": [1]}, 1)


def test_duplicates_in_a_table_are_what_reading_the_rows_in_turn_would_say(spark: SparkSession) -> None:
    columns = {"a": "int", "a.b `c": "string", "select": "double"}
    metrics = [
        duplicates("a", "a.b `c", scope=TABLE),
        duplicates("a"),
        duplicates("select", scope=TABLE),
        duplicates("a.b `c", "select"),
    ]
    dice = random.Random(20130131)
    texts, numbers = ["x", "y", None, ""], [0.0, -0.0, float("nan"), None, *map(float, range(50))]
    drawn = {
        f"f{number}": [
            (dice.choice([None, *range(90)]), dice.choice(texts), dice.choice(numbers), None) for _ in "1234"
        ]
        for number in range(8)
    }
    before = {"f0": drawn["f0"]}
    table = Table(spark=spark, plan=plan("nyc.t", columns, metrics)).on_main(before)
    table.hold(after := {file: rows for file, rows in drawn.items() if file not in before})
    found = said(table)
    assert found == in_turn(metrics, list(columns), before, after)
    assert any(any(values) for values in found.values())


def in_turn(
    metrics: Sequence[Metric], columns: Sequence[str], before: Mapping[str, Rows], after: Mapping[str, Rows]
) -> dict[str, list[int]]:
    """Reading the rows one by one, with NaN equal to itself and -0.0 to 0.0."""
    seen = [
        {key for rows in before.values() for key in keys_of(metric, columns, rows)} if metric.scope is TABLE else set()
        for metric in metrics
    ]
    found: dict[str, list[int]] = {}
    for file, rows in after.items():
        keys = [keys_of(metric, columns, rows) for metric in metrics]
        found[file] = [
            sum(key in known or key in mine[:at] for at, key in enumerate(mine))
            for known, mine in zip(seen, keys, strict=True)
        ]
        if not any(found[file]):
            for metric, known, mine in zip(metrics, seen, keys, strict=True):
                known.update(mine if metric.scope is TABLE else ())
    return found


def keys_of(metric: Metric, columns: Sequence[str], rows: Rows) -> list[tuple[str, ...]]:
    picked = [[row[columns.index(name)] for name in metric.columns] for row in rows]
    return [tuple(str(0.0 if value == 0.0 else value) for value in key) for key in picked if None not in key]


@pytest.mark.parametrize(
    ("kind", "values"),
    [
        ("bigint", [0, 1, 62, 63, 64, 65, -1, -64, -65, 2**63 - 1, -(2**63)]),
        pytest.param("int", [0, 63, 64, -1, 2**31 - 1, -(2**31)], marks=VARIANT),
        pytest.param(
            "date", [date(1969, 12, 31), date(1970, 1, 1), date(2013, 1, 1), date(9999, 12, 31)], marks=VARIANT
        ),
        pytest.param(
            "timestamp",
            [datetime(1969, 12, 31, 23, 59, 59, 999999, UTC), datetime(2013, 1, 1, tzinfo=UTC)],
            marks=VARIANT,
        ),
        pytest.param("timestamp_ntz", [LOCAL, LOCAL + timedelta(microseconds=1)], marks=VARIANT),
        pytest.param(
            "decimal(20,2)", [Decimal("1.50"), Decimal("-1.50"), Decimal("123456789012345678.01")], marks=VARIANT
        ),
        ("string", ["", "a", "A", "a ", "ä"]),
        pytest.param("double", [0.0, 1.0, float("nan"), float("inf")], marks=VARIANT),
    ],
)
def test_values_that_differ_are_shown_to_be_unique_and_one_more_is_not(
    spark: SparkSession, kind: str, values: list[object]
) -> None:
    """Without the exact query, which a batch without duplicates must never need."""
    frames = (
        spark.createDataFrame([(value,) for value in each], f"_lakegate_key0 {kind}")
        for each in (values, [*values, values[-1]])
    )
    iceberg_type = {"bigint": "long", "timestamp": "timestamptz"}.get(kind, kind)
    as_number = of_keys._WHOLE.get(iceberg_type, "").format("_lakegate_key0")
    for rows, is_unique in zip(frames, (True, False), strict=True):
        assert {of_keys._is_surely_unique(rows, how) for how in ("", as_number)} == {is_unique}
        twice = rows.join(spark.createDataFrame([("f1",), ("f2",)], f"{FILE_COLUMN} string"))
        assert {of_keys._is_surely_unique(twice, how, per_file=True) for how in ("", as_number)} == {is_unique}
        assert not any(of_keys._is_surely_unique(twice, how) for how in ("", as_number))


def test_a_key_without_a_row_that_it_refers_to_is_an_orphan_and_its_row_is_shown(spark: SparkSession) -> None:
    make(spark, "nyc.planes", {"tail": "string", "seats": "int"}, [("N1", 2), ("N2", 2), (None, 1), ("N1", 3)])
    by = plan("nyc.t", {"id": "int", "plane": "string"}, [orphans(["plane"], "nyc.planes", ["tail"])])
    table = Table(spark=spark, plan=by)
    table.hold({"f1": [(1, "N1", None), (2, None, None)], "f2": [(3, "N3", None), (4, "N2", None), (5, "N3", None)]})
    judged = table.judged()
    assert [checks[0].value for checks in judged.values()] == [0, 2]
    shown = sorted(judged["f2"][0].sample, key=lambda row: row["id"])
    assert shown == [{"id": 3, "plane": "N3"}, {"id": 5, "plane": "N3"}]


def test_compound_keys_of_awkward_columns_refer_as_a_whole(spark: SparkSession) -> None:
    theirs = {"a.b": "bigint", "`select` ": "decimal(10,2)"}
    make(spark, "nyc.other", theirs, [(1, Decimal("1.00")), (2, Decimal("2.00")), (None, Decimal("3.00"))])
    key = orphans(["x y", "k`0"], "nyc.other", list(theirs))
    by = plan("nyc.t", {"x y": "int", "k`0": "decimal(10,2)", "_k": "int"}, [key])
    one, two, three = Decimal("1.00"), Decimal("2.00"), Decimal("3.00")
    rows: Rows = [(1, one, 0, None), (1, two, 1, None), (3, three, 2, None), (None, three, 3, None)]
    judged = Table(spark=spark, plan=by).hold({"f1": rows}).judged()
    assert sorted(row["_k"] for row in judged["f1"][0].sample) == [1, 2]


def test_rows_refer_to_rows_of_their_own_table_as_reading_the_files_in_turn_would_say(spark: SparkSession) -> None:
    """Main has 1 and 2; a file's own rows count wherever they stand, even the row itself, and so do cycles."""
    key = orphans(["boss"], "nyc.t", ["id"])
    by = plan("nyc.t", {"id": "bigint", "boss": "int", "x": "int"}, [key, nulls("x")])
    table = Table(spark=spark, plan=by).on_main({"f0": [(1, None, 0, None), (2, 1, 0, None)]})
    drawn: dict[str, Rows] = {
        "f1": [(3, 1, 0, None), (4, 5, 0, None), (5, 4, 0, None), (6, 6, 0, None)],  # main, a cycle, itself
        "f2": [(7, 3, 0, None), (8, 20, 0, None), (8, 20, 0, None)],  # an earlier file's; one of a later file
        "f3": [(9, 7, 0, None), (10, 10, None, None)],  # a rejected file's; and rejected itself
        "f4": [(20, 10, 0, None), (21, 3, 0, None), (None, 20, 0, None)],
        "f5": [(22, 6, 0, None), (23, None, 0, None)],
    }
    table.hold(drawn)
    judged = table.judged()
    assert {file: checks[0].value for file, checks in judged.items()} == {"f1": 0, "f2": 2, "f3": 1, "f4": 1, "f5": 0}
    shown = {file: [row["id"] for row in checks[0].sample] for file, checks in judged.items() if checks[0].sample}
    assert shown == {"f2": [8, 8], "f3": [9], "f4": [20]}


def test_the_first_file_of_a_table_may_refer_to_itself_by_a_compound_key(spark: SparkSession) -> None:
    columns = {"a b": "int", "id": "int", "up.a": "int", "up`id": "int"}
    key = orphans(["up.a", "up`id"], "nyc.t", ["a b", "id"])
    rows: Rows = [(1, 1, None, 1, None), (1, 2, 1, 1, None), (2, 1, 2, 2, None)]
    table = Table(spark=spark, plan=plan("nyc.t", columns, [key])).hold({"f1": rows})
    assert said(table) == {"f1": [1]}


def test_where_there_is_no_such_table_or_none_of_its_rows_every_key_is_an_orphan(spark: SparkSession) -> None:
    make(spark, "nyc.empty", {"id": "int"}, [])
    make(spark, "nyc.far", {"id": "int"}, [(1000,)])
    metrics = [
        orphans([column], f"nyc.{table}", ["id"]) for column, table in zip("abc", ("empty", "far", "gone"), strict=True)
    ]
    by = plan("nyc.t", dict.fromkeys("abc", "bigint"), [*metrics, nulls("a")])
    rows: Rows = [(1, 2, 2**40, None), (None, None, None, None)]
    table = Table(spark=spark, plan=by).hold({"f1": rows, "f2": [(None, None, None, None)]})
    assert said(table) == {"f1": [1, 1, 1, 1], "f2": [0, 0, 0, 1]}


def test_a_table_s_rows_count_with_the_files_before(spark: SparkSession) -> None:
    rows = Metric(id="all", kind=MetricKind.ROWS, scope=TABLE)
    check = Check(id="c", name="rows", metric="all", operator=Operator.LESS_THAN, threshold=(6,))
    by = replace(plan("nyc.t", {"id": "int"}), metrics=(rows,), checks=(check,))
    table = Table(spark=spark, plan=by).on_main({"f0": [(1, None), (2, None)]})
    table.hold({"f1": [(1, None), (1, None)], "f2": [(2, None), (2, None)], "f3": [(3, None)]})
    assert said(table) == {"f1": [4], "f2": [6], "f3": [5]}
    assert table.reads == 0
    first = Table(spark=spark, plan=replace(by, table="nyc.new")).hold({"f1": [(1, None)]})
    assert said(first) == {"f1": [1]}


def test_only_data_files_near_the_batch_are_read(spark: SparkSession) -> None:
    by = plan("nyc.t", {"id": "bigint", "name": "string"}, [duplicates("id", scope=TABLE)])
    many = {f"m{number}": [(number * 100 + at, "x", None) for at in range(10)] for number in range(6)}
    table = Table(spark=spark, plan=by).on_main(many)
    table.hold({"f1": [(305, "y", None)], "f2": [(611, "y", None)]})
    candidates = [candidates_of(table, file) for file in ("f1", "f2")]
    assert [it and it.rows for it in candidates] == [10, None]
    assert said(table) == {"f1": [1], "f2": [0]}


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        pytest.param("bigint", lambda n: n, marks=VARIANT),
        ("string", lambda n: f"{n:06}"),
        pytest.param("date", lambda n: date(2013, 1, 1) + timedelta(days=n), marks=VARIANT),
        pytest.param("timestamp", lambda n: datetime(2013, 1, 1, tzinfo=UTC) + timedelta(hours=n), marks=VARIANT),
        pytest.param("timestamp_ntz", lambda n: LOCAL + timedelta(hours=n), marks=VARIANT),
        pytest.param("decimal(10,2)", Decimal, marks=VARIANT),
    ],
)
def test_what_lies_between_keys_far_apart_is_not_read(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, kind: str, value: Callable[[int], object]
) -> None:
    monkeypatch.setattr(of_keys, "_MOST_ROWS", 0)
    by = plan("nyc.t", {"id": kind}, [duplicates("id", scope=TABLE)])
    many = {f"m{number}": [(value(number * 100 + at), None) for at in range(10)] for number in range(4)}
    table = Table(spark=spark, plan=by).on_main(many)
    table.hold({"f1": [(value(5), None), (value(305), None)]})
    found = candidates_of(table, "f1")
    assert found is not None
    assert found.rows == 20
    assert said(table) == {"f1": [2]}


def texts(table: Table, file: str, *raw: bytes) -> Table:
    """The file with these texts, UTF-8 or not, in one data file."""
    rows = [(bytearray(each), file) for each in raw]
    frame = table.spark.createDataFrame(rows, f"id binary, {FILE_COLUMN} string").coalesce(1)
    frame.selectExpr("CAST(id AS string) AS id", FILE_COLUMN).writeTo(f"{LAKE}.{table.plan.table}").append()
    return table


LONE = b"\x80"  # no UTF-8, and in the order of bytes between a and é


OF_THE_BATCH = {  # of which there may be a closer look
    "in the batch": ([b"\xc3\xa9", b"b"], [b"\xc3\xa9", LONE], 1),
    "in the midst of the batch": ([LONE], [b"a", LONE, b"\xc3\xa9"], 1),
    "above all texts": ([b"\xf0\x9f\x8c\x8d", b"a", b"\xff"], [b"\xf0\x9f\x8c\x8d", b"\xff"], 2),
}
OF_THE_TABLE = {
    "in the table": ([b"\xc3\xa9", LONE], [b"\xc3\xa9", b"b"], 1),
    "behind a text": ([b"x\xc3\xa9", b"x" + LONE], [b"x\xc3\xa9"], 1),
    "cut off": ([b"long enough to be cut " + LONE], [b"long enough to be cut " + LONE], 1),
}


@pytest.mark.parametrize(
    ("before", "after", "expected", "closer"),
    [
        *(pytest.param(*scene, False, id=name) for name, scene in (OF_THE_BATCH | OF_THE_TABLE).items()),
        *(pytest.param(*scene, True, id=f"{name}, at a closer look") for name, scene in OF_THE_BATCH.items()),
    ],
)
@pytest.mark.share(2)
def test_text_that_is_not_utf_8_hides_no_key(
    spark: SparkSession,
    monkeypatch: pytest.MonkeyPatch,
    before: list[bytes],
    after: list[bytes],
    expected: int,
    closer: bool,  # noqa: FBT001
) -> None:
    if closer:
        monkeypatch.setattr(of_keys, "_MOST_ROWS", 0)
        monkeypatch.setattr(of_keys, "_MANY_FOR_EACH", 0)
    table = Table(spark=spark, plan=plan("nyc.t", {"id": "string"}, [duplicates("id", scope=TABLE)])).hold({})
    texts(table, "f0", *before).on_main({"f9": [("z", None)]})
    assert said(texts(table, "f1", *after)) == {"f1": [expected]}


def test_text_that_is_not_utf_8_has_no_other_data_files_read(spark: SparkSession) -> None:
    table = Table(spark=spark, plan=plan("nyc.t", {"id": "string"}, [duplicates("id", scope=TABLE)])).hold({})
    texts(table, "f0", b"a", LONE)
    table.on_main({"f2": [("b", None)] * 10, "f3": [("x", None)] * 100})
    found = candidates_of(texts(table, "f1", b"b"), "f1")
    assert found is not None
    assert found.rows == 12


@pytest.mark.parametrize(
    "of_batch", [pytest.param(False, id="of the table", marks=VARIANT), pytest.param(True, id="of the batch")]
)
@pytest.mark.parametrize(
    ("there", "key"),
    [
        pytest.param([b"\xf0\x9f\x98\x80", b"\xff\x7a", "\U00010000".encode(), b"m"], "😀", id="above"),
        pytest.param([b"m\xf0\x9f\x98\x80", b"m\xff", b"y", b"z"], "m😀", id="within", marks=VARIANT),
        pytest.param(["あ".encode(), b"\xc0\xed", "い".encode(), "う".encode()], "あ", id="below", marks=VARIANT),
    ],
)
def test_no_row_group_hides_a_key(
    spark: SparkSession,
    there: list[bytes],
    key: str,
    of_batch: bool,  # noqa: FBT001
) -> None:
    """Of a data file whose row groups have two rows each: its bounds look sound, though the first one's are not."""
    before, after = ([key.encode()], there) if of_batch else (there, [key.encode()])
    table = Table(spark=spark, plan=plan("nyc.t", {"id": "string"}, [duplicates("id", scope=TABLE)])).hold({})
    small = {"size-bytes": 1, "check-min-record-count": 2, "check-max-record-count": 2}
    settings = ", ".join(f"'write.parquet.row-group-{name}' = '{value}'" for name, value in small.items())
    spark.sql(f"ALTER TABLE {LAKE}.nyc.t SET TBLPROPERTIES ({settings})")
    texts(table, "f0", *before).on_main({})
    assert said(texts(table, "f1", *after)) == {"f1": [1]}
    assert [data.row_groups for data in table.files["f1"]] == [len(after) // 2 or 1]


@pytest.mark.parametrize(
    ("kind", "before", "after", "expected"),
    [
        # So many that neighbours are looked at together.
        pytest.param("int", [5, 305], [None, *range(5, 605, 10)], 2, id="beside it"),
        pytest.param("int", [None], [None, 5], 1, id="itself among others", marks=VARIANT),
        pytest.param("bigint", [None, 1000], [None], 1, id="itself alone", marks=VARIANT),
        pytest.param("bigint", [5], [5, 7], 1, id="without it", marks=VARIANT),
    ],
)
def test_the_least_number_hides_no_key_where_a_table_is_partitioned_by_truncate(
    spark: SparkSession, kind: str, before: list[int | None], after: list[int | None], expected: int
) -> None:
    """Iceberg's truncate begins again from above below it."""
    least = -(2**31) if kind == "int" else -(2**63)
    numbers = [[least if number is None else number for number in each] for each in (before, after)]
    name = f"nyc.{kind}"
    make(spark, name, {"id": kind}, [])
    spark.sql(f"ALTER TABLE {LAKE}.{name} ADD PARTITION FIELD truncate(10, id)")
    spark.createDataFrame([(number,) for number in numbers[0]], f"id {kind}").writeTo(f"{LAKE}.{name}").append()
    metrics = [duplicates("id", scope=TABLE), orphans(["id"], name, ["id"])]
    by = plan("nyc.t", {"id": kind}, metrics, partitions=("truncate(10, id)",))
    table = Table(spark=spark, plan=by).on_main({"f0": numbered(numbers[0])}).hold({"f1": numbered(numbers[1])})
    assert said(table) == {"f1": [expected, len(after) - expected]}


def candidates_of(table: Table, *files: str) -> Candidates | None:
    [metric] = table.plan.metrics
    return of_keys.table_candidates(table.plan, metric, table.batch, table.base, files)


@pytest.mark.parametrize(
    "limit", [pytest.param(0, id="both too many"), pytest.param(3, id="the batch fits", marks=VARIANT)]
)
def test_keys_too_many_to_be_held_in_memory_say_the_same(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, limit: int
) -> None:
    monkeypatch.setattr(of_keys, "_BROADCAST", limit)
    make(spark, "nyc.other", {"id": "int"}, [(number,) for number in range(10)])
    by = plan("nyc.t", {"id": "int"}, [duplicates("id", scope=TABLE), orphans(["id"], "nyc.other", ["id"])])
    table = Table(spark=spark, plan=by).on_main({"f0": numbered(range(0, 20, 3))})
    assert said(table.hold({"f1": numbered([1, 9, 11])})) == {"f1": [1, 1]}


def numbered(numbers: Iterable[int]) -> Rows:
    return [(number, None) for number in numbers]


def test_a_reference_that_can_never_hold_is_told_before_anything_is_appended(spark: SparkSession) -> None:
    make(spark, "nyc.planes", {"tail": "string", "seats": "int"}, [])
    metrics = [orphans(["id"], "nyc.planes", ["tail"]), orphans(["name"], "nyc.planes", ["tial"])]
    good = [orphans(["id"], "nyc.planes", ["seats"]), orphans(["id"], "nyc.gone", ["any"])]
    columns = {"id": "bigint", "name": "string"}
    base = Table(spark=spark, plan=plan("nyc.t", columns)).base
    check_references(base, plan("nyc.t", columns, good))
    with pytest.raises(Unfit, match=r'"id" is bigint and nyc\.planes\.tail is string; .* no column "tial"'):
        check_references(base, plan("nyc.t", columns, metrics))
