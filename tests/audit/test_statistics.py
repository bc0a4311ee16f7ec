"""Column statistics as proofs: never a proof of what is not so."""

import math
import struct
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField, bound_value, limit, measure
from lakegate.audit.model.codec import from_plain, to_plain
from lakegate.audit.model.plan import NOW, Metric, MetricKind, Proof
from tests.support import text_bounds

COLUMN = IcebergField(id=7, name="x", type="int")


def statistics(
    low: bytes, high: bytes, *, rows: int = 10, nulls: int = 0, nans: int | None = None
) -> DataFileStatistics:
    return DataFileStatistics(
        path="s3://lake/a.parquet",
        rows=rows,
        values={7: rows},
        nulls={7: nulls},
        nans={} if nans is None else {7: nans},
        lower={7: low.hex()},
        upper={7: high.hex()},
    )


def ints(low: int, high: int) -> DataFileStatistics:
    return statistics(struct.pack("<i", low), struct.pack("<i", high))


def failing(proof: Proof | None) -> Metric:
    return Metric(id="m", kind=MetricKind.FAILING, columns=("x",), sql="…", proof=proof)


def proved(file: DataFileStatistics, proof: Proof, kind: str = "int") -> bool:
    return measure(failing(proof), [file], {"x": replace(COLUMN, type=kind)}) == 0


def test_rows_are_the_sum_of_the_data_files() -> None:
    metric = Metric(id="m", kind=MetricKind.ROWS)
    assert measure(metric, [ints(1, 2), ints(1, 2)], {"x": COLUMN}) == 20


def test_nulls_are_the_sum_of_the_data_files() -> None:
    metric = Metric(id="m", kind=MetricKind.NULLS, columns=("x",))
    files = [statistics(b"", b"", nulls=2), statistics(b"", b"", nulls=3)]
    assert measure(metric, files, {"x": COLUMN}) == 5


def test_nulls_are_unknown_if_one_data_file_has_no_statistics() -> None:
    metric = Metric(id="m", kind=MetricKind.NULLS, columns=("x",))
    assert measure(metric, [ints(1, 2), DataFileStatistics(path="b", rows=1)], {"x": COLUMN}) is None


def test_duplicates_are_never_known_from_statistics() -> None:
    assert measure(Metric(id="m", kind=MetricKind.DUPLICATES, columns=("x",)), [ints(1, 1)], {"x": COLUMN}) is None


def test_a_predicate_without_a_proof_is_never_known_from_statistics() -> None:
    assert measure(failing(None), [ints(1, 1)], {"x": COLUMN}) is None


def test_bounds_inside_the_range_prove_it() -> None:
    assert proved(ints(0, 24), Proof(column="x", minimum=0, maximum=24))


@pytest.mark.parametrize(
    "proof",
    [
        Proof(column="x", minimum=1),
        Proof(column="x", maximum=23),
        Proof(column="x", minimum=0, exclusive_minimum=True),
        Proof(column="x", maximum=24, exclusive_maximum=True),
    ],
)
def test_bounds_outside_the_range_prove_nothing(proof: Proof) -> None:
    assert not proved(ints(0, 24), proof)


def test_every_data_file_must_prove_it() -> None:
    within = Proof(column="x", minimum=0, maximum=9)
    assert measure(failing(within), [ints(0, 9), ints(0, 10)], {"x": COLUMN}) is None


def test_missing_bounds_prove_nothing() -> None:
    assert not proved(DataFileStatistics(path="a", rows=1, values={7: 1}, nulls={7: 0}), Proof(column="x", minimum=0))


def test_nothing_but_nulls_is_inside_every_range() -> None:
    empty = DataFileStatistics(path="a", rows=3, values={7: 3}, nulls={7: 3})
    assert proved(empty, Proof(column="x", minimum=0))


def test_nan_is_outside_every_range() -> None:
    ones = struct.pack("<d", 1.0)
    assert not proved(statistics(ones, ones, nans=1), Proof(column="x", minimum=0), "double")
    assert not proved(statistics(ones, ones), Proof(column="x", minimum=0), "double")
    assert proved(statistics(ones, ones, nans=0), Proof(column="x", minimum=0), "double")


def test_an_infinite_bound_proves_no_finite_limit() -> None:
    low, high = struct.pack("<d", 0.0), struct.pack("<d", math.inf)
    assert not proved(statistics(low, high, nans=0), Proof(column="x", maximum=1e308), "double")


def test_a_timestamp_compares_as_an_instant() -> None:
    noon = struct.pack("<q", int(datetime(2013, 1, 1, 12, tzinfo=UTC).timestamp()) * 1_000_000)
    file = statistics(noon, noon)
    assert proved(file, Proof(column="x", minimum="2013-01-01T13:00:00+01:00"), "timestamptz")
    assert not proved(file, Proof(column="x", maximum="2013-01-01T11:59:59.999999Z"), "timestamptz")


def test_a_date_compares_as_a_day() -> None:
    day = struct.pack("<i", limit("date", "2013-01-31"))
    assert proved(statistics(day, day), Proof(column="x", minimum="2013-01-31", maximum="2013-01-31"), "date")
    assert not proved(statistics(day, day), Proof(column="x", maximum="2013-01-30"), "date")


@pytest.mark.parametrize("kind", ["binary", "uuid", "fixed[4]"])
def test_a_type_without_an_order_of_ours_proves_nothing(kind: str) -> None:
    assert not proved(statistics(b"\0" * 4, b"\0" * 4), Proof(column="x", minimum=0), kind)


def test_a_limit_of_another_kind_proves_nothing() -> None:
    assert not proved(ints(1, 1), Proof(column="x", minimum="one"))


@given(st.decimals(allow_nan=False, allow_infinity=False, places=4, min_value=-(10**12), max_value=10**12))
def test_a_decimal_bound_is_read_as_it_was_written(value: Decimal) -> None:
    unscaled = int(value.scaleb(4))
    raw = unscaled.to_bytes(unscaled.bit_length() // 8 + 1, "big", signed=True)
    assert bound_value("decimal(18, 4)", raw.hex()) == value


@given(st.lists(st.integers(-100, 100), min_size=1), st.integers(-100, 100), st.integers(-100, 100))
def test_just_what_is_so_is_proved(values: list[int], minimum: int, maximum: int) -> None:
    is_so = all(minimum <= value <= maximum for value in values)
    assert proved(ints(min(values), max(values)), Proof(column="x", minimum=minimum, maximum=maximum)) is is_so


@given(st.lists(st.text(), min_size=1), st.text(), st.text())
def test_text_bounds_compare_as_iceberg_orders_them(values: list[str], minimum: str, maximum: str) -> None:
    ordered = sorted(value.encode() for value in values)
    file = statistics(ordered[0], ordered[-1])
    is_so = all(minimum.encode() <= value <= maximum.encode() for value in ordered)
    assert proved(file, Proof(column="x", minimum=minimum, maximum=maximum), "string") is is_so


def test_icebergs_json_is_read() -> None:
    entry = {
        "file-path": "s3://lake/a.parquet",
        "record-count": 2,
        "value-counts": {"keys": [7], "values": [2]},
        "null-value-counts": {"keys": [7], "values": [0]},
        "lower-bounds": {"keys": [7], "values": ["6162"]},
        "upper-bounds": {"keys": [7], "values": ["6162"]},
        "split-offsets": [4, 400],
    }
    file = DataFileStatistics.from_entry(entry)
    assert (file.path, file.rows, file.constant(COLUMN), file.row_groups) == ("s3://lake/a.parquet", 2, "ab", 2)
    assert DataFileStatistics.from_entry({**entry, "split-offsets": None}).row_groups == 0


@pytest.mark.parametrize("change", [{"upper": {7: "6163"}}, {"nulls": {7: 1}}, {"nulls": {}}, {"lower": {}}])
def test_a_column_is_constant_only_if_its_bounds_meet_and_nothing_is_null(change: dict[str, dict[int, int]]) -> None:
    file = statistics(b"ab", b"ab")
    assert file.constant(COLUMN) == "ab"
    assert replace(file, **change).constant(COLUMN) is None  # type: ignore[arg-type]


@pytest.mark.parametrize(("ahead", "known"), [(timedelta(seconds=-1), True), (timedelta(hours=1), False)])
def test_an_upper_bound_before_now_proves_that_no_timestamp_is_in_the_future(ahead: timedelta, known: bool) -> None:  # noqa: FBT001
    latest = (datetime.now(UTC) + ahead - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(microseconds=1)
    file = statistics(struct.pack("<q", 0), struct.pack("<q", latest))

    assert proved(file, Proof(column="x", maximum=NOW), "timestamptz") is known


@pytest.mark.parametrize(("ahead", "known"), [(0, True), (3, False)])
def test_today_is_not_in_the_future(ahead: int, known: bool) -> None:  # noqa: FBT001
    today = (datetime.now(UTC) - datetime(1970, 1, 1, tzinfo=UTC)).days

    assert proved(ints(0, today + ahead), Proof(column="x", maximum=NOW), "date") is known


@pytest.mark.parametrize(
    ("kind", "low", "high", "values", "known"),
    [
        ("int", struct.pack("<i", 1), struct.pack("<i", 3), (1, 2, 3, 7), True),
        ("int", struct.pack("<i", 1), struct.pack("<i", 3), (1, 3), False),
        ("int", struct.pack("<i", 0), struct.pack("<i", 3), (1, 2, 3), False),
        ("long", struct.pack("<q", 2**40), struct.pack("<q", 2**40), (2**40,), True),
        ("long", struct.pack("<q", -(2**63)), struct.pack("<q", 2**63 - 1), (0,), False),
        ("date", struct.pack("<i", 0), struct.pack("<i", 1), ("1970-01-01", "1970-01-02"), True),
        ("date", struct.pack("<i", 0), struct.pack("<i", 1), ("1970-01-01",), False),
        ("boolean", b"\x01", b"\x01", (True,), True),
        ("boolean", b"\x00", b"\x01", (True,), False),
        ("boolean", b"\x00", b"\x01", (False, True), True),
        ("string", b"open", b"open", ("open", "paid"), True),
        ("string", b"open", b"paid", ("open", "paid"), False),
        ("string", b"sent", b"sent", ("open", "paid"), False),
        ("string", b"now", b"now", (NOW,), True),
        ("decimal(4,2)", (150).to_bytes(1, "big", signed=False).rjust(2, b"\0"), b"\0\x96", ("1.5",), True),
        ("timestamptz", struct.pack("<q", 0), struct.pack("<q", 1), ("1970-01-01T00:00:00Z",), False),
    ],
)
def test_values_are_proved_where_nothing_else_can_lie_between_the_bounds(
    kind: str,
    low: bytes,
    high: bytes,
    values: tuple[int | str, ...],
    known: bool,  # noqa: FBT001
) -> None:
    assert proved(statistics(low, high), Proof(column="x", values=values), kind) is known


@pytest.mark.parametrize(("low", "high", "known"), [(0.0, -0.0, True), (-0.0, 1.0, False)])
def test_a_float_between_two_others_is_never_proved(low: float, high: float, known: bool) -> None:  # noqa: FBT001
    file = statistics(struct.pack("<d", low), struct.pack("<d", high), nans=0)

    assert proved(file, Proof(column="x", values=(0.0, 1.0)), "double") is known
    assert not proved(replace(file, nans={7: 1}), Proof(column="x", values=(0.0, 1.0)), "double")


@pytest.mark.parametrize(
    ("low", "high", "without", "known"),
    [(b"a", b"b", ("", "N/A"), True), (b"", b"b", ("",), False), (b"A", b"Z", ("N/A",), False)],
)
def test_values_beyond_the_bounds_are_not_there(low: bytes, high: bytes, without: tuple[str, ...], known: bool) -> None:  # noqa: FBT001
    assert proved(statistics(low, high), Proof(column="x", without=without), "string") is known


@pytest.mark.parametrize(
    ("low", "high"), [("\ufffd", "é"), ("a", "z\ufffd"), ("a\ufffd", "z"), ("a", "\ufffe"), ("b", "a")]
)
def test_bounds_of_text_that_was_not_utf_8_prove_nothing(low: str, high: str) -> None:
    file = statistics(low.encode(), high.encode())
    assert not proved(file, Proof(column="x", without=("N/A",)), "string")
    assert not proved(file, Proof(column="x", minimum=""), "string")


@example(groups=[[b"\xff\x7a"], ["\U00010000".encode()]], text="😀", at=0)
@example(groups=[[b"\xc0"], ["い".encode()]], text="あ", at=0)
@given(
    groups=text_bounds.GROUPS,
    text=st.text(st.sampled_from("azéあい\ufffb\U00010000😀"), max_size=3),
    at=st.integers(0, 2),
)
def test_no_row_group_hides_a_text_that_is_there(groups: list[list[bytes]], text: str, at: int) -> None:
    groups[at % len(groups)].append(text.encode())
    assert not proved(text_bounds.data_file(groups, COLUMN.id), Proof(column="x", without=(text,)), "string")


@pytest.mark.parametrize(
    ("low", "high", "groups", "known"),
    [
        ("Anna", "Übersee", 2, True),
        ("あ", "ん", 2, False),
        ("あ", "ん", 0, False),
        ("あ", "ん", 1, True),
        ("a", "😀", 2, False),
        ("a", "😀", 1, True),
    ],
)
def test_bounds_of_several_row_groups_may_hide_texts_that_are_not_ascii(
    low: str,
    high: str,
    groups: int,
    known: bool,  # noqa: FBT001
) -> None:
    file = replace(statistics(low.encode(), high.encode()), row_groups=groups)
    assert proved(file, Proof(column="x", minimum="A"), "string") is known


def test_a_text_that_is_there_in_place_of_one_that_was_not_utf_8_is_no_known_value() -> None:
    lost = "\ufffd".encode()
    assert not proved(statistics(lost, lost), Proof(column="x", values=("\ufffd",)), "string")


def test_a_null_is_no_proof_where_it_fails() -> None:
    proof = Proof(column="x", without=("",), nulls=False)

    assert proved(statistics(b"a", b"b"), proof, "string")
    assert not proved(statistics(b"a", b"b", nulls=1), proof, "string")
    assert not proved(statistics(b"a", b"b", nulls=10), proof, "string")
    assert not proved(replace(statistics(b"a", b"b"), nulls={}), proof, "string")


def test_a_plan_without_values_in_its_proofs_is_still_read() -> None:
    assert from_plain(Proof, {"column": "x", "minimum": 1}) == Proof(column="x", minimum=1)
    assert from_plain(Proof, to_plain(Proof(column="x", values=(1, 2)))) == Proof(column="x", values=(1, 2))


LEAST = Metric(id="m", kind=MetricKind.VALUE, columns=("x",), sql="…", bound="lower")
GREATEST = replace(LEAST, bound="upper")


def test_the_least_and_the_greatest_number_are_the_bounds_of_all_files() -> None:
    columns = {"x": COLUMN}
    files = [ints(3, 9), ints(-2, 4), replace(ints(0, 0), nulls={7: 2}, values={7: 2}, lower={}, upper={})]

    assert [measure(metric, files, columns) for metric in (LEAST, GREATEST)] == [-2, 9]


def test_a_file_without_bounds_or_with_nan_is_asked_for_its_extremes() -> None:
    floating = {"x": replace(COLUMN, type="double")}
    file = replace(statistics(struct.pack("<d", 1.5), struct.pack("<d", 2.5)), nans={7: 0})

    assert measure(GREATEST, [file], floating) == 2.5
    assert measure(GREATEST, [file, replace(file, nans={7: 1})], floating) is None
    assert measure(GREATEST, [file, replace(file, nans={})], floating) is None
    assert measure(GREATEST, [file, replace(file, upper={})], floating) is None
    assert measure(GREATEST, [replace(file, upper={7: struct.pack("<d", float("inf")).hex()})], floating) is None
    assert measure(replace(LEAST, bound=""), [file], floating) is None


def test_bounds_from_before_a_column_was_widened_are_read_as_they_were_written() -> None:
    assert bound_value("long", (-7).to_bytes(4, "little", signed=True).hex()) == -7
    assert bound_value("double", struct.pack("<f", 0.5).hex()) == 0.5
