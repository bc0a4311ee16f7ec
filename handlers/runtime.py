"""Shared by the functions: one service per process, made at the first event. It parses nothing."""

from functools import cache

from lakegate import bootstrap
from lakegate.ports.lake import Reading
from lakegate.settings import Settings
from lakegate.workflow.service import Service


@cache
def settings() -> Settings:
    """Return this function's settings; a misconfigured environment fails the first event with every fault named."""
    return Settings.from_env()


@cache
def service() -> Service:
    """Return this installation's service."""
    bootstrap.configure_logging()
    return bootstrap.service(settings())


def reading(token: str) -> Reading:
    """Return what a person's token lets see, or without one what this function may."""
    return bootstrap.reading(settings(), token)
