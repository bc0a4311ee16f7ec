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
    values_by_check: dict[str, list[float]] = {
        check.check: [] for report in reports for file in report.files for check in file.checks
    }
    for file in _published(service, view) if values_by_check else ():
        for check in file.checks:
            if check.value is not None and len(values_by_check.get(check.check, ())) < FILES:
                values_by_check.get(check.check, []).append(check.value)
    return {check: tuple(reversed(values)) for check, values in values_by_check.items() if values}


def _published(service: Service, view: BatchView) -> Iterator[FileReport]:
    """Yield the reports of files that were published before the batch was decided, newest first, as far as they can be
    read.
    """
    remaining = BATCHES
    first_decision = min((decision.at for decision in view.decisions), default=None)
    for decision in service.ledger.decisions(DECISIONS, table=view.table):
        record = decision.record
        is_before = first_decision is None or decision.at < first_decision
        if record.decision is not Decision.PUBLISHED or record.batch == view.batch or not is_before or not remaining:
            continue
        remaining -= 1
        attempt = Attempt(table=record.table, batch=record.batch, number=record.attempt)
        report = readable_report(service.store, attempt)
        keys = {file.key for file in record.files}
        yield from (file for file in reversed(report.files if report else ()) if file.key in keys)
