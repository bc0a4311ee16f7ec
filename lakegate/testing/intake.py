"""An intake in memory."""

from dataclasses import dataclass, field

from lakegate.errors import Conflict


@dataclass(kw_only=True)
class MemoryIntake:
    """See lakegate.ports.intake. `runs` are those that have not ended."""

    runs: set[str] = field(default_factory=set)
    takes: bool = True
    may_start: bool = True

    def is_open(self) -> bool:
        return self.takes and self.may_start

    def close(self) -> None:
        self.takes = False

    def open(self) -> None:
        self.takes = self.may_start = True

    def count_runs(self) -> int:
        return len(self.runs)

    def stop(self) -> None:
        if self.runs:
            raise Conflict("a job runs")
        self.may_start = False

    def begin(self, run: str) -> None:
        """Begin a job as a function does that was called before the intake closed."""
        if not self.may_start:
            raise Conflict("the application does not start")
        self.runs.add(run)
