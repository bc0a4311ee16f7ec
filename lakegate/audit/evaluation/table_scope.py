"""Metrics that depend on rows outside the batch, file by file. Duplicates have a module of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakegate.audit.evaluation.verdicts import Measured
from lakegate.audit.model.report import Source


@dataclass(frozen=True, kw_only=True)
class Orphans:
    """Rows of each file version (by id) that refer to nothing; files without such rows are absent.

    If a table refers to itself, `elsewhere` counts rows that refer only to rows of other files of the batch: for each
    file, the number of rows by the set of files that hold the rows they refer to.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    elsewhere: Mapping[str, Mapping[frozenset[str], int]] = field(default_factory=dict)

    def __call__(self, file: str, earlier: Sequence[str]) -> Measured:
        lost = sum(rows for files, rows in self.elsewhere.get(file, {}).items() if files.isdisjoint(earlier))
        return Measured(value=self.rows.get(file, 0) + lost, source=Source.QUERY)


@dataclass(frozen=True, kw_only=True)
class TableRows:
    """A table's row count with a file version: its rows before the batch, and those of the good files."""

    before: int
    rows: Mapping[str, int]

    def __call__(self, file: str, earlier: Sequence[str]) -> Measured:
        total = self.before + sum(self.rows[each] for each in (*earlier, file))
        return Measured(value=total, source=Source.STATISTICS)
