"""SQL out of a contract: parsed in Spark's dialect, held to the allow-list, and written anew from the tree.

Nothing of the text itself is kept. It makes no metric and reads no contract.
"""

import logging
import re
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from lakegate.audit.model.plan import ROWS_VIEW
from lakegate.contracts.columns.fields import Field, column
from lakegate.contracts.outcomes.values import ANY, Values
from lakegate.contracts.sql.allowlist import NotAllowed, Reader, check_pieces, columns_of
from lakegate.contracts.sql.functions import Kind
from lakegate.contracts.sql.growth import check_growth
from lakegate.contracts.sql.judging import refuse_constant_rule, refuse_quoted_columns, result
from lakegate.counts import count

LONGEST = 4000  # characters
DEEPEST = 100  # of the tree, which a chain of operators makes as deep as it is long
COPIES = 10_000  # pieces of a WHERE, counted for each aggregate that it is put to
MOST_NESTING = 24  # parentheses, CASE and signs within each other: the parser's calls nest as deep, below its caller's
_MOST_ARGUMENTS = dict.fromkeys(
    ("percentile", "mod", "datediff", "date_diff", "date_sub", "ltrim", "rtrim"), 2
)  # arguments

_OPENING = ("L_PAREN", "L_BRACKET", "L_BRACE", "CASE")
_CLOSING = ("R_PAREN", "R_BRACKET", "R_BRACE", "END")
_SIGNS = ("NOT", "DASH", "PLUS", "TILDE", "TILDA")
_VALUES = (*_CLOSING, "VAR", "IDENTIFIER", "NUMBER", "STRING")  # a sign behind one of these is between two
_OF_PARTS, _MOST_TYPES = ("ARRAY", "MAP", "STRUCT"), 5  # the parser takes the square of their number

# Aggregates that sort or remember every value: one would slow down all others in the one pass.
_HEAVY = (exp.Median, exp.Quantile, exp.Distinct)


class Form(StrEnum):
    """Ways in which a scalar over a file's rows can be computed."""

    COUNT = "the number of rows"
    AGGREGATE = "an aggregate, together with others"
    HEAVY = "an aggregate in a pass of its own"
    QUERY = "a query of its own for each file version"


@dataclass(frozen=True, kw_only=True)
class Scalar:
    """A number over a file's rows, and the columns that it is made of: an aggregate, or a whole query on ROWS_VIEW.
    `counts`: it is a number of rows. It has one of the `values`.
    """

    form: Form
    sql: str
    columns: tuple[str, ...]
    counts: bool = False
    values: Values = ANY


def predicate(text: str, fields: Sequence[Field]) -> tuple[exp.Expr, tuple[str, ...]]:
    """Return a condition on a row, with the columns in it. Raise ValueError with what is not allowed."""
    tree, quoted_texts = _parse(text)
    refuse_quoted_columns(quoted_texts, tree, fields, ())
    holder, reader = exp.Paren(this=tree), Reader(columns=columns_of(fields))  # the root, too, may be replaced
    reader.want(holder.this, Kind.TRUTH, "a rule about a row")
    if not reader.read_columns:
        raise NotAllowed("names no column, so it is the same for every row")
    check_pieces(holder.this)
    refuse_constant_rule(holder.this, fields)
    check_growth(holder.this, fields)
    return holder.this, tuple(reader.read_columns)


def scalar(text: str, fields: Sequence[Field], tables: Collection[str], of: Field | None = None) -> Scalar:
    """Return a query that gives one number. `{object}` is the table, `{property}` the column `of`. Raise ValueError
    with what is not allowed.
    """
    _refuse_long(text)
    tree, quoted_texts = _parse(_fill_placeholders(text, of))
    refuse_quoted_columns(quoted_texts, tree, fields, tables)
    if not isinstance(tree, exp.Select):
        raise NotAllowed("must be a query: SELECT … FROM {object}")
    reader = Reader(columns=columns_of(fields), tables={ROWS_VIEW, *tables})
    [(_, kind), *further] = reader.select(tree)
    if further or tree.args.get("group") or tree.args.get("distinct") or not tree.expressions[0].find(exp.AggFunc):
        raise NotAllowed("must give one number: SELECT one aggregate, such as COUNT(*), without GROUP BY or DISTINCT")
    if kind not in (Kind.NUMBER, Kind.TRUTH):
        raise NotAllowed(f"must give a number, and it gives {kind}")
    check_pieces(tree)
    values = result(tree, fields)
    check_growth(tree, fields)
    value = tree.expressions[0].unalias()
    counts = isinstance(value.this if isinstance(value, exp.Filter) else value, exp.Count | exp.CountIf)
    cheap = _as_cheap_as_can_be(tree, value, tuple(reader.read_columns))
    return replace(cheap, counts=counts, values=values)


def _as_cheap_as_can_be(tree: exp.Select, value: exp.Expr, columns: tuple[str, ...]) -> Scalar:
    where_clause = tree.args.get("where")
    if not isinstance(tree.args["from_"].this, exp.Table):
        return Scalar(form=Form.QUERY, sql=_sql_of(tree), columns=columns)
    if isinstance(value, exp.Count) and isinstance(value.this, exp.Star) and where_clause is None:
        return Scalar(form=Form.COUNT, sql="", columns=())
    form = Form.HEAVY if value.find(*_HEAVY) else Form.AGGREGATE
    return Scalar(form=form, sql=_sql_of(_with_filter(value, where_clause)), columns=columns)


def _with_filter(value: exp.Expr, where_clause: exp.Expr | None) -> exp.Expr:
    """Return the value with the query's WHERE at each of its aggregates."""
    if where_clause is None:
        return value

    def with_filter(node: exp.Expr) -> exp.Expr:
        if isinstance(node, exp.Filter):
            condition = exp.and_(node.expression.this, where_clause.this)
            return exp.Filter(this=node.this, expression=exp.Where(this=condition))
        return exp.Filter(this=node, expression=exp.Where(this=where_clause.this.copy()))

    holder = exp.Paren(this=value.copy())
    outermost = [node for node in holder.find_all(exp.AggFunc, exp.Filter) if not isinstance(node.parent, exp.Filter)]
    if len(outermost) * sum(1 for _ in where_clause.walk()) > COPIES:
        raise NotAllowed(
            f"puts its WHERE to {count(len(outermost), 'aggregate')}: select fewer, or filter in a query in FROM"
        )
    for node in outermost:
        node.replace(with_filter(node.copy()))
    result: exp.Expr = holder.this
    return result


def _sql_of(tree: exp.Expr) -> str:
    return tree.sql(dialect="spark", comments=False)


# A text that is never closed goes to the end, and is looked for once: the parser refuses it.
_PLACEHOLDER = re.compile(r"'(?>(?:[^'\\]|\\.)*)'?|\"(?>(?:[^\"\\]|\\.)*)\"?|`[^`]*`?|\$?\{\s*+(\w++)\s*+\}", re.DOTALL)


def _fill_placeholders(text: str, of: Field | None) -> str:
    """Return the text with the standard's placeholders filled in; the result is checked later."""

    def replace_placeholder(match: re.Match[str]) -> str:
        match match[1]:
            case None:
                return match[0]
            case "object" | "table":
                return f"`{ROWS_VIEW}`"
            case "property" | "column" if of:
                return column(of.name).sql(dialect="spark")
            case "property" | "column":
                raise NotAllowed(f"{match[0]} is a column's, and this check is the table's: name the column")
        raise NotAllowed(f"{match[0]} is no placeholder: there are {{object}}, the table, and {{property}}, the column")

    return _PLACEHOLDER.sub(replace_placeholder, text)


def _refuse_long(text: str) -> None:
    if len(text) > LONGEST:
        raise NotAllowed(f"has {len(text):,} characters, and the limit is {LONGEST:,}")


def _parse(text: str) -> tuple[exp.Expr, Sequence[str]]:
    """Return the tree of a text, and its texts in double quotes."""
    _refuse_long(text)
    try:
        with _without_a_word():
            trees, quoted_texts = _read(text)
    except SqlglotError as error:
        first, *_ = re.sub(r"\x1b\[[0-9;]*m", "", str(error)).splitlines() or ["?"]  # the parser underlines in colour
        raise NotAllowed(f"is no SQL that can be read: {first.rstrip('. ')[:160]}") from None
    except NotAllowed:
        raise
    except RecursionError:
        raise NotAllowed("is nested too deep") from None
    except Exception:  # noqa: BLE001 - whatever the parser fails on, it cannot read the text
        raise NotAllowed("is no SQL that can be read") from None
    if len(trees) != 1 or trees[0] is None:
        raise NotAllowed("must be one expression or query")
    _refuse_deep(trees[0])
    return trees[0], quoted_texts


def _refuse_hidden(tokens: Sequence[Any], text: str) -> None:
    """Refuse comments, hints and second statements, which a reader of the SQL may overlook."""
    for token in tokens:
        if token.comments or token.token_type.name == "HINT":
            raise NotAllowed("has a comment or a hint in it: say it in the check's description")
        if token.token_type.name == "SEMICOLON":
            raise NotAllowed("must be one statement, without ';'")
    if sum(token.token_type.name in _OF_PARTS for token in tokens) > _MOST_TYPES:
        raise NotAllowed("has types within types, and no value of such a type is of use to it")
    if not tokens:
        raise NotAllowed("has a comment and nothing else" if text.strip() else "is empty")


def _refuse_nested(tokens: Sequence[Any]) -> None:
    """Refuse deep nesting by a limit of our own, so that SQL that one process takes is not too deep for another one's
    stack.
    """
    depths, signs, after = [0], 0, ""
    for token in tokens:
        kind = token.token_type.name
        signs = signs + (signs > 0 or after not in _VALUES) if kind in _SIGNS else 0 if kind not in _OPENING else signs
        if kind in _OPENING:
            depths.append(depths[-1] + 1 + signs)
            signs = 0
        elif kind in _CLOSING and len(depths) > 1:
            depths.pop()
        if depths[-1] + signs > MOST_NESTING:
            raise NotAllowed(
                f"is nested too deep: the limit is {MOST_NESTING} parentheses, CASE and signs within each other"
            )
        after = kind


def _refuse_dropped(tokens: Sequence[Any]) -> None:
    """Refuse what the parser would leave out: arguments too many, and all of a unit but the first text in it."""
    for at, token in enumerate(tokens[:-1]):
        name, kinds = token.text.lower(), [next_token.token_type.name for next_token in tokens[at + 1 : at + 4]]
        limit = _MOST_ARGUMENTS.get(name)
        if limit and kinds[0] == "L_PAREN" and _arguments(tokens[at + 1 :]) > limit:
            raise NotAllowed(f"the function {name} takes {count(limit, 'value')} here")
        if name == "date_trunc" and kinds[0] == "L_PAREN" and kinds != ["L_PAREN", "STRING", "COMMA"]:
            raise NotAllowed("the function date_trunc wants a unit that is written out, such as 'month'")


def _arguments(tokens: Sequence[Any]) -> int:
    """Return how many arguments there are between the first parenthesis and the one that closes it."""
    depth, arguments = 0, 1
    for token in tokens:
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)
        arguments += token.token_type.name == "COMMA" and depth == 1
        if not depth:
            break
    return arguments


def _read(text: str) -> tuple[Sequence[exp.Expr | None], Sequence[str]]:
    tokens = sqlglot.tokenize(text, read="spark")
    _refuse_hidden(tokens, text)
    _refuse_nested(tokens)
    _refuse_dropped(tokens)
    quoted_texts = [token.text for token in tokens if token.token_type.name == "STRING" and text[token.start] == '"']
    return sqlglot.parse(text, read="spark"), quoted_texts


@contextmanager
def _without_a_word() -> Iterator[None]:
    """Silence the parser's own warnings, which repeat the text as it is on standard error or in a log."""
    logger = logging.getLogger("sqlglot")
    before, logger.disabled = logger.disabled, True
    try:
        yield
    finally:
        logger.disabled = before


def _refuse_deep(tree: exp.Expr) -> None:
    depths = {id(tree): 0}
    for node in tree.walk():  # a node comes after its parent
        if node.parent is not None:
            depths[id(node)] = depths[id(node.parent)] + 1
    if max(depths.values()) > DEEPEST:
        raise NotAllowed("is nested too deep")
