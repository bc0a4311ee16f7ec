"""Routes: which landing keys belong to which table. A route matches keys; it does not know contracts."""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from lakegate.errors import Misconfigured

_TOKEN = re.compile(r"\*\*|\*|[^*]")


@dataclass(frozen=True, kw_only=True)
class Route:
    """A key pattern for one table: `*` stands for anything but `/`, `**` for anything."""

    table: str
    pattern: str

    def __post_init__(self) -> None:
        if not self.pattern or self.pattern.startswith("/"):
            raise Misconfigured(
                f"table {self.table}: the route {self.pattern!r} must be a key pattern without a leading /"
            )

    @cached_property
    def _regex(self) -> re.Pattern[str]:
        spelling = {"*": "[^/]*", "**": ".*"}
        return re.compile(
            "".join(spelling.get(token, re.escape(token)) for token in _TOKEN.findall(self.pattern)), re.DOTALL
        )

    @property
    def prefix(self) -> str:
        """The part before the first wildcard."""
        return self.pattern.split("*", 1)[0]

    def matches(self, key: str) -> bool:
        return self._regex.fullmatch(key) is not None

    def overlaps(self, other: "Route") -> bool:
        """Whether some key would match both."""
        return _overlap(tuple(_TOKEN.findall(self.pattern)), tuple(_TOKEN.findall(other.pattern)))


@lru_cache(maxsize=4096)
def _overlap(left: tuple[str, ...], right: tuple[str, ...]) -> bool:
    """Whether the two token sequences share a word: walk both at once, letting a wildcard take nothing or one more
    token.
    """
    reached, todo = {(0, 0)}, [(0, 0)]
    while todo:
        i, j = todo.pop()
        if i == len(left) and j == len(right):
            return True
        for step in _steps(left[i : i + 1], right[j : j + 1], i, j):
            if step not in reached:
                reached.add(step)
                todo.append(step)
    return False


def _steps(left: tuple[str, ...], right: tuple[str, ...], i: int, j: int) -> list[tuple[int, int]]:
    steps = []
    if left and left[0] in ("*", "**"):
        steps.append((i + 1, j))
        if right and _takes(left[0], right[0]):
            steps.append((i, j + 1))
    if right and right[0] in ("*", "**"):
        steps.append((i, j + 1))
        if left and _takes(right[0], left[0]):
            steps.append((i + 1, j))
    if left and left == right and left[0] not in ("*", "**"):
        steps.append((i + 1, j + 1))
    return steps


def _takes(wildcard: str, token: str) -> bool:
    """Whether a wildcard can stand for a literal character (a wildcard facing a wildcard is covered by its own
    steps).
    """
    return token not in ("*", "**") and (wildcard == "**" or token != "/")
