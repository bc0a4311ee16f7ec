"""Limits on how long an expression makes a text, and on how long an engine looks for one in another, by its tree alone.

It reads no row: a length is so many times that of the row's longest text, and so many characters besides. An expression
beyond a limit is refused before any engine sees it; how often one looks is counted file by file, as SQL that it gives.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlglot import exp

from lakegate.audit.schema.names import fold
from lakegate.contracts.columns.fields import Field, column
from lakegate.contracts.regex.cost import FEW
from lakegate.contracts.regex.tries import polynomial
from lakegate.contracts.sql.allowlist import NotAllowed, columns_of, shown
from lakegate.contracts.sql.functions import Kind

TIMES = 100  # as long as the row's longest text
CHARACTERS = 100_000  # besides
# Pieces of the queries in FROM count each time that a column of theirs is named, because Spark may put them in its
# place. SQL of a contract cannot spell so many: queries in queries alone get there.
PIECES = 2_500
_WRITTEN = 50  # characters of a number, a date or a truth that is written as a text, at most
_LONG = (Kind.TEXT, Kind.BYTES, None)
# Looking for a text in another compares words of memory and not letters, and at no more than half of the places each
# with half of the letters: so many letters against letters take as long as one try of a pattern.
_COMPARED = 200

Tries = tuple[float, float, float]
"""By the powers of the length of the row's longest text, from 0."""


@dataclass(frozen=True, kw_only=True)
class Growth:
    """An expression's growth: at most so many `times` as long as the row's longest text, and so many characters `more`,
    by so many `pieces`, for which an engine `tries` so often.
    """

    times: float = 0
    more: float = 0
    pieces: int = 1
    tries: Tries = (0, 0, 0)


_SHORT = Growth(more=_WRITTEN)
_TEXT = Growth(times=1)
_Columns = Callable[[str], Growth]
"""Growth of a column by its name as engines compare it: all are known, because a reader has been through the tree."""


def check_growth(tree: exp.Expr, fields: Sequence[Field]) -> None:
    """Raise NotAllowed if some part of an expression, or of a query, grows beyond a limit."""
    _tries_of(tree, fields)


def tries_sql(tree: exp.Expr, fields: Sequence[Field], names: Sequence[str]) -> str:
    """Return the SQL of how often an engine tries at most with the texts of a row; nothing if it is a few times for
    each of their letters. `names` are the columns that the tree is made of.
    """
    counted, known = _tries_of(tree, fields), columns_of(fields)
    lengths = [exp.Length(this=column(name)) for name in names if known[fold(name)][1] in _LONG]
    if not any(counted) or not lengths:
        return ""
    longest = exp.Greatest(this=lengths[0], expressions=lengths[1:]) if lengths[1:] else lengths[0]
    length = exp.cast(exp.Coalesce(this=longest, expressions=[exp.Literal.number(0)]), "double", dialect="spark")
    return polynomial(length, counted).sql(dialect="spark")


def _tries_of(tree: exp.Expr, fields: Sequence[Field]) -> Tries:
    known = columns_of(fields)

    def of(name: str) -> Growth:
        return _TEXT if known[name][1] in _LONG else _SHORT

    return _selected(tree, of)[1] if isinstance(tree, exp.Select) else _of(tree, of).tries


def _selected(select: exp.Select, columns: _Columns) -> tuple[Mapping[str, Growth], Tries]:
    """Return the growth of a query's columns by their names, and the tries of the whole query. Raise NotAllowed if a
    part of it is beyond a limit.
    """
    source, before = select.args["from_"].this, (0.0, 0.0, 0.0)
    if isinstance(source, exp.Subquery):
        found, before = _selected(source.this, columns)
        columns = found.__getitem__
    clauses = [_of(clause.this, columns) for name in ("where", "having") if (clause := select.args.get(name))]
    selected = {fold(item.alias_or_name): _of(item.unalias(), columns) for item in select.expressions}
    return selected, _together(before, *(each.tries for each in (*clauses, *selected.values())))


def _together(*tried: Tries) -> Tries:
    none, once, twice = map(sum, zip(*tried, strict=True))
    return none, once, twice


def _of(node: exp.Expr, columns: _Columns) -> Growth:
    if isinstance(node, exp.Column):
        return columns(fold(node.name))
    if isinstance(node, exp.Literal):
        return Growth(more=len(node.name))
    parts = {word: _of(child, columns) for word, child in _children(node)}
    grown = _LENGTHS.get(type(node), _any)(node, parts)
    pieces = 1 + sum(part.pieces for part in parts.values())
    tried = _together(_looked(node, parts), *(part.tries for part in parts.values()))
    return _within_limits(node, Growth(times=grown.times, more=grown.more, pieces=pieces, tries=tried))


def _looked(node: exp.Expr, parts: "_Parts") -> Tries:
    """Return the tries for this piece alone: each letter of a text with each letter of the text that is looked for."""
    if (sought := _SOUGHT.get(type(node))) is None or (sought.word, 0) not in parts:
        return 0, 0, 0
    within, what = parts["this", 0], parts[sought.word, 0]
    none, once, twice = (
        number / sought.compared
        for number in (
            within.more * what.more,
            within.times * what.more + within.more * what.times,
            within.times * what.times,
        )
    )
    return (none, once, twice) if twice or once > FEW else (0, 0, 0)


def _within_limits(node: exp.Expr, grown: Growth) -> Growth:
    if grown.pieces > PIECES:
        raise NotAllowed(
            f"{shown(node)} has more than {PIECES:,} pieces with those of the queries that it reads from: name each "
            "column of theirs once"
        )
    if grown.times > TIMES or grown.more > CHARACTERS:
        raise NotAllowed(
            f"{shown(node)} may be {grown.times:,.6g} times as long as a text of the row and {grown.more:,.6g} "
            f"characters more, and the limits are {TIMES} and {CHARACTERS:,}"
        )
    return grown


def _children(node: exp.Expr) -> Iterator[tuple[tuple[str, int], exp.Expr]]:
    """Yield every expression right below, by the name of its argument and its place there."""
    for word, value in node.args.items():
        for at, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, exp.Expr) and not isinstance(child, exp.DataType):
                yield (word, at), child


_Parts = Mapping[tuple[str, int], Growth]
_Length = Callable[[Any, _Parts], Growth]


def _any(_node: exp.Expr, _parts: _Parts) -> Growth:
    return _SHORT


def _longest(*words: str) -> _Length:
    """Return a function that gives the length of the longest of these arguments."""

    def length(_node: exp.Expr, parts: _Parts) -> Growth:
        those = [part for (word, _), part in parts.items() if word in words]
        return Growth(
            times=max((part.times for part in those), default=0), more=max((part.more for part in those), default=0)
        )

    return length


def _joined(_node: exp.Expr, parts: _Parts) -> Growth:
    return Growth(times=sum(part.times for part in parts.values()), more=sum(part.more for part in parts.values()))


def _cast(_node: exp.Expr, parts: _Parts) -> Growth:
    return Growth(times=parts["this", 0].times, more=max(_WRITTEN, parts["this", 0].more))


def _replaced(node: exp.Replace, parts: _Parts) -> Growth:
    """Return the growth of a replacement. Refuse a text of the row in the place of each part of another: the result may
    be as long as the square of theirs.
    """
    within, put = parts["this", 0], parts.get(("replacement", 0), Growth())
    searched = node.expression
    least = max(len(searched.name), 1) if isinstance(searched, exp.Literal) else 1
    if within.times and put.times:
        raise NotAllowed(
            f"{shown(node)} puts a text of the row in the place of each part of another, which may be longer than an "
            "engine can bear: replace by a text that is written out"
        )
    by = max(put.more / least, 1)
    return Growth(times=within.times * by + within.more * put.times / least, more=within.more * by)


@dataclass(frozen=True, kw_only=True)
class _Sought:
    """The argument that is looked for in `this`, and how many comparisons take as long as one try."""

    word: str = "expression"
    compared: int = 1


_SOUGHT: Mapping[type[exp.Expr], _Sought] = {
    **dict.fromkeys((exp.Like, exp.RegexpLike, exp.Trim), _Sought()),
    **dict.fromkeys((exp.Contains, exp.Replace), _Sought(compared=_COMPARED)),
    exp.StrPosition: _Sought(word="substr", compared=_COMPARED),
}

_LENGTHS: Mapping[type[exp.Expr], _Length] = {
    **dict.fromkeys((exp.Concat, exp.DPipe), _joined),
    **dict.fromkeys((exp.Cast, exp.TryCast), _cast),
    **dict.fromkeys(
        (exp.Lower, exp.Upper, exp.Trim, exp.Substring, exp.Left, exp.Right, exp.Paren, exp.Min, exp.Max, exp.Filter),
        _longest("this"),
    ),
    **dict.fromkeys((exp.Coalesce, exp.Greatest, exp.Least), _longest("this", "expressions")),
    exp.Nullif: _longest("this"),
    exp.If: _longest("true", "false"),
    exp.Case: _longest("ifs", "default"),
    exp.Replace: _replaced,
}
"""Lengths by expression; all others give a number, a date or a truth."""
