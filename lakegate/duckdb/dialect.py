"""Translation of Spark's SQL to DuckDB's, for reading rows without Spark. It knows no check, and opens no DuckDB.

DuckDB's own functions differ from Spark's at the limits of types and on unusual texts. `macros` are functions that
follow Spark, and the caller must create them first; `numbers` gives arithmetic the types that Spark gives it. Where
DuckDB cannot compute Spark's result, such as a number that wraps around at its type's limit, the whole expression over
the row is null, so that it is never false by mistake. tests/spark compares both engines.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

from lakegate.duckdb.aggregates import AGGREGATES, aggregate, with_filter
from lakegate.duckdb.numbers import (
    DATE,
    alike,
    annotate,
    arithmetic,
    as_double,
    call_function,
    cast,
    keep_type,
    of_type,
    round_number,
    type_of,
    whole,
)

_RESERVED_WORDS = {word.lower() for word in DuckDB.Tokenizer.KEYWORDS} | DuckDB.Generator.RESERVED_KEYWORDS

STRICTLY = "SET disabled_optimizers = 'expression_rewriter'"
"""A setting that keeps `n * 2 > 0` from becoming `n > 0` in DuckDB, which never overflows."""

_ERROR_COLUMN = "_lakegate_off"
_INT = exp.DataType.build("int")
_FARTHEST = exp.Literal.number(2**31 - 1)
_CASTS = {
    "INT": "spark_int",
    "BIGINT": "spark_bigint",
    "DOUBLE": "spark_double",
    "FLOAT": "spark_float",
    "BOOLEAN": "spark_boolean",
    "TEXT": "spark_string",
    "DATE": "spark_date",
    "TIMESTAMP": "spark_timestamp",
    "TIMESTAMPTZ": "spark_timestamp",
    "TIMESTAMPLTZ": "spark_timestamp",
    "TIMESTAMPNTZ": "spark_timestamp_ntz",
}


UNKNOWN: frozenset[tuple[str, str]] = frozenset()
"""No types of columns: numbers are then of the types that DuckDB gives them."""


@lru_cache(maxsize=4096)
def to_duckdb(expression: str, types: frozenset[tuple[str, str]] = UNKNOWN) -> str:
    """Return Spark's expression in DuckDB's SQL. Over a row it is null where only Spark knows the result. The types are
    Spark's of the columns, by name.
    """
    holder = exp.Paren(this=sqlglot.parse_one(expression, read="spark"))  # the root, too, may be replaced
    of_a_row = not holder.find(exp.AggFunc, exp.Query)
    annotate(holder, _by_name(types))
    for node in reversed(list(holder.walk())):  # the innermost first
        if (build := _WORDS.get(type(node))) is not None:
            node.replace(keep_type(build(node), node))
    _settle(holder, of_a_row=of_a_row)
    sql = str(holder.this.sql(dialect="duckdb"))
    return f"TRY({sql})" if of_a_row else sql


@lru_cache(maxsize=64)
def _by_name(types: frozenset[tuple[str, str]]) -> Mapping[str, str]:
    return {name.lower(): kind for name, kind in types}


def digits_of_floats(expression: str, floats: Collection[str]) -> str:
    """Return a part of Spark's expression that depends on the decimal digits of 32-bit floats, or "" if there is none.
    An engine that reads them as 64-bit floats, as DuckDB does beside other numbers, has other digits.
    """
    for node in sqlglot.parse_one(expression, read="spark").find_all(exp.Round, exp.Cast):
        needs_digits = isinstance(node, exp.Round) or node.is_type("text")
        if (
            needs_digits
            and not node.find(exp.Div)
            and any(column.name in floats for column in node.find_all(exp.Column))
        ):
            return node.sql(dialect="spark")
    return ""


def backtracking(pattern: str) -> str:
    """Return the pattern with atomic groups made ordinary, for engines that have none."""
    return pattern.replace("(?>", "(?:")


def duckdb_identifier(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def duckdb_text(text: str) -> str:
    """Return a text as SQL has it, which knows no escape but the doubled quote."""
    return "'" + text.replace("'", "''") + "'"


def duckdb_table(table: str) -> str:
    """Return a table's name with its namespace, which is one catalog's name to DuckDB, and its own in quotes."""
    return ".".join(map(duckdb_identifier, table.rsplit(".", 1)))


def address(table: str) -> str:
    """Return a table's name for SQL, with reserved words quoted, as in `"default".orders`."""
    return ".".join(duckdb_identifier(part) if part in _RESERVED_WORDS else part for part in table.split("."))


def _by(name: str) -> Callable[[Any], exp.Expr]:
    return lambda node: call_function(name, as_double(node.this))


def _of_double(node: exp.Expr) -> exp.Expr:
    copy = node.copy()
    copy.set("this", as_double(node.this))
    return copy


def _near(name: str, *operands: exp.Expr) -> exp.Expr:
    """Return a function whose last digit engines do not share: by how much it is off is another operand."""
    return call_function(name, *(cast(as_double(operand), "double") for operand in operands), exp.column(_ERROR_COLUMN))


def _for_sure(condition: exp.Expr) -> exp.Expr:
    """Return a condition that is the same however the last digits are, or else an error."""
    if not any(column.name == _ERROR_COLUMN for column in condition.find_all(exp.Column)):
        return condition
    test = sqlglot.parse_one(f"spark_same(list_transform([-1, 0, 1], lambda {_ERROR_COLUMN}: put_here))", read="duckdb")
    next(column for column in test.find_all(exp.Column) if column.name == "put_here").replace(condition)
    return test


def _settle(holder: exp.Expr, *, of_a_row: bool) -> None:
    """Make every condition one for sure. A number as such may be off in its last digit."""
    for node in [holder] if of_a_row else list(holder.find_all(exp.CountIf, exp.Where, exp.Having)):
        node.set("this", _for_sure(node.this))
    for column in [
        column_
        for column_ in holder.find_all(exp.Column)
        if column_.name == _ERROR_COLUMN and not column_.find_ancestor(exp.Lambda)
    ]:
        column.replace(exp.Literal.number(0))


def _condition(node: exp.Expr) -> exp.Expr:
    """Return IF; those of a CASE have their types from it."""
    return node.copy() if isinstance(node.parent, exp.Case) else alike(node)


def _add(node: exp.Expr) -> exp.Expr:
    """Return a sum of numbers, or a day or moment with an interval: in Spark a day stays one."""
    if not isinstance(node.expression, exp.Interval):
        return arithmetic(node)
    return cast(exp.Paren(this=node.copy()), "date") if type_of(node) is DATE else node.copy()


def _day(node: exp.Expr) -> exp.Expr:
    """Return a date where DuckDB has a moment."""
    return exp.Cast(this=node.copy(), to=exp.DataType.build("date"))


def _cast(node: exp.Expr) -> exp.Expr:
    to = node.args["to"]
    if isinstance(node.this, exp.Literal) and to.this.value not in ("BOOLEAN", "TEXT"):
        return exp.Cast(this=node.this, to=to)  # the contract's reader has checked the literal
    if to.this.value == "DECIMAL":
        return exp.TryCast(this=call_function("spark_digits", node.this), to=to)
    return call_function(_CASTS[to.this.value], node.this) if to.this.value in _CASTS else node.copy()


def _as_int(node: exp.Expr) -> exp.Expr:
    """Cast to 32 bits a whole number that Spark has in 32 bits and DuckDB in 64."""
    return exp.Cast(this=node.copy(), to=_INT.copy())


def _place(node: exp.Expr) -> exp.Expr:
    """Return a position in a text, with any fraction cut off."""
    return node if isinstance(node, exp.Literal) and node.is_int else call_function("spark_int", node)


def _substring(node: exp.Expr) -> exp.Expr:
    length = node.args.get("length") or _FARTHEST.copy()
    return call_function("spark_substring", node.this, _place(node.args["start"]), _place(length))


def _nullif(node: exp.Expr) -> exp.Expr:
    """Return NULLIF, which has its first operand's type, however the two are compared."""
    kind, result = type_of(node), alike(node)
    return result if kind is None else of_type(result, kind)


def _like(node: exp.Expr) -> exp.Expr:
    if isinstance(node.parent, exp.Escape):
        return node.copy()
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


def _trim(node: exp.Expr) -> exp.Expr:
    copy = node.copy()
    if not node.args.get("expression"):
        copy.set("expression", exp.Literal.string(" "))
    return copy


def _replace(node: exp.Expr) -> exp.Expr:
    copy = node.copy()
    if not node.args.get("replacement"):
        copy.set("replacement", exp.Literal.string(""))
    return copy


def _add_months(node: exp.Expr) -> exp.Expr:
    """Shift by months. In Spark the result is a date, for a timestamp, too."""
    months = exp.AddMonths(this=exp.Cast(this=node.this, to=exp.DataType.build("date")), expression=node.expression)
    return exp.Cast(this=months, to=exp.DataType.build("date"))


def _exists(node: exp.Expr) -> exp.Expr:
    """Return the test that an array has an item for which the condition is true."""
    matches = call_function("list_filter", node.this, node.expression)
    return exp.GT(this=call_function("len", matches), expression=exp.Literal.number(0))


def _distinct(node: exp.Expr) -> exp.Expr:
    """Wrap items in lists, because DuckDB's list_distinct drops nulls."""
    of_lists = sqlglot.parse_one(f"list_transform({node.this.sql('duckdb')}, it -> [it])", read="duckdb")
    return exp.ArrayDistinct(this=of_lists)


def _pattern(node: exp.Expr) -> exp.Expr:
    return exp.RegexpLike(this=node.this, expression=exp.Literal.string(backtracking(node.expression.name)))


_PARTS: Sequence[type[exp.Expr]] = (
    *(exp.Length, exp.StrPosition, exp.DateDiff, exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth),
    *(exp.DayOfYear, exp.WeekOfYear, exp.Hour, exp.Minute, exp.Second),
)
_WORDS: Mapping[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    **dict.fromkeys(_PARTS, _as_int),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    **dict.fromkeys((exp.Add, exp.Sub), _add),
    **dict.fromkeys((exp.Mul, exp.Div, exp.Mod), arithmetic),
    **dict.fromkeys((exp.Ceil, exp.Floor), whole),
    **dict.fromkeys((exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.NullSafeNEQ, exp.GT, exp.GTE, exp.LT, exp.LTE), alike),
    **dict.fromkeys((exp.Between, exp.In, exp.Coalesce, exp.Greatest, exp.Least, exp.Case), alike),
    exp.Sqrt: _of_double,
    exp.Exp: lambda node: _near("spark_exp", node.this),
    **dict.fromkeys((exp.DateTrunc, exp.TsOrDsAdd), _day),
    exp.If: _condition,
    exp.Nullif: _nullif,
    exp.Round: round_number,
    exp.Ln: lambda node: _near("spark_ln", node.this),
    exp.Sign: _by("spark_sign"),
    exp.IsNan: lambda node: exp.Coalesce(this=node.copy(), expressions=[exp.false()]),
    exp.Pow: lambda node: _near("spark_power", node.this, node.expression),
    exp.Lower: _by("spark_lower"),
    exp.Upper: _by("spark_upper"),
    exp.Trim: _trim,
    exp.Replace: _replace,
    exp.Substring: _substring,
    exp.Left: lambda node: call_function("spark_substring", node.this, exp.Literal.number(1), _place(node.expression)),
    exp.Right: lambda node: call_function("spark_right", node.this, _place(node.expression)),
    exp.Like: _like,
    exp.DayOfWeek: lambda node: exp.Paren(this=exp.Add(this=node.copy(), expression=exp.Literal.number(1))),
    exp.AddMonths: _add_months,
    **dict.fromkeys(AGGREGATES, aggregate),
    exp.Filter: with_filter,
    exp.Exists: _exists,
    exp.ArrayDistinct: _distinct,
    exp.RegexpLike: _pattern,
}
