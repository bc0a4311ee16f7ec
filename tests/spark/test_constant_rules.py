"""Rules that contracts refuse as constant are so to Spark's own evaluator, whatever functions they are made of."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby, product
from random import Random
from typing import Any

import pytest
import sqlglot
from sqlglot import exp

from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import physical
from lakegate.contracts.sql.allowlist import NotAllowed
from lakegate.contracts.sql.statements import predicate
from tests.support import catalyst
from tests.support.catalyst import Catalyst

pytestmark = pytest.mark.spark
# The least whole number of a type has no `abs`: checks.md says that it is passed over.
GRID: dict[str, tuple[str, list[Any]]] = {
    "a": ("int", [None, 1 - 2**31, -7, -1, 0, 1, 2, 5, 2**31 - 1]),
    "b": ("bigint", [None, 1 - 2**63, -(2**53) - 1, -1, 0, 1, 5, 2**53 + 1, 2**63 - 1]),
    "x": ("double", [None, float("-inf"), -1e300, -1.5, -0.0, 1e-200, 0.1, 1.0, 1.005, 5.0, 1e300, float("nan")]),
    "d": ("decimal(10,2)", [None, "-99999999.99", "-1.55", "-0.01", "0", "0.01", "0.99", "1.5", "5", "99999999.99"]),
    "s": ("string", [None, "", " ", "0", "A", "a", "ab", "x", "ax", "xa", " a", "a ", "ß", "İ", "zzzz"]),
    "ok": ("boolean", [None, "true", "false"]),
}
TYPES = {name: kind for name, (kind, _) in GRID.items()}
FIELDS = [Field(label=name, name=name, type=physical(kind)) for name, kind in TYPES.items()]
NUMBERS = [
    "floor({})", "ceil({})", "round({}, 1)", "round({}, -1)", "abs({})", "{} % 5", "{} % 1", "{} / 1", "{} / 2",
    "{} * 1",
    "{} + 0", "{} + 1", "{} - 1", "{} - {}", "{} * {}", "{} * 2", "-({})", "coalesce({}, 1)", "nullif({}, 1)",
    "sign({})",
    "greatest({}, 0)", "least({}, 2)", "cast({} as bigint)", "cast({} as int)", "cast({} as double)", "{} % 0",
    "cast({} as decimal(12,4))", "case when {} > 1 then {} else 1 end", "if(ok, {}, 0)", "coalesce({}, b)", "sqrt({})",
]  # fmt: skip
TEXTS = [
    "concat({}, 'x')", "concat('x', {})", "upper({})", "lower({})", "trim({})", "ltrim({})", "rtrim({})", "left({}, 2)",
    "right({}, 2)", "substring({}, 1, 2)", "substring({}, 2, 2)", "substring({}, 2)", "coalesce({}, '')",
    "nullif({}, 'a')", "cast({} as string)", "replace({}, 'a', '')", "if(ok, {}, 'x')", "greatest({}, 'a')",
]  # fmt: skip


def within(dice: Random, column: str, functions: list[str], most: int) -> str:
    made = column
    for _ in range(dice.randint(1, most)):
        made = f"({dice.choice(functions).replace('{}', made)})"
    return made


def rule(dice: Random) -> str:
    compare = dice.choice(["=", "<>", "<", "<=", ">", ">=", "<=>"])
    if dice.random() < 0.6:
        column = dice.choice("abdx")
        other = dice.choice([column, "0", "1", "-1", "5", "1.5", within(dice, column, NUMBERS, 2)])
        return f"{within(dice, column, NUMBERS, 3)} {compare} {other}"
    column = dice.choice(["s", "s", "cast(a as string)", "cast(d as string)"])
    made, other = within(dice, column, TEXTS, 3), dice.choice(["s", "''", "'x'", within(dice, column, TEXTS, 2)])
    match dice.choice(["compare", "length", "part"]):
        case "length":
            return f"length({made}) {compare} {dice.choice(['0', '1', '2', f'length({other})'])}"
        case "part":
            return f"{dice.choice(['contains', 'startswith', 'endswith'])}({made}, {other})"
    return f"{made} {compare} {other}"


def refusal(text: str) -> str:
    try:
        predicate(text, FIELDS)
    except NotAllowed as error:
        return str(error)
    return ""


def columns_of(text: str) -> tuple[str, ...]:
    return tuple(sorted({column.name for column in sqlglot.parse_one(text, read="spark").find_all(exp.Column)}))


def truths(spark: Catalyst, rules: Iterable[str]) -> Iterator[tuple[str, set[bool | None]]]:
    """Spark's outcomes of each rule over the rows of a grid."""
    for columns, some in groupby(sorted(rules, key=columns_of), key=columns_of):
        rows = [list(row) for row in product(*(GRID[name][1] for name in columns))]
        texts = list(some)
        answers = spark.answers({name: TYPES[name] for name in columns}, rows, texts)
        yield from zip(texts, map(set, answers), strict=True)


@pytest.mark.parametrize("seed", [39, *(pytest.param(it, marks=pytest.mark.extended) for it in range(10))])
def test_no_row_changes_a_rule_that_is_refused_as_constant(seed: int) -> None:
    dice = Random(seed)
    refused = {text: why for text in (rule(dice) for _ in range(500)) if "holds for" in (why := refusal(text))}

    with catalyst.opened() as spark:
        wrong = [text for text, may_be in truths(spark, refused) if ("holds for no row" in refused[text]) in may_be]

    assert wrong == []
    assert len(refused) > 50
