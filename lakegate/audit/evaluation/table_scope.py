"""Metrics that depend on rows outside the batch, file by file. Duplicates have a module of their own."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakegate.audit.evaluation.verdicts import Measurement
from lakegate.audit.model.report import Source


@dataclass(frozen=True, kw_only=True)
class Orphans:
    """Rows of each file version (by id) that refer to nothing; files without such rows are absent.

    If a table refers to itself, `in_other_files` counts rows that refer only to rows of other files of the batch: for
    each file, the number of rows by the set of files that hold the rows they refer to.
    """

    rows: Mapping[str, int] = field(default_factory=dict)
    in_other_files: Mapping[str, Mapping[frozenset[str], int]] = field(default_factory=dict)

    def __call__(self, file: str, earlier: Sequence[str]) -> Measurement:
        dangling = sum(rows for files, rows in self.in_other_files.get(file, {}).items() if files.isdisjoint(earlier))
        return Measurement(value=self.rows.get(file, 0) + dangling, source=Source.QUERY)


@dataclass(frozen=True, kw_only=True)
class TableRows:
    """A table's row count with a file version: its rows before the batch, and those of the good files."""

    before: int
    rows: Mapping[str, int]

    def __call__(self, file: str, earlier: Sequence[str]) -> Measurement:
        total = self.before + sum(self.rows[name] for name in (*earlier, file))
        return Measurement(value=total, source=Source.STATISTICS)
