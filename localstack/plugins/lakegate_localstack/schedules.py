"""Gives LocalStack's scheduled rules the minute of the settings. It looks once a minute which of them are due, so the
only schedule that a shorter one fits is `rate(1 minute)`.
"""
# ruff: noqa: SLF001 (LocalStack has no public name for what stops it)

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
