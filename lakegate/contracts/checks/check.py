"""A check with its metric, both under ids that follow from what they are. It knows no word of a contract."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from lakegate.audit.model.plan import Check, Drift, Metric, Operator, Severity, Unit
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import Comparable
from lakegate.contracts.metrics.metric import fingerprint
from lakegate.contracts.odcs.document import Item

CheckWithMetric = tuple[Check, Metric]


@dataclass(frozen=True, kw_only=True)
class WarningLines:
    """A contract's lines, as YAML, that let through what fails a check, and the place where they are written."""

    place: str
    lines: str


NOT_LOOSENED = WarningLines(place="", lines="")
LONGEST_NAME = 500  # characters of a check's name: an enum may have ten thousand values


def severest(severities: Iterable[Severity]) -> Severity:
    all_severities = set(severities)
    return next(severity for severity in Severity if severity in all_severities)


def without_repeats(checks: Sequence[CheckWithMetric]) -> tuple[list[Check], list[Metric]]:
    """Return the checks in their order, those that say the same once, and each metric once."""
    first = {check.id: check for check, _ in reversed(checks)}
    metrics = {metric.id: metric for _, metric in checks}
    return [check for check, _ in checks if first[check.id] is check], list(metrics.values())


def value_of(field: Field, item: Item) -> Comparable | None:
    """Return a value of the column's type; return None, and note a fault, if it is none."""
    try:
        return field.type.parse(item.value)
    except ValueError as error:
        item.fault(f"{item.value!r} {error} (the column {field.label!r} is {field.type.name})")
        return None


def check_of(
    name: str,
    metric: Metric,
    line: int,
    *,
    operator: Operator = Operator.MUST_BE,
    threshold: tuple[float, ...] = (0,),
    unit: Unit = Unit.ROWS,
    severity: Severity = Severity.ERROR,
    drift: Drift | None = None,
    warning_lines: WarningLines = NOT_LOOSENED,
) -> CheckWithMetric:
    """Return a check and its metric. Both ids follow from what they are, and the name is in every report."""
    display_text = name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 1]}…"
    check = Check(
        id="", name=display_text, metric=metric.id, operator=operator, threshold=threshold, unit=unit,
        severity=severity, columns=metric.columns, line=line, drift=drift,
        place=warning_lines.place, lines=warning_lines.lines,
    )  # fmt: skip
    identity = (metric.id, operator, threshold, unit, severity, *([drift] if drift else []))
    return replace(check, id=f"{metric.kind.value}-{fingerprint(identity)}"), metric
