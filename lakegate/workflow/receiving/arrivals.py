"""Arrivals: file versions as events and listings name them. Each one that fails, fails alone."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial

import structlog

from lakegate.errors import Retryable
from lakegate.landing.files import FileVersion
from lakegate.workflow.service import Service

log = structlog.get_logger()
MOST_UNANSWERED = 3  # files, each of which may take as long as a client waits


@dataclass(frozen=True, kw_only=True)
class Arrival:
    """Name of a file version in an event or a listing, which is enough to look it up."""

    key: str
    version_id: str
    sequencer: str = ""

    @classmethod
    def of(cls, file: FileVersion) -> "Arrival":
        return cls(key=file.key, version_id=file.version_id, sequencer=file.sequencer)


@dataclass(frozen=True, kw_only=True)
class Failure:
    """Arrivals that could not be received now, and the error: deliver them again."""

    arrivals: tuple[Arrival, ...]
    error: Exception


def look_up(service: Service, arrivals: Iterable[Arrival]) -> tuple[list[FileVersion], list[Failure]]:
    """Return the arrivals' files, oldest first and each once. A file that is gone from the landing bucket and a marker
    need nothing. An arrival that cannot be looked up, such as a key that S3 allows no more, fails alone.
    """
    arrivals, files_by_id, failures = list(arrivals), {}, []
    answers = service.landing.describe_all(dict.fromkeys((arrival.key, arrival.version_id) for arrival in arrivals))
    for arrival in arrivals:
        file = answers[arrival.key, arrival.version_id]
        if isinstance(file, Exception):
            log.warning("look_up_failed", key=arrival.key, error=str(file), kind=type(file).__name__)
            failures.append(Failure(arrivals=(arrival,), error=file))
        elif file is None:
            log.info("file_gone", key=arrival.key, version=arrival.version_id)
        elif file.is_marker:
            log.info("marker_passed_over", key=arrival.key, version=arrival.version_id)
        else:
            files_by_id[file.id] = replace(file, sequencer=arrival.sequencer)
    return sorted(files_by_id.values(), key=lambda file: file.order), failures


def try_step(files: list[FileVersion], step: Callable[[], None]) -> Failure | None:
    """Take a step with these files. Return their failure if it fails in any way."""
    try:
        step()
    except Exception as error:  # noqa: BLE001 (one step)
        log.warning("receive_failed", files=len(files), error=str(error), kind=type(error).__name__)
        return _failure(files, error)
    return None


def try_each(files: list[FileVersion], step: Callable[[FileVersion], None]) -> list[Failure]:
    """Take a step with each file alone. Once several went unanswered, the rest fails without being tried."""
    failures: list[Failure] = []
    for number, file in enumerate(files):
        if sum(isinstance(failure.error, Retryable) for failure in failures) >= MOST_UNANSWERED:
            return [*failures, _failure(files[number:], failures[-1].error)]
        if failure := try_step([file], partial(step, file)):
            failures.append(failure)
    return failures


def _failure(files: Iterable[FileVersion], error: Exception) -> Failure:
    return Failure(arrivals=tuple(map(Arrival.of, files)), error=error)
