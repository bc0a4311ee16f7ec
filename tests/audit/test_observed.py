"""Observing turns each verdict of enforcing into what it would have done, one file's checks at a time."""

from dataclasses import replace

import pytest

from lakegate.audit.evaluation.observation import as_observed, rows_leaving, rows_observed
from lakegate.audit.evaluation.quarantine import BUDGET, budget_check
from lakegate.audit.evaluation.verdicts import verdict
from lakegate.audit.model.plan import Budget, Metric, MetricKind, Mode, Severity
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, Verdict
from tests.audit.test_reuse import result
from tests.support.plans import none_of, nulls, plan

NULL, LINES = nulls("id"), Metric(id="malformed", kind=MetricKind.MALFORMED)
QUARANTINE, ERROR = Severity.QUARANTINE, Severity.ERROR
PARSES, REQUIRED = f"check-{LINES.id}", f"check-{NULL.id}"
SOME = Budget(rows=3)


def told(*checks: CheckResult, severity: Severity = QUARANTINE) -> tuple[CheckResult, ...]:
    by = plan("nyc.flights", {"id": "int"}, (NULL, LINES))
    rules = (none_of(NULL, severity), none_of(LINES, severity))
    by = replace(by, budget=SOME, checks=rules, mode=Mode.OBSERVE)
    [found] = as_observed(by, {"f": checks}).values()
    return found


def lines(verdict: Verdict, failing: int) -> CheckResult:
    return result(PARSES, verdict, failing)


def file(checks: tuple[CheckResult, ...], quarantined: int = 0) -> FileReport:
    gone = (DataFile(path="a", rows=quarantined),) if quarantined else ()
    return FileReport(
        id="f", key="k", verdict=verdict(checks), rows=10, checks=checks, quarantined=gone,
        would_quarantine=rows_observed(checks),
    )  # fmt: skip


def test_a_file_that_would_have_been_rejected_says_so_before_it_says_why() -> None:
    found = file(told(result(REQUIRED, Verdict.FAIL, 2), severity=ERROR))
    assert found.verdict is Verdict.WOULD_FAIL
    assert found.reasons == ()
    assert found.warnings == (
        "observed: it would have been rejected",
        "check-nulls-id: 2 of 10 rows, expected must be 0",
    )


def test_rows_that_would_have_left_are_told_by_their_number() -> None:
    found = file(told(result(REQUIRED, Verdict.QUARANTINE, 2), budget_check(SOME, 2, 10)))
    assert (found.verdict, found.would_quarantine, found.quarantined_rows) == (Verdict.WOULD_QUARANTINE, 2, 0)
    assert found.warnings[0] == "observed: 2 of 10 rows would have gone to quarantine"


def test_more_rows_than_the_budget_takes_would_have_rejected_the_file() -> None:
    found = file(told(result(REQUIRED, Verdict.QUARANTINE, 4), budget_check(SOME, 4, 10)))
    assert (found.verdict, found.would_quarantine) == (Verdict.WOULD_FAIL, 0)
    assert found.warnings[1].startswith("rows for quarantine: 4 of 10 rows")


def test_rows_that_do_not_parse_leave_although_the_contract_observes() -> None:
    checks = told(lines(Verdict.QUARANTINE, 2), result(REQUIRED, Verdict.QUARANTINE, 1), budget_check(SOME, 3, 12))
    found = file(checks, quarantined=2)
    assert (rows_leaving(checks), found.verdict, found.would_quarantine) == (2, Verdict.QUARANTINE, 1)
    assert found.warnings[0] == "observed: 1 of 10 rows would have gone to quarantine"
    assert "in quarantine: 2 of 12 rows" in found.warnings


def test_rows_that_do_not_parse_leave_a_file_that_would_have_been_rejected_for_others() -> None:
    checks = told(lines(Verdict.QUARANTINE, 2), result(REQUIRED, Verdict.QUARANTINE, 3), budget_check(SOME, 5, 12))
    assert (rows_leaving(checks), verdict(checks)) == (2, Verdict.WOULD_FAIL)


def test_too_many_rows_that_do_not_parse_reject_the_file() -> None:
    """They can be in no table, and the contract takes no more of them into quarantine."""
    checks = told(lines(Verdict.QUARANTINE, 4), result(REQUIRED, Verdict.FAIL, 1))
    assert (rows_leaving(checks), verdict(checks)) == (0, Verdict.FAIL)
    assert [check.check for check in checks if check.verdict is Verdict.FAIL] == [REQUIRED, BUDGET]


def test_a_file_whose_rows_must_all_parse_is_rejected_and_told_as_ever() -> None:
    checks = (lines(Verdict.FAIL, 1), result(REQUIRED, Verdict.FAIL, 1))
    assert told(*checks, severity=ERROR) == checks


@pytest.mark.parametrize("mine", [Verdict.WARN, Verdict.PASS])
def test_a_warning_is_a_warning(mine: Verdict) -> None:
    assert verdict(told(result(REQUIRED, mine, 1))) is mine
