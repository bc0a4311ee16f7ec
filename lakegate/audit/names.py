"""Names of columns as engines compare them, without case. Which names a column may have is said elsewhere."""

import re
from functools import lru_cache

_DOTTED = re.compile("i\N{COMBINING DOT ABOVE}+")


@lru_cache(maxsize=10_000)  # each name of a file may be compared with each of its table
def folded(name: str) -> str:
    """What two names have in common that are one to an engine: letter by letter as Java's `equalsIgnoreCase` compares.

    Some engines make small letters of the whole name first, by which İ becomes an i and a dot: that is the same name,
    too.
    """
    return _DOTTED.sub("i", "".join(map(_folded, name)))


def _folded(letter: str) -> str:
    """The small letter of its great one: i, with a dot and without. What has no single great letter is its own."""
    great = letter.upper()
    return (great if len(great) == 1 else letter).lower()[0]
