"""LIKE's patterns that an engine would be long busy with, as regular expressions that it goes through once.

Spark and DuckDB try every `%` against all others: with two of them that is the square of a text's length, with three
its cube. Once a piece between two of them is found, it need never be looked for further on.
"""

import re
from collections.abc import Sequence

from lakegate.contracts.regex.portable import literal

_FREE = 1  # `%` before a piece: one alone is tried against no other


def once_through(pattern: str, escape: str) -> str | None:
    """Return the pattern as a regular expression of Java's; None if LIKE itself is as fast. Its escapes must be
    sound.
    """
    pieces = _pieces(pattern, escape)
    first, *inner, last = pieces if len(pieces) > 1 else (pieces[0], "")
    tries = len([piece for piece in inner if piece]) + bool(last)
    if tries <= _FREE:
        return None
    middle = "".join(f"(?>.*?{piece})" for piece in inner if piece)
    return rf"(?s)\A{first}{middle}" + (rf".*{last}\z" if last else "")


def _pieces(pattern: str, escape: str) -> Sequence[str]:
    """Return the pieces between `%`, as regular expressions; `_` is any character."""
    pieces = [""]
    for token in re.findall(rf"{re.escape(escape)}.|.", pattern, re.DOTALL):
        if token == "%":
            pieces.append("")
        else:
            pieces[-1] += "." if token == "_" else literal(ord(token[-1]))
    return pieces
