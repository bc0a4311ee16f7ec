"""Definition of a table as lakegate writes it: columns, partitions and properties. It reads no table: engines do.

Columns are optional in Iceberg, because the audit checks nulls by file and reports them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakegate.audit.data_files.statistics import asked
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.fit import CONTRACT_HASH, FILE_COLUMN, columns_of
from lakegate.audit.schema.partitions import partition
from lakegate.audit.schema.types import Struct, kept, parse

CONTRACT_COLUMNS = "lakegate.contract-columns"
STATISTICS = "write.metadata.metrics.column."
FIXED = {
    # Iceberg keeps bounds for parquet, not for Avro. They prove that a data file has rows of one file version only.
    "write.format.default": "parquet",
    "write.distribution-mode": "none",
    "write.spark.fanout.enabled": "true",
    # A batch's data files keep their own manifests, so comparing two commits does not read the whole table.
    "commit.manifest-merge.enabled": "false",
    # Branches hold files and snapshots that main does not name: tools that remove them refuse such a table.
    "gc.enabled": "false",
    f"{STATISTICS}{FILE_COLUMN}": "full",
}
FILE = TableColumn(name=FILE_COLUMN, type="string", doc="The file version that the row came from.")
QUARANTINE = (
    FILE,
    TableColumn(name="key", type="string", doc="The file's key in the landing bucket."),
    TableColumn(name="batch", type="string", doc="The batch in which the row was quarantined."),
    TableColumn(name="attempt", type="int", doc="The attempt at the batch."),
    TableColumn(name="reasons", type="array<string>", doc="The checks that the row failed."),
    TableColumn(
        name="row_json", type="string", doc="The row as JSON, every value whole; null where it does not parse."
    ),
    TableColumn(name="quarantined_at", type="timestamp", doc="When."),
    TableColumn(name="line", type="bigint", doc="Of a row that does not parse: its line in the file."),
    TableColumn(name="text", type="string", doc="Its text, as far as it is kept; masked where any column is."),
    TableColumn(name="why", type="string", doc="What is wrong with it."),
)
"""Columns of a quarantine table, which has rows that failed a check."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A table's definition: Spark SQL type by column, partition transforms in the plan's spelling, properties."""

    columns: Mapping[str, str]
    partitions: tuple[str, ...]
    properties: Mapping[str, str]

    @property
    def own(self) -> Struct:
        """Return the columns without lakegate's."""
        return Struct({name: parse(text) for name, text in self.columns.items() if name != FILE_COLUMN})

    @property
    def contract(self) -> Struct:
        """Return the columns that the contract had at the last write; all others came with files."""
        recorded = self.properties.get(CONTRACT_COLUMNS)
        known = parse(recorded) if recorded else self.own
        return known if isinstance(known, Struct) else self.own


def properties(plan: Plan, columns: Sequence[TableColumn] | None = None, there: Shape | None = None) -> dict[str, str]:
    """Return the table's properties: the contract's hash, write settings, and statistics of every column with a check.

    By default Iceberg keeps statistics of the first hundred columns only. The contract's own columns are recorded as
    soon as the table has others.
    """
    checked = {column for metric in plan.metrics for column in asked(metric)}
    statistics = {f"{STATISTICS}{name}": "truncate(16)" for name in sorted(checked)}
    contract = columns_of(plan)
    more = columns is not None and dict(contract.fields) != {each.name: kept(parse(each.type)) for each in columns}
    recorded = {CONTRACT_COLUMNS: str(contract)} if more or (there and CONTRACT_COLUMNS in there.properties) else {}
    return {CONTRACT_HASH: plan.contract_hash, **recorded, **statistics, **FIXED}


def partitions_of(plan: Plan) -> tuple[str, ...]:
    """Return the plan's partitions in one spelling, which is also a statement's."""
    return tuple(str(partition(spelled)) for spelled in plan.partitions)
