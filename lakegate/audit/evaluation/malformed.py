"""Rows of text files that do not parse, as a metric. The job finds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakegate.audit.evaluation.verdicts import Dependent, Measurement
from lakegate.audit.model.plan import Plan, Trait
from lakegate.audit.model.report import Source


@dataclass(frozen=True, kw_only=True)
class MalformedRows:
    """Rows of each file version (by id) that do not parse, out of its lines; files without such rows are absent."""

    rows: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, file: str, _earlier: Sequence[str]) -> Measurement:
        return Measurement(value=self.rows.get(file, 0), source=Source.FILE, rows=self.lines.get(file))


def malformed_metrics(plan: Plan, lines: Mapping[str, int], parsed_rows: Mapping[str, int]) -> dict[str, Dependent]:
    """Return the plan's metric of rows that do not parse, from how many lines each file has and how many of them do."""
    malformed = MalformedRows(rows={file: rows - parsed_rows.get(file, 0) for file, rows in lines.items()}, lines=lines)
    return {metric.id: malformed for metric in plan.metrics if metric.has(Trait.LINES)}
