"""A plan's checks over rows in memory: the express engine measures the rows, and the audit judges the numbers."""

from collections.abc import Sequence
from functools import cached_property

import pyarrow as pa

from lakegate.audit.errors import HandedOver
from lakegate.audit.evaluation.drift import Past
from lakegate.audit.evaluation.quarantine import afterwards, leaving_checks, without_budget
from lakegate.audit.evaluation.verdicts import Measurement, Measurements, evaluate
from lakegate.audit.model.plan import Metric, Plan
from lakegate.audit.model.report import CheckResult, Source, Verdict
from lakegate.duckdb.dialect import digits_of_floats
from lakegate.errors import Misconfigured
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.quarantine import reasons

_FILE = "made up"
_MEMORY = 1024**3  # bytes of DuckDB, which are more than a sample has
UNKNOWN = "unknown"
"""Reported in place of checks if only Spark can say what becomes of some value."""


class Evaluator:
    """An evaluator of a plan's checks on Arrow tables, for which DuckDB may use a folder. The plan has no foreign
    keys.
    """

    def __init__(self, plan: Plan, folder: str = "") -> None:
        _refuse_digits_of_floats(plan)
        self.plan = plan
        self.past: Past = {}
        self._folder = folder

    @cached_property
    def duckdb(self) -> DuckDB:
        return DuckDB(Limits(memory=_MEMORY, spill=self._folder))

    def results(self, rows: pa.Table) -> tuple[CheckResult, ...]:
        """Return the result of every check of the plan, as the audit of a file with these rows alone would. Once
        failing rows have left for quarantine, the results are of what is left. Raise HandedOver if DuckDB cannot say.
        """
        before = self._evaluate(self.plan, rows)
        if not (rejects := leaving_checks(before)):
            return before
        stays = pa.array([not names for names in reasons(self.plan, rows, rejects, self.duckdb)], pa.bool_())
        after = self._evaluate(without_budget(self.plan), rows.filter(stays))
        return afterwards({_FILE: before}, {_FILE: after})[_FILE]

    def _evaluate(self, plan: Plan, rows: pa.Table) -> tuple[CheckResult, ...]:
        numbers = self.duckdb.numbers(plan.metrics, rows)
        values = {name: Measurement(value=value, source=Source.QUERY) for name, value in numbers.items()}
        measurements = Measurements(file=_FILE, rows=rows.num_rows, metrics=values)
        return evaluate(
            plan,
            [measurements],
            {},
            self.past,
            lambda _, __, checks: sum(map(bool, reasons(plan, rows, checks, self.duckdb))),
        )[_FILE]

    def failing_checks(self, rows: pa.Table) -> set[str]:
        """Return the ids of the checks that do not pass, warnings among them; UNKNOWN if DuckDB cannot say."""
        try:
            return {result.check for result in self.results(rows) if result.verdict is not Verdict.PASS}
        except HandedOver:
            return {UNKNOWN}

    def marks(self, rows: pa.Table, metrics: Sequence[Metric]) -> list[tuple[bool | None, ...]]:
        """Return for each row whether it counts for each of these metrics; None if only Spark can say."""
        try:
            return self.duckdb.marks(metrics, rows)
        except HandedOver as error:
            cause = error.__cause__ or error
            message = f"table {self.plan.table}: DuckDB cannot judge made-up rows by its contract: {cause}"
            raise Misconfigured(message) from error


def _refuse_digits_of_floats(plan: Plan) -> None:
    floats = [column.name for column in plan.columns if column.type == "float"]
    for metric in plan.metrics if floats else ():
        if metric.sql and (message := digits_of_floats(metric.sql, floats)):
            raise Misconfigured(
                f"table {plan.table}: {message} cannot be judged here, because only Spark has the digits of a float: "
                f"compare the number itself, or write the column with format: f64"
            )
