"""Hindsight in words: what files of the last thirty days would have met by a contract. It decides nothing."""

from collections.abc import Iterator

from lakegate.counts import count
from lakegate.operations.hindsight import DAYS, REPORTS, CheckBefore, Hindsight

SHOWN = 20  # checks; --json has all


def looked_back(found: Hindsight) -> Iterator[str]:
    """Yield the lines that tell it; none if no file was audited."""
    if not found.files:
        return
    files = f"{count(found.files, 'file')} with {count(found.rows, 'row')}"
    of = f", of the newest {REPORTS} reports" if found.is_cut else ""
    yield f"Enforced over the last {DAYS} days ({files}{of}), it would have {_met(found)}"
    told = [line for check in found.checks for line in _check(check, found.files)]
    yield from (f"    {line}" for line in told[:SHOWN])
    if (rest := len(told) - SHOWN) > 0:
        yield f"    … and {rest:,} more (--json has all)"
    if found.unread:
        yield f"    {count(found.unread, 'more file')} could not be appended, and no number is known of them"


def _met(found: Hindsight) -> str:
    said = [f"rejected {count(found.rejected, 'file')}"] if found.rejected else []
    if found.quarantined:
        said.append(f"quarantined {count(found.quarantined_rows, 'row')} of {count(found.quarantined, 'file')}")
    told = " and ".join(said) or "rejected and quarantined nothing"
    return f"{told}; of {count(found.unknown, 'file')} that cannot be known" if found.unknown else told


def _check(check: CheckBefore, files: int) -> Iterator[str]:
    if check.files:
        rows = f", {count(check.rows, 'row')}" if check.rows else ""
        yield f"{check.severity}: {check.name}: {count(check.files, 'file')}{rows}"
    if check.unknown:
        of = "any report" if check.unknown == files else f"the reports of {count(check.unknown, 'file')}"
        yield f"unknown: {check.name}: its number is not in {of}"
