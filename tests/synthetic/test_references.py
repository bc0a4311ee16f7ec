"""Made-up rows refer to rows of other tables that are given, or say which table is missing."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa
import pytest

from lakegate.audit.model.plan import Check, Metric, MetricKind, Operator, Plan, Reference, Scope, TableColumn
from lakegate.errors import Misconfigured
from tests.support.plans import none_of
from tests.support.synthetic.rows import Maker

PARENTS = pa.table({"p": [1, 2, 3], "q": ["u", "v", "w"]})
KEYS = [("a",), ("a", "b")]


def plan_of(columns: tuple[str, ...]) -> Plan:
    there = dict(zip(("a", "b"), ("p", "q"), strict=True))
    refers_to = Reference(table="made.parents", columns=tuple(there[name] for name in columns))
    metric = Metric(id="o", kind=MetricKind.ORPHANS, columns=columns, scope=Scope.TABLE, refers_to=refers_to)
    check = Check(
        id="c", name="refers", metric="o", operator=Operator.MUST_BE, threshold=(0,), columns=columns
    )  # fmt: skip
    return Plan(
        table="made.children", contract_id="", contract_version="", contract_hash="",
        columns=(TableColumn(name="a", type="int"), TableColumn(name="b", type="string")),
        metrics=(metric,), checks=(check,),
    )  # fmt: skip


def orphans(rows: pa.Table, columns: tuple[str, ...]) -> int:
    parents = {tuple(row.values())[: len(columns)] for row in PARENTS.to_pylist()}
    keys = [tuple(row[name] for name in columns) for row in rows.to_pylist()]
    return sum(None not in key and key not in parents for key in keys)


@pytest.mark.parametrize("columns", KEYS)
def test_good_rows_refer_to_rows_that_are_given(columns: tuple[str, ...]) -> None:
    rows = Maker(plan=plan_of(columns), seed=3, references={"made.parents": PARENTS}).good(50)
    assert orphans(rows, columns) == 0
    assert set(rows["a"].to_pylist()) >= {1, 2, 3}


@pytest.mark.parametrize("columns", KEYS)
def test_failing_rows_have_one_that_refers_to_none(columns: tuple[str, ...]) -> None:
    plan = plan_of(columns)
    assert orphans(Maker(plan=plan, seed=3, references={"made.parents": PARENTS}).failing(50, plan.checks[0]), columns)


@pytest.mark.parametrize("given", [{}, {"made.children": pa.table({"id": [-7], "more": ["x"]})}], ids=["new", "there"])
def test_rows_may_refer_to_rows_of_their_own_table(given: dict[str, pa.Table]) -> None:
    own = Reference(table="made.children", columns=("id",))
    metric = Metric(id="o", kind=MetricKind.ORPHANS, columns=("a",), scope=Scope.TABLE, refers_to=own)
    columns = (TableColumn(name="id", type="int"), *plan_of(("a",)).columns)
    plan = replace(plan_of(("a",)), columns=columns, metrics=(metric,))
    maker = Maker(plan=plan, seed=3, references=given)
    good, bad = maker.good(50), maker.failing(50, plan.checks[0])
    for rows, expected in ((good, False), (bad, True)):
        ids = {*rows["id"].to_pylist(), *(given["made.children"]["id"].to_pylist() if given else [])} - {None}
        bosses = [boss for boss in rows["a"].to_pylist() if boss is not None]
        assert any(boss not in ids for boss in bosses) is expected
        assert bosses


def test_without_the_other_table_s_rows_nothing_is_made_up() -> None:
    with pytest.raises(Misconfigured, match=r"refers to made.parents: .* --reference made.parents=FILE.parquet"):
        Maker(plan=plan_of(("a",)), seed=3)


@pytest.mark.parametrize(
    ("parents", "said"),
    [
        (pa.table({"other": [1]}), r"its file must have the columns p \(int32\), q \(string\)"),
        (pa.table({"p": ["x"], "q": ["u"]}), r"its file must have the columns p \(int32\), q \(string\)"),
        (PARENTS.slice(0, 0), "its file has no rows, so there is nothing to refer to"),
    ],
    ids=["another column", "another type", "no rows"],
)
def test_a_reference_that_nothing_can_refer_to_is_refused(parents: pa.Table, said: str) -> None:
    with pytest.raises(Misconfigured, match=f"--reference made.parents: {said}"):
        Maker(plan=plan_of(("a", "b")), seed=3, references={"made.parents": parents})


def keyed(columns: tuple[str, ...]) -> Plan:
    """Children of which no two have the same key, which is part of what they refer by."""
    plan = plan_of(("a", "b"))
    key = Metric(id="k", kind=MetricKind.DUPLICATES, columns=columns)
    return replace(plan, metrics=(*plan.metrics, key), checks=(*plan.checks, none_of(key)))


@pytest.mark.parametrize("columns", [("a", "b"), ("b", "a"), ("b",)], ids=str)
def test_a_key_that_refers_to_rows_takes_each_of_them_once(columns: tuple[str, ...]) -> None:
    many = 90
    parents = pa.table({"p": [at % 9 for at in range(many)], "q": [f"day {at}" for at in range(many)]})
    plan = keyed(columns)
    for asked in (30, many):
        made = Maker(plan=plan, seed=3, references={"made.parents": parents}).good(asked)
        keys = [tuple(row.values()) for row in made.to_pylist() if None not in row.values()]
        assert len({*keys}) == len(keys) > asked / 2
        assert {*keys} <= {tuple(row.values()) for row in parents.to_pylist()}
    for check in plan.checks:
        assert Maker(plan=plan, seed=3, references={"made.parents": parents}).failing(30, check).num_rows == 30
