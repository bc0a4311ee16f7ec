"""Many schedules, one after the other, on all cores. It prints what they covered, and the first seeds that failed."""

import gc
import hashlib
import logging
import os
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from multiprocessing import get_context, parent_process
from threading import Thread

import structlog

from tests.simulation.installation import Violation
from tests.simulation.schedule import Schedule, run

PORTION = 250  # schedules that a process runs before it tells
GARBAGE = 10_000  # objects between two collections: worlds are made and thrown away all the time


@dataclass(kw_only=True)
class Tally:
    """The outcome of some schedules. `failed` are violations by seed; `digest` is another where anything was."""

    schedules: int = 0
    counted: Counter[str] = field(default_factory=Counter)
    failed: dict[int, str] = field(default_factory=dict)
    digest: str = ""

    def add(self, other: "Tally") -> None:
        self.schedules += other.schedules
        self.counted += other.counted
        self.failed |= other.failed
        self.digest = hashlib.sha256((self.digest + other.digest).encode()).hexdigest()

    def __str__(self) -> str:
        lines = [f"{self.schedules:,} schedules, {len(self.failed):,} of them broke a promise"]
        lines += [f"{count:>14,}  {what}" for what, count in sorted(self.counted.items())]
        lines += [f"\n{said}" for _, said in sorted(self.failed.items())[:5]]
        return "\n".join(lines)


def run_all(seeds: range, *, processes: int = 0, tell: Callable[[Tally], None] | None = None) -> Tally:
    """Run these seeds' schedules; the tally does not depend on how many processes do it. `tell` hears of each portion
    of seeds as it ends, in their order.
    """
    processes = processes or len(os.sched_getaffinity(0))
    portions = [seeds[start : start + PORTION] for start in range(0, len(seeds), PORTION)]
    total = Tally()
    with pool_of(processes) as pool:
        for part in pool.map(run_some, portions):
            total.add(part)
            if tell:
                tell(part)
    return total


def pool_of(processes: int) -> ProcessPoolExecutor:
    """Processes that do nothing but run schedules."""
    return ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_only_for_schedules)


def _only_for_schedules() -> None:
    Thread(target=_end_with_the_parent, daemon=True).start()
    structlog.configure(cache_logger_on_first_use=True)
    gc.freeze()  # modules stay
    gc.set_threshold(GARBAGE)


def _end_with_the_parent() -> None:
    """One that is killed tells its pool nothing, which would wait for more to do for ever."""
    if parent := parent_process():
        parent.join()
        os._exit(1)


def run_some(seeds: Iterable[int], kind: type[Schedule] = Schedule) -> Tally:
    """The same, in this process, with any kind of schedules."""
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    tally, digest = Tally(), hashlib.sha256()
    for seed in seeds:
        tally.schedules += 1
        try:
            schedule = run(seed, kind=kind)
        except Violation as violation:
            tally.failed[seed] = str(violation)
            continue
        tally.counted += schedule.world.counted
        digest.update(repr((seed, sorted(schedule.world.counted.items()), schedule.state())).encode())
    tally.digest = digest.hexdigest()
    return tally
