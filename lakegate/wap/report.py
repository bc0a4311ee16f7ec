"""A run's report, as a person reads it: in a terminal by `print`, and in a notebook as a cell's value.

It shows of each append what `lakegate show` shows of a file. A run has no lane and no attempts, so neither is there.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from html import escape
from typing import Self

from lakegate.audit.advice import Advice
from lakegate.audit.model.report import CheckResult, FileReport, Verdict
from lakegate.audit.model.report import Report as AuditReport
from lakegate.audit.summary import (
    checks_of,
    columns_of,
    faults_with_advice,
    files_of,
    observes,
    quarantine_texts,
    sample_text,
    tally,
)
from lakegate.counts import count
from lakegate.visibility import code_point, visible

_SAMPLE = 5  # rows of a check; the report has up to a hundred
_WIDTH = 40  # characters of a cell
_COLUMNS = 8  # of a sample
_HEADS = ("", "check", "found", "expected")


@dataclass(frozen=True, kw_only=True)
class Report(AuditReport):
    """Report of a run's audit. `str` and a notebook show it as text, failures first."""

    @classmethod
    def of(cls, report: AuditReport) -> Self:
        """Return the same report, for a run."""
        values = {field.name: getattr(report, field.name) for field in fields(report)}
        return cls(**{**values, "lane": None})

    @property
    def passed(self) -> bool:
        """Return True if the audit allows to publish what it has audited."""
        return not self.error and bool(self.files) and all(file.verdict is not Verdict.FAIL for file in self.files)

    def __str__(self) -> str:
        return "\n".join(_lines(self))

    def _repr_html_(self) -> str:
        return f"<pre>{escape(str(self))}</pre>"


def _lines(report: Report) -> Iterator[str]:
    yield _clean(f"{report.table}, contract {report.contract_version}: {tally(report, 'append')}")
    if report.error:
        yield _clean(f"  {report.error}")
        for advice in report.advice:
            yield from _advice(advice, 4)
    if remark := observes(report):
        yield f"  {remark}"
    for file in files_of(report):
        yield from _file(report, file)
    if report.masked:
        yield _clean(f"  masked by the contract: {', '.join(report.masked)}")


def _file(report: Report, file: FileReport) -> Iterator[str]:
    passes = sum(check.verdict is Verdict.PASS for check in file.checks)
    words = [f"{passes:,} of {count(len(file.checks), 'check')} passed"] if file.checks else []
    yield _clean(
        f"  {file.verdict}  {file.key}  {', '.join([count(file.rows, 'row'), *words, *quarantine_texts(file)])}"
    )
    for fault, advice in faults_with_advice(file):
        yield _clean(f"    {fault}")
        yield from _advice(advice, 6)
    yield from (_clean(f"    {line}") for line in (*file.changes, *file.unread))
    checks = checks_of(file, every_check=False)
    if checks:
        yield from _table(_HEADS, [(str(row.verdict), row.name, row.result, row.expected) for row in checks], 4)
    for check in checks:
        yield from _sample(report, check)


def _sample(report: Report, check: CheckResult) -> Iterator[str]:
    rows = check.sample[:_SAMPLE]
    if not rows and not check.advice:
        return
    yield _clean(f"    {check.name}")
    yield from _advice(check.advice, 6)
    if rows:
        yield f"      {sample_text(check, len(rows))}"
        names = columns_of(report, check)[:_COLUMNS]
        yield from _table(names, [[_cell(row, name) for name in names] for row in rows], 6)


def _cell(row: Mapping[str, object], name: str) -> str:
    value = row.get(name)
    return "·" if value is None else str(value).lower() if isinstance(value, bool) else str(value)


def _advice(advice: Advice | None, indent: int) -> Iterator[str]:
    for sentence, lines in steps(advice) if advice else ():
        yield " " * indent + _clean(f"{sentence[:1].upper()}{sentence[1:]}{':' if lines else '.'}")
        yield from (" " * (indent + 4) + line for line in lines.splitlines())


def steps(advice: Advice) -> Iterator[tuple[str, str]]:
    """Yield the ways on, each with the contract's lines if there are any, in words for whoever holds the data."""
    if advice.vendor:
        yield advice.vendor.replace(", or to ", ", or ").replace(", and to ", ", and "), ""
    if advice.contract:
        yield f"if the data is right, {advice.contract}", advice.lines


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]], indent: int) -> Iterator[str]:
    cells = [[_short(cell) for cell in row] for row in (heads, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        yield (" " * indent + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True))).rstrip()


def _short(cell: str) -> str:
    text = _clean(cell)
    return text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…"


def _clean(text: str) -> str:
    """Return a stranger's text on one line, with nothing that a terminal would obey or that nobody sees."""
    return visible(text, code_point)
