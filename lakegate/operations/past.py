"""The past of a batch's numbers: what its checks found in the files that the table published before."""

from collections.abc import Iterator

from lakegate.audit.model.report import FileReport
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.operations.batch import BatchView
from lakegate.workflow.attempts.reports import readable_report
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.service import Service

BATCHES, FILES = 12, 24
"""So many batches are looked at, and so many values of a check are shown."""


def past_values(service: Service, view: BatchView) -> dict[str, tuple[float, ...]]:
    """Return the values of the checks in the batch's reports, by check id, in files published before, oldest first."""
    reports = [attempt.report for attempt in view.attempts if attempt.report]
    found: dict[str, list[float]] = {
        check.check: [] for report in reports for file in report.files for check in file.checks
    }
    for file in _published(service, view) if found else ():
        for check in file.checks:
            if check.value is not None and len(found.get(check.check, ())) < FILES:
                found.get(check.check, []).append(check.value)
    return {check: tuple(reversed(values)) for check, values in found.items() if values}


def _published(service: Service, view: BatchView) -> Iterator[FileReport]:
    """Yield the reports of files that were published before the batch was decided, newest first, as far as they can be
    read.
    """
    left = BATCHES
    since = min((decided.at for decided in view.decisions), default=None)
    for decided in service.ledger.decisions(DECISIONS, table=view.table):
        note = decided.note
        is_before = since is None or decided.at < since
        if note.decision is not Decision.PUBLISHED or note.batch == view.batch or not is_before or not left:
            continue
        left -= 1
        attempt = Attempt(table=note.table, batch=note.batch, number=note.attempt)
        report = readable_report(service.store, attempt)
        keys = {file.key for file in note.files}
        yield from (file for file in reversed(report.files if report else ()) if file.key in keys)
