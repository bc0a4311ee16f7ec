"""Advice for a check that did not pass: what to ask of the vendor, by the kind of number, and the contract's line."""

from collections.abc import Callable, Mapping

from lakegate.audit.advice import Advice, setting
from lakegate.audit.model.plan import Budget, Check, Metric, MetricKind, Plan, Scope, Severity, Trait
from lakegate.audit.schema.faults import listing
from lakegate.counts import count

_Asks = Callable[[Check, Metric, int, str], str]


def advise(plan: Plan, check: Check, failing_rows: int, expected: str) -> Advice:
    """Return the advice for a check that so many rows fail, or whose number is not as expected."""
    metric = plan.metric(check.metric)
    ask = _from_the_past if check.drift else ASKS.get(metric.kind, _mend if metric.kind.counts_rows else _as_a_whole)
    if metric.has(Trait.LINES):
        quarantine = {} if check.severity is Severity.QUARANTINE else put_aside(plan)
        return Advice(vendor=ask(check, metric, failing_rows, expected), **quarantine)
    of_contract = _of_key(check) if _is_of_key(plan, metric) else _of_contract(check)
    return Advice(vendor=ask(check, metric, failing_rows, expected), **of_contract)


def advise_budget(budget: Budget, failing_rows: int) -> Advice:
    """Return the advice for a file with more rows for quarantine than the budget lets go."""
    budget_text = f"{{rows: {failing_rows}}}" if budget.percent is None else "{percent: 100}"
    return Advice(
        vendor=f"mend the {count(failing_rows, 'row')} that fail",
        contract="raise the budget, at the table of the contract",
        lines=setting("quarantineBudget", budget_text),
    )


def put_aside(plan: Plan) -> dict[str, str]:
    """Return the contract's part of an advice: lines by which rows that do not parse go to quarantine."""
    severity = setting("severity", Severity.QUARANTINE)
    if plan.budget:
        return {"contract": "put such rows aside, at the contract's landing server", "lines": severity}
    budget = setting("quarantineBudget", "{percent: 1}")
    lines = f"# at the landing server:\n{severity}\n# at the table:\n{budget}"
    return {"contract": "put such rows aside, by lines at two places of the contract", "lines": lines}


def _is_of_key(plan: Plan, metric: Metric) -> bool:
    """Return True if the metric says that the primary key identifies no row, or not one alone."""
    repeats = metric.has(Trait.REPEATS) and metric.columns == plan.key
    return bool(plan.key) and (repeats or (metric.has(Trait.REQUIRED) and {*metric.columns} <= {*plan.key}))


def _of_key(check: Check) -> dict[str, str]:
    """Return what the contract's owner changes: a key that may repeat or be missing is none, so nothing is loosened."""
    return {"contract": f"choose other columns as the primary key, at line {check.line} of the contract"}


def _of_contract(check: Check) -> dict[str, str]:
    """Return what the contract's owner changes if the rows are right."""
    line = f"loosen line {check.line} of the contract"
    if not check.lines:
        return {"contract": line}
    return {"contract": f"{line}, or write at {check.place}", "lines": check.lines}


def _rows(failing_rows: int, verb: str, verbs: str) -> str:
    """Return `the row that fails` or `the 12 rows that fail`."""
    return f"the row that {verb}" if failing_rows == 1 else f"the {count(failing_rows, 'row')} that {verbs}"


def _fill(check: Check, _metric: Metric, failing_rows: int, _expected: str) -> str:
    place = _rows(failing_rows, "has none", "have none")
    return f"write a value of {listing(check.columns)} in {place}"


def _mend(check: Check, _metric: Metric, failing_rows: int, _expected: str) -> str:
    if not failing_rows:  # there is no number, because of a value that cannot be computed with
        return f"mend the values of {listing(check.columns)}" if check.columns else "mend its rows"
    return f"mend {_rows(failing_rows, 'fails', 'fail')}"


def _send_once(check: Check, metric: Metric, _failing_rows: int, _expected: str) -> str:
    earlier = ", and none that came before" if metric.scope is Scope.TABLE else ""
    return f"send each value of {listing(check.columns)} once{earlier}"


def _send_first(check: Check, metric: Metric, failing_rows: int, _expected: str) -> str:
    to = metric.refers_to.table if metric.refers_to else "the table"
    rows = _rows(failing_rows, "fails", "fail")
    return f"send the rows of {to} that {listing(check.columns)} refers to, or to mend {rows}"


def _parse(_check: Check, _metric: Metric, failing_rows: int, _expected: str) -> str:
    return (
        f"write the values of {_rows(failing_rows, 'does not parse', 'do not parse')} as the contract has their types"
    )


def _rows_of_all(_check: Check, _metric: Metric, _failing_rows: int, expected: str) -> str:
    return f"send the file with all of its rows: expected are {expected}"


def _as_a_whole(_check: Check, _metric: Metric, _failing_rows: int, expected: str) -> str:
    return f"look at the file as a whole: its number is to be {expected}"


def _from_the_past(_check: Check, _metric: Metric, _failing_rows: int, expected: str) -> str:
    return f"say why the file differs so much from those before it: expected is {expected}"


ASKS: Mapping[MetricKind, _Asks] = {
    MetricKind.ROWS: _rows_of_all,
    MetricKind.NULLS: _fill,
    MetricKind.DUPLICATES: _send_once,
    MetricKind.ORPHANS: _send_first,
    MetricKind.MALFORMED: _parse,
}
"""The words to the vendor for the metric kinds that have their own."""
