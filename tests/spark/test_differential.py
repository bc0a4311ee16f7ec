"""Random contracts over random tables: every number and every verdict is what an evaluation of the words says.

The contract goes through the compiler, the audit and the verdicts; its words are evaluated in DuckDB and plain Python
(tests/support/said.py), which know none of that. The seed is the same in every run; `DIFFERENTIAL_SEED=random`
(`make search`) takes another, which the failing message names: `DIFFERENTIAL_SEED=…` repeats that run.
"""

from __future__ import annotations

import io
import math
import os
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession
from ruamel.yaml import YAML

from lakegate.audit.fit import FILE_COLUMN
from lakegate.audit.plan import Column as PlanColumn
from lakegate.audit.plan import Plan
from lakegate.audit.report import CheckResult
from lakegate.audit.types import quoted
from lakegate.audit.verdicts import judge
from lakegate.contracts import load
from spark_jobs import iceberg
from spark_jobs.measure import measure_all
from spark_jobs.session import LAKE
from spark_jobs.table import prepare
from tests.support import said
from tests.support.held import Table
from tests.support.said import Column, Different, Each, Number, Repeats, Said, Where

pytestmark = pytest.mark.spark
TABLES, CONTRACTS = 10, 52
ASKED = os.environ.get("DIFFERENTIAL_SEED") or "20130131"
SEED = random.randrange(2**32) if ASKED == "random" else int(ASKED)
HEAD = {"apiVersion": "v3.1.0", "kind": "DataContract", "id": "random", "version": "1.0.0", "status": "active"}
SERVER = {"server": "landing", "type": "s3", "location": "s3://landing/r/*", "format": "parquet"}
Row = tuple[Any, ...]
Files = dict[str, list[Row]]
Value = float | None


@dataclass(frozen=True, kw_only=True)
class Contract:
    """A contract's text and the checks that it says; entries of `quality` are called by their places."""

    text: str
    checks: Sequence[Said]


def as_yaml(contract: dict[str, Any]) -> str:
    """Without aliases, which contracts may not have."""
    writer = YAML(typ="safe", pure=True)
    writer.representer.ignore_aliases = lambda _: True
    text = io.StringIO()
    writer.dump(contract, text)
    return text.getvalue()


@st.composite
def tables(draw: said.Draw) -> tuple[list[Column], Files]:
    """Columns of every type by awkward names, and some files of a few rows each, one of them perhaps empty."""
    names = draw(st.permutations(said.NAMES))
    columns = [
        Column(name=name, type=kind, duck=f"c{at}")
        for at, (name, kind) in enumerate(zip(names, said.POOLS, strict=False))
    ]
    narrow = {kind: st.none() | st.sampled_from(pool) if draw(st.integers(0, 3)) else st.sampled_from(pool)
              for kind, pool in said.POOLS.items()}  # fmt: skip
    row = st.tuples(*(narrow[column.type] for column in columns))
    some, others = draw(st.lists(row, min_size=1, max_size=7)), draw(st.lists(st.lists(row, max_size=7), max_size=3))
    return columns, {f"f{at}": rows for at, rows in enumerate(draw(st.permutations([some, *others])))}


@st.composite
def contracts(draw: said.Draw, columns: Sequence[Column]) -> Contract:
    """Two to four of the columns, each with a few words, and something about the table."""
    chosen = draw(st.lists(st.sampled_from(columns), min_size=2, max_size=4, unique=True))
    checks: list[Said] = []
    written = []
    for column in chosen:
        own = [make for make, kinds in said.OWN if column.type in kinds]
        entries = [make for make, kinds in said.QUALITY if column.type in kinds]
        made = [make(draw, column) for make in draw(st.lists(st.sampled_from(own), max_size=2, unique=True))]
        asked = [make(draw, column) for make in draw(st.lists(st.sampled_from(entries), max_size=2))]
        named = [replace(each, name=f"check {len(checks) + len(made) + at}") for at, each in enumerate(asked)]
        checks += [*made, *named]
        written.append(_column(column, made, named))
    asked = [make(draw, chosen) for make in draw(st.lists(st.sampled_from(said.TABLE), max_size=2))]
    named = [replace(each, name=f"check {len(checks) + at}") for at, each in enumerate(asked)]
    table = {"name": "t", "physicalName": "random.t", "properties": written, **_quality(named)}
    text = as_yaml({**HEAD, "servers": [SERVER], "schema": [table]})
    return Contract(text=text, checks=[*checks, *named])


def _column(column: Column, own: Sequence[Said], entries: Sequence[Said]) -> dict[str, Any]:
    options = {word: value for each in own for word, value in each.options.items()}
    return {
        "name": column.name,
        "logicalType": said.LOGICAL[column.type],
        "physicalType": column.type,
        **{word: value for each in own for word, value in each.own.items()},
        **({"logicalTypeOptions": options} if options else {}),
        **_quality(entries),
    }


def _quality(entries: Sequence[Said]) -> dict[str, Any]:
    return {"quality": [{"name": each.name, **each.quality} for each in entries]} if entries else {}


# ------------------------------------------------------------------ what lakegate says


def audited(spark: SparkSession, columns: Sequence[Column], files: Files, plans: Sequence[Plan]) -> list[Any]:
    """Each plan's verdicts on files that were appended once, and measured once for all the plans."""
    metrics = {metric.id: metric for plan in plans for metric in plan.metrics}
    every = replace(
        plans[0],
        columns=tuple(PlanColumn(name=column.name, type=column.type) for column in columns),
        metrics=tuple(metrics.values()),
        checks=(),
        key=(),
    )
    table = Table(spark=spark, plan=every)
    prepare(spark, every, iceberg.load(spark, LAKE, every.table))
    table.before = iceberg.load(spark, LAKE, every.table)
    schema = ", ".join(f"{quoted(column.name)} {column.type}" for column in columns) + f", {FILE_COLUMN} string"
    there = {file: rows for file, rows in files.items() if rows}
    frames = [spark.createDataFrame([(*row, file) for row in rows], schema) for file, rows in there.items()]
    whole = frames[0]
    for frame in frames[1:]:
        whole = whole.union(frame)
    whole.writeTo(f"{LAKE}.{every.table}").append()
    batch = replace(table.batch, files={file: table.files.get(file, []) for file in files})
    measured, dependents = measure_all(every, batch, table.base)
    return [
        judge(plan, measured, {metric.id: dependents[metric.id] for metric in plan.metrics if metric.id in dependents})
        for plan in plans
    ]


# ------------------------------------------------------------------ what the words say


@dataclass(frozen=True, kw_only=True)
class Told:
    """A table's files in DuckDB and in Python."""

    columns: Sequence[Column]
    files: Files
    wanted: Sequence[str]

    @cached_property
    def numbers(self) -> Mapping[str, Mapping[str, Value]]:
        """What DuckDB says of every aggregate, for each file."""
        with duckdb.connect() as duck:
            duck.execute("SET TimeZone = 'UTC'")
            return {
                file: dict(zip(self.wanted, self._row(duck, rows), strict=True)) for file, rows in self.files.items()
            }

    def _row(self, duck: duckdb.DuckDBPyConnection, rows: Sequence[Row]) -> Row:
        kinds = ", ".join(f"{column.duck} {said.DUCK.get(column.type, column.type)}" for column in self.columns)
        duck.execute(f"CREATE OR REPLACE TABLE t ({kinds})")
        if rows:
            duck.register("rows", _arrow(self.columns, rows))
            duck.execute("INSERT INTO t SELECT * FROM rows")
        found = duck.execute(f"SELECT {', '.join([*self.wanted, 'NULL'])} FROM t").fetchone()
        assert found is not None
        return found[:-1]

    def number(self, check: Said, file: str, earlier: Sequence[str]) -> Value:
        """What the check's words count in a file, or what number they ask for, which no rows do not have."""
        if not self.files[file] and not isinstance(check.meaning, Where | Each | Repeats):
            return None
        match check.meaning:
            case Where() | Number():
                found = self.numbers[file][_aggregate(check)]
                return None if found is None or not math.isfinite(found) else float(found)
            case Each(column, wrong):
                return sum(wrong(value) for value in self._values(file, column) if value is not None)
            case Different(column):
                return len({_key(value) for value in self._values(file, column) if value is not None})
            case Repeats(columns):
                known = {key for other in earlier for key in self._keys(other, columns)}
                mine = self._keys(file, columns)
                return sum(key in known or key in mine[:at] for at, key in enumerate(mine))

    def _values(self, file: str, column: Column) -> list[Any]:
        at = self.columns.index(column)
        return [row[at] for row in self.files[file]]

    def _keys(self, file: str, columns: Sequence[Column]) -> list[Row]:
        rows = zip(*(self._values(file, column) for column in columns), strict=True)
        return [tuple(map(_key, row)) for row in rows if None not in row]


def _key(value: Any) -> Any:
    return "NaN" if isinstance(value, float) and math.isnan(value) else value


def _arrow(columns: Sequence[Column], rows: Sequence[Row]) -> pa.Table:
    kinds = {
        "int": pa.int32(),
        "bigint": pa.int64(),
        "float": pa.float32(),
        "double": pa.float64(),
        "decimal(5,2)": pa.decimal128(5, 2),
        "decimal(38,10)": pa.decimal128(38, 10),
        "string": pa.string(),
        "boolean": pa.bool_(),
        "date": pa.date32(),
        "timestamp": pa.timestamp("us", "UTC"),
        "timestamp_ntz": pa.timestamp("us"),
        "binary": pa.binary(),
    }
    values = [
        pa.array(list(each), kinds[column.type]) for column, each in zip(columns, zip(*rows, strict=True), strict=True)
    ]
    return pa.table(values, [column.duck for column in columns])


def _aggregate(check: Said) -> str:
    if isinstance(check.meaning, Where):
        return f"count(*) FILTER (WHERE {check.meaning.sql})"
    assert isinstance(check.meaning, Number)
    return check.meaning.sql


def verdicts(contract: Contract, told: Told) -> Iterator[tuple[str, Said, Value, str]]:
    """File, check, its number in its unit, and its verdict; files are good or not in their order."""
    earlier: list[str] = []
    for file, rows in told.files.items():
        is_good = True
        for check in contract.checks:
            number = told.number(check, file, earlier)
            if number is not None and check.unit == "percent":
                number = 100 * number / len(rows) if rows else 0
            holds = number is not None and said.OPERATORS[check.operator](number, *check.threshold)
            verdict = "pass" if holds else {"error": "fail", "warning": "warn"}[check.severity]
            is_good = is_good and verdict != "fail"
            yield file, check, number, verdict
        earlier += [file] * is_good


# ------------------------------------------------------------------ and that both say the same


def differences(contract: Contract, told: Told, results: Mapping[str, Sequence[CheckResult]]) -> Iterator[str]:
    for file, check, number, verdict in verdicts(contract, told):
        counted = round((number or 0) * (len(told.files[file]) / 100 if check.unit == "percent" else 1))
        wanted = (verdict, number, counted if check.counts and verdict != "pass" else 0)
        found = _results(check, results[file])
        if not any(_says(result, *wanted) for result in found):
            yield f"{file}, {check.name}: {verdict} at {number} by {check.meaning}; lakegate: {found}"


def _results(check: Said, results: Sequence[CheckResult]) -> list[CheckResult]:
    """The check's own result. Checks that say the same are one, which goes by the name of one of them."""
    own = [result for result in results if result.name == check.name]
    return own or [result for result in results if (result.severity, set(result.columns)) == _asked(check)]


def _asked(check: Said) -> tuple[str, set[str]]:
    of = check.meaning.columns if isinstance(check.meaning, Repeats) else [check.column] if check.column else []
    return check.severity, {column.name for column in of}


def _says(result: CheckResult, verdict: str, number: Value, failing: int) -> bool:
    return result.verdict == verdict and _close(result.value, number) and result.failing_rows == failing


def _close(one: Value, other: Value) -> bool:
    return one is other if one is None or other is None else math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)


def test_random_contracts_over_random_tables_say_what_their_words_say(spark: SparkSession) -> None:
    pairs: list[str] = []

    @seed(SEED)
    @settings(
        max_examples=TABLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(st.data())
    def same(data: st.DataObject) -> None:
        columns, files = data.draw(tables())
        drawn = [data.draw(contracts(columns)) for _ in range(CONTRACTS)]
        plans = [load(each.text, "random").plan for each in drawn]
        name = f"random.t{len(pairs)}"
        found = audited(spark, columns, files, [replace(plan, table=name) for plan in plans])
        wanted = {
            _aggregate(check): None
            for each in drawn
            for check in each.checks
            if isinstance(check.meaning, Where | Number)
        }
        told = Told(columns=columns, files=files, wanted=list(wanted))
        for contract, results in zip(drawn, found, strict=True):
            wrong = list(differences(contract, told, results))
            assert not wrong, f"DIFFERENTIAL_SEED={SEED}\n{contract.text}\n{files}\n" + "\n".join(wrong)
            pairs.append(contract.text)

    same()
    assert len(pairs) >= 500, f"DIFFERENTIAL_SEED={SEED}"
