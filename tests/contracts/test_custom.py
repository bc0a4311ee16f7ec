"""Checks that ODCS has no word for: what they say of rows, judged by DuckDB, and how they are compared."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta
from typing import Any

import pyarrow as pa
import pytest

from lakegate.audit.model.plan import NOW, Operator, Proof, Severity, Unit
from tests.contracts.test_predicates import failing, failing_rows, plan_for

TODAY = datetime.now(UTC).replace(microsecond=0)


def checked(implementation: dict[str, Any], **said: Any) -> list[dict[str, Any]]:
    return [{"type": "custom", "engine": "lakegate", "implementation": implementation} | said]


@pytest.mark.parametrize(
    ("column", "kind", "past", "future"),
    [
        ({"logicalType": "timestamp"}, pa.timestamp("us", "UTC"), TODAY, TODAY + timedelta(days=1)),
        (
            {"logicalType": "timestamp", "logicalTypeOptions": {"timezone": False}},
            pa.timestamp("us"),
            TODAY.replace(tzinfo=None),
            TODAY.replace(tzinfo=None) + timedelta(days=1),
        ),
        ({"logicalType": "date"}, pa.date32(), TODAY.date(), TODAY.date() + timedelta(days=3)),
    ],
    ids=["instant", "clock", "date"],
)
def test_what_is_later_than_the_audit_is_in_the_future(
    column: dict[str, Any], kind: pa.DataType, past: date, future: date
) -> None:
    plan = plan_for(column | {"quality": checked({"notInFuture": True})})

    assert failing_rows(plan, [past, None, future], kind) == [future]
    assert failing_rows(plan, [None, None], kind) == []
    assert failing_rows(plan, [], kind) == []
    assert [metric.proof for metric in failing(plan)] == [Proof(column="it", maximum=NOW)]


def test_no_row_may_fail_where_no_operator_is_said() -> None:
    (check,) = plan_for({"logicalType": "date", "quality": checked({"notInFuture": True})}).checks

    assert (check.operator, check.threshold, check.unit) == (Operator.MUST_BE, (0,), Unit.ROWS)
    assert check.name == "notInFuture of it must be 0 rows"


def test_an_operator_stands_in_the_implementation_and_the_rest_where_odcs_has_it() -> None:
    quality = checked({"notInFuture": True, "mustBeLessThan": 1}, unit="percent", severity="warning", name="late")

    (check,) = plan_for({"logicalType": "date", "quality": quality}).checks

    assert (check.operator, check.threshold, check.unit) == (Operator.LESS_THAN, (1,), Unit.PERCENT)
    assert (check.severity, check.name) == (Severity.WARNING, "late")
