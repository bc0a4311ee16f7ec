"""References: files with nothing wrong but that rows they refer to are not on main yet. It reads and decides nothing.

Where files of two tables arrive together, the one that refers waits for the other and is tried again. Waiting and
trying both have an end, so a reference to nothing is rejected as such.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from lakegate.audit.plan import Plan
from lakegate.audit.report import FileReport
from lakegate.landing.files import FileVersion
from lakegate.workflow.settlement.facts import Facts
from lakegate.workflow.settlement.keys import failing, quarantining

PATIENCE = timedelta(hours=13)  # with files of a referenced table that are under way: jobs may queue for twelve
ATTEMPTS = 3  # of one batch: a table that changes all the time must not keep an orphan from being rejected


@dataclass(frozen=True, kw_only=True)
class Deferral:
    """Files that the next attempt takes because of these tables: at once, or, with `until`, once the tables have no
    files under way, and then at the latest.
    """

    files: tuple[FileVersion, ...] = ()
    tables: frozenset[str] = frozenset()
    until: datetime | None = None


def missing(plan: Plan, report: FileReport | None) -> frozenset[str]:
    """Return the tables that lack rows which the file refers to, if that is all that is wrong with it: in what is left
    of it, in what is put aside or in what would be, were it within the budget.
    """
    if report is None or report.faults:
        return frozenset()
    referring = {metric.id: metric.refers_to.table for metric in plan.metrics if metric.refers_to}
    wrong = failing(report)
    if wrong - referring.keys():
        return frozenset()
    return frozenset(referring[metric] for metric in (wrong | quarantining(report)) & referring.keys())


def unresolved(facts: Facts, files: Iterable[FileVersion]) -> dict[FileVersion, frozenset[str]]:
    """Return the open ones of these files that may only be early, with the tables that lack rows. A file that missed
    rows in enough audits is not among them.
    """
    missed = {it: missing(facts.job.plan, facts.ended.reported.get(it.id)) for it in files}
    return {
        file: tables
        for file, tables in missed.items()
        if tables and facts.audits.get(file.id, 1) < ATTEMPTS and facts.is_open(file)
    }


def quarantined(facts: Facts) -> list[FileVersion]:
    """Return the good files of which rows were put aside."""
    return [file for file in facts.good if facts.ended.reported[file.id].quarantined]


def patient_until(facts: Facts) -> datetime | None:
    """Return when files of referenced tables are not waited for any more; None where that is past."""
    until = facts.ended.report.finished_at + PATIENCE if facts.ended.report else facts.now
    return until if facts.now < until else None


def deferred(facts: Facts, files: Iterable[FileVersion]) -> Deferral:
    """Return those of the files that the next attempt takes for their references' sake. All of them wait while a table
    that one of them lacks rows of has files under way; after that, those whose tables have changed are tried again.
    """
    missed = unresolved(facts, files)
    under_way = frozenset[str]().union(*missed.values()) & facts.under_way
    if under_way and (until := patient_until(facts)):
        return Deferral(files=tuple(missed), tables=under_way, until=until)
    again = tuple(file for file, tables in missed.items() if tables & facts.moved)
    return Deferral(files=again, tables=frozenset[str]().union(*missed.values()) & facts.moved)
