"""Shares: how many batches each table opens now, by the jobs under way and the slots for jobs. It reads nothing.

A table without a job under way opens one batch, whatever the others have. Slots that are then free go, one by one, to
the table that has the fewest jobs. Everything else stays queued, and makes the table's next batch larger. So overload
never opens more attempts than there are slots and tables. Each lane has its own slots.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from lakegate.audit.model.lane import Lane
from lakegate.workflow.receiving.company import Company, WaitingBatch

Slots = Mapping[Lane, int]


@dataclass(frozen=True, kw_only=True)
class JobsUnderWay:
    """Jobs under way, by lane and table, those of no table of ours under "". `branches` name one of a table's."""

    jobs: Mapping[Lane, Mapping[str, int]] = field(default_factory=dict)
    branches: Mapping[str, str] = field(default_factory=dict)

    def of_table(self, table: str) -> int:
        return sum(jobs.get(table, 0) for jobs in self.jobs.values())

    def of_lane(self, lane: Lane) -> int:
        return sum(self.jobs.get(lane, {}).values())


def shares(slots: Slots, under_way: JobsUnderWay, queued: Mapping[str, Sequence[Lane]]) -> dict[str, int]:
    """Return how many batches each table opens now. `queued` are the lanes of the batches that files wait for, in their
    order; of tables that have equally few jobs, the one that is named first in it goes first.
    """
    opening = {table: int(bool(lanes) and not under_way.of_table(table)) for table, lanes in queued.items()}
    free = {lane: number - under_way.of_lane(lane) for lane, number in slots.items()}
    for table, first in opening.items():
        if first:
            free[queued[table][0]] -= 1
    while candidates := [table for table, lanes in queued.items() if _has_a_slot(lanes[opening[table] :], free)]:
        table = min(candidates, key=lambda table: under_way.of_table(table) + opening[table])
        free[queued[table][opening[table]]] -= 1
        opening[table] += 1
    return opening


def _has_a_slot(batches: Sequence[Lane], free: Slots) -> bool:
    """Return True if there is a slot for the first of the batches that are left."""
    return bool(batches) and free.get(batches[0], 0) > 0


def why_queued(
    slots: Slots, under_way: JobsUnderWay, company: Company, table: str, first: WaitingBatch
) -> tuple[str, datetime | None]:
    """Return what a table's queued files wait for, in words, and until when at the latest, if that is known; nothing if
    the table may open a batch now. `first` is their first batch.
    """
    branch = under_way.branches.get(table)
    if not company.has_come(first, is_quiet=branch is None):
        cause = (
            f"the attempt of {branch}, which is under way" if branch else "company, because their batch goes to Spark"
        )
        return cause, first.deadline(company.window)
    if shares(slots, under_way, {table: [first.lane]})[table]:
        return "", None
    jobs_of_table, total = under_way.jobs.get(first.lane, {}).get(table, 0), under_way.of_lane(first.lane)
    cause = (
        f"a job of its table: {jobs_of_table} of {total} under way are its own, and {slots[first.lane]} run at a time"
    )
    return cause, None
