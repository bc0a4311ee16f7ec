"""Definition of a table as lakegate writes it: columns, partitions and properties. It reads no table: engines do.

Columns are optional in Iceberg, because the audit checks nulls by file and reports them.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from lakegate.audit.data_files.statistics import columns_asked
from lakegate.audit.errors import Unfit
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.fit import CONTRACT_HASH, FILE_COLUMN, columns_of
from lakegate.audit.schema.partitions import partition
from lakegate.audit.schema.types import Struct, parse, storage_of

CONTRACT_COLUMNS = "lakegate.contract-columns"
STATISTICS = "write.metadata.metrics.column."
FIXED_PROPERTIES = {
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
AUDITS = (
    TableColumn(name=FILE_COLUMN, type="string", doc="The file version that was audited."),
    TableColumn(name="key", type="string", doc="Its key in the landing bucket."),
    TableColumn(name="table_name", type="string", doc="The table that it is for."),
    TableColumn(name="batch", type="string", doc="The batch in which it was audited."),
    TableColumn(name="attempt", type="int", doc="The attempt at the batch."),
    TableColumn(name="lane", type="string", doc="Who audited it: spark, or express."),
    TableColumn(name="contract_id", type="string", doc="The contract's id."),
    TableColumn(name="contract_version", type="string", doc="Its version."),
    TableColumn(name="contract_hash", type="string", doc="A hash of what it demands."),
    TableColumn(name="mode", type="string", doc="enforce, or observe."),
    TableColumn(
        name="check_id", type="string", doc="The check, the same in every audit; file for the file as a whole."
    ),
    TableColumn(name="check_name", type="string", doc="The check in words; null for the file."),
    TableColumn(name="column_names", type="string", doc="The columns that it is about, with commas."),
    TableColumn(name="severity", type="string", doc="How bad it is to fail it."),
    TableColumn(name="verdict", type="string", doc="pass, warn, quarantine, fail, would quarantine or would fail."),
    TableColumn(name="value", type="double", doc="The number that was found, in its unit; null if there is none."),
    TableColumn(name="unit", type="string", doc="The number's unit."),
    TableColumn(name="expected", type="string", doc="What passes, in words."),
    TableColumn(name="low", type="double", doc="Where the values begin that pass; null: nowhere."),
    TableColumn(name="high", type="double", doc="Where they end; null: nowhere."),
    TableColumn(name="failing_rows", type="bigint", doc="Rows that fail it; of the file, those in quarantine."),
    TableColumn(name="row_count", type="bigint", doc="Rows that it looked at; of the file, all that were read."),
    TableColumn(name="reason", type="string", doc="Why it does not pass."),
    TableColumn(name="audited_commit", type="string", doc="The commit whose rows were judged."),
    TableColumn(name="audited_at", type="timestamp", doc="When."),
)
"""Columns of an audits table: `audit_rows` makes its rows."""


@dataclass(frozen=True, kw_only=True)
class Shape:
    """A table's definition: Spark SQL type by column, partition transforms in the plan's spelling, properties."""

    columns: Mapping[str, str]
    partitions: tuple[str, ...]
    properties: Mapping[str, str]

    @property
    def own_columns(self) -> Struct:
        """Return the columns without lakegate's."""
        return Struct({name: parse(text) for name, text in self.columns.items() if name != FILE_COLUMN})

    @property
    def contract(self) -> Struct:
        """Return the columns that the contract had at the last write; all others came with files."""
        stored_columns = self.properties.get(CONTRACT_COLUMNS)
        columns = parse(stored_columns) if stored_columns else self.own_columns
        return columns if isinstance(columns, Struct) else self.own_columns


def properties(plan: Plan, columns: Sequence[TableColumn] | None = None, shape: Shape | None = None) -> dict[str, str]:
    """Return the table's properties: the contract's hash, write settings, and statistics of every column with a check.

    By default Iceberg keeps statistics of the first hundred columns only. The contract's own columns are recorded as
    soon as the table has others.
    """
    columns_with_checks = {column for metric in plan.metrics for column in columns_asked(metric)}
    statistics = {f"{STATISTICS}{name}": "truncate(16)" for name in sorted(columns_with_checks)}
    contract = columns_of(plan)
    has_file_columns = columns is not None and dict(contract.fields) != {
        column.name: storage_of(parse(column.type)) for column in columns
    }
    stored_columns = (
        {CONTRACT_COLUMNS: str(contract)}
        if has_file_columns or (shape and CONTRACT_COLUMNS in shape.properties)
        else {}
    )
    return {CONTRACT_HASH: plan.contract_hash, **stored_columns, **statistics, **FIXED_PROPERTIES}


def refuse_strange(table: str, columns: Collection[str], *, is_partitioned: bool) -> None:
    """Raise Unfit if a table of lakegate's own has columns that lakegate does not give it, or partitions."""
    if columns or is_partitioned:
        part = f"column {min(columns)}" if columns else "partitions"
        raise Unfit(f"table {table} has {part}, which lakegate has not made")


def partitions_of(plan: Plan) -> tuple[str, ...]:
    """Return the plan's partitions in one spelling, which is also a statement's."""
    return tuple(str(partition(text)) for text in plan.partitions)
