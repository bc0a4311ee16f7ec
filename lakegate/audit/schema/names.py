"""Names of columns, as engines compare them (without case) and as messages show them."""

import re
from functools import lru_cache

REPLACEMENT = "\N{REPLACEMENT CHARACTER}"
"""A sign in the place of bytes that are no text."""
_LONGEST = 60
_DOTTED_I = re.compile("i\N{COMBINING DOT ABOVE}+")


@lru_cache(maxsize=10_000)  # each name of a file may be compared with each name of its table
def fold(name: str) -> str:
    """Return a form that is equal for names that an engine treats as one: Java's `equalsIgnoreCase`, letter by letter.

    Some engines lower-case the whole name first, which turns İ into an i and a combining dot; that is the same name,
    too.
    """
    return _DOTTED_I.sub("i", "".join(map(_fold_letter, name)))


def _fold_letter(letter: str) -> str:
    """Return the lower-case letter of a letter's upper case, which also unites i with and without a dot. A letter
    without a single upper-case letter stays itself.
    """
    great = letter.upper()
    return (great if len(great) == 1 else letter).lower()[0]


def display_name(name: str) -> str:
    """Return a column's name for a message. It is a stranger's text, so it is kept short and on one line."""
    text = "".join(letter if letter.isprintable() else REPLACEMENT for letter in name)
    return f'"{text if len(text) <= _LONGEST else text[:_LONGEST] + "…"}"'
