"""A check on a metric's drift compares a file with the files of its table that were published last."""

import pytest

from lakegate.audit.evaluation.drift import drift_of
from lakegate.audit.evaluation.verdicts import Measurement, Measurements, evaluate
from lakegate.audit.model.plan import Check, Comparison, Drift, Metric, MetricKind, Operator, Plan, TableColumn, Unit
from lakegate.audit.model.report import CheckResult, Source, Verdict

METRIC = Metric(id="m", kind=MetricKind.VALUE, columns=("a",), sql="avg(a)")


def judged(
    value: float | None, past: tuple[float, ...], comparison: Comparison = Comparison.RATE, files: int = 3
) -> CheckResult:
    check = Check(
        id="c",
        name="mean of a against the last files",
        metric="m",
        operator=Operator.IN_RANGE,
        threshold=(-50, 50),
        unit=Unit.PERCENT if comparison is Comparison.RATE else Unit.ROWS,
        drift=Drift(comparison=comparison, files=files, at_least=2),
    )
    plan = Plan(
        table="n.t", contract_id="", contract_version="", contract_hash="",
        columns=(TableColumn(name="a", type="int"),), metrics=(METRIC,), checks=(check,),
    )  # fmt: skip
    measured = Measurements(file="f", rows=10, metrics={"m": Measurement(value=value, source=Source.AGGREGATE)})
    [result] = evaluate(plan, [measured], {}, {"m": past})["f"]
    return result


def test_a_rate_is_in_percent_of_the_mean_of_the_files_before() -> None:
    assert judged(15, (9, 11)).value == pytest.approx(50)
    assert judged(15, (9, 11)).verdict is Verdict.PASS
    assert judged(15.1, (9, 11)).verdict is Verdict.FAIL
    assert judged(-15, (-9, -11)).value == pytest.approx(-50)
    assert judged(15, (9, 11)).result == "50%"


def test_a_difference_is_in_the_metrics_own_unit() -> None:
    assert judged(60.5, (9, 11), Comparison.DIFFERENCE).value == pytest.approx(50.5)
    assert judged(60.5, (9, 11), Comparison.DIFFERENCE).verdict is Verdict.FAIL
    assert judged(60.5, (9, 11), Comparison.DIFFERENCE).result == "50.5"


def test_a_z_score_is_in_standard_deviations() -> None:
    assert judged(12, (9, 10, 11), Comparison.Z_SCORE).value == pytest.approx(2)


def test_only_the_last_files_are_looked_at() -> None:
    assert judged(15, (1000, 9, 11), files=2).value == pytest.approx(50)


def test_the_first_files_of_a_table_pass_and_say_why() -> None:
    result = judged(15, (10,))
    assert (result.verdict, result.value, result.measured) == (Verdict.PASS, None, 15)
    assert "too few published files" in result.expected


def test_a_file_without_a_value_does_not_pass_where_there_is_something_to_compare_with() -> None:
    assert judged(None, (9, 11)).verdict is Verdict.FAIL


def test_among_equals_only_the_same_again_passes() -> None:
    drift = Drift(comparison=Comparison.Z_SCORE, files=3, at_least=2)
    assert drift_of(drift, 5, (5, 5)) == 0
    assert drift_of(drift, 6, (5, 5)) is None
    assert judged(6, (5, 5), Comparison.Z_SCORE).verdict is Verdict.FAIL


def test_equals_that_no_bits_can_hold_exactly_are_equals_too() -> None:
    for same in (0.1, 0.7, 12.34):
        assert judged(same, (same,) * 3, Comparison.Z_SCORE).verdict is Verdict.PASS
        assert judged(same, (same,) * 3).value == 0


def test_there_is_no_rate_of_nothing() -> None:
    assert judged(1, (0, 0)).verdict is Verdict.FAIL
    assert judged(0, (0, 0)).verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("comparison", "value", "past"),
    [
        (Comparison.Z_SCORE, 1.0, (1.7e308, -1.7e308)),
        (Comparison.DIFFERENCE, 1.7e308, (-1.7e308, -1.7e308)),
        (Comparison.RATE, 1e300, (1e-300, 2e-300)),
    ],
)
def test_what_a_float_has_no_room_for_is_no_number(
    comparison: Comparison, value: float, past: tuple[float, ...]
) -> None:
    result = judged(value, past, comparison)
    assert (result.verdict, result.value, result.measured) == (Verdict.FAIL, None, value)


def test_what_is_expected_reads_well() -> None:
    assert judged(15, (9, 11)).expected == "-50% to 50% off their mean"
    assert judged(15, (9, 11), Comparison.Z_SCORE).expected == "-50 to 50 standard deviations off their mean"
