"""Shares: how many batches each table opens now, by the jobs under way and the slots for jobs. It reads nothing.

A table without a job under way opens one batch, whatever the others have. Slots that are then free go, one by one, to
the table that has the fewest jobs. Everything else stays queued, and makes the table's next batch larger. So overload
never opens more attempts than there are slots and tables.
"""

from collections.abc import Mapping


def shares(slots: int, under_way: Mapping[str, int], queued: Mapping[str, int]) -> dict[str, int]:
    """Return how many batches each table opens now. `under_way` are jobs by table, and `queued` are batches that files
    wait for; of tables that have equally few jobs, the one that is named first in it goes first.
    """
    opened = {table: int(batches > 0 and not under_way.get(table)) for table, batches in queued.items()}
    free = slots - sum(under_way.values()) - sum(opened.values())
    for _ in range(free):
        waiting = [table for table, batches in queued.items() if opened[table] < batches]
        if not waiting:
            break
        opened[min(waiting, key=lambda table: under_way.get(table, 0) + opened[table])] += 1
    return opened


def why_queued(slots: int, under_way: Mapping[str, int], table: str) -> str:
    """Return what a table's queued files wait for, in words; nothing if the table may open a batch now."""
    if shares(slots, under_way, {table: 1})[table]:
        return ""
    its, total = under_way[table], sum(under_way.values())
    return f"a job of its table: {its} of {total} under way are its own, and {slots} run at a time"
