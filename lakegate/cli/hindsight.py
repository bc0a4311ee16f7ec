"""Hindsight in words: what files of the last thirty days would have met by a contract. It decides nothing."""

from collections.abc import Iterator

from lakegate.counts import count
from lakegate.operations.hindsight import DAYS, REPORTS, CheckBefore, Hindsight

MOST_CHECKS = 20  # checks; --json has all


def looked_back(result: Hindsight) -> Iterator[str]:
    """Yield its lines; none if no file was audited."""
    if not result.files:
        return
    files = f"{count(result.files, 'file')} with {count(result.rows, 'row')}"
    of = f", of the newest {REPORTS} reports" if result.is_cut else ""
    yield f"Enforced over the last {DAYS} days ({files}{of}), it would have {_outcome_text(result)}"
    lines = [line for check in result.checks for line in _check(check, result.files)]
    yield from (f"    {line}" for line in lines[:MOST_CHECKS])
    if (rest := len(lines) - MOST_CHECKS) > 0:
        yield f"    … and {rest:,} more (--json has all)"
    if result.unread:
        yield f"    {count(result.unread, 'more file')} could not be appended, and no number is known of them"


def _outcome_text(result: Hindsight) -> str:
    parts = [f"rejected {count(result.rejected, 'file')}"] if result.rejected else []
    if result.quarantined:
        parts.append(f"quarantined {count(result.quarantined_rows, 'row')} of {count(result.quarantined, 'file')}")
    text = " and ".join(parts) or "rejected and quarantined nothing"
    return f"{text}; of {count(result.unknown, 'file')} that cannot be known" if result.unknown else text


def _check(check: CheckBefore, files: int) -> Iterator[str]:
    if check.files:
        rows = f", {count(check.rows, 'row')}" if check.rows else ""
        yield f"{check.severity}: {check.name}: {count(check.files, 'file')}{rows}"
    if check.unknown:
        of = "any report" if check.unknown == files else f"the reports of {count(check.unknown, 'file')}"
        yield f"unknown: {check.name}: its number is not in {of}"
