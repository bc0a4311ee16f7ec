"""Tests of which files' verdicts of batch scope hold for a later attempt, so that their data files are appended as they
are.
"""

from dataclasses import replace

import pytest

from lakegate.audit.evaluation.reuse import may_be_reused, of_table_scope, with_new_results
from lakegate.audit.model.plan import Plan, Scope, Severity
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, Source, Verdict
from tests.support.plans import duplicates, none_of, nulls, plan

NULL, KEYS = nulls("id"), duplicates("id", scope=Scope.TABLE)
PLAN = plan("nyc.flights", {"id": "int"}, (NULL, KEYS))
ASIDE = DataFile(path="a", rows=1)


def result(check: str, verdict: Verdict = Verdict.PASS, value: float = 0) -> CheckResult:
    return CheckResult(
        check=check,
        name=check,
        columns=("id",),
        severity=Severity.ERROR,
        verdict=verdict,
        value=value,
        expected="must be 0",
        failing_rows=int(value),
        rows=10,
        source=Source.QUERY,
    )


GOOD = FileReport(
    id="f",
    key="k",
    verdict=Verdict.PASS,
    rows=10,
    checks=(result("check-nulls-id"), result("check-duplicates-id")),
)


def test_of_the_plan_its_checks_of_table_scope_are_asked_again() -> None:
    asked = of_table_scope(PLAN)
    assert ([metric.id for metric in asked.metrics], [check.metric for check in asked.checks]) == ([KEYS.id], [KEYS.id])


def test_a_good_file_and_one_that_fails_a_check_of_table_scope_are_reused() -> None:
    failed = replace(GOOD, checks=(GOOD.checks[0], result("check-duplicates-id", Verdict.FAIL, 3)))
    assert may_be_reused(PLAN, GOOD)
    assert may_be_reused(PLAN, failed)


@pytest.mark.parametrize(
    "file",
    [
        replace(GOOD, faults=("it is truncated",)),
        replace(GOOD, quarantined=(ASIDE,)),
        replace(GOOD, checks=(result("check-nulls-id", Verdict.FAIL, 2), GOOD.checks[1])),
        replace(GOOD, checks=(result("check-nulls-id", Verdict.WOULD_FAIL, 2), GOOD.checks[1])),
        replace(GOOD, checks=(result("check-nulls-id", Verdict.WOULD_QUARANTINE, 2), GOOD.checks[1])),
    ],
    ids=[
        "it has faults",
        "rows of it are in quarantine",
        "it fails a check of batch scope",
        "it would, if its contract enforced",
        "rows of it would be in quarantine",
    ],
)
def test_a_file_that_something_else_is_wrong_with_is_not_reused(file: FileReport) -> None:
    assert not may_be_reused(PLAN, file)


@pytest.mark.parametrize(("of", "reused"), [(NULL, True), (KEYS, False)])
def test_nothing_is_reused_where_a_check_of_table_scope_may_put_rows_aside(of: object, *, reused: bool) -> None:
    checks = tuple(none_of(it, Severity.QUARANTINE if it is of else Severity.ERROR) for it in (NULL, KEYS))
    by: Plan = replace(PLAN, checks=checks)
    assert may_be_reused(by, GOOD) is reused


def test_results_that_were_found_again_take_the_places_of_the_earlier_ones() -> None:
    now = result("check-duplicates-id", Verdict.FAIL, 3)
    assert with_new_results(GOOD.checks, [now]) == (GOOD.checks[0], now)
