"""An installation for the command line: the service, and the parts that only people use. It connects to nothing."""

import logging
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import structlog

from lakegate.ports import Ref, Warehouse
from lakegate.settings import CommandLine
from lakegate.workflow.service import Service


class Lake(Protocol):
    """Rows of tables, for `lakegate query`. A `ref` is a branch or `branch@hash`."""

    def tables(self, ref: Ref) -> list[str]:
        """Return the names of all tables at a ref."""

    def columns(self, ref: Ref, table: str) -> list[str] | None:
        """Return the table's columns in order, or None if there is no such table."""

    def rows(self, ref: Ref, table: str, columns: Sequence[str], limit: int | None, files: Sequence[str] = ()) -> Any:
        """Return an Arrow table with these columns: at most `limit` rows, and only rows of these file versions if any
        are named.
        """


@dataclass(frozen=True, kw_only=True)
class Installation:
    """A service with the tools that every command works on. Tests pass theirs as the command line's context object."""

    service: Service
    sweep: Callable[[], None]  # runs reconcile once, in the installation itself
    lake: Lake
    warehouse: Warehouse
    pause: Callable[[float], None] = time.sleep


def quiet_logs() -> None:
    """Hide the workflow's events, which are for a function's log, unless LAKEGATE_DEBUG is set."""
    level = logging.INFO if CommandLine.from_env().debug else logging.CRITICAL
    structlog.configure(
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=lambda *_: structlog.PrintLogger(sys.stderr),
    )
