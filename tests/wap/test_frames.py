"""Data frames whose types are not the contract's: what is narrowed, and the line that mends what is not."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.audit.model.plan import TableColumn
from lakegate.contracts import Contract
from lakegate.errors import Misconfigured, Refused
from lakegate.wap import wap
from lakegate.wap.narrowing import narrow
from tests.support.runs import CONTRACT, TABLE, FolderCatalog, catalog, contract

MOMENT = datetime(2026, 1, 31, 12, 30)  # noqa: DTZ001 - a naive one
WANTED = {
    "int": "physicalType: int",
    "bigint": "physicalType: bigint",
    "double": "physicalType: double",
    "decimal(10,2)": "physicalType: 'decimal(10,2)'",
    "string": "logicalType: string",
    "boolean": "logicalType: boolean",
    "date": "logicalType: date",
    "timestamp": "logicalType: timestamp, logicalTypeOptions: {timezone: true}",
    "timestamp_ntz": "logicalType: timestamp, logicalTypeOptions: {timezone: false}",
}


def of_type(wanted: str) -> Contract:
    head = CONTRACT.partition("      - {name: id")[0]
    return contract(head + f"      - {{name: n, {WANTED[wanted]}}}\n")


@pytest.fixture
def here(tmp_path: Path) -> Iterator[FolderCatalog]:
    opened = catalog(tmp_path)
    yield opened
    opened.close()


def published(here: FolderCatalog, frame: Any, wanted: str) -> list[Any]:
    with wap(here, of_type(wanted)) as branch:
        branch.append(frame)
        branch.publish()
    values: list[Any] = here.load_table(TABLE).scan().to_arrow()["n"].to_pylist()
    return values


def narrowed(values: pa.Array, wanted: str) -> pa.ChunkedArray:
    return narrow(pa.table({"n": values}), [TableColumn(name="n", type=wanted)])["n"]


FITTING: list[tuple[Callable[[], Any], str, list[Any]]] = [
    (lambda: pd.DataFrame({"n": [1, 2]}), "int", [1, 2]),
    (lambda: pd.DataFrame({"n": [1, None]}), "bigint", [1, None]),
    (lambda: pd.DataFrame({"n": [2.0**53 - 1, None]}), "bigint", [2**53 - 1, None]),
    (lambda: pd.DataFrame({"n": [1, 2]}), "double", [1.0, 2.0]),
    (lambda: pd.DataFrame({"n": [1, 2]}), "decimal(10,2)", [Decimal("1.00"), Decimal("2.00")]),
    (lambda: pd.DataFrame({"n": [12.5, None]}), "decimal(10,2)", [Decimal("12.50"), None]),
    (lambda: pd.DataFrame({"n": pd.to_datetime(pd.Series(["2026-01-31", None]))}), "date", [date(2026, 1, 31), None]),
    (lambda: pd.DataFrame({"n": [date(2026, 1, 31), None]}), "date", [date(2026, 1, 31), None]),
    (lambda: pd.DataFrame({"n": [date(2026, 1, 31), pd.NaT]}), "date", [date(2026, 1, 31), None]),
    (lambda: pd.DataFrame({"n": ["2026-01-31", None]}), "date", [date(2026, 1, 31), None]),
    (lambda: pd.DataFrame({"n": pd.to_datetime([MOMENT])}), "timestamp_ntz", [MOMENT]),
    (
        lambda: pd.DataFrame({"n": pd.to_datetime([MOMENT]).tz_localize("Europe/Berlin")}),
        "timestamp",
        [datetime(2026, 1, 31, 11, 30, tzinfo=UTC)],
    ),
    (lambda: pd.DataFrame({"n": pd.Categorical(["a", "b"])}), "string", ["a", "b"]),
    (lambda: pl.DataFrame({"n": pl.Series([1], dtype=pl.UInt64)}), "int", [1]),
    (lambda: pl.DataFrame({"n": ["2026-01-31"]}), "date", [date(2026, 1, 31)]),
    (lambda: pl.DataFrame({"n": [Decimal("1.5")]}), "decimal(10,2)", [Decimal("1.50")]),
    (lambda: pl.DataFrame({"n": pl.Series([MOMENT], dtype=pl.Datetime("ns"))}), "timestamp_ntz", [MOMENT]),
]


@pytest.mark.parametrize(("frame", "wanted", "values"), FITTING)
def test_a_frame_s_values_reach_main_in_the_contract_s_type(
    here: FolderCatalog, frame: Callable[[], Any], wanted: str, values: list[Any]
) -> None:
    assert published(here, frame(), wanted) == values


CHANGED: list[tuple[pa.Array, str]] = [
    (pa.array([2**31]), "int"),
    (pa.array([2**53 + 1]), "double"),
    (pa.array([1.5]), "bigint"),
    (pa.array([float("nan")]), "bigint"),
    (pa.array([float("inf")]), "decimal(10,2)"),
    (pa.array([2.0**53 + 2]), "bigint"),  # it may have been an odd number
    (pa.array([2.0**53, None]), "bigint"),  # as 2**53 + 1 is
    (pa.array([-(2.0**53)]), "bigint"),
    (pa.array([2.0**24], pa.float32()), "bigint"),
    (pa.array([12345678901234568.0]), "decimal(19,2)"),  # its cents are gone
    (pa.array([1.005]), "decimal(10,2)"),
    (pa.array([0.1]), "float"),
    (pa.array([MOMENT]), "date"),
    (pa.array(["2026-1-31"]), "date"),
    (pa.array(["2026-02-30"]), "date"),
    (pa.array(["007"]), "int"),
    (pa.array([7]), "string"),
    (pa.array([1]), "boolean"),
    (pa.array([MOMENT]), "timestamp"),
    (pa.array([Decimal("1.005")]), "decimal(10,2)"),
    (pa.array([1], pa.timestamp("ns")), "timestamp_ntz"),
]


@pytest.mark.parametrize(("values", "wanted"), CHANGED)
def test_a_column_with_a_value_that_would_change_stays_as_it_is(values: pa.Array, wanted: str) -> None:
    assert narrowed(values, wanted).type == values.type


NUMBERS = st.one_of(st.none(), st.integers(-(2**64), 2**64), st.floats(), st.sampled_from([2.0**53, -(2.0**31), 1e15]))


@given(st.lists(NUMBERS, max_size=4), st.sampled_from(["int", "bigint", "float", "double", "decimal(10,2)"]))
def test_no_number_changes_its_value(values: list[float | None], wanted: str) -> None:
    floats = [None if value is None else float(value) for value in values]
    whole = [value for value in values if value is None or (isinstance(value, int) and abs(value) < 2**63)]
    for array in (pa.array(floats, pa.float64()), pa.array(whole, pa.int64())):
        for before, after in zip(array.to_pylist(), narrowed(array, wanted).to_pylist(), strict=True):
            assert str(before) == str(after) or before == after or Decimal(repr(before)) == after, (before, after)


@given(st.decimals(Decimal("-1e10"), Decimal("1e10"), places=2))
def test_money_read_as_a_double_is_the_decimal_that_was_written(money: Decimal) -> None:
    assert narrowed(pa.array([float(money)]), "decimal(19,2)").to_pylist() == [money]


MISFITS: list[tuple[str, Any]] = [
    ("bigint", "7"),
    ("double", "7.5"),
    ("decimal(10,2)", "7.50"),
    ("timestamp", "2026-01-31 12:30:00"),
    ("timestamp_ntz", "2026-01-31 12:30:00"),
    ("boolean", "true"),
    ("string", 7),
    ("string", 7.5),
    ("string", True),
    ("boolean", 1),
    ("int", True),
    ("decimal(10,2)", 7.555),
    ("date", MOMENT),
    ("date", MOMENT.replace(tzinfo=UTC)),
    ("timestamp", MOMENT),
    ("timestamp_ntz", MOMENT.replace(tzinfo=UTC)),
    ("timestamp", date(2026, 1, 31)),
    ("timestamp_ntz", date(2026, 1, 31)),
]


@pytest.mark.parametrize("package", [pd, pl], ids=["Pandas", "Polars"])
@pytest.mark.parametrize(("wanted", "value"), MISFITS)
def test_the_line_that_a_refusal_prints_mends_the_frame(
    here: FolderCatalog, package: Any, wanted: str, value: Any
) -> None:
    frame = package.DataFrame({"n": [value, None]})
    with pytest.raises(Refused) as refused:
        published(here, frame, wanted)
    assert not here.table_exists(TABLE)
    [line] = [it.strip() for it in str(refused.value).splitlines() if it.strip().startswith("frame")]
    names = {"frame": frame, "pd": pd, "pl": pl}
    exec("import decimal\n" * ("import decimal" in str(refused.value)) + line, names)
    assert len(published(here, names["frame"], wanted)) == 2


@pytest.mark.parametrize("package", [pd, pl], ids=["Pandas", "Polars"])
def test_lines_mend_names_and_columns_too(here: FolderCatalog, package: Any) -> None:
    frame = package.DataFrame({"N ": [1], "zip": ["a"]})
    by = contract(CONTRACT.replace("name: id", "name: n").replace("bigint, required: true", "int"))
    with pytest.raises(Refused) as refused, wap(here, by) as branch:
        branch.append(frame)
    names = {"frame": frame, "pl": pl}
    for line in str(refused.value).splitlines():
        exec(line.strip() if line.strip().startswith("frame") else "", names)
    with wap(here, by) as branch:
        branch.append(names["frame"])
        assert branch.publish().rows == 1


@pytest.mark.parametrize("package", [pd, pl], ids=["Pandas", "Polars"])
@pytest.mark.parametrize("wanted", ["date", "timestamp", "timestamp_ntz"])
def test_no_printed_line_guesses_which_number_is_the_month(here: FolderCatalog, package: Any, wanted: str) -> None:
    """A guess once put 73 of 81 dates on main with day and month exchanged."""
    frame = package.DataFrame({"n": ["05/05/2026", "02/11/2026"]})
    with pytest.raises(Refused) as refused:
        published(here, frame, wanted)
    [line] = [it.strip() for it in str(refused.value).splitlines() if it.strip().startswith("frame")]
    with pytest.raises((ValueError, pl.exceptions.PolarsError)):
        exec(line, {"frame": frame, "pd": pd, "pl": pl})


def test_a_column_that_no_null_may_have_is_not_mended_by_nulls(here: FolderCatalog) -> None:
    with pytest.raises(Refused) as refused, wap(here, contract()) as branch:
        branch.append(pd.DataFrame({"amount": [1.0]}))
    assert ("frame['id'] = None" in str(refused.value), "frame['note'] = None" in str(refused.value)) == (False, True)


def test_a_refusal_speaks_to_whoever_holds_the_frame(here: FolderCatalog) -> None:
    with pytest.raises(Refused) as refused:
        published(here, pd.DataFrame({"n": [2**40]}), "int")
    assert str(refused.value).splitlines() == [
        "shop.orders: nothing is appended",
        "append 1 does not fit the contract:",
        '  column "n" is bigint, the contract says int',
        'Write column "n" as whole numbers of 32 bits.',
        'If the data is right, write the type of "n" as the file has it:',
        '  - name: "n"',
        "    logicalType: integer",
        "    logicalTypeOptions:",
        "      format: i64",
    ]


STRANGE: list[tuple[Callable[[], Any], str]] = [
    (lambda: pd.DataFrame({"n": ["a", 1]}), "cannot become Arrow"),
    (lambda: pd.DataFrame({"n": [2**70]}), "cannot become Arrow"),
    (lambda: pd.DataFrame([[1, 2]], columns=["n", "n"]), "different names"),
    (lambda: pd.DataFrame({"n": [date(2026, 1, 31), MOMENT]}), "has days and moments"),
    (lambda: pd.DataFrame({"n": pd.to_timedelta(["1 day"])}), "no such type"),
    (lambda: pl.DataFrame({"n": [MOMENT.time()]}), "no such type"),
    (lambda: pl.DataFrame({"n": [[MOMENT - MOMENT]]}), "no such type"),
    (lambda: pl.DataFrame({"n": pl.Series([1], dtype=pl.Datetime("ns"))}), "drop the nanoseconds"),
]


@pytest.mark.parametrize(("frame", "why"), STRANGE)
def test_values_that_no_table_has_are_refused_before_anything_is_made(
    here: FolderCatalog, frame: Callable[[], Any], why: str
) -> None:
    with pytest.raises(Misconfigured, match=why):
        published(here, frame(), "bigint")
    assert not here.table_exists(TABLE)


def test_after_a_refused_frame_the_mended_contract_takes_it(here: FolderCatalog) -> None:
    """The refused run once left an empty table of 32 bits on main, which refused the cure as well."""
    frame = pd.DataFrame({"n": [2**40]})
    with pytest.raises(Refused):
        published(here, frame, "int")
    assert (here.list_namespaces(), published(here, frame, "bigint")) == ([], [2**40])
