"""Duplicate rows of a batch, and the file that each one counts against. It is given counts, not rows.

In batch scope each file is evaluated on its own, because timing decides which files are ingested together. In table
scope files are evaluated in the order they landed. A row is a duplicate if it repeats another of its own file, one of
an earlier file that is itself good, or one of the table, whose rows precede every row of the batch. So of two files
with the same key the later one fails, unless the earlier one is rejected anyway.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from lakegate.audit.evaluation.verdicts import Measurement
from lakegate.audit.model.report import Source


@dataclass(frozen=True, kw_only=True)
class OwnRepeats:
    """Rows of each file version (by id) that repeat an earlier one of the same file; files without any are absent."""

    rows: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, file: str, _: Collection[str]) -> Measurement:
        return Measurement(value=self.rows.get(file, 0), source=Source.QUERY)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """A number of keys that occur exactly so often in exactly these files (file id → rows of each key).

    Keys may be `in_table` already.
    """

    counts: Mapping[str, int]
    keys: int
    in_table: bool = False


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Every pattern of keys that occur more than once in the batch, or that are in the table."""

    patterns: tuple[Pattern, ...] = ()

    def __call__(self, file: str, earlier: Collection[str]) -> Measurement:
        return Measurement(value=self.count(file, earlier), source=Source.QUERY)

    def count(self, file: str, earlier: Collection[str]) -> int:
        """Return how many rows of the file repeat a row of itself or of the earlier files, which are good."""
        if not (patterns := self._by_file.get(file)):
            return 0
        before = frozenset(earlier)
        return sum(_repeating_keys(pattern, file, before) * pattern.keys for pattern in patterns)

    @cached_property
    def _by_file(self) -> Mapping[str, Sequence[Pattern]]:
        """Patterns by file. There may be one pattern for each key, and most of them involve few files."""
        patterns: dict[str, list[Pattern]] = {}
        for pattern in self.patterns:
            for file in pattern.counts:
                patterns.setdefault(file, []).append(pattern)
        return patterns


def _repeating_keys(pattern: Pattern, file: str, earlier: frozenset[str]) -> int:
    rows = pattern.counts[file]
    is_first = not pattern.in_table and earlier.isdisjoint(pattern.counts)
    return max(rows - 1, 0) if is_first else rows
