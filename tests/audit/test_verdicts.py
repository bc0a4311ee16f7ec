"""Checks on files, and whose fault a duplicate is."""

from collections.abc import Iterator, Mapping
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakegate.audit.evaluation.duplicates import Pattern, Repeats
from lakegate.audit.evaluation.table_scope import Orphans, TableRows
from lakegate.audit.evaluation.verdicts import Measurement, Measurements, evaluate, expected, good, verdict
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.plan import (
    Check,
    Comparison,
    Drift,
    Metric,
    MetricKind,
    Operator,
    Plan,
    Reference,
    Scope,
    Severity,
    TableColumn,
    Unit,
)
from lakegate.audit.model.report import Source, Verdict


def check(
    operator: Operator = Operator.MUST_BE,
    *threshold: float,
    unit: Unit = Unit.ROWS,
    severity: Severity = Severity.ERROR,
    metric: str = "nulls",
) -> Check:
    return Check(
        id="c",
        name="id required",
        metric=metric,
        operator=operator,
        threshold=threshold or (0,),
        unit=unit,
        severity=severity,
        columns=("id",),
    )


def plan(*checks: Check) -> Plan:
    metrics = (
        Metric(id="rows", kind=MetricKind.ROWS),
        Metric(id="nulls", kind=MetricKind.NULLS, columns=("id",)),
        Metric(id="same", kind=MetricKind.DUPLICATES, columns=("id",)),
    )
    return Plan(
        table="nyc.flights",
        contract_id="c",
        contract_version="1",
        contract_hash="h",
        columns=(TableColumn(name="id", type="int"),),
        metrics=metrics,
        checks=checks,
    )


def file(name: str = "f1", nulls: int = 0, rows: int = 100) -> Measurements:
    metrics = {
        "rows": Measurement(value=rows, source=Source.STATISTICS),
        "nulls": Measurement(value=nulls, source=Source.STATISTICS),
    }
    return Measurements(file=name, rows=rows, metrics=metrics)


def repeats(*patterns: tuple[Mapping[str, int], int]) -> Repeats:
    return Repeats(patterns=tuple(Pattern(counts=counts, keys=keys) for counts, keys in patterns))


@pytest.mark.parametrize(
    ("operator", "threshold", "holding", "failing"),
    [
        (Operator.MUST_BE, (5,), 5, 6),
        (Operator.MUST_NOT_BE, (5,), 6, 5),
        (Operator.GREATER_THAN, (5,), 6, 5),
        (Operator.GREATER_OR_EQUAL, (5,), 5, 4),
        (Operator.LESS_THAN, (5,), 4, 5),
        (Operator.LESS_OR_EQUAL, (5,), 5, 6),
        (Operator.IN_RANGE, (5, 7), 7, 8),
        (Operator.OUT_OF_RANGE, (5, 7), 8, 7),
    ],
)
def test_every_operator_holds_and_fails(
    operator: Operator, threshold: tuple[float, ...], holding: int, failing: int
) -> None:
    rule = plan(check(operator, *threshold))
    results = evaluate(rule, [file("f1", holding), file("f2", failing)], {})
    assert [results[name][0].verdict for name in ("f1", "f2")] == [Verdict.PASS, Verdict.FAIL]


def test_a_warning_does_not_reject() -> None:
    results = evaluate(plan(check(severity=Severity.WARNING)), [file(nulls=1)], {})
    assert verdict(results["f1"]) is Verdict.WARN
    assert good(results) == ["f1"]


def test_the_worst_verdict_wins() -> None:
    results = evaluate(plan(check(severity=Severity.WARNING), check()), [file(nulls=1)], {})
    assert verdict(results["f1"]) is Verdict.FAIL


def test_percent_is_of_the_files_rows() -> None:
    [result] = evaluate(plan(check(Operator.LESS_OR_EQUAL, 5, unit=Unit.PERCENT)), [file(nulls=12, rows=200)], {})["f1"]
    assert (result.value, result.verdict, result.failing_rows) == (6.0, Verdict.FAIL, 12)
    assert result.reason == "id required: 6% (12 of 200 rows), expected at most 5%"


def test_percent_of_no_rows_is_zero() -> None:
    [result] = evaluate(plan(check(unit=Unit.PERCENT)), [file(rows=0)], {})["f1"]
    assert (result.value, result.verdict) == (0.0, Verdict.PASS)


@pytest.mark.parametrize(
    ("value", "failing", "unit", "said"),
    [
        (None, 0, Unit.ROWS, "no value"),
        (12.0, 12, Unit.ROWS, "12 of 2,000 rows"),
        (1_234_567.0, 0, Unit.ROWS, "1,234,567"),
        (0.6, 12, Unit.PERCENT, "0.6% (12 of 2,000 rows)"),
        (100 / 3, 0, Unit.PERCENT, "33.3333333%"),
        (1_234_567.5, 0, Unit.NUMBER, "1,234,567.5"),
        (1.5e-9, 0, Unit.NUMBER, "1.5e-09"),
        (1e300, 0, Unit.NUMBER, "1e+300"),
        (123_456_789_012_345.0, 0, Unit.NUMBER, "123,456,789,012,345"),
        (float("nan"), 0, Unit.NUMBER, "nan"),
    ],
)
def test_what_was_found_reads_as_a_person_would_say_it(
    value: float | None, failing: int, unit: Unit, said: str
) -> None:
    [result] = evaluate(plan(check()), [file(rows=2000)], {})["f1"]
    assert replace(result, value=value, failing_rows=failing, unit=unit).result == said


def test_a_row_count_that_fails_has_no_failing_rows() -> None:
    [result] = evaluate(plan(check(Operator.GREATER_OR_EQUAL, 1_000_000, metric="rows")), [file()], {})["f1"]
    assert (result.failing_rows, result.reason) == (0, "id required: 100, expected at least 1,000,000")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        (check(), "none"),
        (check(Operator.MUST_BE, 3), "exactly 3"),
        (check(Operator.LESS_THAN, 0.5, unit=Unit.PERCENT), "less than 0.5%"),
        (check(Operator.IN_RANGE, 1000, 2000), "1,000 to 2,000"),
    ],
)
def test_what_is_expected_reads_as_a_person_would_say_it(rule: Check, said: str) -> None:
    assert expected(rule) == said


def test_a_value_in_percent_is_one_already() -> None:
    of = Metric(id="v", kind=MetricKind.VALUE, columns=("id",), sql="…")
    rule = replace(plan(check(Operator.LESS_THAN, 50, unit=Unit.PERCENT, metric="v")), metrics=(of,))
    measured = Measurements(file="f1", rows=10, metrics={"v": Measurement(value=40.0, source=Source.AGGREGATE)})

    [result] = evaluate(rule, [measured], {})["f1"]

    assert (result.value, result.verdict, result.expected) == (40.0, Verdict.PASS, "less than 50%")
    assert result.reason == "id required: 40%, expected less than 50%"


def test_a_zero_is_told_without_its_sign_because_engines_differ_in_it() -> None:
    rule = replace(check(Operator.GREATER_THAN, 1, metric="rows"), unit=Unit.NUMBER)
    there = replace(file(), metrics={"rows": Measurement(value=-0.0, source=Source.AGGREGATE)})
    [found] = evaluate(plan(rule), [there], {})["f1"]
    assert (str(found.value), str(found.measured)) == ("0.0", "0.0")


def test_a_number_that_must_be_zero_is_no_count_of_rows() -> None:
    assert expected(check(unit=Unit.NUMBER)) == "exactly 0"


def duplicates(files: list[Measurements], found: Repeats, *more: Check) -> dict[str, float]:
    results = evaluate(plan(check(metric="same"), *more), files, {"same": found})
    return {name: checks[0].value or 0 for name, checks in results.items()}


def test_a_key_twice_in_one_file_counts_once() -> None:
    assert duplicates([file("f1"), file("f2")], repeats(({"f1": 2}, 3))) == {"f1": 3, "f2": 0}


def test_of_two_files_with_the_same_keys_the_later_is_to_blame() -> None:
    assert duplicates([file("f1"), file("f2")], repeats(({"f1": 1, "f2": 1}, 7))) == {"f1": 0, "f2": 7}


def test_a_key_of_a_rejected_file_is_still_free() -> None:
    bad = file("f1", nulls=1)
    assert duplicates([bad, file("f2")], repeats(({"f1": 1, "f2": 1}, 7)), check()) == {"f1": 0, "f2": 0}


def test_blame_goes_in_turn_through_many_files() -> None:
    found = repeats(({"f1": 2}, 1), ({"f1": 1, "f2": 1}, 1), ({"f2": 1, "f3": 1}, 1), ({"f3": 1, "f4": 1}, 1))
    assert duplicates([file(f"f{n}") for n in (1, 2, 3, 4)], found) == {"f1": 1, "f2": 0, "f3": 1, "f4": 0}


@given(st.lists(st.lists(st.integers(0, 4), max_size=6), min_size=1, max_size=4))
def test_blame_is_what_reading_the_rows_in_turn_would_say(rows: list[list[int]]) -> None:
    names = [f"f{number}" for number in range(len(rows))]
    counts = {key: {n: r.count(key) for n, r in zip(names, rows, strict=True) if key in r} for key in range(5)}
    found = repeats(*((each, 1) for each in counts.values() if sum(each.values()) > 1))
    seen: set[int] = set()
    said = {}
    for name, keys in zip(names, rows, strict=True):
        said[name] = sum(key in seen or key in keys[:at] for at, key in enumerate(keys))
        seen |= set() if said[name] else set(keys)
    assert duplicates([file(name) for name in names], found) == said


def test_a_key_that_the_table_has_is_a_duplicate_in_every_file() -> None:
    taken = Repeats(
        patterns=(Pattern(counts={"f1": 1, "f2": 2}, keys=3, in_table=True), Pattern(counts={"f2": 2}, keys=1))
    )
    assert taken.count("f1", []) == 3
    assert taken.count("f2", []) == 7
    assert taken.count("f2", ["f1"]) == 7
    assert taken.count("f3", ["f1", "f2"]) == 0


def test_a_file_that_repeats_nothing_is_compared_with_no_pattern_and_no_file() -> None:
    class Unseen(list[str]):
        def __iter__(self) -> Iterator[str]:
            raise AssertionError

    assert repeats(({"f1": 1, "f2": 1}, 7)).count("f3", Unseen(["f1", "f2"])) == 0


def test_orphans_are_their_own_files_fault() -> None:
    orphans = Orphans(rows={"f2": 4})
    assert [orphans(name, ["f1"]).value for name in ("f1", "f2")] == [0, 4]


def test_a_table_has_the_rows_of_its_good_files_and_of_the_file_that_is_judged() -> None:
    files = [file("f1", rows=10), file("f2", nulls=1, rows=100), file("f3", rows=1000)]
    checks = (check(), check(Operator.LESS_THAN, 1500, metric="all"))
    metrics = (*plan().metrics, Metric(id="all", kind=MetricKind.ROWS, scope=Scope.TABLE))
    by = replace(plan(*checks), metrics=metrics)
    rows = TableRows(before=500, rows={each.file: each.rows for each in files})
    judged = evaluate(by, files, {"all": rows})
    assert [results[1].value for results in judged.values()] == [510, 610, 1510]
    assert good(judged) == ["f1"]


def test_a_plan_knows_the_tables_that_its_verdicts_depend_on() -> None:
    own = Metric(id="a", kind=MetricKind.DUPLICATES, columns=("id",), scope=Scope.TABLE)
    other = Metric(
        id="b",
        kind=MetricKind.ORPHANS,
        columns=("id",),
        scope=Scope.TABLE,
        refers_to=Reference(table="nyc.planes", columns=("tailnum",)),
    )
    assert plan().depends_on == ()
    assert replace(plan(), metrics=(other,)).depends_on == ("nyc.planes",)
    assert replace(plan(), metrics=(other, own)).depends_on == ("nyc.flights", "nyc.planes")
    assert from_json(Plan, to_json(replace(plan(), metrics=(own, other)))).depends_on == ("nyc.flights", "nyc.planes")


def test_a_plan_knows_the_tables_that_foreign_keys_alone_make_its_verdicts_depend_on() -> None:
    planes, flights = (Reference(table=f"nyc.{name}", columns=("id",)) for name in ("planes", "flights"))
    key = Metric(id="k", kind=MetricKind.ORPHANS, columns=("a",), scope=Scope.TABLE, refers_to=planes)
    own = replace(key, id="o", refers_to=flights)
    mean = replace(key, id="m", kind=MetricKind.VALUE)
    unique = Metric(id="u", kind=MetricKind.DUPLICATES, columns=("a",), scope=Scope.TABLE)
    none = Check(id="c", name="c", metric="k", operator=Operator.MUST_BE, threshold=(0,))
    few = replace(none, operator=Operator.LESS_THAN, threshold=(5,))
    assert replace(plan(), metrics=(key, unique), checks=(none, few)).refers_to == {"nyc.planes"}
    assert replace(plan(), metrics=(own,)).refers_to == set()  # rows of its own table that it refers to
    assert replace(plan(), metrics=(key, mean), checks=(none,)).refers_to == set()
    for check in (
        replace(none, threshold=(3,)),
        replace(none, operator=Operator.GREATER_THAN),
        replace(few, drift=Drift(comparison=Comparison.RATE, files=3, at_least=1)),
    ):
        assert replace(plan(), metrics=(key,), checks=(none, check)).refers_to == set()
