"""Rows as JSON, spelled as Spark and Java spell them."""

from __future__ import annotations

import json
from datetime import date, datetime
from decimal import Decimal
from typing import Any

import pytest

from lakegate.express.spelling import row_json


@pytest.mark.parametrize(
    ("kind", "value", "told"),
    [
        ("bigint", 7, "7"),
        ("boolean", True, "true"),
        ("boolean", None, "null"),
        ("double", 1.0, "1.0"),
        ("double", -0.0, "-0.0"),
        ("double", 9999999.0, "9999999.0"),
        ("double", 1e7, "1.0E7"),
        ("double", -1.25e-5, "-1.25E-5"),
        ("double", 0.001, "0.001"),
        ("double", 1.7976931348623157e308, "1.7976931348623157E308"),
        ("double", float("nan"), '"NaN"'),
        ("double", float("-inf"), '"-Infinity"'),
        ("float", 1.100000023841858, "1.1"),
        ("decimal(7,2)", Decimal("1.10"), "1.10"),
        ("decimal(38,10)", Decimal("0E-10"), "0E-10"),
        ("string", 'é"\\\n\x01/', '"é\\"\\\\\\n\\u0001/"'),
        ("binary", b"\x01\xff", '"Af8="'),
        ("date", date(2013, 1, 31), '"2013-01-31"'),
        ("timestamp", datetime(2013, 1, 31, 5), '"2013-01-31T05:00:00.000000Z"'),  # noqa: DTZ001 - in UTC already
        ("timestamp_ntz", datetime.fromisoformat("2013-01-31T05:00:00.000120"), '"2013-01-31T05:00:00.000120"'),
    ],
)
def test_a_value_is_told_whole(kind: str, value: Any, told: str) -> None:
    said = row_json({"x": kind}, [value])
    assert said == f'{{"x":{told}}}'
    assert set(json.loads(said)) == {"x"}


def test_columns_come_in_their_order_by_names_of_any_letters() -> None:
    assert row_json({'b"': "int", "a": "int"}, [1, None]) == '{"b\\"":1,"a":null}'
