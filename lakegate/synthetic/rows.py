"""Rows for a plan that keep the rules of its columns, rows and keys, or of which some break one such rule.

Nothing here knows what a rule means. Values are drawn and evaluated, and those that fail are left out. Numbers about
all rows, such as means, are not aimed at.
"""

from collections.abc import Iterator, Mapping, Sequence
from random import Random
from typing import Any

import pyarrow as pa

from lakegate.audit.model.plan import Metric, Plan, TableColumn, Trait
from lakegate.contracts.odcs.vocabulary import hint
from lakegate.counts import count
from lakegate.errors import Misconfigured
from lakegate.inference.evaluator import Evaluator
from lakegate.reading.arrow import arrow_type
from lakegate.synthetic.values import candidates

_ROUNDS, _CANDIDATES = 60, 1_000
_NULLS = 0.1  # of a column that may have some


def table_of(plan: Plan, rows: Mapping[str, Sequence[Any]]) -> pa.Table:
    """Return those of the plan's columns that `rows` has, in the plan's order and with the types of files."""
    fields = [pa.field(column.name, arrow_type(column.type)) for column in plan.columns if column.name in rows]
    return pa.table([pa.array(rows[field.name], field.type) for field in fields], schema=pa.schema(fields))


class Maker:
    """Makes a `number` of rows for a plan whose checks can all be asked of the rows; the same for the same seed."""

    def __init__(self, plan: Plan, seed: int, number: int) -> None:
        self._plan, self._number, self._random = plan, number, Random(seed)  # noqa: S311 - nothing here is secret
        self._evaluator = Evaluator(plan)
        self._good: dict[str, list[Any]] = {}  # values by column
        self._bad: dict[str, Any] = {metric.id: None for metric in plan.metrics if _is_key(metric)}  # by metric
        for column in plan.columns:
            self._fill(column)

    def good(self) -> pa.Table:
        """Return rows that keep all rules. Raise Misconfigured if too few were found."""
        rules = [m for m in self._plan.metrics if _is_key(m) or (len(m.columns) > 1 and m.has(Trait.SINGLE))]
        rows = self._draw(0)
        for _ in range(_ROUNDS):
            rows = pa.concat_tables([rows, self._draw(self._number)])
            sound = [set(marks) <= {False} for marks in self._evaluator.marks(rows, rules)]
            rows = rows.filter(pa.array(sound, pa.bool_())).slice(0, self._number)
            if rows.num_rows == self._number:
                return rows
        names = ", ".join(repr(check.name) for check in self._plan.checks if self._plan.metric(check.metric) in rules)
        size = count(rows.num_rows, "row")
        raise Misconfigured(f"{self._plan.table}: only {size} were found that pass {names}; ask for fewer with --rows")

    def bad(self, fault: str) -> pa.Table:
        """Return rows of which enough break a rule that this check fails. Raise Misconfigured if none do."""
        checks = {check.name: check for check in self._plan.checks if check.metric in self._bad}
        if check := checks.get(fault):
            for rows in self._break(self.good(), self._plan.metric(check.metric)):
                if check.id in self._evaluator.failing_checks(rows):
                    return rows
        names = "".join(f"\n  {name}" for name in checks) or " none at all"
        raise Misconfigured(
            f"{self._plan.table} has no check {fault!r} that {count(self._number, 'row')} with a fault fail"
            f"{hint(fault, list(checks))}; faults are of:{names}"
        )

    def fails(self, rows: pa.Table) -> list[str]:
        """Return the names of the checks that the rows do not pass."""
        ids = self._evaluator.failing_checks(rows)
        return [check.name for check in self._plan.checks if check.id in ids] or sorted(ids)

    def _fill(self, column: TableColumn) -> None:
        """Find the column's values that pass its rules, and for each rule those that fail it and few others."""
        rules = [metric for metric in self._plan.metrics if metric.columns == (column.name,)]
        number = _CANDIDATES + 3 * self._number * any(map(_is_key, rules))
        rules = [metric for metric in rules if metric.has(Trait.SINGLE)]
        values = candidates(self._plan, column, self._random, number)
        all_marks = self._evaluator.marks(table_of(self._plan, {column.name: values}), rules)
        ranking = sorted(zip(values, all_marks, strict=True), key=lambda pair: len(pair[1]) - pair[1].count(False))
        self._good[column.name] = [value for value, marks in ranking if set(marks) <= {False}]
        if not self._good[column.name]:
            raise Misconfigured(
                f"{self._plan.table}: no value of column {column.name!r} was found that passes its checks"
            )
        for at, metric in enumerate(rules):
            if bad := [value for value, marks in ranking if marks[at]]:
                self._bad[metric.id] = bad[0]

    def _draw(self, number: int) -> pa.Table:
        return table_of(self._plan, {name: self._choices(values, number) for name, values in self._good.items()})

    def _choices(self, good: Sequence[Any], number: int) -> list[Any]:
        weights = [1 if value is not None else len(good) * _NULLS for value in good]
        return self._random.choices(good, weights, k=number)

    def _break(self, rows: pa.Table, metric: Metric) -> Iterator[pa.Table]:
        """Yield the rows with one that breaks the rule, and then with twice as many each time."""
        limit = rows.num_rows - _is_key(metric)
        for number in sorted({min(2**power, limit) for power in range(limit.bit_length() + 1)} - {0}):
            values, places = rows.to_pydict(), self._random.sample(range(rows.num_rows), number + _is_key(metric))
            for name in metric.columns:
                fault = values[name][places[0]] if _is_key(metric) else self._bad[metric.id]
                for place in places:
                    values[name][place] = fault
            yield table_of(self._plan, values)


def _is_key(metric: Metric) -> bool:
    return metric.has(Trait.REPEATS)
