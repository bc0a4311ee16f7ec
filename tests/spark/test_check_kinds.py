"""Every kind of check that docs/reference/checks.md has, over made-up rows: good ones, failing ones, none, and nothing
but nulls.

What failing rows are is for tests.support.synthetic to find; here the audit says whether they are.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from lakegate.audit.evaluation.verdicts import Measurements, evaluate
from lakegate.audit.model.plan import MetricKind, Plan
from lakegate.audit.model.report import CheckResult, Verdict
from lakegate.contracts import load
from lakegate.contracts.checks.custom import COLUMN
from spark_jobs.metrics.measure import measure_all
from spark_jobs.tables.ddl import prepare
from tests.support import branch_table
from tests.support.catalogue import KINDS, SERVER, Kind
from tests.support.plans import plan
from tests.support.synthetic.rows import Maker

pytestmark = pytest.mark.spark
ROWS = 12
CUSTOMERS = pa.table({"id": pa.array([1, 2, 3], pa.int32())})
PASS, FAIL = Verdict.PASS, Verdict.FAIL
NEITHER: dict[str, tuple[Verdict, Verdict]] = {  # what a check says of no rows, and of rows of nothing but nulls
    "required": (PASS, FAIL),
    "nullValues": (PASS, FAIL),
    "atLeastOneOf": (PASS, FAIL),
    "rowCount": (FAIL, PASS),
    "drift of the table": (FAIL, PASS),  # as many rows as the files before
    **dict.fromkeys(("distinctValues", "share", "query", "latency", "drift"), (FAIL, FAIL)),
    **dict.fromkeys(("mean", "median", "quantile", "standardDeviation", "sum"), (FAIL, FAIL)),
    # The least and the greatest value are numbers that must be there; the bounds of the same names count rows.
    **dict.fromkeys(("minimum of a value", "maximum of a value"), (FAIL, FAIL)),
}  # all else counts rows that have a value
CASES = [kind for kind in KINDS if kind.place != SERVER]  # a row that does not parse: test_made_up


def neither(kind: Kind) -> tuple[Verdict, Verdict]:
    place = "a value" if "implementation" in kind.example and kind.place == COLUMN else kind.place
    return NEITHER.get(f"{kind.word} of {place}", NEITHER.get(kind.word, (PASS, PASS)))


def made(by: Plan) -> dict[str, pa.Table]:
    """The files that a check is shown, and what the files before measured."""
    maker = Maker(plan=by, seed=7, references={"shop.customers": CUSTOMERS}, past=past(by))
    bad = maker.empty() if counts_files_rows(by) else maker.failing(ROWS, by.checks[0])
    nulls = pa.table([pa.nulls(ROWS, column.type) for column in maker.empty().columns], maker.empty().column_names)
    return {"good": maker.good(ROWS), "bad": bad, "empty": maker.empty(), "nulls": nulls}


def past(by: Plan) -> dict[str, tuple[float, ...]]:
    return {check.metric: (ROWS - 1, ROWS, ROWS + 1, ROWS, ROWS) for check in by.checks if check.drift}


def counts_files_rows(by: Plan) -> bool:
    """Return True if the check is that there are rows at all: only a file without any fails it."""
    return by.metric(by.checks[0].metric).kind is MetricKind.ROWS and not by.checks[0].drift


@pytest.fixture
def said(spark: SparkSession) -> dict[str, dict[str, tuple[CheckResult, ...]]]:
    """Return what the audit says of every kind's files: one append and one measurement for all kinds with the same
    columns.
    """
    customers = branch_table.Table(spark=spark, plan=plan("shop.customers", {"id": "int"})).on_main(
        {"c": [(1, None), (2, None), (3, None)]}
    )
    plans = {f"{at}": load(kind.contract, kind.word).plan for at, kind in enumerate(CASES)}
    alike = defaultdict(list)
    for name, by in plans.items():
        alike[by.columns].append(name)
    found: dict[str, dict[str, tuple[CheckResult, ...]]] = {}
    for number, names in enumerate(alike.values()):
        files = {f"{name} {file}": rows for name in names for file, rows in made(plans[name]).items()}
        every = branch_table.together([plans[name] for name in names], f"kinds.t{number}", plans[names[0]].columns)
        prepare(spark, every, None)
        rows = {
            file: list(zip(*(column.to_pylist() for column in table.columns), strict=True))
            for file, table in files.items()
        }
        there = branch_table.Table(spark=spark, plan=every, others={"shop.customers": customers.before})
        branch_table.write(spark, every.table, every.columns, rows)
        batch = replace(there.batch, files={file: there.files.get(file, []) for file in files})
        measured, dependents = measure_all(every, batch, there.base)
        for each in measured:
            name, _, file = each.file.partition(" ")
            found.setdefault(name, {})[file] = judged(plans[name], each, dependents)
    return found


def judged(by: Plan, file: Measurements, dependents: dict[str, Any]) -> tuple[CheckResult, ...]:
    mine = {metric.id: dependents[metric.id] for metric in by.metrics if metric.id in dependents}
    [checks] = evaluate(by, [file], mine, past(by)).values()
    return checks


def test_each_kind_of_check_says_what_is_wrong_and_nothing_else(
    said: dict[str, dict[str, tuple[CheckResult, ...]]],
) -> None:
    wrong = []
    for at, kind in enumerate(CASES):
        (check, *_), files = said[str(at)]["good"], said[str(at)]
        verdicts = {
            file: next(each.verdict for each in checks if each.check == check.check) for file, checks in files.items()
        }
        empty, nulls = neither(kind)
        others = {each.name for file in ("good", "bad") for each in files[file][1:] if each.verdict is not PASS}
        if verdicts != {"good": PASS, "bad": FAIL, "empty": empty, "nulls": nulls} or others:
            wrong.append(f"{kind.word} of {kind.place}: {verdicts}, {others}, {files['bad']}")
    assert not wrong, "\n".join(wrong)
