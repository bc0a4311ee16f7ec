"""Port of the intake: what begins the jobs of an installation, and the application that runs them."""

from typing import Protocol


class Intake(Protocol):
    """An installation's intake, which a deployment closes where the application has to stand still."""

    def is_open(self) -> bool:
        """Return True if jobs begin as files land."""

    def close(self) -> None:
        """Let nothing begin a job. What lands waits."""

    def open(self) -> None:
        """Let jobs begin again. Opening an open intake changes nothing."""

    def count_runs(self) -> int:
        """Return the number of job runs that have not ended."""

    def stop(self) -> None:
        """Stop the application, and keep it from starting until the intake is opened. Raise Conflict if a job runs."""
