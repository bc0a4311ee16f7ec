"""The table of a run, at one state, for the audit: each data file is known to hold the rows of one append."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.express.tables import ExpressTable
from lakegate.wap.history import Append, append_of

_NO_COLUMN = 0  # of no column: Iceberg counts them from 1


@dataclass(frozen=True, kw_only=True)
class RunTable(ExpressTable):
    """A table that need not have a column for the file version: a snapshot says which append its data files are of."""

    appends: Sequence[Append] = ()

    def fields(self) -> dict[str, IcebergField]:
        return with_append(super().fields())

    def changes_since(self, before: ExpressTable | None) -> Difference:
        return told(super().changes_since(before), self.fields()[FILE_COLUMN].id, self.appends)


def with_append(fields: Mapping[str, IcebergField]) -> dict[str, IcebergField]:
    """Return a table's columns, with one that tells the append if there is none."""
    return {FILE_COLUMN: IcebergField(id=_NO_COLUMN, name=FILE_COLUMN, type="string"), **fields}


def told(found: Difference, column: int, appends: Sequence[Append]) -> Difference:
    """Return the difference with statistics that say, in the column of this id, which append a data file is of."""
    statistics = {path: _told(column, append_of(path, appends), it) for path, it in found.new_files.statistics.items()}
    return replace(found, new_files=DataFiles(statistics=statistics, entries=found.new_files.entries))


def _told(column: int, append: str | None, found: DataFileStatistics) -> DataFileStatistics:
    """Return the statistics with what is true of the append, and of no other, in each row."""
    if append is None:
        return found
    bound = append.encode().hex()
    return replace(
        found,
        values={**found.values, column: found.rows},
        nulls={**found.nulls, column: 0},
        lower={**found.lower, column: bound},
        upper={**found.upper, column: bound},
    )
