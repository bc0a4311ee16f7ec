"""The table of a run, at one state, for the audit: each data file is known to hold the rows of one append."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from lakegate.audit.data_files.difference import DataFiles, Difference
from lakegate.audit.data_files.statistics import IcebergField
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.express.tables import ExpressTable
from lakegate.wap.history import Append, append_of

OF_APPEND = {FILE_COLUMN: IcebergField(id=0, name=FILE_COLUMN, type="string")}
"""The column of the append where a table has none: Iceberg counts columns from 1."""


@dataclass(frozen=True, kw_only=True)
class RunTable(ExpressTable):
    """A table that need not have a column for the file version: a snapshot says which append its data files are of."""

    appends: Sequence[Append] = ()

    def fields(self) -> dict[str, IcebergField]:
        return OF_APPEND | super().fields()

    def changes_since(self, before: ExpressTable | None) -> Difference:
        return with_appends(super().changes_since(before), self.fields()[FILE_COLUMN].id, self.appends)


def with_appends(difference: Difference, column: int, appends: Sequence[Append]) -> Difference:
    """Return the difference with statistics that say, in the column of this id, which append a data file is of."""
    statistics = {**difference.new_files.statistics}
    for path, data in difference.new_files.statistics.items():
        if append := append_of(path, appends):
            statistics[path] = replace(
                data,
                values={**data.values, column: data.rows},
                nulls={**data.nulls, column: 0},
                lower={**data.lower, column: append.encode().hex()},
                upper={**data.upper, column: append.encode().hex()},
            )
    return replace(difference, new_files=DataFiles(statistics=statistics, entries=difference.new_files.entries))
