"""References: files whose only fault is that rows they refer to are not on main yet. It reads and decides nothing.

If files of two tables arrive together, the one that refers waits for the other and is tried again. Waiting and trying
both have an end, so a reference to nothing is rejected in the end.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import FileReport
from lakegate.landing.files import FileVersion
from lakegate.workflow.settlement.facts import Facts
from lakegate.workflow.settlement.keys import failing_metrics, quarantined_metrics

PATIENCE = timedelta(hours=13)  # with files of a referenced table that are under way: jobs may queue for twelve
MOST_AUDITS = (
    3  # of one file that miss rows: a table that changes all the time must not keep an orphan from being rejected
)


@dataclass(frozen=True, kw_only=True)
class Deferral:
    """Files that the next attempt takes because of these tables: at once, or, with `deadline`, once the tables have no
    files under way, and then at the latest.
    """

    files: tuple[FileVersion, ...] = ()
    tables: frozenset[str] = frozenset()
    deadline: datetime | None = None


def tables_missing_rows(plan: Plan, report: FileReport | None) -> frozenset[str]:
    """Return the tables that lack rows which the file refers to, if nothing else is wrong with the file. Quarantined
    rows count, and so do rows that would be quarantined within the budget, or if the contract enforced.
    """
    if report is None or report.faults:
        return frozenset()
    tables_by_metric = {metric.id: metric.refers_to.table for metric in plan.metrics if metric.refers_to}
    wrong = failing_metrics(report)
    if wrong - tables_by_metric.keys():
        return frozenset()
    return frozenset(
        tables_by_metric[metric] for metric in (wrong | quarantined_metrics(report)) & tables_by_metric.keys()
    )


def unresolved_references(facts: Facts, files: Iterable[FileVersion]) -> dict[FileVersion, frozenset[str]]:
    """Return the open ones of these files that lack only rows of other tables, with these tables. A file that missed
    rows in `MOST_AUDITS` audits is left out: it is rejected.
    """
    missing_tables = {file: tables_missing_rows(facts.job.plan, facts.end.reports_by_id.get(file.id)) for file in files}
    return {
        file: tables
        for file, tables in missing_tables.items()
        if tables and facts.audits.get(file.id, 1) < MOST_AUDITS and facts.is_open(file)
    }


def with_failing_rows(facts: Facts) -> list[FileVersion]:
    """Return the good files that have quarantined rows, or that enforcing their contract would not publish as a
    whole.
    """
    reports = facts.end.reports_by_id
    return [file for file in facts.good if reports[file.id].quarantined or reports[file.id].would]


def patient_until(facts: Facts) -> datetime | None:
    """Return until when files of referenced tables are waited for, or None if that time is past."""
    deadline = facts.end.report.finished_at + PATIENCE if facts.end.report else facts.now
    return deadline if facts.now < deadline else None


def deferral_of(facts: Facts, files: Iterable[FileVersion]) -> Deferral:
    """Return those of the files that the next attempt takes because of their references. All of them wait while a table
    that one of them refers to has files under way. After that, the files whose tables have changed are tried again.
    """
    missing_tables = unresolved_references(facts, files)
    under_way = frozenset[str]().union(*missing_tables.values()) & facts.under_way
    if under_way and (deadline := patient_until(facts)):
        return Deferral(files=tuple(missing_tables), tables=under_way, deadline=deadline)
    files_to_retry = tuple(file for file, tables in missing_tables.items() if tables & facts.moved_tables)
    return Deferral(files=files_to_retry, tables=frozenset[str]().union(*missing_tables.values()) & facts.moved_tables)
