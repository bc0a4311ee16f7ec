"""Tests of which files may give up their failing rows, and what is said of them afterwards."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lakegate.audit.evaluation.quarantine import (
    BUDGET,
    afterwards,
    budget_check,
    leaving_checks,
    quarantine_of,
    without_budget,
)
from lakegate.audit.evaluation.table_scope import TableRows
from lakegate.audit.evaluation.verdicts import Measurement, Measurements, evaluate, good, verdict
from lakegate.audit.model.plan import Budget, Metric, MetricKind, Operator, Scope, Severity
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, Source, Verdict
from tests.support.plans import ROWS, failing, none_of, nulls, plan

NULL, LOW = nulls("id"), failing("x", "x < 0")
MALFORMED = Metric(id="malformed", kind=MetricKind.MALFORMED)


def judged(
    *files: tuple[int, int],
    budget: Budget | None,
    null: Severity = Severity.QUARANTINE,
    low: Severity = Severity.QUARANTINE,
    both: int = 0,
) -> dict[str, tuple[CheckResult, ...]]:
    """Files of 100 rows with so many nulls and low values; `both` are rows with both."""
    checks = (none_of(NULL, null), none_of(LOW, low))
    by = replace(plan("nyc.flights", {"id": "int", "x": "int"}, (NULL, LOW)), checks=checks, budget=budget)
    measured = [
        Measurements(
            file=f"f{number}",
            rows=100,
            metrics={
                NULL.id: Measurement(value=null, source=Source.STATISTICS),
                LOW.id: Measurement(value=value, source=Source.AGGREGATE),
            },
        )
        for number, (null, value) in enumerate(files, 1)
    ]

    def distinct(file: str, _earlier: Sequence[str], _checks: Sequence[str]) -> int:
        return sum(files[int(file[1:]) - 1]) - both

    return evaluate(by, measured, {}, distinct=distinct)


def said(checks: Sequence[CheckResult]) -> str:
    return FileReport(id="f", key="k", verdict=verdict(checks), rows=100, checks=tuple(checks)).reasons[0]


def test_within_its_budget_a_file_is_good() -> None:
    results = judged((5, 0), (0, 0), budget=Budget(rows=5))
    assert {file: verdict(checks) for file, checks in results.items()} == {
        "f1": Verdict.QUARANTINE,
        "f2": Verdict.PASS,
    }
    assert good(results) == ["f1", "f2"]
    assert leaving_checks(results["f1"]) == ["check-nulls-id"]
    assert leaving_checks(results["f2"]) == []


@pytest.mark.parametrize(
    ("budget", "expected"),
    [
        (Budget(rows=5), "at most 5, and not all"),
        (Budget(percent=5.9), "at most 5.9%, and not all"),
        (None, "at most 0, and not all"),
    ],
)
def test_past_its_budget_a_file_is_rejected_and_says_so(budget: Budget | None, expected: str) -> None:
    [checks] = judged((6, 0), budget=budget).values()
    assert verdict(checks) is Verdict.FAIL
    assert said(checks) == f"rows for quarantine: 6 of 100 rows, expected {expected}"
    assert leaving_checks(checks) == []


def test_a_rejected_file_names_the_checks_that_were_past_the_budget() -> None:
    [checks] = judged((6, 0), budget=Budget(rows=5)).values()
    report = FileReport(id="f", key="k", verdict=Verdict.FAIL, rows=100, checks=checks)
    assert report.reasons[1] == "nulls-id: 6 of 100 rows, expected none"


def test_percent_of_the_budget_is_of_the_files_rows() -> None:
    [checks] = judged((6, 0), budget=Budget(percent=6)).values()
    assert verdict(checks) is Verdict.QUARANTINE


def test_a_percentage_takes_in_the_number_of_rows_that_it_is() -> None:
    """32.3 * 1000 / 100 is a little below 323."""
    assert budget_check(Budget(percent=32.3), 323, 1000).verdict is Verdict.PASS
    assert budget_check(Budget(percent=32.3), 324, 1000).verdict is Verdict.FAIL


def test_rows_that_fail_two_checks_count_once() -> None:
    [checks] = judged((4, 4), budget=Budget(rows=5), both=3).values()
    assert verdict(checks) is Verdict.QUARANTINE
    [budget] = [check for check in checks if check.check == BUDGET]
    assert budget.value == 5


def test_rows_of_which_more_than_the_budget_fail_one_check_are_not_counted_further() -> None:
    by = replace(plan("nyc.flights", {"id": "int", "x": "int"}, (NULL, LOW)), budget=Budget(rows=5))
    by = replace(by, checks=(none_of(NULL, Severity.QUARANTINE), none_of(LOW, Severity.QUARANTINE)))
    metrics = {metric.id: Measurement(value=rows, source=Source.QUERY) for metric, rows in ((NULL, 6), (LOW, 2))}
    [checks] = evaluate(by, [Measurements(file="f", rows=100, metrics=metrics)], {}, distinct=lambda *_: 8).values()
    assert said(checks) == (
        "rows for quarantine, counted as far as the budget goes: 6 of 100 rows, expected at most 5, and not all"
    )


@pytest.mark.parametrize(("malformed", "expected"), [(3, Verdict.QUARANTINE), (4, Verdict.FAIL)])
def test_rows_that_do_not_parse_come_on_top_of_the_others(malformed: int, expected: Verdict) -> None:
    by = replace(plan("nyc.flights", {"id": "int"}, (NULL, MALFORMED)), budget=Budget(rows=5))
    by = replace(by, checks=(none_of(NULL, Severity.QUARANTINE), none_of(MALFORMED, Severity.QUARANTINE)))
    metrics = {
        NULL.id: Measurement(value=2, source=Source.STATISTICS),
        MALFORMED.id: Measurement(value=malformed, source=Source.FILE, rows=100),
    }
    measured = Measurements(file="f", rows=100 - malformed, metrics=metrics)
    [checks] = evaluate(by, [measured], {}, distinct=lambda *_: 2).values()
    assert verdict(checks) is expected
    [budget] = [check for check in checks if check.check == BUDGET]
    assert (budget.value, budget.rows) == (2 + malformed, 100)


def test_a_file_none_of_whose_rows_parses_is_rejected() -> None:
    by = replace(plan("nyc.flights", {"id": "int"}, (MALFORMED,)), budget=Budget(percent=100))
    by = replace(by, checks=(none_of(MALFORMED, Severity.QUARANTINE),))
    metrics = {MALFORMED.id: Measurement(value=3, source=Source.FILE, rows=3)}
    [checks] = evaluate(by, [Measurements(file="f", rows=0, metrics=metrics)], {}).values()
    assert verdict(checks) is Verdict.FAIL


def test_a_file_of_failing_rows_alone_is_rejected() -> None:
    [checks] = judged((100, 0), budget=Budget(percent=100)).values()
    assert verdict(checks) is Verdict.FAIL


def test_a_file_that_fails_a_check_of_severity_error_keeps_its_rows() -> None:
    [checks] = judged((1, 1), budget=Budget(rows=5), low=Severity.ERROR).values()
    assert verdict(checks) is Verdict.FAIL
    assert leaving_checks(checks) == []


def test_a_number_about_all_rows_waits_for_those_that_are_left() -> None:
    few = replace(none_of(ROWS), operator=Operator.LESS_THAN, threshold=(96,))
    by = replace(plan("nyc.flights", {"id": "int"}, (NULL, ROWS)), budget=Budget(rows=5))
    by = replace(by, checks=(none_of(NULL, Severity.QUARANTINE), few))
    numbers = {ROWS.id: Measurement(value=100, source=Source.STATISTICS)}
    some, many, none = (
        evaluate(
            by,
            [
                Measurements(
                    file="f", rows=100, metrics=numbers | {NULL.id: Measurement(value=nulls, source=Source.QUERY)}
                )
            ],
            {},
        )
        for nulls in (5, 6, 0)
    )
    assert [check.verdict for check in some["f"]] == [Verdict.QUARANTINE, Verdict.PASS, Verdict.PASS]
    assert [check.verdict for check in many["f"]] == [Verdict.QUARANTINE, Verdict.FAIL, Verdict.FAIL]
    assert [check.verdict for check in none["f"]] == [Verdict.PASS, Verdict.FAIL]


def test_a_tables_row_count_waits_for_rows_of_files_before_to_leave() -> None:
    rows = Metric(id="of-table", kind=MetricKind.ROWS, scope=Scope.TABLE)
    few = replace(none_of(rows), operator=Operator.LESS_THAN, threshold=(200,))
    by = replace(plan("nyc.flights", {"id": "int"}, (NULL, rows)), budget=Budget(rows=5))
    by = replace(by, checks=(none_of(NULL, Severity.QUARANTINE), few))
    counted = TableRows(before=0, rows={"f1": 100, "f2": 100})
    verdicts = {}
    for missing in (1, 6):
        first, second = (
            Measurements(file=file, rows=100, metrics={NULL.id: Measurement(value=some, source=Source.QUERY)})
            for file, some in (("f1", missing), ("f2", 0))
        )
        verdicts[missing] = [verdict(checks) for checks in evaluate(by, [first, second], {rows.id: counted}).values()]
    assert verdicts == {1: [Verdict.QUARANTINE, Verdict.PASS], 6: [Verdict.FAIL, Verdict.PASS]}


@pytest.mark.parametrize(
    "metric",
    [ROWS, Metric(id="keys-of-table", kind=MetricKind.DUPLICATES, columns=("id",), scope=Scope.TABLE)],
    ids=["a file's own row count", "keys in the whole table"],
)
def test_what_is_no_count_of_the_tables_rows_does_not_wait_for_rows_of_files_before(metric: Metric) -> None:
    by = replace(plan("nyc.flights", {"id": "int"}, (NULL, metric)), budget=Budget(rows=5))
    by = replace(by, checks=(none_of(NULL, Severity.QUARANTINE), none_of(metric)))
    files = [
        Measurements(
            file=file,
            rows=100,
            metrics={
                NULL.id: Measurement(value=nulls, source=Source.QUERY),
                metric.id: Measurement(value=value, source=Source.QUERY),
            },
        )
        for file, nulls, value in (("f1", 1, 0), ("f2", 0, 100))
    ]
    first, second = evaluate(by, files, {}).values()
    assert (verdict(first), verdict(second)) == (Verdict.QUARANTINE, Verdict.FAIL)


def test_afterwards_a_check_tells_of_the_rows_that_left_and_the_others_of_what_is_left() -> None:
    before = judged((5, 2), budget=Budget(rows=5), low=Severity.WARNING)
    after = judged((0, 1), budget=Budget(rows=5), null=Severity.ERROR, low=Severity.WARNING)
    [checks] = afterwards(before, after).values()
    assert [(check.verdict, check.failing_rows) for check in checks] == [
        (Verdict.QUARANTINE, 5),
        (Verdict.WARN, 1),
        (Verdict.PASS, 0),
    ]


def test_a_warning_about_rows_that_left_stays() -> None:
    before = judged((5, 2), budget=Budget(rows=5), low=Severity.WARNING)
    after = judged((0, 0), budget=Budget(rows=5), null=Severity.ERROR, low=Severity.WARNING)
    [checks] = afterwards(before, after).values()
    assert [(check.verdict, check.failing_rows) for check in checks[:2]] == [(Verdict.QUARANTINE, 5), (Verdict.WARN, 2)]


def test_a_warning_about_a_number_waits_for_the_rows_that_are_left() -> None:
    few = replace(none_of(ROWS, Severity.WARNING), operator=Operator.LESS_THAN, threshold=(96,))
    by = replace(plan("nyc.flights", {"id": "int"}, (NULL, ROWS)), budget=Budget(rows=5))
    by = replace(by, checks=(none_of(NULL, Severity.QUARANTINE), few))
    before, after = (
        evaluate(rules, [Measurements(file="f", rows=rows, metrics={
            ROWS.id: Measurement(value=rows, source=Source.STATISTICS),
            NULL.id: Measurement(value=missing, source=Source.QUERY),
        })], {})
        for rules, rows, missing in ((by, 100, 5), (without_budget(by), 95, 0))
    )  # fmt: skip
    assert [check.verdict for check in afterwards(before, after)["f"]][:2] == [Verdict.QUARANTINE, Verdict.PASS]


def test_a_check_that_does_not_hold_of_what_is_left_fails_the_file() -> None:
    before = judged((5, 0), budget=Budget(rows=5))
    after = judged((1, 0), budget=Budget(rows=5), null=Severity.ERROR)
    [checks] = afterwards(before, after).values()
    assert verdict(checks) is Verdict.FAIL
    assert checks[0].severity is Severity.QUARANTINE


def test_what_is_left_is_judged_by_a_plan_that_puts_nothing_aside() -> None:
    checks = [none_of(NULL, severity) for severity in Severity]
    by = without_budget(replace(plan("nyc.flights", {"id": "int"}, (NULL,)), checks=tuple(checks)))
    assert [check.severity for check in by.checks] == [Severity.ERROR, Severity.ERROR, Severity.WARNING]


def test_a_file_that_was_rejected_before_stays_as_it_was() -> None:
    before = judged((6, 0), (1, 0), budget=Budget(rows=5))
    after = judged((0, 0), budget=Budget(rows=5))
    assert afterwards(before, {"f2": after["f1"]})["f1"] == before["f1"]


def test_a_good_file_says_how_many_of_its_rows_are_in_quarantine() -> None:
    [checks] = judged((5, 0), budget=Budget(rows=5)).values()
    aside = (DataFile(path="s3://lake/1", rows=5),)
    report = FileReport(id="f", key="k", verdict=verdict(checks), rows=95, checks=checks, quarantined=aside)
    assert report.warnings == ("in quarantine: 5 of 100 rows", "nulls-id: 5 of 100 rows, expected none")
    assert report.reasons == ()


def test_each_table_has_a_quarantine_of_its_own_name() -> None:
    assert quarantine_of("nyc.flights") == "_quarantine.nyc_flights"
