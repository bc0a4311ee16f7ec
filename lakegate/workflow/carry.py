"""Carrying data files over: what an earlier attempt appended and audited is appended to the next one's branch by
metadata alone, so that its job need only run the checks of table scope again.

Nothing is carried where that would not be the very same table; then the next attempt appends and audits from the files.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass

import structlog

from lakegate.audit.carried import may_be_carried
from lakegate.audit.plan import Plan
from lakegate.audit.report import FileReport, Report
from lakegate.errors import Conflict, Refused, Retryable
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import FileChanges
from lakegate.workflow.service import Service

log = structlog.get_logger()
TRIES = 2


@dataclass(frozen=True, kw_only=True)
class Carried:
    """Data files on an attempt's branch, by file version's id, and the report of the attempt that appended them."""

    data_files: Mapping[str, tuple[str, ...]]
    report: Report


def carry(
    service: Service, attempt: Attempt, base: str, plan: Plan, report: Report | None, files: Iterable[FileVersion]
) -> Carried | None:
    """Put the data files of these claimed files on the attempt's branch; None where they can't be carried. Done again
    it changes nothing.
    """
    entries = _entries(service, base, plan, report, list(files)) if report else None
    if report is None or entries is None:
        return None
    paths = {entry.id: tuple(data.path for data in entry.data_files) for entry in entries}
    wanted, source = frozenset(path for its in paths.values() for path in its), f"{report.branch}@{report.audited}"
    for _ in range(TRIES):
        there = service.tables.compare(plan.table, base, attempt.branch)
        if there == FileChanges(added=wanted):
            return Carried(data_files=paths, report=report)
        if there != FileChanges():
            return None  # a job of this attempt is at work: it appends for itself
        with suppress(Conflict, Refused):  # another worker was first: seen at the next look
            service.tables.append(plan.table, attempt.branch, source, wanted)
            log.info("carried", branch=attempt.branch, source=source, data_files=len(wanted))
    raise Retryable(f"branch {attempt.branch}: its table keeps changing; it is tried again")


def _entries(
    service: Service, base: str, plan: Plan, report: Report, files: list[FileVersion]
) -> list[FileReport] | None:
    """What the report says of these files, if it is of the same plan and the same table, and they may be carried."""
    if report.error or report.evolves or report.plan_hash != plan.hash or not plan.depends_on:
        return None
    known = {entry.id: entry for entry in report.files}
    found = [
        entry
        for file in files
        if (entry := known.get(file.id)) and not entry.replaces.versions and may_be_carried(plan, entry)
    ]
    if len(found) < len(files) or not any(entry.data_files for entry in found):
        return None
    table = service.tables.identity(base, plan.table)
    same = table is not None and table == service.tables.identity(f"{report.branch}@{report.audited}", plan.table)
    return found if same else None
