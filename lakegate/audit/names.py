"""Names of columns as engines compare them, without case. Another module decides which names a column may have."""

import re
from functools import lru_cache

_DOTTED = re.compile("i\N{COMBINING DOT ABOVE}+")


@lru_cache(maxsize=10_000)  # each name of a file may be compared with each name of its table
def folded(name: str) -> str:
    """Return a form that is equal for names that an engine treats as one: Java's `equalsIgnoreCase`, letter by letter.

    Some engines lower-case the whole name first, which turns İ into an i and a combining dot; that is the same name,
    too.
    """
    return _DOTTED.sub("i", "".join(map(_folded, name)))


def _folded(letter: str) -> str:
    """Return the lower-case letter of a letter's upper case, which also unites i with and without a dot. A letter
    without a single upper-case letter stays itself.
    """
    great = letter.upper()
    return (great if len(great) == 1 else letter).lower()[0]
