"""Scheduled rules with the settings' length of a minute. LocalStack checks once a minute which rules are due, so a
shorter minute suits `rate(1 minute)` alone.
"""
# ruff: noqa: SLF001 (the scheduler's stop event has no public name)

from typing import Any

from localstack.services.events.scheduler import JobScheduler
from localstack.utils.patch import patch

from lakegate_localstack.settings import PackSettings


def apply() -> None:
    patch(JobScheduler.loop)(_loop)


def _loop(_original: Any, scheduler: JobScheduler, *_: Any) -> None:
    minute = PackSettings.from_env().minute
    while not scheduler._stop_event.is_set():
        for job in list(scheduler.jobs):
            job.run()
        scheduler._stop_event.wait(minute)
