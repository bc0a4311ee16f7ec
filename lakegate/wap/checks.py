"""A person's own functions as checks: each is given an append's rows in Arrow, and says which of them pass."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.audit.evaluation.samples import ROWS, evenly, within_bytes
from lakegate.audit.evaluation.verdicts import verdict
from lakegate.audit.model.plan import Plan, Severity
from lakegate.audit.model.report import CheckResult, FileReport, Source, Verdict
from lakegate.errors import Misconfigured
from lakegate.express.samples import rows_at

Check = Callable[[pa.Table], Any]
"""Returns True if all rows pass, False if not; or, for each row, whether it passes."""
_BYTES = 1_000_000  # of one check's sample
_WRITE = "write it as a function, def amounts_are_whole(rows): …, and give that"


def name_of(check: Check) -> str:
    """Return a check's name for people: the first line of what the function says of itself, or its name."""
    text = (getattr(check, "__doc__", None) or "").strip()
    return text.splitlines()[0].rstrip(".") if text else str(getattr(check, "__name__", check)).replace("_", " ")


def check_names(checks: Sequence[Check]) -> None:
    """Raise Misconfigured unless each check has a name of its own: by it, another process knows what was checked."""
    names = [getattr(check, "__name__", "") for check in checks]
    for check, name in zip(checks, names, strict=True):
        if not callable(check):
            raise Misconfigured(f"{check!r:.60} is no check: give a function of the rows")
        if not name.isidentifier():
            raise Misconfigured(f"check {check!r:.60} has no name of its own: {_WRITE}")
        if names.count(name) > 1:
            raise Misconfigured(f"two checks are called {name}, and nobody could tell their results apart: {_WRITE}")


def id_of(check: Check) -> str:
    """Return a check's id in a report."""
    return f"function:{check.__name__}"


def add_results(plan: Plan, checks: Sequence[Check], entry: FileReport, rows: pa.Table) -> FileReport:
    """Return an append's report with the results of these checks beside the contract's."""
    results = (*entry.checks, *(_result(plan, check, rows) for check in checks))
    return replace(entry, checks=results, verdict=verdict(results))


def _result(plan: Plan, check: Check, rows: pa.Table) -> CheckResult:
    failures = _failures(check, rows)
    number = rows.num_rows if failures is None else len(failures)
    return CheckResult(
        check=id_of(check),
        name=name_of(check),
        columns=(),
        severity=Severity.ERROR,
        verdict=Verdict.FAIL if number else Verdict.PASS,
        value=number,
        expected="none",
        failing_rows=number,
        rows=rows.num_rows,
        source=Source.QUERY,
        sample=_sample(plan, rows, failures) if failures is not None else (),
    )


def _failures(check: Check, rows: pa.Table) -> Any:
    """Return the places of the rows that fail, as Arrow has them; None if all do, as a whole. Only a plain True, or a
    truth value for each row, passes: a function that forgets to return must not.
    """
    result = check(rows)
    if isinstance(result, bool) or type(result).__name__ == "bool_":
        return pa.array([], pa.uint64()) if result else None
    try:
        mask = pa.chunked_array(result) if hasattr(result, "__arrow_c_stream__") else pa.array(result)
    except (pa.ArrowException, TypeError) as error:
        raise _strange(check, result) from error
    if not pa.types.is_boolean(mask.type) or len(mask) != rows.num_rows:
        raise _strange(check, result)
    return pc.indices_nonzero(pc.invert(pc.fill_null(mask, fill_value=False)))


def _strange(check: Check, result: object) -> Misconfigured:
    return Misconfigured(
        f"check {name_of(check)!r} returned {result!r:.60}: return True or False, or a truth value for each row"
    )


def _sample(plan: Plan, rows: pa.Table, failures: Any) -> tuple[dict[str, Any], ...]:
    """Return some of the failing rows as the report shows rows, with masked values hidden."""
    names = [column.name for column in plan.columns if column.name in rows.column_names]
    places = [failures[at].as_py() for at in evenly(range(len(failures)), ROWS)]
    return within_bytes(rows_at(plan, names, rows, places), _BYTES)
