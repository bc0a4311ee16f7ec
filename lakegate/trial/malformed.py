"""Rows of text files that do not parse: how many each file has, and the first of them for a person."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import pyarrow as pa

from lakegate.audit.evaluation import samples
from lakegate.audit.evaluation.mask import MASK, raw
from lakegate.audit.evaluation.verdicts import malformed_checks
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import CheckResult, FileReport, Report
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.text.causes import with_causes
from lakegate.reading.text import Malformed, Part


@dataclass(frozen=True, kw_only=True)
class MalformedRows:
    """See the module."""

    counts: dict[str, int] = field(default_factory=dict)
    first: dict[str, list[Malformed]] = field(default_factory=dict)
    inspections: dict[str, Inspection] = field(default_factory=dict)

    def part(self, inspection: Inspection, parts: Iterable[Part]) -> Iterator[pa.RecordBatch]:
        """Yield the rows of a file that parse, and note those that do not."""
        file = inspection.id
        self.counts[file], self.first[file], self.inspections[file] = 0, [], inspection
        for part in parts:
            self.counts[file] += len(part.malformed)
            self.first[file] += part.malformed[: samples.ROWS - len(self.first[file])]
            yield part.rows

    def among(self, plan: Plan, report: Report) -> Report:
        """Return the report with these rows at the checks that each row parses, masked where a column is."""
        checks, least = malformed_checks(plan), samples.rows_per_sample(max(1, len(self.first)))
        size = samples.BYTES // max(1, len(self.first))
        rows = {
            file: samples.within_bytes([_row(plan, row) for row in malformed[:least]], size)
            for file, malformed in self.first.items()
        }
        samples_by_file = {file.id: _with_sample(file, checks, rows) for file in report.files}
        results = with_causes(plan, samples_by_file, self.inspections.values(), is_new=True)
        return replace(report, files=tuple(replace(file, checks=results[file.id]) for file in report.files))


def _with_sample(
    file: FileReport, checks: set[str], rows: Mapping[str, tuple[dict[str, Any], ...]]
) -> tuple[CheckResult, ...]:
    def with_rows(check: CheckResult) -> CheckResult:
        return replace(check, sample=rows.get(file.id, ())) if check.check in checks and check.failing_rows else check

    return tuple(map(with_rows, file.checks))


def _row(plan: Plan, row: Malformed) -> dict[str, Any]:
    """Return a row as the job shows it. Its text may hold the value of any column."""
    text = MASK if raw(plan.columns, "") == MASK else row.text[: samples.TEXT]
    return {"row" if plan.files.multiline else "line": row.number, "why": row.reason, "text": text}
