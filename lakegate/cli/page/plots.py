"""Drawings of a check as numbers: the share of failing rows, a value against its bounds, its past. It draws nothing.

Positions are percentages of a drawing's width, or units of a drawing of WIDE by HIGH.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite

from lakegate.audit.model.plan import Unit
from lakegate.audit.model.report import CheckResult

WIDE, HIGH = 120, 28
_EDGE = 4  # of a trend, left free for its last point
_ROOM = 0.15  # beside the outermost of value and bounds, as a share of what is between them
FEWEST = 2
"""So many past values make a trend."""


@dataclass(frozen=True, kw_only=True)
class Bar:
    """A share of a file's rows as a bar: its width, never too narrow to see, and the share in words."""

    width: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A value's place beside its bounds. `low` and `high` are where the values begin and end that pass."""

    value: float
    low: float
    high: float
    text: str


@dataclass(frozen=True, kw_only=True)
class Trend:
    """A number's past: a line through the values, the last of them, and the band of the values that pass."""

    line: str
    last: tuple[float, float]
    top: float
    bottom: float
    text: str


def bar(check: CheckResult) -> Bar | None:
    """Return the share of the file's rows that fail the check, if it counts rows."""
    if not check.failing_rows or not check.rows:
        return None
    share = min(100.0, 100 * check.failing_rows / check.rows)
    percent = f"{share:.3g}%" if share >= 0.01 else "less than 0.01%"  # noqa: PLR2004 - what two digits show
    return Bar(width=max(round(share, 2), 0.5), text=f"{percent} of its rows")


def scale(check: CheckResult) -> Scale | None:
    """Return the value's place beside its bounds, if it is a number with bounds and no count of failing rows."""
    bounds = [edge for edge in (check.low, check.high) if edge is not None]
    if check.value is None or not bounds or check.failing_rows or not all(map(isfinite, (check.value, *bounds))):
        return None
    least, greatest = _range([check.value, *bounds])
    return Scale(
        value=_place(check.value, least, greatest),
        low=0 if check.low is None else _place(check.low, least, greatest),
        high=100 if check.high is None else _place(check.high, least, greatest),
        text=f"{check.result}, expected {check.expected}",
    )


def trend(check: CheckResult, past: Mapping[str, Sequence[float]]) -> Trend | None:
    """Return the check's past values, with its own at the end."""
    values = [value for value in past.get(check.check, ()) if isfinite(value)]
    if len(values) < FEWEST or check.value is None or not isfinite(check.value):
        return None
    values.append(check.value)
    bounds = [edge for edge in (check.low, check.high) if edge is not None and isfinite(edge)]
    least, greatest = _range([*values, *bounds])
    step = (WIDE - 2 * _EDGE) / (len(values) - 1)
    points = [(round(_EDGE + at * step, 1), _height(value, least, greatest)) for at, value in enumerate(values)]
    return Trend(
        line=" ".join(f"{x},{y}" for x, y in points),
        last=points[-1],
        top=0 if check.high is None else _height(check.high, least, greatest),
        bottom=HIGH if check.low is None else _height(check.low, least, greatest),
        text=f"{_number(check, values[-1])} after {', '.join(_number(check, value) for value in values[:-1][-3:])}",
    )


def _range(values: Sequence[float]) -> tuple[float, float]:
    least, greatest = min(values), max(values)
    room = (greatest - least) * _ROOM or abs(greatest) * _ROOM or 1.0
    return least - room, greatest + room


def _place(value: float, least: float, greatest: float) -> float:
    """Return a value's place, in percent. The ends may be too far apart for their difference to be a number."""
    share = (value / 2 - least / 2) / (greatest / 2 - least / 2)
    return round(100 * share, 2) if isfinite(share) else 50.0


def _height(value: float, least: float, greatest: float) -> float:
    return round(HIGH * (1 - _place(value, least, greatest) / 100), 1)


def _number(check: CheckResult, value: float) -> str:
    return f"{value:,.6g}" + ("%" if check.unit is Unit.PERCENT else "")
