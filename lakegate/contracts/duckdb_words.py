"""Spark's SQL in DuckDB's words, for whoever reads rows without Spark. It knows no check, and opens no DuckDB."""

from functools import lru_cache

import sqlglot
from sqlglot import exp

MACROS = ("CREATE MACRO unix_micros(moment) AS epoch_us(moment)",)
"""What translated expressions call that DuckDB has not."""


@lru_cache(maxsize=4096)
def translated(expression: str) -> str:
    """An expression of Spark's in DuckDB's words."""
    tree = sqlglot.parse_one(expression, read="spark")
    for quantile in list(
        tree.find_all(exp.Quantile)
    ):  # Spark's lies between two values, as DuckDB's continuous one does
        quantile.replace(exp.Anonymous(this="quantile_cont", expressions=[quantile.this, quantile.args["quantile"]]))
    for some in reversed(list(tree.find_all(exp.Exists))):  # of an array's items; the innermost first
        found = exp.Anonymous(this="list_filter", expressions=[some.this, some.expression])
        some.replace(exp.GT(this=exp.Anonymous(this="len", expressions=[found]), expression=exp.Literal.number(0)))
    for distinct in list(tree.find_all(exp.ArrayDistinct)):  # DuckDB's leaves nulls out, unless they are in lists
        of_lists = f"list_transform({distinct.this.sql('duckdb')}, it -> [it])"
        distinct.set("this", sqlglot.parse_one(of_lists, read="duckdb"))
    for pattern in [node.expression for node in tree.find_all(exp.RegexpLike)]:
        pattern.replace(exp.Literal.string(backtracking(pattern.name)))
    return tree.sql(dialect="duckdb")


def backtracking(pattern: str) -> str:
    """The same pattern for engines that know no group which is not tried again."""
    return pattern.replace("(?>", "(?:")


def quoted(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'
