"""`Telemetry` in memory."""

from collections.abc import Mapping

from lakegate.ports import Signal


class MemoryTelemetry:
    """`Telemetry` that keeps each signal with its table, oldest first."""

    def __init__(self) -> None:
        self.signals: list[tuple[Signal, float, str]] = []

    def emit(self, values: Mapping[Signal, float], table: str = "") -> None:
        self.signals += [(signal, value, table) for signal, value in values.items()]

    def values(self, signal: Signal) -> list[float]:
        """Return what this signal was, oldest first."""
        return [value for emission, value, _ in self.signals if emission is signal]
