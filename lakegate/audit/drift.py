"""How far a metric has drifted from what it was in the files published last. It is given numbers, not reports."""

from collections.abc import Mapping, Sequence
from math import isfinite
from statistics import mean, stdev

from lakegate.audit.plan import Check, Comparison, Drift

_PERCENT = 100
Past = Mapping[str, Sequence[float]]
"""What the table's last published file versions measured, oldest first, by metric id."""


def before(check: Check, past: Past) -> Sequence[float]:
    """As many numbers as the check looks back at; none where those are too few to compare with."""
    if check.drift is None:
        return ()
    values = past.get(check.metric, ())[-check.drift.files :]
    return values if len(values) >= check.drift.at_least else ()


def drifted(drift: Drift, value: float, values: Sequence[float]) -> float | None:
    """The comparison's number, or None where there is none: no rate of nothing, no deviation among equals, and nothing
    that a float has no room for.
    """
    try:
        number = _compared(drift.comparison, value, values) if values else None
    except OverflowError:
        return None
    return number if number is not None and isfinite(number) else None


def _compared(comparison: Comparison, value: float, values: Sequence[float]) -> float | None:
    average, one = scale(comparison, values)
    difference = value - average
    if one == 0:
        return 0.0 if difference == 0 else None
    return difference / one


def scale(comparison: Comparison, values: Sequence[float]) -> tuple[float, float]:
    """From where the comparison counts, and how much of the metric is one of its numbers."""
    average = mean(values)  # exact: the mean of equals is each of them, to the last bit
    match comparison:
        case Comparison.DIFFERENCE:
            return average, 1.0
        case Comparison.RATE:
            return average, abs(average) / _PERCENT
        case Comparison.Z_SCORE:
            return average, stdev(values)
