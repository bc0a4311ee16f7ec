"""Shared by the functions: one service per process, made at the first event. It parses nothing."""

from functools import cache

from lakegate import bootstrap
from lakegate.settings import Settings
from lakegate.workflow.service import Service


@cache
def service() -> Service:
    """Return this installation's service; a misconfigured environment fails the first event with every fault named."""
    bootstrap.configure_logging()
    return bootstrap.service(Settings.from_env())
