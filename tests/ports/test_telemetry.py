"""Tests of what every `Telemetry` promises, and that CloudWatch takes metrics from what a function logs."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pytest
import structlog
from jsonschema import Draft202012Validator

from lakegate import bootstrap
from lakegate.adapters.emf import EmfTelemetry, embed
from lakegate.landing import canary
from lakegate.ports import Signal, Telemetry
from lakegate.testing import MemoryClock, MemoryTelemetry

AT = datetime(2013, 1, 31, 5, 6, 7, 891_000, tzinfo=UTC)
# The embedded metric format by its specification, in our words.
NAME = {"type": "string", "minLength": 1, "maxLength": 1024, "pattern": r"^[\x20-\x7e]+$"}
UNITS = ["Seconds", "Count", "None"]  # of those that CloudWatch knows, the ones that we have
METRIC = {
    "type": "object",
    "additionalProperties": False,
    "required": ["Name"],
    "properties": {"Name": NAME, "Unit": {"enum": UNITS}, "StorageResolution": {"enum": [1, 60]}},
}
DIMENSIONS = {"type": "array", "minItems": 0, "maxItems": 30, "uniqueItems": True, "items": NAME}
DIRECTIVE = {
    "type": "object",
    "additionalProperties": False,
    "required": ["Namespace", "Dimensions", "Metrics"],
    "properties": {
        "Namespace": {**NAME, "maxLength": 255, "pattern": "^[^:].*"},
        "Dimensions": {"type": "array", "minItems": 1, "items": DIMENSIONS},
        "Metrics": {"type": "array", "minItems": 1, "maxItems": 100, "items": METRIC},
    },
}
LINE = {
    "type": "object",
    "required": ["_aws"],
    "properties": {
        "_aws": {
            "type": "object",
            "additionalProperties": False,
            "required": ["Timestamp", "CloudWatchMetrics"],
            "properties": {
                "Timestamp": {"type": "integer", "minimum": 10**12},  # milliseconds
                "CloudWatchMetrics": {"type": "array", "minItems": 1, "items": DIRECTIVE},
            },
        }
    },
}


def metrics_in(line: dict[str, Any]) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    """Return what CloudWatch takes from a line: the values of metrics, by name and dimensions. Fails for a line that it
    would not take, or would take in part.
    """
    Draft202012Validator(LINE).validate(line)
    found = {}
    for directive in line["_aws"]["CloudWatchMetrics"]:
        for names in directive["Dimensions"]:
            dimensions = tuple((name, line[name]) for name in names)
            assert all(isinstance(value, str) and 0 < len(value) <= 1024 for _, value in dimensions)
            for metric in directive["Metrics"]:
                value = line[metric["Name"]]
                assert isinstance(value, (int, float))
                assert not isinstance(value, bool)
                found[metric["Name"], dimensions] = value
    return found


@pytest.fixture(params=["memory", "emf"])
def telemetry(request: pytest.FixtureRequest) -> Telemetry:
    return MemoryTelemetry() if request.param == "memory" else EmfTelemetry("prod", MemoryClock())


@pytest.fixture
def log(capsys: pytest.CaptureFixture[str]) -> Iterator[Any]:
    """The lines of a function's log so far, as it is configured on AWS."""
    before = structlog.get_config()
    bootstrap.configure_logging()
    structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr), cache_logger_on_first_use=False)
    yield lambda: [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    structlog.configure(**before)


def test_signals_of_no_table_and_of_any_table_are_taken(telemetry: Telemetry) -> None:
    telemetry.emit({Signal.FILES_QUEUED: 0})
    telemetry.emit({Signal.FILES_PUBLISHED: 3, Signal.JOB_SECONDS: 1.5}, "nyc.ﬂights \x1b[2J")


def test_cloudwatch_takes_every_signal_as_a_metric_of_the_installation_alone() -> None:
    line = embed({signal: number for number, signal in enumerate(Signal)}, "prod", AT)
    installation = (("installation", "prod"),)
    assert metrics_in(line) == {(str(signal), installation): number for number, signal in enumerate(Signal)}
    assert line["_aws"]["Timestamp"] == 1_359_608_767_891  # type: ignore[index]


def test_a_functions_log_has_the_metrics_in_one_line_as_they_are(log: Any) -> None:
    EmfTelemetry("prod", MemoryClock()).emit({Signal.VCPU_HOURS: 0.25, Signal.FILES_QUEUED: 0}, "nyc.flights")
    [line] = log()
    assert metrics_in(line) == {
        ("VcpuHours", (("installation", "prod"),)): 0.25,
        ("FilesQueued", (("installation", "prod"),)): 0,
    }
    assert line["table"] == "nyc.flights"


def test_a_table_is_no_dimension_because_each_would_be_billed(log: Any) -> None:
    for table in ("nyc.flights", "nyc.planes"):
        EmfTelemetry("prod", MemoryClock()).emit({Signal.FILES_PUBLISHED: 1}, table)
    assert len({name for line in log() for name in metrics_in(line)}) == 1


def test_the_canarys_published_files_are_a_metric_of_their_own_and_nothing_else_of_it_is() -> None:
    line = embed({Signal.FILES_PUBLISHED: 1}, "prod", AT, canary.TABLE) | {"table": canary.TABLE}
    assert metrics_in(line) == {
        ("FilesPublished", (("installation", "prod"),)): 1,
        ("FilesPublished", (("installation", "prod"), ("table", canary.TABLE))): 1,
    }
    assert len(metrics_in(embed({Signal.JOB_SECONDS: 1}, "prod", AT, canary.TABLE))) == 1


@pytest.mark.parametrize(
    ("signal", "unit"),
    [(Signal.JOB_SECONDS, "Seconds"), (Signal.VCPU_HOURS, "None"), (Signal.FILES_PUBLISHED, "Count")],
)
def test_a_signal_has_the_unit_that_its_name_says(signal: Signal, unit: str) -> None:
    [directive] = embed({signal: 1}, "prod", AT)["_aws"]["CloudWatchMetrics"]  # type: ignore[index]
    assert [metric["Unit"] for metric in directive["Metrics"]] == [unit]
