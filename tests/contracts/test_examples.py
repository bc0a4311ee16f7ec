"""The example data against the example contracts: what is good passes, what was doctored fails of just that."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from examples import nyc
from examples.bad_files import BadFile, awkward_keys, bad_files
from lakegate.contracts import Contract, load, overlaps
from lakegate.contracts.columns.types import TYPES
from tests.support.duck import failed_checks

CONTRACTS = Path(__file__).parents[2] / "contracts"
SPARK = {
    pa.int32(): TYPES["int"],
    pa.float64(): TYPES["double"],
    pa.string(): TYPES["string"],
    pa.timestamp("us", tz="UTC"): TYPES["timestamp"],
}


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> nyc.Example:
    return nyc.write(tmp_path_factory.mktemp("nyc"))


def contract(name: str) -> Contract:
    path = CONTRACTS / f"{name}.yaml"
    return load(path.read_bytes(), path.name)


def test_the_example_contracts_fit_together() -> None:
    contracts = [contract(path.stem) for path in sorted(CONTRACTS.glob("*.yaml"))]

    assert [each.table for each in contracts] == ["nyc.airlines", "nyc.airports", "nyc.flights", "nyc.planes"]
    assert overlaps(contracts) == []


@pytest.mark.parametrize("number", range(1, 13))
def test_every_month_passes(example: nyc.Example, number: int) -> None:
    assert failed_checks(contract("flights").plan, example.months[number - 1]) == {}


@pytest.mark.parametrize("name", ["airlines", "airports", "planes"])
def test_every_reference_passes(example: nyc.Example, name: str) -> None:
    assert failed_checks(contract(name).plan, getattr(example, name)) == {}


def test_the_doctored_month_fails_of_what_was_planted_and_of_nothing_else(example: nyc.Example) -> None:
    planted = {check: rows for check, (_, rows) in example.doctored.faults.items()}

    assert failed_checks(contract("flights").plan, example.doctored.path) == planted
    assert len(planted) == 5


def test_the_months_are_all_flights_each_once(example: nyc.Example) -> None:
    months = [pq.read_table(path) for path in example.months]

    assert sum(month.num_rows for month in months) == example.rows == 336_776
    assert [set(month["month"].to_pylist()) for month in months] == [{number} for number in range(1, 13)]
    assert pa.concat_tables(months).group_by(["time_hour", "carrier", "flight"]).aggregate([]).num_rows == 336_776


def test_what_is_missing_is_null_and_no_nan(example: nyc.Example) -> None:
    year = pa.concat_tables([pq.read_table(path) for path in example.months])

    nulls = {name: year[name].null_count for name in year.column_names if year[name].null_count}

    assert nulls == {
        "dep_time": 8255,
        "dep_delay": 8255,
        "arr_time": 8713,
        "arr_delay": 9430,
        "tailnum": 2512,
        "air_time": 9430,
    }
    assert "NA" not in year["tailnum"].unique().to_pylist()


@pytest.mark.parametrize("name", ["flights", "airlines", "airports", "planes"])
def test_the_files_have_the_contract_s_columns_and_types(example: nyc.Example, name: str) -> None:
    file = example.months[0] if name == "flights" else getattr(example, name)
    columns = contract(name).plan.columns

    schema = pq.read_schema(file)

    assert [(field.name, SPARK[field.type].name) for field in schema] == [(it.name, it.type) for it in columns]


def test_the_same_bytes_every_time(example: nyc.Example, tmp_path: Path) -> None:
    again = nyc.write(tmp_path)

    assert again.months[0].read_bytes() == example.months[0].read_bytes()
    assert again.doctored.path.read_bytes() == example.doctored.path.read_bytes()


def test_the_flights_contract_routes_the_months_and_the_awkward_keys(example: nyc.Example) -> None:
    route = contract("flights").route

    assert all(route.matches(f"nyc/flights/{path.name}") for path in (*example.months, example.doctored.path))
    assert all(route.matches(key) for key in awkward_keys("nyc/flights/"))
    assert not route.matches("nyc/airlines/airlines.parquet")


def test_the_longest_awkward_key_has_a_thousand_bytes() -> None:
    keys = awkward_keys("nyc/flights/")

    assert max(len(key.encode()) for key in keys) == 1000
    assert len(set(keys)) == len(keys)


@pytest.fixture(scope="module")
def bad(example: nyc.Example) -> dict[str, BadFile]:
    good = pq.read_table(example.months[0]).slice(0, 200)
    return {file.wrong: file for file in bad_files(good, missing="distance", wrong="flight")}


@pytest.mark.parametrize(
    ("wrong", "footer", "rows"),
    [
        ("empty object", False, False),
        ("truncated parquet", False, False),
        ("text named parquet", False, False),
        ("encrypted parquet", False, False),
        ("encrypted columns", True, False),
        ("corrupt page", True, False),
        ("zero rows", True, True),
        ("missing column", True, True),
        ("extra column", True, True),
        ("wrong type", True, True),
    ],
)
def test_a_bad_file_is_bad_in_its_own_way(bad: dict[str, BadFile], wrong: str, footer: bool, rows: bool) -> None:  # noqa: FBT001
    body = bad[wrong].body

    assert readable(lambda: pq.read_metadata(BytesIO(body))) is footer
    assert readable(lambda: pq.read_table(BytesIO(body))) is rows


def readable(read: object) -> bool:
    assert callable(read)
    try:
        read()
    except (OSError, pa.ArrowInvalid):
        return False
    return True


def test_every_kind_of_bad_file_is_made(bad: dict[str, BadFile]) -> None:
    schema = nyc.FLIGHTS

    assert len(bad) == 10
    assert pq.read_table(BytesIO(bad["zero rows"].body)).num_rows == 0
    assert set(schema.names) - set(pq.read_schema(BytesIO(bad["missing column"].body)).names) == {"distance"}
    assert set(pq.read_schema(BytesIO(bad["extra column"].body)).names) - set(schema.names) == {"surprise"}
    assert pq.read_schema(BytesIO(bad["wrong type"].body)).field("flight").type == pa.string()
    assert bad["encrypted parquet"].body[:4] == b"PARE"
    assert bad["encrypted columns"].body[:4] == b"PAR1"
