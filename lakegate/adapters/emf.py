"""`Telemetry` in CloudWatch's embedded metric format: a line of a function's log that CloudWatch takes metrics from.

It needs no call and no right. CloudWatch bills a metric for each set of values of its dimensions, so there is one
dimension, the installation; a table's name is a field of the line, by which Logs Insights groups. Only the canary's
published files have their table for a dimension, because an alarm is about them.
"""

from collections.abc import Mapping
from datetime import datetime

import structlog

from lakegate.landing import canary
from lakegate.ports import Clock, Signal

log = structlog.get_logger()
NAMESPACE, INSTALLATION, TABLE = "lakegate", "installation", "table"
_UNITS = {signal: "Seconds" for signal in Signal if signal.endswith("Seconds")} | {
    signal: "None" for signal in Signal if signal.endswith("Hours")
}


class EmfTelemetry:
    """Telemetry of one installation, by its name."""

    def __init__(self, installation: str, clock: Clock) -> None:
        self._installation, self._clock = installation, clock

    def emit(self, values: Mapping[Signal, float], table: str = "") -> None:
        line = embed(values, self._installation, self._clock.now(), table)
        log.info("signals", **line, **({TABLE: table} if table else {}))


def embed(values: Mapping[Signal, float], installation: str, at: datetime, table: str = "") -> dict[str, object]:
    """Return the fields of a line in the embedded metric format: what is a metric, and each one's value. The line has
    the table's name beside them.
    """
    is_canary = table == canary.TABLE and Signal.FILES_PUBLISHED in values
    dimensions = [[INSTALLATION], [INSTALLATION, TABLE]] if is_canary else [[INSTALLATION]]
    metrics = [{"Name": str(signal), "Unit": _UNITS.get(signal, "Count")} for signal in values]
    directive = {"Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": metrics}
    about = {"Timestamp": int(at.timestamp() * 1000), "CloudWatchMetrics": [directive]}
    return {"_aws": about, INSTALLATION: installation, **{str(signal): value for signal, value in values.items()}}
