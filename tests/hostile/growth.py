"""The growth of work with an input's size: a ratio of processor times, and never a number of seconds.

It knows nothing of what is run. A run that grows faster than its input is ended as soon as that is certain.
"""

import gc
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import TypeVar

T = TypeVar("T")

FACTORS = (2, 10, 100)
SLACK = 5.0  # what caches, the collector and a clock's grain may add to a ratio; a square is caught at the factor of 10
GRAIN = 0.004  # seconds of the processor: a shorter run counts as one of these
RUNS = 3  # of the smallest size; the fastest counts


class TooSlow(AssertionError):
    """The work grew faster than the input."""


def assert_linear(make: Callable[[int], T], run: Callable[[T], object], size: int) -> None:
    """`run` takes at most in proportion longer for `make(size * factor)` than for `make(size)`.

    An input that is refused by a limit costs less than that, whatever its size.
    """
    with _others_objects_uncollected():
        small = make(size)
        least = max(GRAIN, min(_seconds(run, small) for _ in range(RUNS)))
        for factor in FACTORS:
            large = make(size * factor)
            with _at_most(least * factor * SLACK, f"{factor} times the input: over {factor * SLACK:.0f} times as long"):
                run(large)


@contextmanager
def _others_objects_uncollected() -> Iterator[None]:
    """Let the garbage collector pass over every object that is there already: a full collection takes in proportion to
    what a thousand tests before this one have left, and only a large input sets one off.
    """
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()


def _seconds(run: Callable[[T], object], value: T) -> float:
    began = time.process_time()
    run(value)
    return time.process_time() - began


@contextmanager
def _at_most(seconds: float, otherwise: str) -> Iterator[None]:
    """TooSlow inside the block once this process has used so much of the processor. It works in the main thread."""

    def end(_signal: int, _frame: FrameType | None) -> None:
        raise TooSlow(otherwise)

    before = signal.signal(signal.SIGPROF, end)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
