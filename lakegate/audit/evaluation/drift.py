"""Drift of a metric from its values in the files published last. It is given numbers, not reports."""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import mean, stdev

from lakegate.audit.model.plan import Check, Comparison, Drift

_PERCENT = 100
Past = Mapping[str, Sequence[float]]
"""Values that the table's last published file versions measured, oldest first, by metric id."""


def before(check: Check, past: Past) -> Sequence[float]:
    """Return as many past values as the check looks back at, or none if they are too few to compare with."""
    if check.drift is None:
        return ()
    values = past.get(check.metric, ())[-check.drift.files :]
    return values if len(values) >= check.drift.at_least else ()


def drift_of(drift: Drift, value: float, values: Sequence[float]) -> float | None:
    """Return the comparison's number, or None if there is none: a rate of nothing, a deviation among equals, or a
    number that a float cannot hold.
    """
    try:
        number = _compare(drift.comparison, value, values) if values else None
    except OverflowError:
        return None
    return number if number is not None and isfinite(number) else None


def _compare(comparison: Comparison, value: float, values: Sequence[float]) -> float | None:
    average, unit = scale(comparison, values)
    difference = value - average
    if unit == 0:
        return 0.0 if difference == 0 else None
    return difference / unit


def scale(comparison: Comparison, values: Sequence[float]) -> tuple[float, float]:
    """Return the comparison's zero, and the metric's amount per unit of the comparison."""
    average = mean(values)  # exact: the mean of equal values is that value, to the last bit
    match comparison:
        case Comparison.DIFFERENCE:
            return average, 1.0
        case Comparison.RATE:
            return average, abs(average) / _PERCENT
        case Comparison.Z_SCORE:
            return average, stdev(values)
