"""Limits on how long SQL makes a text, and on which texts it looks for, by its tree alone. It reads no row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import ceil

from sqlglot import exp

from lakegate.audit.schema.names import fold
from lakegate.contracts.columns.fields import Field
from lakegate.contracts.sql.allowlist import NotAllowed, columns_of, node_text
from lakegate.contracts.sql.functions import Kind

TEXTS = 100  # that are put together to one
# Spark may put the columns of a query in FROM wherever they are named, so they count each time. SQL of a contract
# cannot spell so many: queries in queries alone get there.
PIECES = 2_500
MOST_SEARCH_CHARACTERS = 1_000  # characters of a row's text that are looked for in another
_LITERAL_CHARACTERS = 50  # characters of a number, a date or a truth that is written as a text, at most
_JOINS = (exp.Concat, exp.DPipe, exp.Replace)
_SEARCH_ARGUMENTS: Mapping[type[exp.Expr], str] = {
    **dict.fromkeys((exp.Contains, exp.Replace, exp.Trim), "expression"),
    exp.StrPosition: "substr",
}


@dataclass(frozen=True, kw_only=True)
class _Source:
    """Columns that can be read: how many `pieces` each is made of, if more than one, and the names of `texts`."""

    texts: frozenset[str]
    pieces: Mapping[str, int] = field(default_factory=dict)


def check_growth(tree: exp.Expr, fields: Sequence[Field]) -> None:
    """Raise NotAllowed if some part of an expression, or of a query, is beyond a limit."""
    long = (Kind.TEXT, Kind.BYTES, None)
    source = _Source(texts=frozenset(name for name, (_, kind) in columns_of(fields).items() if kind in long))
    if isinstance(tree, exp.Select):
        _source_of_select(tree, source)
    else:
        _pieces(tree, source)


def _source_of_select(select: exp.Select, source: _Source) -> _Source:
    """Return what can be read of a query."""
    inner = select.args["from_"].this
    if isinstance(inner, exp.Subquery):
        source = _source_of_select(inner.this, source)
    for clause in filter(None, map(select.args.get, ("where", "having"))):
        _pieces(clause.this, source)
    items = {fold(item.alias_or_name): item.unalias() for item in select.expressions}
    pieces = {name: _pieces(item, source) for name, item in items.items()}
    long = (name for name, item in items.items() if _has_text(item, source) or _literals(item))
    return _Source(texts=frozenset(long), pieces=pieces)


def _literals(node: exp.Expr) -> list[int]:
    """Return the lengths of texts that are written out in a part."""
    return [len(literal.name) for literal in node.find_all(exp.Literal) if literal.is_string]


def _pieces(node: exp.Expr, source: _Source) -> int:
    """Return how many columns and written values a part is made of, those that REPLACE makes longer as many times."""
    if isinstance(node, exp.Column):
        return source.pieces.get(fold(node.name), 1)
    _refuse_search(node, source)
    longer = {id(node.this): _times_longer(node, source)} if isinstance(node, exp.Replace) else {}
    parts = (child for child in node.iter_expressions() if not (isinstance(child, exp.DataType) or _is_aside(child)))
    pieces = sum(_pieces(part, source) * longer.get(id(part), 1) for part in parts) or 1
    limit = TEXTS if isinstance(node, _JOINS) else PIECES
    if pieces > limit:
        raise NotAllowed(
            f"{node_text(node)} is made of {pieces:,} columns and values, those of a query in FROM each time that they "
            f"are named and those that REPLACE makes longer as many times, and the limit is {limit:,}"
        )
    return pieces


def _is_aside(node: exp.Expr) -> bool:
    """Return True if it is written out for a REPLACE, and is no part of the text that comes of it."""
    return isinstance(node, exp.Literal) and isinstance(node.parent, exp.Replace) and node is not node.parent.this


def _times_longer(node: exp.Replace, source: _Source) -> int:
    """Return how many times as long a text may be for its replacements."""
    replacement = node.args.get("replacement") or exp.Literal.string("")
    if _has_text(replacement, source):
        raise NotAllowed(
            f"{node_text(node)} puts a text of the row in the place of each part of another, which may be longer than "
            "an engine can bear: replace by a text that is written out"
        )
    longest = len(replacement.name) if isinstance(replacement, exp.Literal) else _characters_of_cut(replacement)
    if longest is None:
        longest = max([_LITERAL_CHARACTERS, *_literals(replacement)]) * _pieces(replacement, source)
    search = node.expression
    return max(ceil(longest / max(len(search.name), 1)) if isinstance(search, exp.Literal) else longest, 1)


def _refuse_search(node: exp.Expr, source: _Source) -> None:
    """Refuse a search for a long text in a long text, for which an engine compares each letter with each."""
    search = node.args.get(_SEARCH_ARGUMENTS.get(type(node), ""))
    if search and _has_text(search, source) and _has_text(node.this, source):
        raise NotAllowed(
            f"{node_text(node)} looks for a text of the row in another, and both may be as long as an engine is busy "
            f"with for ever: look for its first characters, such as left({node_text(search)}, 100), "
            f"up to {MOST_SEARCH_CHARACTERS:,}"
        )


def _has_text(node: exp.Expr, source: _Source) -> bool:
    """Return True if a part is made of a text of the row that it does not cut to its first characters."""
    return _characters_of_cut(node) is None and any(
        fold(column.name) in source.texts for column in node.find_all(exp.Column)
    )


def _characters_of_cut(node: exp.Expr) -> int | None:
    """Return how many characters LEFT or SUBSTRING leaves; None if it is neither, or leaves too many."""
    inner = node.unnest()
    length = inner.args.get("length" if isinstance(inner, exp.Substring) else "expression")
    if not (isinstance(inner, exp.Left | exp.Substring) and isinstance(length, exp.Literal) and length.is_int):
        return None
    return int(length.name) if int(length.name) <= MOST_SEARCH_CHARACTERS else None
