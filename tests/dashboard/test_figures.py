"""Tests of what pages show of an answer: sums, orders and words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.audit.model.plan import Severity, Unit
from lakegate.audit.model.report import CheckResult, FileReport, Report, Source, Verdict
from lakegate.dashboard.figures import LETTERS, cell, failing_first, faults, measure_texts, possible, tiles, timeline
from lakegate.operations.batch import BatchView, view_batch
from lakegate.operations.tables import audit_of
from lakegate.workflow.status import status
from tests.cli.desk import Desk

AT = datetime(2013, 1, 31, 4, 5, tzinfo=UTC)


def check(name: str, columns: tuple[str, ...] = ("a",), **changed: Any) -> CheckResult:
    made: dict[str, Any] = {"severity": Severity.ERROR, "verdict": Verdict.FAIL, "value": 1.0, "expected": "none",
                            "failing_rows": 1, "rows": 10, "source": Source.QUERY}  # fmt: skip
    return CheckResult(check=f"id-{name}", name=name, columns=columns, **(made | changed))


def report(*files: tuple[Verdict, tuple[CheckResult, ...]]) -> Report:
    its = tuple(FileReport(id=str(at), key=str(at), verdict=verdict, rows=10, checks=checks)
                for at, (verdict, checks) in enumerate(files))  # fmt: skip
    return Report(
        branch="b", batch="20130131T0405-1a2b3c4d", attempt=1, table="t", base="", audited="", plan_hash="",
        contract_hash="", contract_version="1", started_at=AT, finished_at=AT + timedelta(seconds=5), files=its,
    )  # fmt: skip


def test_faults_are_added_up_over_files_by_column_and_check() -> None:
    both = check("both", ("a", "b"))
    found = faults(report((Verdict.FAIL, (both, check("warned", verdict=Verdict.WARN))), (Verdict.FAIL, (both,))))
    assert [(it.column, it.check, it.failing_rows, it.share) for it in found] == [
        ("a", "both", 2, "10% of 20 rows"),
        ("b", "both", 2, "10% of 20 rows"),
        ("a", "warned", 1, "10% of 10 rows"),
    ]


def test_checks_that_no_row_fails_are_no_faults() -> None:
    assert faults(report((Verdict.FAIL, (check("mean", failing_rows=0),)))) == []


def test_an_audit_has_the_worst_verdict_and_the_spread_of_each_check() -> None:
    passed = check("a", verdict=Verdict.PASS, value=3.0, failing_rows=0)
    found = audit_of(report((Verdict.PASS, (passed,)), (Verdict.FAIL, (check("a", value=9.0, high=5.0),))))
    [number] = found.numbers
    assert (number.verdict, number.least, number.most, number.failing_rows) == (Verdict.FAIL, 3.0, 9.0, 1)
    assert found.verdicts == {"fail": 1, "pass": 1}


def test_numbers_are_told_with_their_units_and_bounds_and_the_worst_first() -> None:
    share = check("share", value=2.5, unit=Unit.PERCENT, high=5.0, verdict=Verdict.PASS)
    none = check("none", value=None, low=1.0, high=2.0)
    numbers = audit_of(report((Verdict.FAIL, (share, none)))).numbers
    assert [(it.name, it.value, it.passes) for it in measure_texts(numbers)] == [
        ("none", "no value", "1 to 2"),
        ("share", "2.5%", "up to 5%"),
    ]


def test_a_batch_is_told_from_its_landing_to_its_decision(desk: Desk) -> None:
    view: BatchView = view_batch(desk.world.service, desk.rejected())
    told = [event.text for event in timeline(view)]
    assert told == [
        "its first file landed",
        "attempt a1 began on the Spark lane",
        "a1 audited: 1 file: 1 failed",
        "1 file rejected (a1)",
    ]
    assert possible(view) == ["retry", "approve", "discard"]


def test_tiles_count_files_and_not_batches(desk: Desk) -> None:
    desk.published()
    desk.rejected()
    counted = {tile.label: tile.number for tile in tiles(status(desk.world.service))}
    assert (counted["Published"], counted["Rejected"], counted["In flight"]) == (1, 1, 0)


ROW = st.tuples(st.integers(0, 3), st.sampled_from([None, "a", "b"]))


@given(st.lists(st.lists(ROW, max_size=6), max_size=3), st.lists(ROW, max_size=9), st.integers(0, 12))
def test_rows_that_fail_come_first_and_no_row_is_lost_or_doubled(
    failing: list[list[tuple[Any, ...]]], others: list[tuple[Any, ...]], most: int
) -> None:
    every = failing_first(failing, others, 1000)
    assert failing_first(failing, others, most) == every[:most]
    for row in every:
        assert every.count(row) == max(rows.count(row) for rows in (*failing, others))
    fails = {row for rows in failing for row in rows}
    assert [row in fails for row in every] == sorted((row in fails for row in every), reverse=True)
    assert {*every} == {*others} | fails


def test_rows_with_lists_and_objects_are_told_apart() -> None:
    assert failing_first([[([1], {"a": 1})]], [([2], {"a": 1}), ([1], {"a": 1})], 9) == [
        ([1], {"a": 1}),
        ([2], {"a": 1}),
    ]


@pytest.mark.parametrize("letter", ["x", "\u00e9", "\U0001f600"])
def test_a_long_value_is_cut_and_says_how_much_is_left_out(letter: str) -> None:
    assert cell(letter * LETTERS) == letter * LETTERS
    assert cell(letter * (LETTERS + 1)) == f"{letter * LETTERS}… and 1 more character"
    assert cell(letter * (LETTERS + 2_000)) == f"{letter * LETTERS}… and 2,000 more characters"
    for nested in ([letter] * LETTERS, {"a": letter * LETTERS}, b"x" * LETTERS):
        shown = cell(nested)
        assert (len(shown) < LETTERS + 50, shown.endswith(" more characters")) == (True, True)
    assert [cell(value) for value in ([1], {"a": None}, 1, None, True)] == [[1], {"a": None}, 1, None, True]
