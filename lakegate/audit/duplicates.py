"""Which rows of a batch repeat an earlier one, and whose fault that is. It is given counts, not rows.

Each file is judged on its own, because which files are ingested together is a matter of timing. Where the whole table
counts, they are judged in the order they landed: a row repeats another of its own file, one of an earlier file that is
itself good, or one of the table, whose rows come before every row of the batch. So of two files with the same key the
later one is to blame, unless the earlier one is rejected anyway.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from lakegate.audit.report import Source
from lakegate.audit.verdicts import Measured


@dataclass(frozen=True, kw_only=True)
class OwnRepeats:
    """How many rows of each file version (by id) repeat an earlier one of it; files without such rows are absent."""

    rows: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, file: str, _: Collection[str]) -> Measured:
        return Measured(value=self.rows.get(file, 0), source=Source.QUERY)


@dataclass(frozen=True, kw_only=True)
class Pattern:
    """How many keys occur exactly so often in exactly these files (file id → rows of each key).

    `taken` keys are in the table already.
    """

    counts: Mapping[str, int]
    keys: int
    taken: bool = False


@dataclass(frozen=True, kw_only=True)
class Repeats:
    """Every pattern of keys that occur more than once in the batch, or that are taken."""

    patterns: tuple[Pattern, ...] = ()

    def __call__(self, file: str, earlier: Collection[str]) -> Measured:
        return Measured(value=self.count(file, earlier), source=Source.QUERY)

    def count(self, file: str, earlier: Collection[str]) -> int:
        """How many rows of the file repeat a row of itself or of the earlier files, which are good."""
        return sum(_repeating(pattern, file, earlier) * pattern.keys for pattern in self.patterns)


def _repeating(pattern: Pattern, file: str, earlier: Collection[str]) -> int:
    rows = pattern.counts.get(file, 0)
    is_first = not pattern.taken and not any(other in pattern.counts for other in earlier)
    return max(rows - 1, 0) if is_first else rows
