"""Files that failed once rows had left their batch, told from those that failed at once, by reports alone."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakegate.audit.evaluation.quarantine import BUDGET
from lakegate.audit.model.plan import MetricKind, Plan, Severity
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, Report, Source, Verdict
from lakegate.contracts import load
from lakegate.workflow.settlement.keys import failed_after_quarantine, failed_and_compared, with_released_keys
from tests.world.world import CONTRACT

NOW = datetime(2013, 1, 31, tzinfo=UTC)
WHOLE = "customProperties: [{property: scope, vendor: lakegate, value: table}]"
COUNTED = f"    quality:\n      - {{metric: rowCount, mustBeLessThan: 15, {WHOLE}}}\n"
UNIQUE = CONTRACT.replace("logicalType: integer", f"logicalType: integer\n        unique: true\n        {WHOLE}", 1)
PLAN = load((UNIQUE + COUNTED).encode(), "flights.yaml").plan
FAIL, ASIDE, PASS = Verdict.FAIL, Verdict.QUARANTINE, Verdict.PASS
KEY, COUNT = MetricKind.DUPLICATES, MetricKind.ROWS


def file(name: str, verdict: Verdict, *found: tuple[MetricKind, Verdict], aside: int = 0) -> FileReport:
    """Return what was found of a file by a metric of each kind."""
    checks = tuple(_check(kind, said) for kind, said in found)
    data = (DataFile(path=f"aside/{name}", rows=aside),) if aside else ()
    return FileReport(id=name, key=name, verdict=verdict, rows=5, checks=checks, quarantined=data)


def _check(kind: MetricKind, verdict: Verdict) -> CheckResult:
    metric = next((it.id for it in PLAN.metrics if it.kind is kind), "another")
    return CheckResult(
        check=str(kind), name=str(kind), columns=(), severity=Severity.ERROR, verdict=verdict, value=1, expected="",
        failing_rows=0, rows=5, source=Source.QUERY, metric=metric,
    )  # fmt: skip


def report(*files: FileReport) -> Report:
    return Report(
        branch="b", batch="b", attempt=1, table=PLAN.table, base="", audited="", plan_hash="", contract_hash="",
        contract_version="", started_at=NOW, finished_at=NOW, files=files,
    )  # fmt: skip


def found(by: Plan, files: Report) -> tuple[set[str], set[str], set[str]]:
    return (
        set(failed_after_quarantine(by, files)),
        set(with_released_keys(by, files)),
        set(failed_and_compared(by, files)),
    )


def test_a_key_of_a_file_that_failed_once_its_rows_had_left_is_free() -> None:
    tardy, repeats = file("1", FAIL, (MetricKind.VALUE, FAIL), aside=1), file("2", FAIL, (KEY, FAIL))
    assert found(PLAN, report(tardy, repeats)) == ({"1"}, {"2"}, {"1"})


def test_a_key_of_a_file_that_failed_once_anothers_rows_had_left_is_free() -> None:
    """The table had no fewer rows with these."""
    gives, tardy = file("0", ASIDE, (MetricKind.NULLS, ASIDE), aside=2), file("1", FAIL, (COUNT, FAIL))
    assert found(PLAN, report(gives, tardy, file("2", FAIL, (KEY, FAIL)))) == ({"1"}, {"2"}, {"1"})
    assert found(PLAN, report(tardy, file("2", FAIL, (KEY, FAIL)))) == (set(), set(), set())


def test_what_hangs_on_no_key_does_not_differ() -> None:
    tardy = file("1", FAIL, (MetricKind.VALUE, FAIL), aside=1)
    assert found(PLAN, report(tardy, file("2", PASS))) == ({"1"}, set(), set())
    assert found(PLAN, report(tardy, file("2", ASIDE, (KEY, ASIDE), aside=1))) == ({"1"}, set(), {"1"})


@pytest.mark.parametrize("besides", [MetricKind.VALUE, MetricKind.NULLS])
def test_a_file_that_fails_for_more_is_not_free(besides: MetricKind) -> None:
    tardy = file("1", FAIL, (MetricKind.VALUE, FAIL), aside=1)
    assert found(PLAN, report(tardy, file("2", FAIL, (KEY, FAIL), (besides, FAIL))))[1] == set()


def test_a_file_over_its_budget_failed_at_once() -> None:
    """Its own failing rows never left, and another's cannot have brought it over."""
    gives, over = file("0", ASIDE, (MetricKind.VALUE, ASIDE), aside=2), over_budget("1", MetricKind.VALUE)
    assert found(PLAN, report(gives, over, file("2", FAIL, (KEY, FAIL)))) == (set(), set(), set())


def test_a_file_that_repeated_keys_alone_brought_over_its_budget_is_free() -> None:
    tardy = file("1", FAIL, (MetricKind.NULLS, FAIL), aside=1)
    assert found(PLAN, report(tardy, over_budget("2", KEY))) == ({"1"}, {"2"}, {"1"})


def over_budget(name: str, kind: MetricKind) -> FileReport:
    """More of its rows fail than may be put aside, so none is."""
    judged = file(name, FAIL, (kind, ASIDE))
    return replace(judged, checks=(*judged.checks, replace(_check(kind, FAIL), check=BUDGET)))
