"""Verdicts of a random contract on a random table, evaluated in DuckDB and plain Python, from the documents alone.

Nothing here knows lakegate.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from fractions import Fraction
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa

from tests.support import meanings
from tests.support.meanings import (
    Age,
    Column,
    Different,
    Each,
    Number,
    Off,
    Orphans,
    Repeats,
    TableRows,
    Where,
    Wording,
)
from tests.support.random_tables import Contract, Files, Parents, Row

Value = float | None
VERDICTS = {"error": "fail", "warning": "warn", "quarantine": "quarantine"}
_KINDS = {
    "int": pa.int32(),
    "bigint": pa.int64(),
    "float": pa.float32(),
    "double": pa.float64(),
    "decimal(5,2)": pa.decimal128(5, 2),
    "decimal(38,10)": pa.decimal128(38, 10),
    "boolean": pa.bool_(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us", "UTC"),
    "timestamp_ntz": pa.timestamp("us"),
    "binary": pa.binary(),
}


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """A check on a file: its number in its unit, the verdict, and which of the file's rows it is about."""

    check: Wording
    number: Value
    verdict: str
    failing: tuple[int, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Aside:
    """The outcome of a file with rows for quarantine: their number, and each one's reasons by its place."""

    rows: int
    allowed: bool
    reasons: Mapping[int, frozenset[str]]


@dataclass(frozen=True, kw_only=True)
class Oracle:
    """A table's files, and what was published before them."""

    columns: Sequence[Column]
    before: Files
    files: Files
    parents: Parents
    expressions: Sequence[str]

    @cached_property
    def results(self) -> Mapping[str, Mapping[str, Any]]:
        """Return what DuckDB says of every expression, for each file."""
        with duckdb.connect() as duck:
            duck.execute("SET TimeZone = 'UTC'")
            return {
                file: dict(zip(self.expressions, self._asked(duck, rows), strict=True))
                for file, rows in {**self.before, **self.files}.items()
            }

    def of(self, files: Files) -> Oracle:
        """The same table with other files to come."""
        return replace(self, files=files)

    def _asked(self, duck: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> Row:
        kinds = [f"{column.duck} {_duck(column.type)}" for column in self.columns]
        duck.execute(f"CREATE OR REPLACE TABLE t ({', '.join(kinds)}, place INT)")
        if rows:
            duck.register("rows", _arrow(self.columns, rows))
            duck.execute("INSERT INTO t SELECT * FROM rows")
        found = duck.execute(f"SELECT {', '.join([*self.expressions, 'NULL'])} FROM t").fetchone()
        assert found is not None
        return found[:-1]

    def failing(self, check: Wording, file: str, earlier: Sequence[str]) -> tuple[int, ...]:
        """The rows that count, by their places."""
        match check.meaning:
            case Where():
                fails = self.results[file][expression(check.meaning)] or []
            case Each(column, wrong):
                fails = [value is not None and wrong(value) for (value,) in self._rows(file, [column])]
            case Repeats(columns, in_table):
                known = {
                    key
                    for other in ([*self.before, *earlier] if in_table else [])
                    for key in self._keys(other, columns)
                }
                mine = self._keys(file, columns)
                fails = [key is not None and (key in known or key in mine[:at]) for at, key in enumerate(mine)]
            case Orphans(columns, theirs):
                there = {_key(row, self.parents.columns, theirs) for row in self.parents.rows}
                fails = [key is not None and key not in there for key in self._keys(file, columns)]
            case _:
                return ()
        return tuple(at for at, wrong in enumerate(fails) if wrong)

    def number(self, meaning: meanings.Meaning, file: str, earlier: Sequence[str]) -> Value:
        """The number that the words ask for."""
        match meaning:
            case TableRows():
                return sum(len(self._all[each]) for each in [*self.before, *earlier, file])
            case Where():
                return float(sum(self.results[file][expression(meaning)] or []))
            case Off(of):
                found = self.number(of, file, earlier)
                return None if found is None else _off(meaning, found, self.past(meaning))
        return self._number(meaning, file) if self._all[file] else None

    def _number(self, meaning: meanings.Meaning, file: str) -> Value:
        """One that no rows do not have."""
        match meaning:
            case Number():
                found = self.results[file][expression(meaning)]
                return None if found is None or not math.isfinite(found) else float(found)
            case Different(column):
                return len({key for key in self._keys(file, [column]) if key is not None})
            case Age(column, seconds):
                moments = [_moment(value) for (value,) in self._rows(file, [column]) if value is not None]
                return (datetime.now(UTC) - max(moments)).total_seconds() / seconds if moments else None
        return None

    def past(self, off: Off) -> list[float]:
        """Return what the files before had of the number; none where those are too few."""
        known = [number for file in self.before if (number := self.number(off.of, file, [])) is not None]
        return known[-off.files :] if len(known[-off.files :]) >= off.at_least else []

    @cached_property
    def _all(self) -> Files:
        return {**self.before, **self.files}

    def _rows(self, file: str, columns: Sequence[Column]) -> Iterator[Row]:
        places = [self.columns.index(column) for column in columns]
        return (tuple(row[at] for at in places) for row in self._all[file])

    def _keys(self, file: str, columns: Sequence[Column]) -> list[Row | None]:
        return [_key(row, self.columns, columns) for row in self._all[file]]


def _duck(kind: str) -> str:
    return meanings.DUCK.get(kind, kind if kind in meanings.POOLS else "VARCHAR")


def expression(meaning: Where | Number) -> str:
    """Return what DuckDB is asked for: a number, or which rows a condition is true for."""
    return meaning.sql if isinstance(meaning, Number) else f"array_agg(coalesce({meaning.sql}, false) ORDER BY place)"


def expressions(contracts: Sequence[Contract]) -> list[str]:
    """Return what DuckDB is to be asked for all that these contracts say."""
    meanings = [check.meaning for each in contracts for check in each.checks]
    inner = [meaning.of if isinstance(meaning, Off) else meaning for meaning in meanings]
    return list(dict.fromkeys(expression(meaning) for meaning in inner if isinstance(meaning, Where | Number)))


def judge(contract: Contract, oracle: Oracle) -> dict[str, list[Judgement]]:
    """Every check on every file, in their order: those that are good come before the next."""
    found: dict[str, list[Judgement]] = {}
    for file, rows in oracle.files.items():
        earlier = [other for other, checks in found.items() if is_good(contract, checks, len(oracle.files[other]))]
        checks = [_judged(check, oracle, file, len(rows), earlier) for check in contract.checks]
        leave = any(aside_of(contract, found[other], len(oracle.files[other])) for other in earlier)
        found[file] = list(map(_waiting, checks)) if leave else checks
    return found


def _waiting(check: Judgement) -> Judgement:
    """The table's rows are counted again once those of earlier files have left."""
    return replace(check, verdict="pass") if isinstance(check.check.meaning, TableRows) else check


def is_good(contract: Contract, checks: Sequence[Judgement], rows: int) -> bool:
    """Return True if nothing failed, or only what waits until rows have been put aside, which are not too many."""
    aside = aside_of(contract, checks, rows)
    return aside.allowed if aside else all(each.verdict != "fail" for each in checks)


def aside_of(contract: Contract, checks: Sequence[Judgement], rows: int) -> Aside | None:
    """The rows that are to leave the file; None where it has none, or is rejected for another row."""
    asking = [each for each in checks if each.verdict == "quarantine"]
    if not asking or any(each.verdict == "fail" and each.check.counts_rows for each in checks):
        return None
    places = sorted({at for each in asking for at in each.failing})
    reasons = {at: frozenset(each.check.name for each in asking if at in each.failing) for at in places}
    return Aside(rows=len(places), allowed=contract.allows(len(places), rows), reasons=reasons)


def settle(contract: Contract, oracle: Oracle) -> dict[str, list[Judgement]]:
    """Every check once failing rows have left: of them, it is as it was; else as it is of the rows that are left."""
    first = judge(contract, oracle)
    left = {}
    for file, checks in first.items():
        aside = aside_of(contract, checks, len(oracle.files[file]))
        if is_good(contract, checks, len(oracle.files[file])):
            gone = aside.reasons if aside else {}
            left[file] = [row for at, row in enumerate(oracle.files[file]) if at not in gone]
    harder = replace(contract, checks=[_harder(check) for check in contract.checks])
    second = judge(harder, oracle.of(left))
    return {file: list(map(_settled, checks, second.get(file, checks))) for file, checks in first.items()}


def _harder(check: Wording) -> Wording:
    """No row may leave any more."""
    return check.of_severity("error") if check.severity == "quarantine" else check


def _settled(before: Judgement, now: Judgement) -> Judgement:
    warned = before.verdict == "warn" and before.check.counts_rows
    left = (before.verdict == "quarantine" or warned) and now.verdict == "pass"
    return before if left else replace(now, check=before.check)


def _judged(check: Wording, oracle: Oracle, file: str, rows: int, earlier: Sequence[str]) -> Judgement:
    failing = oracle.failing(check, file, earlier)
    number = float(len(failing)) if check.counts_rows else oracle.number(check.meaning, file, earlier)
    if isinstance(check.meaning, Off) and not oracle.past(check.meaning):
        return Judgement(check=check, number=None, verdict="pass")
    if number is not None and check.unit == "percent" and check.counts_rows:
        number = 100 * number / rows if rows else 0.0
    holds = number is not None and meanings.OPERATORS[check.operator](number, *check.threshold)
    verdict = "pass" if holds else VERDICTS[check.severity]
    return Judgement(
        check=check, number=number, verdict=verdict, failing=failing if check.counts_rows and not holds else ()
    )


def _off(off: Off, number: float, past: Sequence[float]) -> Value:
    """In exact numbers, because what is left of two that are nearly the same must not be rounding."""
    if not past:
        return None
    exact = [Fraction(each) for each in past]
    mean = sum(exact, Fraction(0)) / len(exact)
    difference = Fraction(number) - mean
    if off.how == "difference":
        return float(difference)
    variance: Fraction = sum(((each - mean) ** 2 for each in exact), Fraction(0)) / (len(exact) - 1)
    scale = float(abs(mean)) / 100 if off.how == "rate" else math.sqrt(float(variance))
    return float(difference) / scale if scale else None if number != float(mean) else 0.0


def _moment(value: date | datetime) -> datetime:
    moment = value if isinstance(value, datetime) else datetime.combine(value, time())
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _key(row: Row, columns: Sequence[Column], chosen: Sequence[Column]) -> Row | None:
    """A key that compares: a null makes it none, and NaN is itself."""
    values = [row[columns.index(column)] for column in chosen]
    return (
        None
        if None in values
        else tuple("NaN" if isinstance(value, float) and math.isnan(value) else value for value in values)
    )


def _arrow(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    """The rows with their places; a nested value is there as some text."""
    arrays = [
        pa.array(
            [value if value is None or column.type in meanings.POOLS else str(value) for value in values],
            _KINDS.get(column.type, pa.string()),
        )
        for column, values in zip(columns, zip(*rows, strict=True), strict=True)
    ]
    return pa.table([*arrays, pa.array(range(len(rows)), pa.int32())], [*(column.duck for column in columns), "place"])
