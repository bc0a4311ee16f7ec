"""Refusal of SQL that checks nothing: no row can change what it says. Its trees have been through a reader.

A query's columns are judged from its source upwards, as they are read.
"""

from collections.abc import Collection, Mapping, Sequence

import sqlglot
from sqlglot import exp

from lakegate.audit.schema.names import fold
from lakegate.contracts.columns.fields import Field, Fields
from lakegate.contracts.columns.types import Type
from lakegate.contracts.outcomes.expressions import Outcomes
from lakegate.contracts.outcomes.truths import ATOMS
from lakegate.contracts.outcomes.values import Values
from lakegate.contracts.sql.allowlist import NotAllowed, columns_of, node_text

_AGGREGATES = (exp.AggFunc, exp.Filter)


def refuse_quoted_columns(
    quoted_texts: Sequence[str], tree: exp.Expr, fields: Sequence[Field], tables: Collection[str]
) -> None:
    """Refuse a text in double quotes that is a column's name: what is a column elsewhere is a text in Spark's SQL."""
    columns = columns_of(fields)
    aliases = {fold(alias.alias): alias.alias for alias in tree.find_all(exp.Alias)}
    before = {fold(table) for table in (*tables, "{object}", "{table}")}
    for text in quoted_texts:
        table, _, name = text.rpartition(".")
        names = [text, *([name] if fold(table) in before else [])]
        column = next((columns[fold(candidate)][0] for candidate in names if fold(candidate) in columns), None) or next(
            (aliases[fold(candidate)] for candidate in names if fold(candidate) in aliases), None
        )
        if column is not None:
            name_sql = exp.column(column, quoted=True).sql(dialect="spark")
            raise NotAllowed(
                f'"{text}" is a text and no column, because it is in double quotes: write {name_sql}, '
                f"or '{text}' if you mean the text"
            )
        if text.strip("${} ") in ("property", "column") and "{" in text:
            raise NotAllowed(f'"{text}" is a text, because it is in double quotes: write {text} without them')


def refuse_constant_rule(tree: exp.Expr, fields: Sequence[Field]) -> None:
    """Refuse a condition on a row that no row can fail, or that none can hold to."""
    _refuse_written_out(tree)
    outcomes = Outcomes([tree], _types(fields), _texts(tree))
    outcome = outcomes.possible(tree)
    if not outcome.include(0):
        raise NotAllowed(f"holds for every row, whatever is in it: {_constant_part(tree, outcomes, 1)}")
    if not outcome.include(1):
        raise NotAllowed(f"holds for no row, whatever is in it: {_constant_part(tree, outcomes, 0)}")


def result(select: exp.Select, fields: Sequence[Field]) -> Values:
    """Return the numbers that a query may give. Refuse one with a condition that no row can change."""
    _refuse_written_out(select)
    [outcome] = _columns(select, _types(fields), _texts(select)).values()
    return outcome


def aggregate_values(sql: str, fields: Sequence[Field]) -> Values:
    """Return the numbers that an aggregate of ours may give."""
    tree = sqlglot.parse_one(sql, read="spark")
    outcomes = Outcomes([tree], _types(fields), _texts(tree))
    for node in tree.find_all(exp.AggFunc):
        outcomes.assume(node, outcomes.aggregate(node, ()))
    return outcomes.possible(tree)


def _columns(select: exp.Select, types: Mapping[str, Type | Values], texts: Collection[str]) -> dict[str, Values]:
    """Return the values of a query's columns by their names; none at all if no row is left."""
    inner = select.args["from_"].this
    if isinstance(inner, exp.Subquery):
        types = _columns(inner.this, types, texts)
    where_clause, group, having_clause = (select.args.get(word) for word in ("where", "group", "having"))
    trees = [
        *select.expressions,
        *(clause.this for clause in (where_clause, having_clause) if clause),
        *(group.expressions if group else []),
    ]
    outcomes = Outcomes(trees, types, texts)
    rows = [where_clause.this] if where_clause else []
    for condition in rows:
        _refuse_constant(condition, outcomes, "WHERE")
    fewest = 1 if group else 0
    for tree in trees:
        _fix_aggregates(tree, outcomes, rows, fewest)
    groups = [having_clause.this] if having_clause else []
    for condition in groups:
        _refuse_constant(condition, outcomes, "HAVING")
    last = groups if group else [] if any(item.find(exp.AggFunc) for item in select.expressions) else rows
    return {item.alias_or_name: outcomes.possible(item.unalias(), last) for item in select.expressions}


def _fix_aggregates(tree: exp.Expr, outcomes: Outcomes, rows: Sequence[exp.Expr], fewest: int) -> None:
    for node in list(tree.find_all(*_AGGREGATES)):
        if isinstance(node.parent, exp.Filter) and node.arg_key == "this":
            continue
        _refuse_useless(node, outcomes)
        outcomes.assume(node, outcomes.aggregate(node, rows, fewest=fewest))


def _refuse_useless(node: exp.Expr, outcomes: Outcomes) -> None:
    """Refuse a FILTER that lets through all or nothing, and a COUNT of what is never null, which counts all rows."""
    if isinstance(node, exp.Filter):
        _refuse_constant(node.expression.this, outcomes, "FILTER")
        node = node.this
    inner = node.this
    if isinstance(node, exp.CountIf):
        _refuse_constant(inner, outcomes, "COUNT_IF")
    if not isinstance(node, exp.Count) or isinstance(inner.unnest(), exp.Star | exp.Distinct | exp.Column):
        return
    is_number = isinstance(inner.unnest(), exp.Literal) and not inner.unnest().is_string
    outcome = outcomes.possible(inner)
    if not outcome.exist or not (outcome.null or is_number):
        rows = "no row, because it is always" if not outcome.exist else "every row, because it is never"
        raise NotAllowed(
            f"{node_text(node)} counts {rows} null: write COUNT(*), COUNT of a column, or COUNT_IF of a condition"
        )


def _refuse_constant(condition: exp.Expr, outcomes: Outcomes, clause_name: str) -> None:
    """Refuse a condition on columns that all rows meet, or none."""
    outcome = outcomes.possible(condition)
    if not condition.find(exp.Column, exp.AggFunc):
        if not outcome.include(1):
            raise NotAllowed(f"{clause_name} is true of no row: {_constant_part(condition, outcomes, 0)}")
        return
    for truth, of in ((1, "every"), (0, "no")):
        if not outcome.include(1 - truth) and not (truth and outcome.null):
            raise NotAllowed(
                f"{clause_name} is true of {of} row, whatever is in it: {_constant_part(condition, outcomes, truth)}"
            )


def _refuse_written_out(tree: exp.Expr) -> None:
    """Refuse a comparison of texts or dates that are all written out: who compares means a column."""
    for node in _atoms(tree):
        if not node.find(exp.Column, exp.AggFunc) and any(literal.is_string for literal in node.find_all(exp.Literal)):
            raise NotAllowed(
                f"{node_text(node)} compares no column, only what is written out: "
                "write a column without quotes, or in ``"
            )


def _constant_part(condition: exp.Expr, outcomes: Outcomes, truth: int) -> str:
    """Return the smallest part that is constant, and what to write."""
    parts = [node for node in _atoms(condition) if node is not condition]
    possible = [(node, outcomes.possible(node)) for node in reversed(parts)]
    constant = [(node, outcome.low) for node, outcome in possible if outcome.point is not None]
    write = "compare a column with values that it may or may not have, or take the check out"
    if not constant:
        constant = [(condition, truth)]
    node, truth_value = constant[0]
    return f"{node_text(node)} is true of {'every' if truth_value else 'no'} value; {write}"


def _atoms(tree: exp.Expr) -> list[exp.Expr]:
    return list(tree.find_all(*ATOMS))


def _types(fields: Sequence[Field]) -> Mapping[str, Type]:
    return fields.result_of(_types_of) if isinstance(fields, Fields) else _types_of(fields)


def _types_of(fields: Sequence[Field]) -> dict[str, Type]:
    return {field.name: field.type for field in fields}


def _texts(tree: exp.Expr) -> set[str]:
    return {node.name for node in tree.find_all(exp.Literal) if node.is_string}
