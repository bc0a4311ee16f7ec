"""Each port twice: in memory, and the real adapter on a real or emulated service. The tests do not see which.

A place offers what tests need beside the ports: a job's append, a stranger's commit, the rows that a reader finds.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Protocol

import pyarrow as pa
import pytest
import requests
from pyiceberg.catalog import Catalog as Vendor
from pyiceberg.catalog import load_catalog
from pyiceberg.catalog.rest import Endpoints
from pyiceberg.exceptions import NoSuchTableError
from pyiceberg.manifest import DataFileContent, ManifestContent, ManifestFile, ManifestWriter, ManifestWriterV2
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.table.snapshots import Operation
from pyiceberg.table.update.snapshot import _FastAppendFiles

from lakegate.audit.schema.fit import CONTRACT_HASH
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt
from lakegate.ports import MAIN, Catalog, DecidedFile, Record, Ref, TableIdentity, Tables
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from lakegate.testing import MemoryCatalog, MemoryLake, MemoryTables
from lakegate.testing.lake import Key, KeyKind, TableState
from tests.support.data_files import data_file
from tests.support.nessie import Lake, unique

BATCH = "20130131T0405-1a2b3c4d"
SCHEMA = pa.schema([("a", pa.int32()), ("b", pa.struct([("c", pa.string())]))])


class Place(Protocol):
    """A catalog and its tables, and other people's hands on them."""

    catalog: Catalog
    tables: Tables

    def write(self, branch: str, table: str, rows: int, contract_hash: str = "h1") -> str:
        """Return what a job does: make the table if there is none, append one data file, return its path."""

    def add_column(self, branch: str, table: str, name: str) -> None:
        """Add a column of text and widen `a`, as a job does."""

    def sign(self, branch: str, table: str, contract_hash: str) -> None:
        """Change the table as a job does by a contract that was pushed since the table was made."""

    def drop_column(self, branch: str, table: str, name: str) -> None:
        """Somebody takes a column off the table, the last one that it has."""

    def meddle(self, branch: str, name: str) -> None:
        """A stranger commits a content that is neither a table nor a receipt."""

    def rewrite(self, branch: str, table: str) -> None:
        """Somebody deletes a row of one data file: its others are written to a new one (copy on write)."""

    def delete_rows(self, branch: str, table: str, path: str) -> str:
        """Somebody deletes rows of a data file, which stays, by a delete file (merge on read). Returns its path."""

    def drop(self, branch: str, table: str) -> None:
        """Somebody drops the table."""

    def rows(self, ref: str, table: str) -> int:
        """Return how many rows a reader of the table finds."""


@dataclass
class MemoryPlace:
    lake: MemoryLake = field(default_factory=MemoryLake)
    written: int = 0

    def __post_init__(self) -> None:
        self.catalog: Catalog = MemoryCatalog(lake=self.lake)
        self.tables: Tables = MemoryTables(lake=self.lake)
        self.meddle(MAIN, "founding")

    def write(self, branch: str, table: str, rows: int, contract_hash: str = "h1") -> str:
        self.written += 1
        path = f"s3://lake/{table}/{self.written}.parquet"
        fields = ((1, "a", "int"), (2, "b", "struct<3: c: optional string>"), (3, "b.c", "string"))
        identity = TableIdentity(
            uuid=f"uuid {self.written}", fields=fields, last_id=3, partitions="[]", contract_hash=contract_hash
        )
        self.lake.spark_append(branch, table, identity, {path: rows})
        return path

    def add_column(self, branch: str, table: str, name: str) -> None:
        state = self._state(branch, table)
        last = state.identity.last_id + 1
        fields = ((1, "a", "long"), *state.identity.fields[1:], (last, name, "string"))
        self._put(branch, table, replace(state, identity=replace(state.identity, fields=fields, last_id=last)))

    def sign(self, branch: str, table: str, contract_hash: str) -> None:
        state = self._state(branch, table)
        self._put(branch, table, replace(state, identity=replace(state.identity, contract_hash=contract_hash)))

    def drop_column(self, branch: str, table: str, name: str) -> None:
        state = self._state(branch, table)
        fields = tuple(field for field in state.identity.fields if field[1] != name)
        self._put(branch, table, replace(state, identity=replace(state.identity, fields=fields)))

    def meddle(self, branch: str, name: str) -> None:
        self.lake.commit(branch, {Key(kind=KeyKind.OTHER, name=name): name})

    def rewrite(self, branch: str, table: str) -> None:
        self.written += 1
        state = self._state(branch, table)
        path = max(state.files, key=lambda path: state.files[path])
        files = {**state.files, f"s3://lake/{table}/{self.written}.parquet": state.files[path] - 1}
        del files[path]
        self._put(branch, table, replace(state, files=files))

    def delete_rows(self, branch: str, table: str, path: str) -> str:
        state, made = self._state(branch, table), f"{path}-deletes.parquet"
        self._put(branch, table, replace(state, deletes=state.deletes | {made}))
        return made

    def drop(self, branch: str, table: str) -> None:
        self._put(branch, table, None)

    def _state(self, ref: str, table: str) -> TableState:
        state = self.lake.table(Ref(ref), table)
        assert state is not None
        return state

    def _put(self, branch: str, table: str, state: TableState | None) -> None:
        self.lake.commit(branch, {Key(kind=KeyKind.TABLE, name=table): state})

    def rows(self, ref: str, table: str) -> int:
        state = self.lake.table(Ref(ref), table)
        return state.rows if state else 0


@dataclass
class NessiePlace:
    lake: Lake
    uri: str = ""  # of a network in front of it, for whoever writes with PyIceberg

    def __post_init__(self) -> None:
        self.catalog: Catalog = NessieCatalog(self.lake.nessie_uri)
        self.tables: Tables = NessieTables(self.lake.nessie_uri, self.lake.warehouse)
        self.meddle(MAIN, unique("founding"))

    def write(self, branch: str, table: str, rows: int, contract_hash: str = "h1") -> str:
        vendor = self.vendor(branch)
        vendor.create_namespace_if_not_exists(table.rpartition(".")[0])
        try:
            target = vendor.load_table(table)
        except NoSuchTableError:
            target = vendor.create_table(table, schema=SCHEMA, properties={CONTRACT_HASH: contract_hash})
        before = self.tables.paths(Ref(branch), table)
        target.append(pa.Table.from_pylist([{"a": n, "b": {"c": str(n)}} for n in range(rows)], schema=SCHEMA))
        [path] = self.tables.paths(Ref(branch), table) - before
        return path

    def add_column(self, branch: str, table: str, name: str) -> None:
        metadata = self.vendor(branch).load_table(table).metadata
        last = metadata.last_column_id + 1
        schema = metadata.schema().model_dump(mode="json")
        schema["fields"][0]["type"] = "long"
        schema["fields"].append({"id": last, "name": name, "type": "string", "required": False})
        self._set_schema(branch, table, schema, last)

    def sign(self, branch: str, table: str, contract_hash: str) -> None:
        with self.vendor(branch).load_table(table).transaction() as transaction:
            transaction.set_properties({CONTRACT_HASH: contract_hash})

    def drop_column(self, branch: str, table: str, name: str) -> None:
        metadata = self.vendor(branch).load_table(table).metadata
        schema = metadata.schema().model_dump(mode="json")
        schema["fields"] = [field for field in schema["fields"] if field["name"] != name]
        self._set_schema(branch, table, schema, metadata.last_column_id)

    def _set_schema(self, branch: str, table: str, schema: dict[str, Any], last: int) -> None:
        """As Spark does, because PyIceberg cannot."""
        schema["schema-id"] += 1
        add = {"action": "add-schema", "schema": schema, "last-column-id": last}
        set_it = {"action": "set-current-schema", "schema-id": -1}
        namespace, _, name = table.rpartition(".")
        url = self.vendor(branch).url(Endpoints.update_table, namespace=namespace, table=name)  # type: ignore[attr-defined]
        requests.post(url, json={"requirements": [], "updates": [add, set_it]}, timeout=300).raise_for_status()

    def meddle(self, branch: str, name: str) -> None:
        content = {"type": "UDF", "dialect": "any", "sqlText": "select 1"}
        body = {
            "commitMeta": {"message": "a stranger's"},
            "operations": [{"type": "PUT", "key": {"elements": [name]}, "content": content}],
        }
        url = f"{self.lake.nessie_uri}/api/v2/trees/{branch}@{self.lake.head(branch)}/history/commit"
        requests.post(url, json=body, timeout=300).raise_for_status()

    def rewrite(self, branch: str, table: str) -> None:
        target = self.vendor(branch).load_table(table)
        target.delete(f"a = {max(target.scan().to_arrow().column('a').to_pylist())}")

    def delete_rows(self, branch: str, table: str, path: str) -> str:
        target = self.vendor(branch).load_table(table)
        made = f"{path}-deletes.parquet"
        with target.transaction() as transaction:
            append = DeleteFiles(Operation.DELETE, transaction, target.io)
            append.append_data_file(data_file(made, 1, DataFileContent.POSITION_DELETES))
            append.commit()
        return made

    def drop(self, branch: str, table: str) -> None:
        self.vendor(branch).drop_table(table)

    def rows(self, ref: str, table: str) -> int:
        return len(self.vendor(ref).load_table(table).scan().to_arrow())

    def vendor(self, ref: str) -> Vendor:
        """PyIceberg as a user has it, with PyArrow."""
        return load_catalog(
            "lake",
            type="rest",
            uri=f"{self.uri or self.lake.nessie_uri}/iceberg/{ref}",
            warehouse=self.lake.warehouse,
            **{"s3.remote-signing-enabled": "false", "py-io-impl": "pyiceberg.io.pyarrow.PyArrowFileIO"},
        )


class DeleteFiles(_FastAppendFiles):
    """A snapshot that adds delete files, which PyIceberg itself does not write."""

    def new_manifest_writer(self, spec: PartitionSpec) -> ManifestWriter:
        return _DeleteManifest(
            spec, self._transaction.table_metadata.schema(), self.new_manifest_output(), self._snapshot_id, "deflate"
        )


class ListedTwice(_FastAppendFiles):
    """A snapshot that adds nothing, and whose manifest list names every manifest twice."""

    def _existing_manifests(self) -> list[ManifestFile]:
        return super()._existing_manifests() * 2


class WithoutDeletes(_FastAppendFiles):
    """A snapshot that adds nothing, and drops all delete files."""

    def _existing_manifests(self) -> list[ManifestFile]:
        return [it for it in super()._existing_manifests() if it.content is ManifestContent.DATA]


class _DeleteManifest(ManifestWriterV2):
    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}


@pytest.fixture
def nessie_place(lake: Lake, monkeypatch: pytest.MonkeyPatch) -> NessiePlace:
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    return NessiePlace(lake)


@pytest.fixture(params=["memory", pytest.param("nessie", marks=pytest.mark.nessie)])
def place(request: pytest.FixtureRequest) -> Place:
    if request.param == "memory":
        return MemoryPlace()
    found: NessiePlace = request.getfixturevalue("nessie_place")
    return found


@pytest.fixture
def table() -> str:
    """A table that no other test has, in a namespace of its own."""
    return f"{unique('nyc')}.flights"


@dataclass
class Work:
    """One attempt's branch from main's head, and its files' claims, as the workflow makes them."""

    place: Place
    table: str
    files: list[FileVersion]
    number: int = 1
    base: str = ""

    def __post_init__(self) -> None:
        self.attempt = Attempt(table=self.table, batch=BATCH, number=self.number)
        self.branch = self.attempt.branch
        self.base = self.base or main(self.place)
        self.place.catalog.create_branch(self.branch, self.base)

    def claim(self) -> str:
        claims = [receipt(file, self.attempt) for file in self.files]
        return self.place.catalog.commit_receipts(self.branch, self.base, claims)

    def merge(self) -> None:
        head = self.place.catalog.head(self.branch)
        assert head
        self.place.catalog.merge(self.branch, head, note(self.attempt, self.files))


def main(place: Place) -> str:
    return head_of(place, MAIN)


def head_of(place: Place, branch: str) -> str:
    head = place.catalog.head(branch)
    assert head
    return head


def landed(key: str | None = None, version: str = "v1") -> FileVersion:
    return FileVersion(
        bucket="landing",
        key=key or f"nyc/flights/{unique('file')} é+%.parquet",
        version_id=version,
        size=3,
        landed_at=datetime(2013, 1, 31, 4, 5, tzinfo=UTC),
        checksum="SHA256:abc",
    )


def receipt(file: FileVersion, attempt: Attempt, decision: Decision = Decision.PUBLISHED) -> Receipt:
    entry = Entry.of(file, decision, attempt, reasons=("because",))
    return Receipt(bucket=file.bucket, key=file.key).with_decision(entry)


def note(attempt: Attempt, files: list[FileVersion], decision: Decision = Decision.PUBLISHED) -> Record:
    decided = tuple(DecidedFile(key=file.key, version_id=file.version_id, rows=5, reasons=("late",)) for file in files)
    return Record(
        decision=decision,
        table=attempt.table,
        batch=attempt.batch,
        attempt=attempt.number,
        files=decided,
        reason="I said so",
        by="me",
    )
