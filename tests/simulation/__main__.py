"""`make simulate`: many schedules from a seed on, or one of them step by step."""

import argparse
import logging
import secrets
import sys
import time

import structlog

from tests.simulation.installation import Violation
from tests.simulation.schedule import run
from tests.simulation.volume import run_all

MILLION = 1_000_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("--seed", type=int, help="run this seed's schedule alone, and show each step")
    parser.add_argument("--first", type=int, help="the first seed of many (if not said: any)")
    parser.add_argument("--schedules", type=int, default=MILLION)
    wanted = parser.parse_args()
    return _replay(wanted.seed) if wanted.seed is not None else _many(wanted.first, wanted.schedules)


def _replay(seed: int) -> int:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        run(seed, trace=print)
    except Violation as violation:
        sys.stdout.write(f"\n{violation}\n")
        return 1
    sys.stdout.write("\nevery promise was kept\n")
    return 0


def _many(first: int | None, schedules: int) -> int:
    first = secrets.randbelow(2**40) if first is None else first
    sys.stdout.write(f"seeds {first} to {first + schedules - 1}; one alone: make simulate SEED=…\n")
    sys.stdout.flush()
    began = time.monotonic()
    tally = run_all(range(first, first + schedules))
    sys.stdout.write(f"{tally}\nin {time.monotonic() - began:,.0f} s\n")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
