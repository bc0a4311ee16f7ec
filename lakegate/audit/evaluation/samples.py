"""Samples of failing rows in a report: which checks want them, and how many rows, columns and bytes they may have.

It finds no row: an engine does.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from lakegate.audit.evaluation.quarantine import Results
from lakegate.audit.model.plan import Metric, Plan
from lakegate.audit.model.report import CheckResult, Verdict

Row = dict[str, Any]
T = TypeVar("T")
ROWS = 100  # of a check on a file, at most
FEWEST = 5  # even if very much fails
ALL_ROWS = 20_000  # of a batch, about
PAIRS = 1000  # of file and metric; more samples help nobody
BYTES = 3_000_000  # of a batch, about
COLUMNS = 20
TEXT = 200  # characters of a value


def rows_per_sample(pairs: int) -> int:
    """Return how many rows the report takes of each of so many pairs of file and metric."""
    return max(FEWEST, min(ROWS, ALL_ROWS // pairs))


def to_sample(plan: Plan, results: Results) -> list[tuple[Metric, dict[str, int]]]:
    """Return the metrics that checks want failing rows of, each with the number of its failing rows by file."""
    files_by_metric: dict[str, dict[str, int]] = {}
    pairs = {
        (metric, file): check.failing_rows
        for file, checks in results.items()
        for check in checks
        if (metric := _metric_to_sample(check))
    }
    for (metric, file), rows in list(pairs.items())[:PAIRS]:
        files_by_metric.setdefault(metric, {})[file] = rows
    return [(plan.metric(metric), files) for metric, files in files_by_metric.items()]


def with_rows(
    results: Results, rows: Mapping[tuple[str, str], Sequence[Row]], pairs: int
) -> dict[str, tuple[CheckResult, ...]]:
    """Return the same results, with these rows by file and metric at each check that did not pass, as many as fit."""
    samples = {key: within_bytes(rows_of_file, BYTES // pairs) for key, rows_of_file in rows.items()}
    return {
        file: tuple(replace(check, sample=samples.get((file, _metric_to_sample(check)), ())) for check in checks)
        for file, checks in results.items()
    }


def _metric_to_sample(check: CheckResult) -> str:
    """Return the metric that a check wants failing rows of; "" if it passed or knows none."""
    return check.metric if check.failing_rows and check.verdict is not Verdict.PASS else ""


def evenly(rows: Sequence[T], limit: int) -> list[T]:
    """Return at most `limit` rows, from all of them."""
    return [rows[at * len(rows) // limit] for at in range(limit)] if len(rows) > limit else list(rows)


def by_keys(rows: Sequence[Row], metric: Metric, limit: int) -> list[Row]:
    """Return at most `limit` rows, key by key."""
    return sorted(rows, key=lambda row: [str(row[name]) for name in metric.columns])[:limit]


def within_bytes(rows: Sequence[Row], size: int) -> tuple[Row, ...]:
    """Return the first rows that fit into `size` bytes of JSON, at least one."""
    length = 0
    for number, row in enumerate(rows):
        length += len(json.dumps(row, ensure_ascii=False).encode())
        if length > size:
            return tuple(rows[: max(number, 1)])
    return tuple(rows)


def shown_columns(plan: Plan, metric: Metric) -> list[str]:
    """Return the row's key, the columns at fault, and as many others as a person reads."""
    names = [column.name for column in plan.columns]
    first = [name for name in (*plan.key, *metric.columns) if name in names]
    return list(dict.fromkeys([*first, *names]))[:COLUMNS]
