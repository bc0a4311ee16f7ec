"""The one table of a trial, in a folder: no catalog knows of it, and nothing of it is kept."""

# ruff: noqa: ARG002 - the arguments are a protocol's

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pyiceberg.catalog.noop import NoopCatalog
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import DataFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.table.metadata import TableMetadata, new_table_metadata
from pyiceberg.table.refs import MAIN_BRANCH
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER
from pyiceberg.table.update import update_table_metadata

from lakegate.adapters.iceberg.commits import stage_append
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.express.creating import schema_of, spec_of
from lakegate.publishing.iceberg.refs import NO_COMMIT
from lakegate.wap.place import Open

BRANCH = "try"


@dataclass(kw_only=True)
class Scratch:
    """`Workplace` of one process: a branch of a lake that has no table at all."""

    folder: Path
    branch: Open = field(default_factory=lambda: Open(name=BRANCH, base=None, head=None, at=NO_COMMIT))

    def other(self, name: str) -> Table | None:
        return None

    def find(self, name: str) -> Open | None:
        return self.branch

    def fit(self, branch: Open, plan: Plan, columns: Sequence[TableColumn], asked_for: Collection[str]) -> Open:
        schema = Schema(*schema_of(columns).fields[:-1])  # without the column of the file version
        place, settings = str(self.folder / "table"), {"format-version": "2"}
        metadata = new_table_metadata(schema, spec_of(plan, schema), UNSORTED_SORT_ORDER, place, settings)
        return self._at(plan.table, metadata)

    def append(self, branch: Open, files: Iterable[DataFile], summary: Mapping[str, str]) -> Open:
        head = branch.head
        if head is None:
            raise LookupError("no table was made for the files")
        _, (updates, _) = stage_append(head, files, MAIN_BRANCH, summary)
        return self._at(".".join(head.name()), update_table_metadata(head.metadata, updates))

    def steps(self, branch: Open) -> list[Table]:
        return [branch.head] if branch.head else []

    def _at(self, name: str, metadata: TableMetadata) -> Open:
        table = Table(tuple(name.split(".")), metadata, "", PyArrowFileIO(), NoopCatalog(BRANCH))
        self.branch = replace(self.branch, head=table, at=str(metadata.current_snapshot_id or NO_COMMIT))
        return self.branch
