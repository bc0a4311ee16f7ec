"""Port of the job runner, which runs an attempt's job in another process."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from lakegate.audit.model.lane import Lane
from lakegate.landing.attempts import Attempt


class JobState(StrEnum):
    """A job run's state."""

    RUNNING = "running"  # submitted, pending or running
    SUCCEEDED = "succeeded"
    FAILED = "failed"  # it crashed, ran for longer than it may, or its turn never came
    CANCELLED = "cancelled"  # by a person


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The seconds that a run took, and what it is billed for: hours of vCPUs, of GB of memory, and of GB of disk."""

    seconds: int
    vcpu_hours: float
    memory_gb_hours: float
    storage_gb_hours: float


@dataclass(frozen=True, kw_only=True)
class JobRun:
    """A run of an attempt's job; `reason` is the runner's word on a failure, `ended_at` is None while it runs. `usage`
    is None until the runner knows it.
    """

    id: str
    branch: str
    state: JobState
    reason: str = ""
    ended_at: datetime | None = None
    usage: Usage | None = None
    lane: Lane = Lane.SPARK


@dataclass(frozen=True, kw_only=True)
class Reach:
    """The storage that an attempt's job needs. Objects are URIs, and one that ends in `/` stands for all below it.
    Tables have their names and the URIs of their folders; a table that is not there yet has no folder, but "".
    """

    reads: tuple[str, ...]
    writes: tuple[str, ...]
    tables: Mapping[str, str]  # that the job writes to
    references: Mapping[str, str] = field(default_factory=dict)  # that it reads alone


class JobRunner(Protocol):
    """A runner of an attempt's job in another process."""

    def start(self, attempt: Attempt, job_uri: str, reach: Reach, lane: Lane) -> str:
        """Start the attempt's job on its lane. It may touch its reach and nothing more where the runner can see to it.
        Return the run's id; starting it again returns the same run. Raise Misconfigured for a lane that the runner does
        not have.
        """

    def get(self, run_id: str) -> JobRun:
        """Return the run's present state. Raise Misconfigured for an unknown id."""

    def open_runs(self) -> list[JobRun]:
        """Return the runs that have not ended, those that wait for their turn among them."""

    def find(self, branch: str) -> JobRun | None:
        """Return the latest run of a branch's job, or None if none was ever started."""
