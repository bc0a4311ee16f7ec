"""`make simulate` and `make simulate-nessie`: many schedules from a seed on, or one of them step by step."""

import argparse
import logging
import secrets
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

import structlog

from tests.simulation.installation import Violation
from tests.simulation.over_http import HttpSchedule, network, run_over_http
from tests.simulation.schedule import Schedule, run
from tests.simulation.volume import Tally, run_all

MILLION = 1_000_000
THOUSANDS = 2_000
TOLD_EVERY = 50_000  # schedules


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this seed's schedule alone, and show each step")
    parser.add_argument("--first", type=int, help="the first seed of many (if not said: any)")
    parser.add_argument("--schedules", type=int, help="how many (if not said: a million, or 2,000 over HTTP)")
    parser.add_argument("--nessie", action="store_true", help="short schedules of HTTP faults over a real Nessie")
    wanted = parser.parse_args()
    if wanted.seed is not None:
        return _replay_over_http(wanted.seed) if wanted.nessie else _replay(wanted.seed)
    many, run_many = (THOUSANDS, run_over_http) if wanted.nessie else (MILLION, partial(run_all, tell=Progress()))
    return _many(wanted.first, wanted.schedules or many, run_many)


def _replay_over_http(seed: int) -> int:
    with TemporaryDirectory() as folder, network(Path(folder)) as HttpSchedule.network:
        return _replay(seed, HttpSchedule)


def _replay(seed: int, kind: type[Schedule] = Schedule) -> int:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        run(seed, trace=print, kind=kind)
    except Violation as violation:
        sys.stdout.write(f"\n{violation}\n")
        return 1
    sys.stdout.write("\nevery promise was kept\n")
    return 0


class Progress:
    """Tells each seed that fails at once, and how far it is: all of them take an hour or two."""

    def __init__(self) -> None:
        self.done = 0

    def __call__(self, part: Tally) -> None:
        for violation in part.failed.values():
            sys.stdout.write(f"{violation}\n")
        before, self.done = self.done, self.done + part.schedules
        if self.done // TOLD_EVERY > before // TOLD_EVERY:
            sys.stdout.write(f"{self.done:,} schedules\n")
        sys.stdout.flush()


def _many(first: int | None, schedules: int, run_many: Callable[[range], Tally]) -> int:
    first = secrets.randbelow(2**40) if first is None else first
    sys.stdout.write(f"seeds {first} to {first + schedules - 1}; one alone: the same with SEED=…\n")
    sys.stdout.flush()
    began = time.monotonic()
    tally = run_many(range(first, first + schedules))
    sys.stdout.write(f"{tally}\nin {time.monotonic() - began:,.0f} s\n")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
