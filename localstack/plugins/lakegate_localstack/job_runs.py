"""A job run and the states it may go through, as EMR Serverless names them. It knows no process and no API."""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import Enum
from typing import Any

from lakegate_localstack.billing import billed
from lakegate_localstack.spark import properties_of_run

ISO = "%Y-%m-%dT%H:%M:%S.%fZ"


class State(Enum):
    """A job run's state. Each value gives its meaning."""

    SUBMITTED = "accepted, not yet looked at"
    PENDING = "waits for one of the places for jobs"
    SCHEDULED = "has a place; its files are being fetched"
    RUNNING = "the driver runs"
    SUCCESS = "the driver ended with exit code 0"
    FAILED = "the driver did not start or did not end well"
    CANCELLING = "was asked to stop, or exceeded its time"
    CANCELLED = "stopped"

    @property
    def is_final(self) -> bool:
        return not NEXT[self]


NEXT: Mapping[State, frozenset[State]] = {
    State.SUBMITTED: frozenset({State.PENDING, State.CANCELLING, State.FAILED}),
    State.PENDING: frozenset({State.SCHEDULED, State.CANCELLING, State.FAILED}),
    State.SCHEDULED: frozenset({State.RUNNING, State.CANCELLING, State.FAILED}),
    State.RUNNING: frozenset({State.SUCCESS, State.CANCELLING, State.FAILED}),
    State.CANCELLING: frozenset({State.CANCELLED}),
    State.SUCCESS: frozenset(),
    State.FAILED: frozenset(),
    State.CANCELLED: frozenset(),
}


@dataclass(frozen=True, kw_only=True)
class Change:
    """A change of a job run's state."""

    previous: State
    state: State
    at: datetime


@dataclass(kw_only=True)
class JobRun:
    """A job run: its request, and its state so far."""

    account: str
    region: str
    application: Mapping[str, Any]
    job_run_id: str
    request: Mapping[str, Any]
    created_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    updated_at: datetime = field(default_factory=lambda: datetime.now(UTC))
    started_at: datetime | None = None
    ended_at: datetime | None = None
    state: State = State.SUBMITTED
    details: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def move(self, state: State, details: str = "") -> Change | None:
        """Go to `state` and return the change. Return None, and change nothing, if NEXT does not allow it."""
        with self._lock:
            if state not in NEXT[self.state]:
                return None
            change = Change(previous=self.state, state=state, at=datetime.now(UTC))
            self.state, self.updated_at = state, change.at
            self.details = details or self.details
            if state is State.RUNNING:
                self.started_at = change.at
            if state.is_final:
                self.ended_at = change.at
        return change

    @property
    def arn(self) -> str:
        return f"{self.application['arn']}/jobruns/{self.job_run_id}"

    @property
    def timeout_minutes(self) -> int:
        return int(self.request.get("executionTimeoutMinutes", 720))

    @property
    def created_by(self) -> str:
        return f"arn:aws:iam::{self.account}:root"

    def describe(self) -> dict[str, Any]:
        """Return GetJobRun's answer."""
        asked = (
            "jobDriver",
            "configurationOverrides",
            "executionIamPolicy",
            "tags",
            "retryPolicy",
            "networkConfiguration",
        )
        described = self._common() | {name: self.request[name] for name in asked if name in self.request}
        described |= {"jobRunId": self.job_run_id, "executionTimeoutMinutes": self.timeout_minutes}
        if self.started_at:
            seconds = ((self.ended_at or datetime.now(UTC)) - self.started_at).total_seconds()
            described |= {"startedAt": self.started_at, "totalExecutionDurationSeconds": int(seconds)}
            if self.ended_at:
                described["billedResourceUtilization"] = billed(self._properties, seconds)
        return described | ({"endedAt": self.ended_at} if self.ended_at else {})

    @property
    def _properties(self) -> dict[str, str]:
        return properties_of_run(self.application, self.request.get("configurationOverrides") or {})

    def summary(self) -> dict[str, Any]:
        """Return an entry of ListJobRuns's answer."""
        return self._common() | {"id": self.job_run_id, "type": "Spark"}

    def _common(self) -> dict[str, Any]:
        named = {"name": self.request["name"]} if "name" in self.request else {}
        return named | {
            "applicationId": self.application["applicationId"],
            "arn": self.arn,
            "attempt": 1,
            "createdAt": self.created_at,
            "createdBy": self.created_by,
            "executionRole": self.request["executionRoleArn"],
            "mode": self.request.get("mode", "BATCH"),
            "releaseLabel": self.application["releaseLabel"],
            "state": self.state.name,
            "stateDetails": self.details,
            "updatedAt": self.updated_at,
        }

    def event(self, change: Change) -> dict[str, str]:
        """Return the detail of "EMR Serverless Job Run State Change", with the fields that AWS documents."""
        return {
            "jobRunId": self.job_run_id,
            "applicationId": self.application["applicationId"],
            "arn": self.arn,
            "releaseLabel": self.application["releaseLabel"],
            "state": change.state.name,
            "previousState": change.previous.name,
            "createdBy": self.created_by,
            "updatedAt": change.at.strftime(ISO),
            "createdAt": self.created_at.strftime(ISO),
        }
