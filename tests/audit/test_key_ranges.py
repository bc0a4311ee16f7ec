"""Bounds as an expression: what a batch could share keys with is never left out, and little else is read."""

import operator
import struct
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakegate.audit.data_files.key_ranges import MOST_RANGES, Pairs, comparable, key_ranges, overlap_condition
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from tests.support import text_bounds

LONG = IcebergField(id=1, name="id", type="long")
COMPARE = {"gt-eq": operator.ge, "lt-eq": operator.le}


def data_file(*columns: tuple[int, bytes, bytes], nulls: Mapping[int, int] | None = None) -> DataFileStatistics:
    lower = {column: low.hex() for column, low, _ in columns}
    upper = {column: high.hex() for column, _, high in columns}
    nulls = {column: 0 for column, _, _ in columns} | dict(nulls or {})
    return DataFileStatistics(path="f", rows=3, values=dict.fromkeys(nulls, 3), nulls=nulls, lower=lower, upper=upper)


def longs(low: int, high: int, column: int = 1) -> tuple[int, bytes, bytes]:
    return column, struct.pack("<q", low), struct.pack("<q", high)


def of(files: Sequence[DataFileStatistics], pairs: Pairs) -> Any:
    return overlap_condition(key_ranges(files, [mine for mine, _ in pairs]), pairs)


def holds(expression: Any, row: Mapping[str, Any]) -> bool:
    if isinstance(expression, bool):
        return expression
    if expression["type"] in ("and", "or"):
        both = [holds(expression[side], row) for side in ("left", "right")]
        return all(both) if expression["type"] == "and" else any(both)
    return bool(COMPARE[expression["type"]](row[expression["term"]], expression["value"]))


RANGES = st.lists(st.tuples(st.integers(-1000, 1000), st.integers(0, 20)), max_size=120)


@given(ranges=RANGES, key=st.integers(-1100, 1100))
def test_no_key_of_the_batch_is_left_out_however_many_files_it_has(ranges: list[tuple[int, int]], key: int) -> None:
    files = [data_file(longs(low, low + width)) for low, width in ranges]
    expression = of(files, [(LONG, LONG)])
    inside = any(low <= key <= low + width for low, width in ranges)
    assert holds(expression, {"id": key}) or not inside
    if len(ranges) <= MOST_RANGES:
        assert holds(expression, {"id": key}) is inside


def test_the_columns_of_a_key_are_bounded_together_and_named_as_in_the_other_table() -> None:
    pairs = [(LONG, IcebergField(id=7, name="a.b", type="long")), (IcebergField(id=2, name="y", type="long"), LONG)]
    files = [data_file(longs(1, 2), longs(10, 20, 2)), data_file(longs(5, 6), longs(50, 60, 2))]
    expression = of(files, pairs)
    assert [holds(expression, {"a.b": a, "id": b}) for a, b in ((1, 20), (6, 50), (1, 50), (3, 10))] == [
        *(True, True),
        *(False, False),
    ]


@pytest.mark.parametrize(
    ("kind", "low", "high", "said"),
    [
        ("int", struct.pack("<i", -5), struct.pack("<i", 7), (-5, 7)),
        ("date", struct.pack("<i", -1), struct.pack("<i", 15706), ("1969-12-31", "2013-01-01")),
        ("timestamptz", *[struct.pack("<q", 1_500_000)] * 2, ("1970-01-01T00:00:01.500000+00:00",) * 2),
        ("timestamp", *[struct.pack("<q", 1_500_000)] * 2, ("1970-01-01T00:00:01.500000",) * 2),
        ("decimal(10, 2)", (-150).to_bytes(2, "big", signed=True), b"\x01\x00", ("-1.50", "2.56")),
        ("decimal(38, 1)", *[(10**37 + 1).to_bytes(16, "big")] * 2, (f"1{'0' * 35}0.1",) * 2),
        ("string", "ä".encode(), "𝄞".encode(), ("ä", "𝄞")),
    ],
)
def test_bounds_are_said_as_iceberg_says_single_values(
    kind: str, low: bytes, high: bytes, said: tuple[Any, Any]
) -> None:
    column = IcebergField(id=1, name="id", type=kind)
    found = of([data_file((1, low, high))], [(column, column)])
    assert (found["left"]["value"], found["right"]["value"]) == said


@pytest.mark.parametrize("kind", ["double", "float", "boolean", "binary", "timestamp_nano"])
def test_where_bounds_say_nothing_nothing_is_left_out(kind: str) -> None:
    column = IcebergField(id=1, name="id", type=kind)
    assert of([data_file((1, bytes(8), bytes(8)))], [(column, column)]) is True
    assert of([data_file((2, bytes(8), bytes(8)))], [(LONG, LONG)]) is True
    assert of([data_file(longs(2**62, 2**62))], [(IcebergField(id=1, name="t", type="timestamp"), LONG)]) is True


def test_a_moment_beyond_the_calendar_is_no_bound() -> None:
    column = IcebergField(id=1, name="at", type="timestamptz")
    assert of([data_file(longs(2**62, 2**62))], [(column, column)]) is True


@pytest.mark.parametrize(
    ("low", "high"),
    [("\ufffd", "é"), ("a", "b\ufffd"), ("a\ufffdb", "b"), ("a", "\ufffe")],
    ids=["crossed", "upper", "within", "rounded up"],
)
def test_bounds_of_text_that_was_not_utf_8_leave_nothing_out(low: str, high: str) -> None:
    name, more = IcebergField(id=1, name="name", type="string"), IcebergField(id=2, name="id", type="long")
    file = data_file((1, low.encode(), high.encode()), longs(1, 5, 2))
    assert of([file], [(name, name)]) is True
    assert of([file], [(name, name), (more, more)])["left"] == {"type": "gt-eq", "term": "id", "value": 1}


def test_bounds_that_cross_leave_nothing_out() -> None:
    name = IcebergField(id=1, name="name", type="string")
    assert of([data_file((1, b"b", b"a"))], [(name, name)]) is True
    assert of([data_file(longs(2, 1))], [(LONG, LONG)]) is True


def test_a_file_without_keys_or_with_keys_too_large_for_the_other_column_is_near_nothing() -> None:
    small = IcebergField(id=9, name="small", type="int")
    assert of([], [(LONG, LONG)]) is False
    assert of([data_file(longs(1, 1), nulls={1: 3})], [(LONG, LONG)]) is False
    assert of([data_file(longs(2**40, 2**41))], [(LONG, small)]) is False
    wide = of([data_file(longs(-5, 2**40))], [(LONG, small)])
    assert (wide["left"]["value"], wide["right"]["value"]) == (-5, 2**31 - 1)


@pytest.mark.parametrize(("kind", "bits"), [("int", 32), ("long", 64)])
def test_a_range_that_a_truncate_may_begin_again_from_above_leaves_nothing_out(kind: str, bits: int) -> None:
    column, least = IcebergField(id=1, name="id", type=kind), -(2 ** (bits - 1))
    assert of([data_file(longs(least, 5))], [(LONG, column)]) is True
    assert of([data_file(longs(least + 999_998, least + 999_999))], [(LONG, column)]) is True
    assert of([data_file(longs(least + 10**6, least + 10**6))], [(LONG, column)]) is not True


def test_a_range_that_is_cut_at_the_least_of_the_other_column_leaves_nothing_out() -> None:
    assert of([data_file(longs(-(2**40), 5))], [(LONG, IcebergField(id=9, name="small", type="int"))]) is True


@pytest.mark.parametrize(
    ("mine", "theirs", "expected"),
    [
        ("int", "long", True),
        ("bigint", "int", True),
        ("smallint", "int", True),
        ("decimal(10,2)", "decimal(12, 4)", True),
        ("timestamp", "timestamptz", True),
        ("timestamp", "timestamp", False),
        ("timestamp_ntz", "timestamp", True),
        ("string", "string", True),
        ("string", "int", False),
        ("int", "string", False),
        ("int", "double", False),
        ("date", "timestamp", False),
        ("string", "nested", False),
    ],
)
def test_a_key_refers_to_what_can_be_equal_to_it(mine: str, theirs: str, *, expected: bool) -> None:
    assert comparable(mine, theirs) is expected


NAME = IcebergField(id=1, name="name", type="string")


def overlaps(expression: Any, low: str, high: str | None) -> bool:
    """Return True if Iceberg looks at what has these bounds."""
    if isinstance(expression, bool):
        return expression
    if expression["type"] in ("and", "or"):
        both = [overlaps(expression[side], low, high) for side in ("left", "right")]
        return all(both) if expression["type"] == "and" else any(both)
    if expression["type"] == "gt-eq":
        return high is None or high >= expression["value"]
    return bool(low <= expression["value"])


@example(batch=[[b"m"]], table=[[b"\xff\x7a"], ["\U00010000".encode()]], key="😀".encode())
@example(batch=[["あ".encode()]], table=[[b"\xc0"], ["い".encode()]], key="あ".encode())
@given(batch=text_bounds.GROUPS, table=text_bounds.GROUPS, key=text_bounds.TEXTS)
def test_no_text_hides_behind_one_that_is_not_utf_8(
    batch: list[list[bytes]], table: list[list[bytes]], key: bytes
) -> None:
    batch, table = [[key, *batch[0]], *batch[1:]], [[key, *table[0]], *table[1:]]
    expression = of([text_bounds.data_file(batch, 1)], [(NAME, NAME)])
    file = text_bounds.data_file(table, 1)
    low, high = (bytes.fromhex(side[1]).decode() if side else None for side in (file.lower, file.upper))
    assert low is not None
    assert overlaps(expression, low, high)
    assert overlaps(expression, *text_bounds.ends(table[0]))


@pytest.mark.parametrize(
    ("low", "high", "said"),
    [
        ("a", "z", ("a", "z")),
        ("Österreich", "Übersee", ("Österreich", "\ufffe")),
        ("Anna", "Straße 5", ("Anna", "Stra\ufffe")),
        ("m😀", "m😀", ("m", "m😀")),
    ],
)
def test_a_range_of_texts_is_as_wide_as_bytes_that_are_not_utf_8_need_it(
    low: str, high: str, said: tuple[str, str]
) -> None:
    found = of([data_file((1, low.encode(), high.encode()))], [(NAME, NAME)])
    assert (found["left"]["value"], found["right"]["value"]) == said
