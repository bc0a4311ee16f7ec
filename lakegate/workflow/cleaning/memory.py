"""Notes of cleaning, which it keeps from run to run in the service's bucket: candidates by folder, known folders, and
since when main's history is whole.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

import structlog

from lakegate.audit.model.codec import PARSE_ERRORS, from_json, to_json
from lakegate.errors import Misconfigured
from lakegate.workflow.cleaning.candidates import Candidate
from lakegate.workflow.service import Service

log = structlog.get_logger()
PREFIX = "cleaning/"
NAME = f"{PREFIX}remembered.json"


@dataclass(frozen=True, kw_only=True)
class CleaningMemory:
    """Table folders that some run found in the catalog, or that a person named, by their URIs.

    Files that only commits before `whole_since` need were perhaps deleted, so these commits count no more, however many
    days a later run is to keep.
    """

    folders: tuple[str, ...] = ()
    whole_since: datetime | None = None
    format: int = 1


def read_memory(service: Service) -> CleaningMemory:
    body = service.store.read(NAME)
    try:
        return CleaningMemory() if body is None else from_json(CleaningMemory, body)
    except PARSE_ERRORS as error:
        raise Misconfigured(f"{NAME} in the service's bucket can't be read ({error}): restore or delete it") from error


def remember(service: Service, memory: CleaningMemory) -> None:
    service.store.write(NAME, to_json(memory).encode())


def candidates_before(service: Service, folder: str) -> dict[str, Candidate]:
    """Return the candidates that the last run recorded in a folder, by URI. A note that cannot be read counts as none:
    its files wait anew.
    """
    body = service.store.read(_name(folder))
    try:
        candidates = from_json(tuple[Candidate, ...], body) if body else ()
    except PARSE_ERRORS as error:
        log.warning("candidates_not_read", folder=folder, error=str(error), kind=type(error).__name__)
        candidates = ()
    return {candidate.uri: candidate for candidate in candidates}


def record_candidates(service: Service, folder: str, candidates: Iterable[Candidate]) -> None:
    service.store.write(_name(folder), to_json(tuple(candidates)).encode())


def _name(folder: str) -> str:
    return f"{PREFIX}candidates/{folder.partition('://')[2]}.json"
