"""Usage of attempts: what an attempt's job run took and is billed for, recorded once the run has ended.

A run's report is written before the run ends, so it cannot hold this. A run that the runner has not reckoned yet is not
recorded, and `show` asks the runner for it.
"""

from collections.abc import Iterable

import structlog

from lakegate.audit.model.codec import PARSE_ERRORS, from_json, to_json
from lakegate.landing.attempts import Attempt
from lakegate.ports import JobRun, Signal, Store, Usage
from lakegate.workflow.service import Service

log = structlog.get_logger()


def record_usage(service: Service, attempt: Attempt, run: JobRun) -> None:
    """Record what the run took, if it has ended and nobody has recorded it."""
    if run.ended_at is None or run.usage is None:
        return
    if service.store.create(_name(attempt), to_json(run.usage).encode()):
        took = run.usage
        values = {
            Signal.JOB_SECONDS: took.seconds,
            Signal.VCPU_HOURS: took.vcpu_hours,
            Signal.MEMORY_GB_HOURS: took.memory_gb_hours,
            Signal.STORAGE_GB_HOURS: took.storage_gb_hours,
        }
        service.telemetry.emit(values, attempt.table)
        log.info("job_ended", branch=attempt.branch, run=run.id, state=run.state)


def record_lost_usage(service: Service, attempt: Attempt) -> None:
    """Record what the attempt's run took, if it has ended and nobody has recorded it: the event of its end is lost."""
    if usage_of(service.store, attempt) is None and (run := service.runner.find(attempt.branch)) and run.ended_at:
        record_usage(service, attempt, service.runner.get(run.id))


def usage_of(store: Store, attempt: Attempt) -> Usage | None:
    """Return what the attempt's run took, or None if it is not recorded, or the note cannot be read: nothing depends on
    it.
    """
    return _read(store.read(_name(attempt)))


def usages_of(store: Store, attempts: Iterable[Attempt]) -> dict[Attempt, Usage]:
    """Return what the runs of these attempts took, of those that are recorded."""
    names = {_name(attempt): attempt for attempt in attempts}
    bodies = store.read_many(names)
    return {names[name]: usage for name, body in bodies.items() if (usage := _read(body))}


def _read(body: bytes | None) -> Usage | None:
    try:
        return None if body is None else from_json(Usage, body)
    except PARSE_ERRORS:
        return None


def _name(attempt: Attempt) -> str:
    return f"attempts/{attempt.branch}/usage.json"
