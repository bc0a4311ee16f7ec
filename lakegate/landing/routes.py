"""Routes: which landing keys belong to which table. A route matches keys; it does not know contracts.

A key is walked once, with the set of all places that it may have reached in the pattern kept as the bits of a number.
No pattern and no key is therefore tried twice, whatever names a vendor or a team chooses.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Self

from lakegate.errors import Misconfigured

LONGEST = 1024  # bytes: S3 has no longer key
_WILDCARDS = re.compile(r"\*+")


@dataclass(frozen=True, kw_only=True)
class Route:
    """A key pattern for one table: `*` stands for anything but `/`, `**` for anything."""

    table: str
    pattern: str

    def __post_init__(self) -> None:
        size = len(self.pattern.encode(errors="surrogatepass"))
        if size > LONGEST:
            raise Misconfigured(
                f"table {self.table}: the route {self.pattern[:40]!r}… has {size:,} bytes, and no key has more than"
                f" {LONGEST:,}: shorten it"
            )
        if not self.pattern or self.pattern.startswith("/"):
            raise Misconfigured(
                f"table {self.table}: the route {self.pattern!r} must be a key pattern without a leading /"
            )

    @property
    def prefix(self) -> str:
        """Part of the pattern before the first wildcard."""
        return self.pattern.split("*", 1)[0]

    @cached_property
    def _literal_ends(self) -> tuple[str, str]:
        return _ends(self.pattern)

    @cached_property
    def _wildcard_places(self) -> "_Places":
        """Places from the first wildcard to the last."""
        first, last = self._literal_ends
        return _Places.of(_tokens(self.pattern[len(first) : len(self.pattern) - len(last)]))

    @cached_property
    def _whole(self) -> "_Places":
        return _Places.of(_tokens(self.pattern))

    def matches(self, key: str) -> bool:
        first, last = self._literal_ends
        if not (key.startswith(first) and key.endswith(last) and len(first) + len(last) <= len(key)):
            return False
        return self._wildcard_places.spell(key[len(first) : len(key) - len(last)])

    def overlaps(self, other: "Route") -> bool:
        """Return True if some key would match both routes."""
        first, last = zip(_ends(self.pattern), _ends(other.pattern), strict=True)
        alike = _one_begins(*first) and _one_begins(*(end[::-1] for end in last))
        return alike and self._whole.meet(_tokens(other.pattern))


def _ends(pattern: str) -> tuple[str, str]:
    """Return the beginning and the end of all its keys; a pattern without a wildcard is its own beginning."""
    first, *tail = pattern.split("*")
    return first, tail[-1] if tail else ""


def _one_begins(text: str, other: str) -> bool:
    """Return True if one of the texts begins with the other."""
    return text.startswith(other) or other.startswith(text)


def _tokens(pattern: str) -> list[str]:
    """Return the pattern's letters and wildcards. Neighbouring wildcards are one token, because together they stand for
    what a `**` does.
    """
    return [
        token
        for letters, stars in zip(_WILDCARDS.split(pattern), [*_WILDCARDS.findall(pattern), ""], strict=True)
        for token in (*letters, *([stars[:2]] if stars else []))
    ]


@dataclass(frozen=True, kw_only=True)
class _Places:
    """Places between a pattern's tokens, each a bit of a number; a token's bit is that of the place before it."""

    letters: dict[str, int]  # places before a letter, by the letter
    wild: int  # places before a wildcard of either kind
    deep: int  # places before a `**`
    end: int

    @classmethod
    def of(cls, tokens: list[str]) -> Self:
        letters = dict[str, int]()
        for at, token in enumerate(tokens):
            letters[token] = letters.get(token, 0) | 1 << at
        flat, deep = letters.pop("*", 0), letters.pop("**", 0)
        return cls(letters=letters, wild=flat | deep, deep=deep, end=1 << len(tokens))

    def spell(self, text: str) -> bool:
        """Return True if the whole pattern may stand for the text."""
        if self.end == 2:  # noqa: PLR2004 (one wildcard and no letter, as in most routes)
            return bool(self.deep) or "/" not in text
        return bool(self._walk(text) & self.end)

    def meet(self, tokens: Iterable[str]) -> bool:
        """Return True if the whole pattern and these tokens may stand for one text."""
        return bool(self._walk(tokens) & self.end)

    def _walk(self, tokens: Iterable[str]) -> int:
        """Return all places that a text may reach for which the tokens stand."""
        places, letters, wild, deep = 1 | (1 & self.wild) << 1, self.letters, self.wild, self.deep
        for token in tokens:
            if token in {"*", "**"}:
                places = self._pass_wildcard(places, token)
                continue
            places = (places & letters.get(token, 0)) << 1 | places & (deep if token == "/" else wild)
            places |= (places & wild) << 1  # a wildcard may stand for nothing
            if not places:
                break
        return places

    def _pass_wildcard(self, places: int, wildcard: str) -> int:
        """Return these places, and all places behind them that a wildcard may pass on to."""
        if wildcard == "**":
            return (self.end << 1) - (places & -places)
        open_ = self.end - 1 & ~self.letters.get("/", 0)
        return places | (((places & open_) + open_) ^ open_)  # the sum carries a bit to where the open ones end
