"""Lengths that a text may have in characters, by what it is made of. It orders no texts."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from sqlglot import exp

from lakegate.contracts.columns.types import Type
from lakegate.contracts.outcomes.values import Exact, Values, constant, hull
from lakegate.duckdb.numbers import branches, type_of

if TYPE_CHECKING:
    from lakegate.contracts.outcomes.expressions import Outcomes

LENGTHS = Values(0, 2**31 - 16, null=False, step=1)  # no text of Spark's is longer
JOIN_TYPES = (exp.Concat, exp.DPipe)
CUT_TYPES = (exp.Trim, exp.Substring, exp.Left, exp.Right)
CASE_TYPES = (exp.Lower, exp.Upper)
"""Functions of texts."""
_MOST_LETTERS = 3  # that one letter becomes in the other case
_TEXT_LENGTHS: Mapping[str, tuple[Exact, Exact]] = {
    "boolean": (4, 5),
    "int": (1, 11),
    "bigint": (1, 20),
    "date": (10, LENGTHS.high),
    "timestamp": (19, LENGTHS.high),
    "timestamp_ntz": (19, LENGTHS.high),
}


def length_of(outcomes: "Outcomes", node: exp.Expr) -> Values:
    """Return the lengths that a text may have where it is not null."""
    node = outcomes.inner(node)
    if (lengths := outcomes.known_length(node)) is not None:
        return lengths
    judge = _LENGTHS.get(type(node))
    return judge(outcomes, node) if judge else LENGTHS


def letters(node: exp.Expr) -> int | None:
    """Return how many letters a piece from the beginning or the end has at most; None if it depends on the row."""
    number = node.args.get("length") if isinstance(node, exp.Substring) else node.args.get("expression")
    if not isinstance(number, exp.Literal) or isinstance(node, exp.Trim):
        return None
    return int(number.name) if re.fullmatch("[0-9]{1,9}", number.name) else None


def is_beginning(node: exp.Expr) -> bool:
    """Return True for a piece that its text begins with."""
    if isinstance(node, exp.Trim):
        return str(node.args.get("position")).upper() == "TRAILING"
    start = node.args.get("start")
    return isinstance(node, exp.Left) or (isinstance(start, exp.Literal) and start.name in ("0", "1"))


def is_end(node: exp.Expr) -> bool:
    """Return True for a piece that its text ends with."""
    if isinstance(node, exp.Trim):
        return str(node.args.get("position")).upper() == "LEADING"
    start = node.args.get("start")
    is_rest = isinstance(start, exp.Literal) and node.args.get("length") is None
    return isinstance(node, exp.Right) or is_rest


def _join_lengths(outcomes: "Outcomes", node: exp.Expr) -> Values:
    parts = [length_of(outcomes, part) for part in node.iter_expressions()]
    return _lengths(sum(part.low for part in parts), sum(part.high for part in parts))


def _case_lengths(outcomes: "Outcomes", node: exp.Expr) -> Values:
    inner = length_of(outcomes, node.this)
    return _lengths(inner.low, inner.high * _MOST_LETTERS)


def _cut_lengths(outcomes: "Outcomes", node: exp.Expr) -> Values:
    inner, limit = length_of(outcomes, node.this), letters(node)
    text = node.this.unnest()
    is_number = isinstance(text, exp.Cast) and type_of(text.this.unnest()) is not None  # it is written without a space
    if isinstance(node, exp.Trim) and node.expression is None and is_number:
        return inner
    if limit is None:
        return _lengths(0, inner.high)
    whole = isinstance(node, exp.Left | exp.Right) or is_beginning(node)
    return _lengths(min(limit, inner.low) if whole else 0, min(limit, inner.high))


def _branch_lengths(outcomes: "Outcomes", node: exp.Expr) -> Values:
    return hull([length_of(outcomes, part) for part in branches(node)], null=False)


def _lengths_of_cast(outcomes: "Outcomes", node: exp.Expr) -> Values:
    """Return the lengths of a value that is written as a text."""
    inner = node.this.unnest()
    column_type = outcomes.columns.get(inner.name) if isinstance(inner, exp.Column) else None
    number = type_of(inner)
    name = column_type.name if isinstance(column_type, Type) and number is None else number.name if number else ""
    if name in _TEXT_LENGTHS or number is not None:
        return _lengths(*_TEXT_LENGTHS.get(name, (1, LENGTHS.high)))
    return length_of(outcomes, inner) if type(inner) in _LENGTHS else LENGTHS


def _lengths(low: Exact, high: Exact) -> Values:
    return Values(low, min(high, LENGTHS.high), null=False, step=1)


_LENGTHS: Mapping[type[exp.Expr], Callable[["Outcomes", Any], Values]] = {
    exp.Literal: lambda _, node: constant(len(node.name)),
    **dict.fromkeys(JOIN_TYPES, _join_lengths),
    **dict.fromkeys(CASE_TYPES, _case_lengths),
    **dict.fromkeys(CUT_TYPES, _cut_lengths),
    exp.Nullif: lambda outcomes, node: length_of(outcomes, node.this),
    **dict.fromkeys((exp.Cast, exp.TryCast), _lengths_of_cast),
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least, exp.If, exp.Case), _branch_lengths),
}
