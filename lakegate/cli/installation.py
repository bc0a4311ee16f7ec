"""The installation as the command line sees it: the service, and what only people ask of it. It connects to nothing."""

import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from lakegate.settings import CommandLine
from lakegate.workflow.service import Service


class Lake(Protocol):
    """Rows of tables, for `lakegate query`. A `ref` is a branch or `branch@hash`."""

    def tables(self, ref: str) -> list[str]:
        """The names of all tables at a ref."""

    def columns(self, ref: str, table: str) -> list[str] | None:
        """The table's columns in order, or None where there is no such table."""

    def rows(self, ref: str, table: str, columns: Sequence[str], limit: int | None, files: Sequence[str] = ()) -> Any:
        """An Arrow table with these columns; at most `limit` rows, of these file versions alone where any are named."""


@dataclass(frozen=True, kw_only=True)
class Installation:
    """What every command works on. Tests hand their own to the command line as its context's object."""

    service: Service
    sweep: Callable[[], None]  # runs reconcile once, where the installation runs it
    lake: Lake
    pause: Callable[[float], None] = time.sleep


def quiet_logs() -> None:
    """The workflow's events are for a function's log; a person sees them with LAKEGATE_DEBUG alone."""
    level = logging.INFO if CommandLine.from_env().debug else logging.CRITICAL
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
