"""Numbers of columns over all samples, by DuckDB. They decide nothing."""

# ruff: noqa: S608 - columns are quoted, and expressions are ours

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from lakegate.audit.schema.types import Atom, Type, digits
from lakegate.duckdb.dialect import duckdb_identifier

MOST_VALUES = 10
"""Different values of a text column that are listed, at most."""
_COUNTED = ("int", "bigint", "string", "date")
_COMPARED = ("int", "bigint", "float", "double")
_TEMPORAL = ("date", "timestamp", "timestamp_ntz")


@dataclass(frozen=True, kw_only=True)
class Numbers:
    """Numbers of one column. None: not counted for its type. `repeats` are the rows of any one file that repeat
    another's value there, `least` and `most` the values between which all numbers are, `first_year` that of dates,
    `empty` the texts without a letter, and `values` all of a text column that has few.
    """

    rows: int
    nulls: int
    distinct: int | None = None
    repeats: int | None = None
    least: Any = None
    most: Any = None
    odd: int = 0  # infinities and NaN
    first_year: int | None = None
    empty: int = 0
    values: tuple[str, ...] = ()

    @property
    def given(self) -> int:
        return self.rows - self.nulls


def measured(tables: Sequence[pa.Table], kinds: dict[str, Type]) -> dict[str, Numbers]:
    """Return the numbers of each column; `tables` are the samples' rows, all of the same types."""
    with closing(duckdb.connect()) as con:
        con.execute("SET TimeZone = 'UTC'")
        con.register("rows_of_all", pa.concat_tables(tables))
        for at, table in enumerate(tables if len(tables) > 1 else ()):
            con.register(f"rows_of_{at}", table)
        return {name: _measured(con, name, kind, len(tables)) for name, kind in kinds.items()}


def _measured(con: duckdb.DuckDBPyConnection, name: str, kind: Type, files: int) -> Numbers:
    column = duckdb_identifier(name)
    asked = {"rows": "count(*)", "nulls": f"count(*) - count({column})", **_asked(column, kind)}
    [row] = con.execute(f"SELECT {', '.join(asked.values())} FROM rows_of_all").fetchall()
    found = dict(zip(asked, row, strict=True))
    if "distinct" in found:
        alone = found["rows"] - found["nulls"] - found["distinct"]
        found["repeats"] = alone if files == 1 else sum(_repeats(con, column, at) for at in range(files))
    if str(kind) == "string" and 0 < found["distinct"] <= MOST_VALUES:
        listed = con.execute(f"SELECT DISTINCT {column} FROM rows_of_all WHERE {column} IS NOT NULL ORDER BY ALL")
        found["values"] = tuple(value for (value,) in listed.fetchall())
    return Numbers(**found)


def _asked(column: str, kind: Type) -> dict[str, str]:
    if not isinstance(kind, Atom):
        return {}
    asked = {}
    if kind.name in _COUNTED or digits(kind):
        asked["distinct"] = f"count(DISTINCT {column})"
    if kind.name in ("float", "double"):
        sound = f"isfinite({column})"
        asked["least"], asked["most"] = (f"{word}({column}) FILTER (WHERE {sound})" for word in ("min", "max"))
        asked["odd"] = f"count_if(NOT {sound})"
    elif kind.name in _COMPARED or digits(kind):
        asked["least"], asked["most"] = f"min({column})", f"max({column})"
    elif kind.name in _TEMPORAL:
        asked["first_year"] = f"year(min({column}))"
    elif kind.name == "string":
        asked["empty"] = f"count_if({column} = '')"
    return asked


def _repeats(con: duckdb.DuckDBPyConnection, column: str, at: int) -> int:
    asked = f"SELECT count({column}) - count(DISTINCT {column}) FROM rows_of_{at}"
    [(repeats,)] = con.execute(asked).fetchall()
    return int(repeats)
