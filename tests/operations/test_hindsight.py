"""Tests of what the last thirty days would have met by a contract: from the numbers in reports, and no answer without
one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from lakegate.audit.evaluation.observation import as_observed, rows_observed
from lakegate.audit.evaluation.verdicts import Measurement, Measurements, evaluate, verdict
from lakegate.audit.model.plan import (
    Budget,
    Check,
    Comparison,
    Drift,
    Metric,
    MetricKind,
    Mode,
    Operator,
    Plan,
    Severity,
    Unit,
)
from lakegate.audit.model.report import FileReport, Source
from lakegate.cli.hindsight import looked_back
from lakegate.operations.hindsight import DAYS, Hindsight, hindsight, hindsight_of
from lakegate.testing import MemoryClock, MemoryLake
from lakegate.workflow.registry import contract_of
from tests.support.plans import ROWS, failing, none_of, nulls, plan
from tests.world.world import CONTRACT, TABLE, World

NULL, LOW = nulls("id"), failing("x", "x < 0")
MEAN = Metric(id="mean-x", kind=MetricKind.VALUE, columns=("x",), sql="avg(x)")
DAY = 86_400


def at_most(metric: Metric, most: float, severity: Severity = Severity.ERROR, unit: Unit = Unit.ROWS) -> Check:
    made = replace(none_of(metric, severity), operator=Operator.LESS_OR_EQUAL, threshold=(most,), unit=unit)
    return replace(made, id=f"{metric.id}-{most}-{severity}")


def a_plan(*checks: Check, budget: Budget | None = None, mode: Mode = Mode.ENFORCE) -> Plan:
    by = plan("nyc.flights", {"id": "int", "x": "double"}, (NULL, LOW, MEAN, ROWS))
    return replace(by, checks=checks, budget=budget, mode=mode)


def reported(by: Plan, *files: Mapping[str, float | None], rows: int = 100) -> list[FileReport]:
    """Reports of files with these numbers, by metric, as a job with this plan writes them."""
    measured = [
        Measurements(
            file=f"f{at}",
            rows=rows,
            metrics={name: Measurement(value=value, source=Source.AGGREGATE) for name, value in numbers.items()},
        )
        for at, numbers in enumerate(files)
    ]
    results = evaluate(by, measured, {})
    results = as_observed(by, results) if by.mode is Mode.OBSERVE else results
    return [
        FileReport(
            id=file, key=file, verdict=verdict(checks), rows=rows, checks=checks, would_quarantine=rows_observed(checks)
        )
        for file, checks in results.items()
    ]


def test_what_was_observed_is_what_enforcing_would_have_rejected() -> None:
    """The push that enforces says it before it is too late."""
    rules = (none_of(NULL), at_most(LOW, 5, Severity.WARNING))
    files = reported(a_plan(*rules, mode=Mode.OBSERVE), *({NULL.id: nulls, LOW.id: 9} for nulls in (0, 3, 4)))
    found = hindsight_of(a_plan(*rules), files)
    assert (found.files, found.rows, found.rejected, found.quarantined, found.unknown) == (3, 300, 2, 0, 0)
    assert [(it.name, it.files, it.rows) for it in found.checks] == [(NULL.id, 2, 7), (LOW.id, 3, 27)]
    assert next(looked_back(found)) == (
        "Enforced over the last 30 days (3 files with 300 rows), it would have rejected 2 files"
    )


def test_another_bound_is_compared_with_what_was_measured() -> None:
    files = reported(a_plan(none_of(LOW)), {LOW.id: 2}, {LOW.id: 8})
    for most, rejected in ((1, 2), (2, 1), (8, 0)):
        assert hindsight_of(a_plan(at_most(LOW, most)), files).rejected == rejected
    assert hindsight_of(a_plan(at_most(LOW, 5, unit=Unit.PERCENT)), files).rejected == 1


def test_a_number_that_no_report_has_is_not_known_and_said_so() -> None:
    files = reported(a_plan(none_of(LOW)), {LOW.id: 0}, {LOW.id: 1})
    found = hindsight_of(a_plan(none_of(LOW), none_of(NULL)), files)
    assert (found.rejected, found.unknown) == (1, 1)  # the second fails by what is known, whatever else it has
    assert [(it.name, it.files, it.unknown) for it in found.checks] == [(LOW.id, 1, 0), (NULL.id, 0, 2)]
    told = list(looked_back(found))
    assert told[0].endswith("it would have rejected 1 file; of 1 file that cannot be known")
    assert f"    unknown: {NULL.id}: its number is not in any report" in told


def test_a_warning_that_is_not_known_changes_nothing() -> None:
    files = reported(a_plan(none_of(LOW)), {LOW.id: 0})
    found = hindsight_of(a_plan(none_of(LOW), none_of(NULL, Severity.WARNING)), files)
    assert (found.rejected, found.unknown, [it.name for it in found.checks]) == (0, 0, [NULL.id])


def test_how_many_rows_a_file_has_is_in_every_report() -> None:
    files = reported(a_plan(none_of(LOW)), {LOW.id: 0})
    some = replace(at_most(ROWS, 50), operator=Operator.GREATER_THAN)
    assert hindsight_of(a_plan(some), files).rejected == 0
    assert hindsight_of(a_plan(replace(some, threshold=(500.0,))), files).rejected == 1


def test_rows_for_quarantine_are_counted_up_to_the_budget() -> None:
    rules = (none_of(LOW, Severity.QUARANTINE),)
    files = reported(a_plan(none_of(LOW)), {LOW.id: 2}, {LOW.id: 8})
    found = hindsight_of(a_plan(*rules, budget=Budget(rows=5)), files)
    assert (found.rejected, found.quarantined, found.quarantined_rows) == (1, 1, 2)


def test_whether_rows_that_fail_two_checks_are_the_same_is_in_no_report() -> None:
    rules = (none_of(LOW, Severity.QUARANTINE), none_of(NULL, Severity.QUARANTINE))
    files = reported(a_plan(none_of(LOW), none_of(NULL)), {LOW.id: 3, NULL.id: 3})
    assert [hindsight_of(a_plan(*rules, budget=Budget(rows=most)), files).unknown for most in (2, 5, 6)] == [0, 1, 0]


def test_drift_is_known_of_the_very_same_check_alone() -> None:
    drift = Drift(comparison=Comparison.RATE, files=5, at_least=1)
    known = replace(at_most(MEAN, 10, unit=Unit.NUMBER), drift=drift)
    files = reported(a_plan(known), {MEAN.id: 3.0})
    assert hindsight_of(a_plan(known), files).unknown == 0
    assert hindsight_of(a_plan(replace(known, id="other", threshold=(20.0,))), files).unknown == 1


def test_a_file_that_was_never_appended_is_none_of_them() -> None:
    gone = FileReport(id="g", key="g", verdict=verdict(()), faults=("it is encrypted",))
    found = hindsight_of(a_plan(none_of(LOW)), [*reported(a_plan(none_of(LOW)), {LOW.id: 0}), gone])
    assert (found.files, found.unread) == (1, 1)


def test_there_is_nothing_to_say_before_the_first_file() -> None:
    assert list(looked_back(Hindsight(table="nyc.flights", mode=Mode.ENFORCE))) == []


# By the reports that an installation has.

FEW = "    quality:\n      - {metric: rowCount, mustBeGreaterThan: 3}\n"


def test_each_file_of_thirty_days_counts_once_by_its_newest_report() -> None:
    clock = MemoryClock()
    world = World(clock=clock, lake=MemoryLake(now=clock.now))
    world.drop("old.parquet", rows=1)
    world.run()
    world.clock.advance((DAYS + 1) * DAY)
    for name, rows, bad in (("1.parquet", 2, ""), ("2.parquet", 9, ""), ("3.parquet", 2, "broken")):
        world.drop(name, rows=rows, bad=bad)
        world.run()
    world.push_text(CONTRACT + FEW)
    found = hindsight(world.service, contract_of(world.store, TABLE))
    assert (found.files, found.rows, found.rejected, found.is_cut) == (3, 13, 2, False)
