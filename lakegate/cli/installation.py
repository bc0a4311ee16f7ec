"""An installation for the command line: its operations, and what a person reads and uploads. It connects to nothing."""

import logging
import sys
import time
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Protocol

import structlog

from lakegate.cli.readers.place import Place
from lakegate.doctor.finding import Finding
from lakegate.operations.operation import Operations
from lakegate.ports import Branches, Clock, Landing
from lakegate.ports.lake import Lake
from lakegate.settings import CommandLine
from lakegate.workflow.cleaning.clean import CleaningResult


class Cleaning(Protocol):
    """Cleaning of the lake, for `lakegate clean`."""

    def __call__(self, *, days: int, delete: bool, names: Collection[str] = ()) -> CleaningResult:
        """Clean as the workflow does."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """All that commands work on. Uploads, rows, cleaning and verification are a matter of the person's own rights, and
    operations are the installation's. Tests pass theirs as the command line's context object.
    """

    operations: Operations
    landing: Landing
    lake: Lake
    branches: Branches
    place: Place
    clock: Clock
    clean: Cleaning
    verify: Callable[[], list[Finding]]
    token: Callable[[], str]  # of the person, for the catalog; "" if none is to be had
    pause: Callable[[float], None] = time.sleep


def quiet_logs() -> None:
    """Hide the workflow's events, which are for a function's log, unless LAKEGATE_DEBUG is set."""
    level = logging.INFO if CommandLine.from_env().debug else logging.CRITICAL
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
