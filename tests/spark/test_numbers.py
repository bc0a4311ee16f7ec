"""Statistics and queries over the rows of each file, on Spark, against what Python makes of the same values."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from pyspark.sql import SparkSession

from lakegate.audit.model.plan import Metric
from lakegate.audit.model.report import Source, Verdict
from lakegate.contracts import load
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import physical
from lakegate.contracts.metrics import aggregates
from lakegate.contracts.metrics.metric import aggregate_metric, query_metric
from lakegate.contracts.sql.statements import Form, scalar
from tests.support.branch_table import Table
from tests.support.plans import plan

pytestmark = pytest.mark.spark
TYPES = {"i": "int", "b": "bigint", "x": "double", "d": "decimal(10,2)", "s": "string"}
FIELDS = {name: Field(label=name, name=name, type=physical(kind)) for name, kind in TYPES.items()}
NAN = float("nan")
FILES: dict[str, list[tuple[object, ...]]] = {
    "full": [
        (3, 2**62, 1.5, Decimal("0.10"), "a", None),
        (-1, 2**62, -2.25, Decimal("0.20"), "b", None),
        (4, 5, 0.0, Decimal("-99999999.99"), "a", None),
        (4, 2**62, -0.0, Decimal("0.70"), "", None),
        (None, None, None, None, None, None),
    ],
    "nan": [(1, 1, NAN, Decimal(1), "a", None), (2, 2, NAN, Decimal(1), "b", None), (3, 3, 7.0, None, "c", None)],
    "none": [(None,) * 6, (None,) * 6],
    "one": [(7, -7, float("inf"), Decimal("7.70"), "z", None)],
}


def quantile(at: float) -> Callable[[Sequence[float]], float]:
    def of(values: Sequence[float]) -> float:
        whole, part = divmod(at * (len(values) - 1), 1)
        below, above = (sorted(values)[min(int(whole) + step, len(values) - 1)] for step in (0, 1))
        return float(below) + part * float(above - below)

    return of


NUMERIC: dict[str, tuple[Callable[[Field], Metric], Callable[[Sequence[float]], float]]] = {
    "mean": (aggregates.mean, statistics.fmean),
    "median": (aggregates.median, statistics.median),
    "quantile": (lambda field: aggregates.quantile(field, 0.9), quantile(0.9)),
    "standardDeviation": (aggregates.standard_deviation, statistics.stdev),
    "sum": (aggregates.total, sum),
    "minimum": (aggregates.least, min),
    "maximum": (aggregates.greatest, max),
}
COUNTED: dict[str, tuple[Callable[[Field], Metric], Callable[[Sequence[object]], float | None]]] = {
    "distinct": (aggregates.distinct, lambda values: len(different(values))),
    "distinct %": (
        aggregates.distinct_percent,
        lambda values: 100 * len(different(values)) / len(there(values)) if there(values) else None,
    ),
}
QUERIES: dict[str, dict[str, float | None]] = {
    "SELECT COUNT(*) FROM {object} WHERE s = 'a' OR i > 3": {"full": 3, "nan": 1, "none": 0, "one": 1},
    "SELECT SUM(i) / COUNT(*) FROM {object} WHERE x > 0": {"full": 3, "nan": 2, "none": None, "one": 7},
    "SELECT COUNT(DISTINCT s, i) FROM {object}": {"full": 4, "nan": 3, "none": 0, "one": 1},
    "SELECT COUNT(*) > 1 FROM {object}": {"full": 1, "nan": 1, "none": 1, "one": 0},
    "SELECT COUNT(*) FROM (SELECT s FROM {object} GROUP BY s HAVING COUNT(*) > 1)": {
        "full": 1,
        "nan": 0,
        "none": 1,
        "one": 0,
    },
    "SELECT MAX(n) FROM (SELECT s AS k, COUNT(*) AS n FROM {object} WHERE i > 3 GROUP BY s)": {
        "full": 1,
        "nan": None,
        "none": None,
        "one": 1,
    },
}


def there(values: Sequence[object]) -> list[object]:
    return [each for each in values if each is not None]


def different(values: Sequence[object]) -> set[object]:
    """NaN is one value, and the two zeros are one."""
    return {"NaN" if isinstance(each, float) and math.isnan(each) else each for each in there(values)}


def told(of: Callable[[Sequence[float]], float], values: Sequence[object]) -> float | None:
    """Return what Python makes of the numbers; None where it makes nothing of them, or nothing finite."""
    numbers: list[Any] = [each for each in there(values) if isinstance(each, int | float | Decimal)]
    if not numbers:
        return None
    try:
        found = float(of(numbers)) if not any(map(math.isnan, numbers)) else NAN
    except (ValueError, statistics.StatisticsError):
        return None
    return found if math.isfinite(found) else None


def of(word: str) -> tuple[str, ...]:
    """Columns to ask for it: a quantile costs a pass over each."""
    return ("x", "d") if word in ("median", "quantile") else ("i", "b", "x", "d")


def metric_of(query: str) -> Metric:
    found = scalar(query, list(FIELDS.values()), ())
    if found.form is Form.QUERY:
        return query_metric(found.columns, found.sql)
    return aggregate_metric(found.columns, found.sql, is_alone=found.form is Form.HEAVY)


def test_numbers_of_files_are_what_python_makes_of_their_values(spark: SparkSession) -> None:
    wanted = {(name, word): made(FIELDS[name]) for word, (made, _) in NUMERIC.items() for name in of(word)}
    wanted |= {(name, word): made(FIELDS[name]) for word, (made, _) in COUNTED.items() for name in ("x", "s")}
    queries = {query: metric_of(query) for query in QUERIES}
    shares = aggregates.having_percent(FIELDS["s"], ["a", ""]), aggregates.count_of_values(FIELDS["x"], [0.0])
    by = plan("nyc.t", TYPES, list({m.id: m for m in (*wanted.values(), *queries.values(), *shares)}.values()))

    measured = Table(spark=spark, plan=by).hold(FILES).measured()

    wrong = []
    for file in measured:
        columns = dict(zip(TYPES, zip(*FILES[file.file], strict=True), strict=False))
        for (name, word), metric in wanted.items():
            said = COUNTED[word][1](columns[name]) if word in COUNTED else told(NUMERIC[word][1], columns[name])
            found = file.metrics[metric.id].value
            if not same(found, said):
                wrong.append((file.file, name, word, found, said))
        for query, metric in queries.items():
            found, said = file.metrics[metric.id].value, QUERIES[query][file.file]
            if not same(found, said):
                wrong.append((file.file, "", query, found, said))
    assert wrong == []
    assert [[file.metrics[share.id].value for share in shares] for file in measured] == [
        [60.0, 2],
        [pytest.approx(100 / 3), 0],
        [0.0, 0],
        [0.0, 0],
    ]
    said_by = {word: measured[0].metrics[wanted["d", word].id].source for word in ("minimum", "mean", "median")}
    assert said_by == {"minimum": Source.STATISTICS, "mean": Source.AGGREGATE, "median": Source.QUERY}


WIDE = {
    "a": "decimal(38,0)",
    "b": "decimal(38,10)",
    "c": "decimal(38,18)",
    "d": "decimal(38,30)",
    "e": "decimal(38,37)",
}
UNITS: Mapping[str, Sequence[int | None]] = {  # of a decimal's last place
    "beyond": [10**38 - 1] * 7 + [3],
    "below": [1 - 10**38] * 7 + [5, None],
    "there and back": [10**38 - 1, 10**38 - 7, 1 - 10**38, 9 - 10**38],
    "nearly nothing": [10**37, 9 * 10**37, 10**37, 1 - 10**38, 1 - 10**37, -(10**19)],
    "small": [1, 2, -10, 10**19, 10**19 - 1, 1 - 10**19],
    "none": [None, None],
}


def test_wide_decimals_are_added_up_exactly_however_far_they_go_on_the_way(spark: SparkSession) -> None:
    fields = {name: Field(label=name, name=name, type=physical(kind)) for name, kind in WIDE.items()}
    places = {name: field.type.name.rstrip(")").rpartition(",")[2] for name, field in fields.items()}
    asked = {"sum": aggregates.total, "mean": aggregates.mean}
    by = plan("nyc.wide", WIDE, [made(field) for field in fields.values() for made in asked.values()])
    files = {file: [_in_each(unit, list(places.values())) for unit in units] for file, units in UNITS.items()}
    measured = Table(spark=spark, plan=by).hold(files).measured()
    found = {
        (file.file, name, word): file.metrics[made(fields[name]).id].value
        for file in measured
        for name in WIDE
        for word, made in asked.items()
    }
    said = {
        (file, name, word): _total(units, word) * 10 ** -int(places[name]) if _there(units) else None
        for file, units in UNITS.items()
        for name in WIDE
        for word in asked
    }
    assert {at: (number, said[at]) for at, number in found.items() if not same(number, said[at])} == {}


def _in_each(unit: int | None, places: Sequence[str]) -> tuple[object, ...]:
    return (*(None if unit is None else Decimal(f"{unit}E-{each}") for each in places), None)


def _there(units: Sequence[int | None]) -> list[int]:
    return [unit for unit in units if unit is not None]


def _total(units: Sequence[int | None], word: str) -> float:
    values = _there(units)
    return float(Fraction(sum(values), len(values) if word == "mean" else 1))


def same(one: float | None, other: float | None) -> bool:
    return one is other is None or (one is not None and other is not None and math.isclose(one, other, rel_tol=1e-9))


CONTRACT = """
apiVersion: v3.2.0
kind: DataContract
id: flights
version: 1.0.0
servers: [{server: landing, type: s3, location: "s3://landing/x/*", format: parquet}]
schema:
  - name: t
    physicalName: nyc.t
    properties:
      - {name: from, logicalType: timestamp}
      - {name: to, logicalType: timestamp}
      - name: miles
        logicalType: integer
        quality:
          - {type: custom, engine: lakegate, name: mean, implementation: {mean: true, mustBeBetween: [-5, 5]}}
          - {type: custom, engine: lakegate, name: least, implementation: {minimum: true, mustBeGreaterThan: -10}}
    quality:
      - {type: custom, engine: lakegate, name: order, implementation: {row: "`to` >= `from`"}}
      - {type: custom, engine: lakegate, name: some, implementation: {atLeastOneOf: [from, to]}}
      - {type: sql, name: query, mustBe: 0, query: "
          SELECT COUNT(*) FROM (SELECT miles FROM {object} GROUP BY miles HAVING COUNT(*) > 1)"}
"""
EARLY, LATE = datetime(2013, 1, 1, tzinfo=UTC), datetime(2013, 1, 2, tzinfo=UTC)


def test_a_contract_s_rules_statistics_and_queries_judge_each_file_alone(spark: SparkSession) -> None:
    files: dict[str, list[tuple[object, ...]]] = {
        "bad": [(LATE, EARLY, 60, None), (EARLY, LATE, -20, None), (None, None, -20, None)],
        "good": [(EARLY, LATE, 1, None), (EARLY, None, -9, None), (None, LATE, None, None)],
        "none": [(None, None, None, None)],
    }

    judged = Table(spark=spark, plan=load(CONTRACT, "x.yaml").plan).hold(files).judged()

    said = {
        file: {check.name: check.value for check in checks if check.verdict is Verdict.FAIL}
        for file, checks in judged.items()
    }
    assert said == {
        "bad": {"mean": pytest.approx(20 / 3), "least": -20, "order": 1, "some": 1, "query": 1},
        "good": {},
        "none": {"mean": None, "least": None, "some": 1},
    }
    samples = {check.name: [(row["from"], row["to"]) for row in check.sample] for check in judged["bad"]}
    late, early = LATE.isoformat().replace("+00:00", "Z"), EARLY.isoformat().replace("+00:00", "Z")
    assert samples == {"order": [(late, early)], "some": [(None, None)], "mean": [], "least": [], "query": []}
