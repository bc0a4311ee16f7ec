"""A plan's checks over rows in memory, by DuckDB: what a contract is made of, or made up for it, is evaluated by it.

It reads Spark's expressions in DuckDB's dialect, and takes the verdicts from the audit itself.
"""

# ruff: noqa: S608 - columns are quoted, and expressions are a plan's own

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

import duckdb
import pyarrow as pa

from lakegate.audit.evaluation.drift import Past
from lakegate.audit.evaluation.quarantine import afterwards, leaving_checks, without_budget
from lakegate.audit.evaluation.verdicts import Measurement, Measurements, evaluate
from lakegate.audit.model.plan import Metric, Plan
from lakegate.audit.model.report import CheckResult, Source, Verdict
from lakegate.duckdb.arrow import types_of
from lakegate.duckdb.dialect import STRICTLY, digits_of_floats, duckdb_identifier
from lakegate.duckdb.macros import MACROS
from lakegate.duckdb.metrics import KINDS, Rows
from lakegate.errors import Misconfigured

_WORD = re.compile(r'"(?:[^"]|"")*"|\w+')
_STAR = re.compile(r"(?<!count\()[*]", re.IGNORECASE)
_FILE = "made up"
_AT = "_lakegate_at"  # the place of a row
_ROWS = Rows(relation="made_up", order=_AT)
AT_ONCE = 50
"""Metrics of a query: DuckDB's work, and its depth, grow with their square."""
UNKNOWN = "unknown"
"""Told in place of checks if only Spark can say what becomes of some value."""
_SETTINGS = (STRICTLY, "SET TimeZone = 'UTC'", "SET threads = 1", "SET enable_external_access = false")


class _OnlySpark(Exception):
    """A value at which DuckDB cannot say what Spark would."""


class DuckDBEvaluator:
    """An evaluator of a plan's checks on arrow tables. The plan has no foreign keys."""

    def __init__(self, plan: Plan) -> None:
        _refuse_digits_of_floats(plan)
        self.plan = plan
        self.past: Past = {}
        self._connection = duckdb.connect()
        for statement in (*MACROS, *_SETTINGS):
            self._connection.execute(statement)

    def results(self, rows: pa.Table) -> tuple[CheckResult, ...]:
        """Return the result of every check of the plan, as the audit of a file with these rows alone would. Once
        failing rows have left for quarantine, the results are of what is left.
        """
        found = self._evaluated(self.plan, rows)
        if not (going := leaving_checks(found)):
            return found
        stays = pa.array([not goes for goes in self._going(rows, going)])
        after = self._evaluated(without_budget(self.plan), rows.filter(stays))
        return afterwards({_FILE: found}, {_FILE: after})[_FILE]

    def _evaluated(self, plan: Plan, rows: pa.Table) -> tuple[CheckResult, ...]:
        numbers = self._numbers(rows, plan.metrics)
        measured = {metric.id: Measurement(value=numbers[metric.id], source=Source.QUERY) for metric in plan.metrics}
        measurements = Measurements(file=_FILE, rows=rows.num_rows, metrics=measured)
        return evaluate(plan, [measurements], {}, self.past, lambda _, __, checks: sum(self._going(rows, checks)))[
            _FILE
        ]

    def _going(self, rows: pa.Table, checks: Collection[str]) -> list[bool]:
        """Return for each row whether it fails one of these checks, given by id. Of rows with the same key the first
        stays.
        """
        metrics = [self.plan.metric(check.metric) for check in self.plan.checks if check.id in checks]
        return [any(marks) for marks in self.marked(rows, metrics)]

    def failing(self, rows: pa.Table) -> set[str]:
        """Return the ids of the checks that do not pass, warnings among them; UNKNOWN if DuckDB cannot say."""
        try:
            results = self.results(rows)
        except _OnlySpark:
            return {UNKNOWN}
        return {result.check for result in results if result.verdict is not Verdict.PASS}

    def marked(self, rows: pa.Table, metrics: Sequence[Metric]) -> list[tuple[bool | None, ...]]:
        """Return for each row whether it counts for each of these metrics, which count rows one by one; None if DuckDB
        cannot say.
        """
        if not metrics:
            return [()] * rows.num_rows
        placed = rows.append_column(_AT, pa.array(range(rows.num_rows), pa.int64()))
        typed = replace(_ROWS, types=types_of(rows.schema))
        marks = ", ".join(KINDS[metric.kind].failing(metric, typed) for metric in metrics)
        try:
            return self._all(f"SELECT {marks} FROM made_up ORDER BY {duckdb_identifier(_AT)}", placed)
        except _OnlySpark as error:  # a row's value can make a predicate null, which is no error
            raise self._beyond(error.__cause__) from error

    def _numbers(self, rows: pa.Table, metrics: Sequence[Metric]) -> dict[str, float | None]:
        if not metrics:
            return {}
        found = dict[str, Any]()
        for is_one_pass in (True, False):
            asked = [metric for metric in metrics if (KINDS[metric.kind].aggregate is not None) is is_one_pass]
            for at in range(0, len(asked), AT_ONCE):
                found |= self._numbers_of(rows, asked[at : at + AT_ONCE], is_one_pass=is_one_pass)
        if any(found[metric.id] is None and metric.kind.counts_rows for metric in metrics):
            raise _OnlySpark
        return {
            name: float(value) if value is not None and math.isfinite(value) else None for name, value in found.items()
        }

    def _numbers_of(self, rows: pa.Table, metrics: Sequence[Metric], *, is_one_pass: bool) -> dict[str, Any]:
        typed = replace(_ROWS, types=types_of(rows.schema))
        if not is_one_pass:
            numbers = ", ".join(KINDS[metric.kind].number(metric, typed) for metric in metrics)
            [found] = self._all(f"SELECT {numbers}", rows if _STAR.search(numbers) else _named_in(numbers, rows))
        else:
            asked = [KINDS[metric.kind].aggregate for metric in metrics]
            numbers = ", ".join(of(metric, typed) for of, metric in zip(asked, metrics, strict=True) if of)
            [found] = self._all(f"SELECT {numbers} FROM {_ROWS.relation}", _named_in(numbers, rows))
        return {metric.id: value for metric, value in zip(metrics, found, strict=True)}

    def _all(self, query: str, rows: pa.Table) -> list[tuple[Any, ...]]:
        try:
            self._offer(rows)
            return self._connection.execute(query).fetchall()
        except (duckdb.DataError, duckdb.InvalidInputException) as error:
            raise _OnlySpark from error
        except duckdb.Error as error:
            raise self._beyond(error) from error
        finally:
            self._connection.unregister("made_up")

    def _offer(self, rows: pa.Table) -> None:
        self._connection.register("made_up", as_judged(rows))

    def _beyond(self, error: BaseException | None) -> Misconfigured:
        return Misconfigured(f"table {self.plan.table}: DuckDB cannot judge made-up rows by its contract: {error}")


def _refuse_digits_of_floats(plan: Plan) -> None:
    floats = [column.name for column in plan.columns if column.type == "float"]
    for metric in plan.metrics if floats else ():
        if metric.sql and (said := digits_of_floats(metric.sql, floats)):
            raise Misconfigured(
                f"table {plan.table}: {said} cannot be judged here, because only Spark has the digits of a float: "
                f"compare the number itself, or write the column with format: f64"
            )


def _named_in(query: str, rows: pa.Table) -> pa.Table:
    """Return the columns that a query may name, and one at least: DuckDB looks at each for each expression."""
    words = set(_WORD.findall(query.casefold()))
    spelled = {name: (name.casefold(), duckdb_identifier(name).casefold()) for name in rows.column_names}
    names = [name for name, ways in spelled.items() if words.intersection(ways)]
    return rows.select(names or rows.column_names[:1])


def as_judged(rows: pa.Table) -> pa.Table:
    """Return the rows with every float as the double that it is: beside a decimal, DuckDB would make floats of both."""
    kinds = [pa.float64() if pa.types.is_float32(field.type) else field.type for field in rows.schema]
    return rows.cast(pa.schema(list(zip(rows.schema.names, kinds, strict=True))))
