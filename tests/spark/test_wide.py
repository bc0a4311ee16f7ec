"""Tables of thousands of columns: what is planned for a file grows with its columns, and not with their square."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.evaluation.verdicts import Measurement, Measurements, evaluate
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.plan import Metric, MetricKind, Plan
from lakegate.audit.model.report import Source
from lakegate.audit.schema import fit, names
from lakegate.audit.schema.fit import FileColumn, agree
from spark_jobs.appending.rows import rows_of
from spark_jobs.jvm.spark_sql import sum_sql
from tests.support.inspection import inspections
from tests.support.plans import none_of, plan

WIDEST = 5_000
KINDS = ("int", "double", "decimal(10,2)", "date", "timestamp", "string", "boolean")


def wide(columns: int) -> dict[str, str]:
    return {f"c{at}": KINDS[at % len(KINDS)] for at in range(columns)}


def body_of(kind: FileKind, columns: int) -> bytes:
    if kind is FileKind.CSV:
        return (",".join(wide(columns)) + "\n" + "," * (columns - 1) + "1\n").encode()
    return json.dumps(dict.fromkeys(wide(columns))).encode()


@pytest.mark.spark
@pytest.mark.parametrize("kind", [FileKind.CSV, FileKind.JSON])
def test_nothing_is_inferred_of_pairs_of_columns(spark: SparkSession, tmp_path: Path, kind: FileKind) -> None:
    of = replace(plan("nyc.t", wide(40)), files=FileFormat(kind=kind))
    found = inspections(spark, tmp_path, of, body_of(kind, 40))
    assert [each.faults for each in found] == [()]
    planned = rows_of(spark, of, found)._jdf.queryExecution().optimizedPlan()
    assert planned.constraints().size() == 0


@pytest.mark.spark
def test_a_sum_of_as_many_columns_as_a_file_may_have_is_read(spark: SparkSession) -> None:
    """A chain of as many additions overflows the stack of Spark's parser."""
    numbers = [f"c{at}" for at in range(WIDEST)]
    assert spark.range(1).select(F.expr(sum_sql(["id"] * 9)).alias("n")).collect()[0]["n"] == 0
    assert str(F.expr(sum_sql(numbers))).count("+") == WIDEST - 1


class Counted(tuple[Metric, ...]):
    """Metrics that count how often one of them is looked at in passing."""

    __slots__ = ()
    looked_at = 0

    def __iter__(self) -> Iterator[Metric]:
        for each in super().__iter__():
            Counted.looked_at += 1
            yield each


def test_a_check_s_metric_is_found_without_looking_at_all_others() -> None:
    metrics = [Metric(id=f"m{at}", kind=MetricKind.NULLS, columns=(f"c{at}",)) for at in range(WIDEST)]
    of: Plan = replace(plan("nyc.t", wide(WIDEST)), metrics=Counted(metrics), checks=tuple(map(none_of, metrics)))
    Counted.looked_at = 0
    none = {each.id: Measurement(value=0, source=Source.STATISTICS) for each in metrics}
    evaluate(of, [Measurements(file="f1", rows=25, metrics=none)], {})
    assert Counted.looked_at <= 5 * WIDEST


@pytest.mark.parametrize("named", [str.upper, "{} ".format, "x{}".format], ids=["in capitals", "spaced", "other"])
def test_names_of_a_wide_file_are_not_compared_pair_by_pair(named: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    fold, seen = names.fold, list[str]()

    def counted(name: str) -> str:
        seen.append(name)
        return fold(name)

    monkeypatch.setattr(fit, "fold", counted)
    of = plan("nyc.t", dict.fromkeys(wide(500), "int"))
    columns = [FileColumn(name=named(name), type="int") for name in wide(500)]
    assert agree(of, None, [columns]).fits[0].faults
    assert len(seen) <= 20 * 500
