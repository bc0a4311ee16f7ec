"""`Tables` with PyIceberg. It reads and writes metadata alone."""

from collections.abc import Container, Iterable, Iterator, Mapping
from threading import Lock
from types import MappingProxyType

from cachetools import TTLCache, cached
from pyiceberg import exceptions as iceberg
from pyiceberg.schema import Schema
from pyiceberg.table import Table

from lakegate.adapters.http import TimeoutAdapter
from lakegate.adapters.iceberg.catalog import OPTIONS, RefCatalog
from lakegate.adapters.iceberg.commits import append, one_commit
from lakegate.adapters.iceberg.errors import iceberg_errors
from lakegate.adapters.iceberg.files import Files, MetadataIO
from lakegate.adapters.iceberg.identity import table_identity
from lakegate.adapters.iceberg.manifests import TableState, data_files, unshared_files
from lakegate.adapters.iceberg.reach import reached_files
from lakegate.adapters.iceberg.specs import add_specs, with_specs_of
from lakegate.audit.data_files import manifests
from lakegate.errors import Refused
from lakegate.ports import MAIN, FileChanges, Ref, TableIdentity

TABLES, A_WHILE = 16, 60  # cached, and for how many seconds: the storage credentials that come with them expire


class NessieTables:
    """Tables of one warehouse; `uri` is the catalog's address without /iceberg. Snapshots that it appends have the
    `summary`.
    """

    def __init__(
        self,
        uri: str,
        warehouse: str,
        http: TimeoutAdapter | None = None,
        summary: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self._uri, self._warehouse, self._summary = uri, warehouse, summary
        self._http, self._files = http or TimeoutAdapter(), Files()
        self._at_commit = cached(TTLCache(TABLES, A_WHILE), lock=Lock())(self._read)
        self._catalog = cached(TTLCache(TABLES, A_WHILE), lock=Lock())(self._open)

    def identity(self, ref: Ref, table: str) -> TableIdentity | None:
        with iceberg_errors(f"reading {table} at {ref}"):
            state = self._find(ref, table)
            return table_identity(state) if state else None

    def paths(self, ref: Ref, table: str) -> frozenset[str]:
        with iceberg_errors(f"listing the data files of {table} at {ref}"):
            state = self._find(ref, table)
            return frozenset(data_files(state))

    def compare(self, table: str, before: Ref, after: Ref) -> FileChanges:
        with iceberg_errors(f"comparing {table} at {before} and {after}"):
            diff = manifests.compare(*(TableState(self._find(ref, table)) for ref in (before, after)))
        return FileChanges(adds=frozenset(diff.new_files), removes=frozenset(diff.lost_files), deletes=diff.deletes)

    def append(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        """Append the same data files, statistics and partitions included, in a new snapshot."""
        with iceberg_errors(f"reading {table} at {source} and {branch}"):
            origin, target = self._load(source, table), self._load(Ref(branch), table)
            origin_files, target_files = unshared_files(origin, target)
            _refuse(paths & target_files.keys(), f"{table} at {branch} already has data file")
            _refuse(paths - origin_files.keys(), f"{table} at {source} has, beyond what {branch} has, no data file")
        files, specs = with_specs_of(origin, target, [origin_files[path] for path in sorted(paths)])
        with iceberg_errors(f"appending to {table} on {branch}", changes=True), one_commit(target) as transaction:
            add_specs(target, transaction, specs)
            append(target, transaction, files, self._summary)

    def register(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        """Register the same metadata file, and write a new one if data files are left out."""
        with iceberg_errors(f"reading {table} at {source}"):
            origin = self._load(source, table)
            origin_files = data_files(origin).keys()
            _refuse(paths - origin_files, f"{table} at {source} has no data file")
        with iceberg_errors(f"registering {table} on {branch}", changes=True):
            catalog: RefCatalog = self._catalog(Ref(branch))
            catalog.create_namespace_if_not_exists(table.rpartition(".")[0])
            try:
                catalog.register_table(table, origin.metadata_location)
            except iceberg.TableAlreadyExistsError:  # a request that is delivered twice fails on its own first delivery
                if self._load(Ref(branch), table).metadata_location != origin.metadata_location:
                    raise
        if excess := origin_files - paths:
            self.remove(table, branch, frozenset(excess))

    def evolve(self, table: str, branch: str, base: Ref, source: Ref) -> None:
        """Set the schema under the same field ids: adding the columns here would give them other ids, in any order."""
        with iceberg_errors(f"reading {table} at {base}, {source} and {branch}"):
            old, new, target = self._load(base, table), self._load(source, table), self._load(Ref(branch), table)
            if table_identity(old) != table_identity(target):
                raise Refused(f"table {table} on {branch} is not what it was at {base}")
        properties = {name: value for name, value in new.properties.items() if old.properties.get(name) != value}
        with iceberg_errors(f"bringing columns of {table} to {branch}", changes=True):
            catalog: RefCatalog = self._catalog(Ref(branch))
            catalog.set_schema(target, _widen(target.schema(), new.schema()), new.metadata.last_column_id, properties)

    def remove(self, table: str, branch: str, paths: frozenset[str]) -> None:
        with iceberg_errors(f"reading {table} at {branch}"):
            target = self._load(Ref(branch), table)
            target_files = data_files(target)
            _refuse(paths - set(target_files), f"{table} at {branch} has no data file")
        with (
            iceberg_errors(f"removing data files from {table} on {branch}", changes=True),
            one_commit(target) as transaction,
            transaction.update_snapshot().overwrite() as overwrite,
        ):
            for path in sorted(paths):
                overwrite.delete_data_file(target_files[path])

    def location(self) -> str:
        with iceberg_errors(f"asking where warehouse {self._warehouse} is"):
            catalog: RefCatalog = self._catalog(Ref(MAIN))
            return catalog.location()

    def readable_files(self, metadata: Iterable[str], skip: Container[str]) -> Iterator[str]:
        io = MetadataIO(OPTIONS)
        io.files = self._files
        with iceberg_errors("following the tables' metadata files"):
            yield from reached_files(io, metadata, skip)

    def _find(self, ref: Ref, table: str) -> Table | None:
        state: Table | None = self._at_commit(Ref("", ref.commit), table) if ref.commit else self._read(ref, table)
        return state

    def _read(self, ref: Ref, table: str) -> Table | None:
        catalog: RefCatalog = self._catalog(ref)
        return catalog.find_table(table)

    def _open(self, ref: Ref) -> "RefCatalog":
        return RefCatalog(self._uri, self._warehouse, ref, http=self._http, files=self._files)

    def _load(self, ref: Ref, table: str) -> Table:
        state = self._find(ref, table)
        if state is None:
            raise Refused(f"there is no table {table} at {ref}")
        return state


def _widen(old: Schema, new: Schema) -> Schema:
    """Return the columns of `old` with the types of `new`, followed by the columns that only `new` has."""
    fields = {field.field_id: field for field in new.fields}
    columns = [field.model_copy(update={"field_type": fields.pop(field.field_id).field_type}) for field in old.fields]
    return Schema(*columns, *fields.values(), identifier_field_ids=old.identifier_field_ids)


def _refuse(paths: Iterable[str], reason: str) -> None:
    for path in sorted(paths):
        raise Refused(f"{reason} {path}")
