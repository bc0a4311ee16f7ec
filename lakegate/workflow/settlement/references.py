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
    """Files that the next attempt takes because of these tables: at once, or, with `until`, once the tables have no
    files under way, and then at the latest.
    """

    files: tuple[FileVersion, ...] = ()
    tables: frozenset[str] = frozenset()
    until: datetime | None = None


def tables_missing_rows(plan: Plan, report: FileReport | None) -> frozenset[str]:
    """Return the tables that lack rows which the file refers to, if nothing else is wrong with the file. Quarantined
    rows count, and so do rows that would be quarantined within the budget, or if the contract enforced.
    """
    if report is None or report.faults:
        return frozenset()
    referring = {metric.id: metric.refers_to.table for metric in plan.metrics if metric.refers_to}
    wrong = failing_metrics(report)
    if wrong - referring.keys():
        return frozenset()
    return frozenset(referring[metric] for metric in (wrong | quarantined_metrics(report)) & referring.keys())


def unresolved_references(facts: Facts, files: Iterable[FileVersion]) -> dict[FileVersion, frozenset[str]]:
    """Return the open ones of these files that lack only rows of other tables, with these tables. A file that missed
    rows in `MOST_AUDITS` audits is left out: it is rejected.
    """
    missed = {it: tables_missing_rows(facts.job.plan, facts.ended.reported.get(it.id)) for it in files}
    return {
        file: tables
        for file, tables in missed.items()
        if tables and facts.audits.get(file.id, 1) < MOST_AUDITS and facts.is_open(file)
    }


def with_failing_rows(facts: Facts) -> list[FileVersion]:
    """Return the good files that have quarantined rows, or that enforcing their contract would not publish as a
    whole.
    """
    reported = facts.ended.reported
    return [file for file in facts.good if reported[file.id].quarantined or reported[file.id].would]


def patient_until(facts: Facts) -> datetime | None:
    """Return until when files of referenced tables are waited for, or None if that time is past."""
    until = facts.ended.report.finished_at + PATIENCE if facts.ended.report else facts.now
    return until if facts.now < until else None


def deferred(facts: Facts, files: Iterable[FileVersion]) -> Deferral:
    """Return those of the files that the next attempt takes because of their references. All of them wait while a table
    that one of them refers to has files under way. After that, the files whose tables have changed are tried again.
    """
    missed = unresolved_references(facts, files)
    under_way = frozenset[str]().union(*missed.values()) & facts.under_way
    if under_way and (until := patient_until(facts)):
        return Deferral(files=tuple(missed), tables=under_way, until=until)
    again = tuple(file for file, tables in missed.items() if tables & facts.moved)
    return Deferral(files=again, tables=frozenset[str]().union(*missed.values()) & facts.moved)
