"""A report in the order in which people read it, and its counts. It draws nothing and interprets no verdict."""

from collections.abc import Sequence

from lakegate.audit.advice import NO_ADVICE, Advice
from lakegate.audit.evaluation.mask import MASK
from lakegate.audit.model.plan import Mode
from lakegate.audit.model.report import WORST_FIRST, CheckResult, FileReport, Report, Verdict
from lakegate.counts import count


def files_of(report: Report) -> list[FileReport]:
    """Return the report's files, the worst first."""
    return sorted(report.files, key=lambda file: (WORST_FIRST.index(file.verdict), file.key))


def checks_of(file: FileReport, *, every_check: bool) -> list[CheckResult]:
    """Return the file's checks, the worst first; passed ones only with `every_check`."""
    checks = [check for check in file.checks if every_check or check.verdict is not Verdict.PASS]
    return sorted(checks, key=lambda check: WORST_FIRST.index(check.verdict))


def faults_with_advice(file: FileReport) -> list[tuple[str, Advice]]:
    """Return the file's faults, each with what to write next; in an older report that is nothing."""
    advice_by_fault = file.advice_by_reason
    return [(fault, advice_by_fault.get(fault, NO_ADVICE)) for fault in file.faults]


def tally(report: Report, noun: str = "file") -> str:
    """Return `50 files: 1 failed, 1 with warnings, 48 passed`."""
    words = {Verdict.FAIL: "failed", Verdict.QUARANTINE: "with rows in quarantine", Verdict.WARN: "with warnings"}
    words |= {Verdict.WOULD_FAIL: "would have been rejected", Verdict.PASS: "passed"}
    words |= {Verdict.WOULD_QUARANTINE: "would have had rows in quarantine"}
    numbers = {verdict: sum(file.verdict is verdict for file in report.files) for verdict in WORST_FIRST}
    parts = [f"{number:,} {words[verdict]}" for verdict, number in numbers.items() if number]
    return f"{count(len(report.files), noun)}: {', '.join(parts) or 'none'}"


def observes(report: Report) -> str:
    """Return what the contract's observing means for the attempt; "" if it enforces."""
    if report.mode is Mode.ENFORCE:
        return ""
    return 'the contract observes: what can be appended is published, and "would …" is what enforcing would have done'


def quarantine_texts(file: FileReport) -> list[str]:
    """Return how many of the file's rows are in quarantine, and how many would have gone there."""
    in_quarantine = [f"{count(file.quarantined_rows, 'row')} in quarantine"] if file.quarantined else []
    would = [f"{count(file.would_quarantine, 'row')} would have gone to quarantine"] if file.would_quarantine else []
    return in_quarantine + would


def columns_of(report: Report, check: CheckResult) -> list[str]:
    """Return the columns of a check's failing rows: the key, the check's own columns, and the others in the table's
    order.
    """
    names = {name for row in check.sample for name in row}
    first = [name for name in (*report.key, *check.columns, *report.columns) if name in names]
    return list(dict.fromkeys([*first, *sorted(names)]))


PLACES = ("line", "row")
"""Columns that say where a row is that does not parse."""
MOST_NAMES, LONGEST = 4, 40  # columns, and characters of a value, of a row in a message


def first_row(check: CheckResult, key: Sequence[str]) -> str:
    """Return the first failing row of a check's sample: the columns at fault and the key, without masked values."""
    row = check.sample[0] if check.sample else {}
    names = [name for name in dict.fromkeys((*check.columns, *key)) if name in row]
    names = names or [place for place in PLACES if place in row]
    texts = [f"{name} {_short(row[name])}" for name in names if row[name] != MASK]
    return ", ".join(texts[:MOST_NAMES])


def _short(value: object) -> str:
    if value is None:
        return "null"
    text = str(value)
    text = text if len(text) <= LONGEST else f"{text[:LONGEST]}…"
    return f'"{text}"' if isinstance(value, str) else text


def sample_text(check: CheckResult, rows: int) -> str:
    """Return `5 shown of 38 failing rows`. A sample of duplicate keys includes rows that did not fail."""
    failing_rows = count(check.failing_rows, "failing row")
    return f"{rows:,} shown of {failing_rows}" if rows < check.failing_rows else failing_rows
