"""`Tables` with PyIceberg through the catalog's Iceberg REST, one address per ref. It reads and writes metadata alone.

PyArrow is not needed, and no function has it: object storage is reached through s3fs. Immutable facts (a table at a
commit, a metadata file, the address of a ref) are fetched once per publish.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from io import BytesIO
from math import inf
from threading import Lock
from urllib.parse import urlparse

import requests
from cachetools import LRUCache, TTLCache, cached
from fsspec import AbstractFileSystem
from pydantic import ValidationError as MalformedAnswer
from pyiceberg import exceptions as iceberg
from pyiceberg.catalog import URI
from pyiceberg.catalog.rest import Endpoints, RestCatalog
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.io import PY_IO_IMPL, FileIO, InputFile, OutputFile
from pyiceberg.io.fsspec import FsspecFileIO, FsspecInputFile, FsspecOutputFile
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.schema import Schema, index_by_id, index_name_by_id
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT

from lakegate.adapters.aws import aws_errors
from lakegate.adapters.http import Patient, mount, network_error
from lakegate.adapters.refs import segment
from lakegate.audit.schema.fit import CONTRACT_HASH
from lakegate.errors import Conflict, Misconfigured, OutcomeUnknown, Refused, Retryable
from lakegate.ports import FileChanges, Ref, TableIdentity

OPTIONS = {
    PY_IO_IMPL: "lakegate.adapters.iceberg.MetadataIO",
    "s3.remote-signing-enabled": "false",  # this process has credentials of its own
    "s3.connect-timeout": "5",
    "s3.request-timeout": "60",
}
STORAGE = ("s3", "s3a", "s3n")
TAKEN = ("prefix", "namespace-separator", "view-endpoints-supported")  # settings accepted of a service
PORTS = {"http": 80, "https": 443}
TABLES, A_WHILE = 16, 60  # cached, and for how many seconds: the storage credentials that come with them expire
REMEMBERED = 32 * 1024**2  # bytes of cached metadata files
AT_ONCE = 16  # manifests read concurrently
NOT_ALLOWED = (
    iceberg.AuthorizationExpiredError,
    iceberg.ForbiddenError,
    iceberg.OAuthError,
    iceberg.UnauthorizedError,
    PermissionError,
)
ABSENT = (iceberg.NoSuchTableError, iceberg.NoSuchNamespaceError, iceberg.NoSuchIdentifierError)
DAMAGED = (iceberg.ValidationError, iceberg.ValidationException, FileNotFoundError)
BUSY = (iceberg.TooManyRequestsError, iceberg.WaitingForLockException)
COMMIT_ERRORS: dict[int, type[Exception]] = {
    409: iceberg.CommitFailedException,
    500: iceberg.CommitStateUnknownException,
    502: iceberg.CommitStateUnknownException,
    504: iceberg.CommitStateUnknownException,
}
EVERY = tuple(kind for kind in vars(iceberg).values() if isinstance(kind, type) and issubclass(kind, Exception))
UNABLE = (ImportError, NotImplementedError, ValueError)
BROKEN = (iceberg.ServerError, iceberg.ServiceUnavailableError, MalformedAnswer, OSError)


@contextmanager
def iceberg_errors(what: str, *, changes: bool = False) -> Iterator[None]:
    """Translate the errors of PyIceberg, its network and its storage into our own."""
    what = f"Iceberg: {what}"
    try:
        with aws_errors(what, changes=changes):
            yield
    except iceberg.CommitFailedException as exc:
        raise Conflict(f"{what}: {exc}") from exc
    except iceberg.CommitStateUnknownException as exc:
        raise OutcomeUnknown(f"{what}: {exc}") from exc
    except requests.RequestException as exc:
        raise network_error(what, exc, changes=changes) from exc
    except NOT_ALLOWED as exc:
        raise Misconfigured(f"{what}: {exc}") from exc
    except (*ABSENT, *DAMAGED, iceberg.TableAlreadyExistsError) as exc:
        raise Refused(f"{what}: {exc}") from exc
    except BUSY as exc:
        raise Retryable(f"{what}: {exc}") from exc
    except BROKEN as exc:
        raise (OutcomeUnknown if changes else Retryable)(f"{what}: {exc}") from exc
    except EVERY as exc:
        gone = "NoSuchReference" in str(exc)  # the service reports it as a bad request
        raise (Conflict if gone else Misconfigured)(f"{what}: {exc}") from exc
    except UNABLE as exc:
        why = "PyIceberg is not able to; look at the table's properties (write.avro.compression-codec)"
        raise Misconfigured(f"{what}: {why}: {exc}") from exc


class IcebergTables:
    """Tables of one warehouse; `uri` is the catalog's address without /iceberg."""

    def __init__(self, uri: str, warehouse: str) -> None:
        self._uri, self._warehouse = uri, warehouse
        self._http, self._files = Patient(), Files()
        self._at_commit = cached(TTLCache(TABLES, A_WHILE), lock=Lock())(self._look)
        self._catalog = cached(TTLCache(TABLES, A_WHILE), lock=Lock())(self._open)

    def identity(self, ref: Ref, table: str) -> TableIdentity | None:
        with iceberg_errors(f"reading {table} at {ref}"):
            found = self._find(ref, table)
            return _identity(found) if found else None

    def paths(self, ref: Ref, table: str) -> frozenset[str]:
        with iceberg_errors(f"listing the data files of {table} at {ref}"):
            found = self._find(ref, table)
            return frozenset(_data_files(found, _manifests(found)))

    def compare(self, table: str, before: Ref, after: Ref) -> FileChanges:
        with iceberg_errors(f"comparing {table} at {before} and {after}"):
            old, new = self._find(before, table), self._find(after, table)
            left, brought = _apart(old, new)
            went, came = _data_files(old, left), _data_files(new, brought)
            return FileChanges(
                added=frozenset(came.keys() - went),
                removed=frozenset(went.keys() - came),
                deletes=_deletes(_delete_files(old, left), _delete_files(new, brought), new),
            )

    def append(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        """Append the same data files, statistics and partitions included, in a new snapshot."""
        with iceberg_errors(f"reading {table} at {source} and {branch}"):
            origin, target = self._load(source, table), self._load(Ref(branch), table)
            left, brought = _apart(origin, target)
            there, here = _data_files(origin, left), _data_files(target, brought)
            _refuse(paths & here.keys(), f"{table} at {branch} already has data file")
            _refuse(paths - there.keys(), f"{table} at {source} has, beyond what {branch} has, no data file")
        with (
            iceberg_errors(f"appending to {table} on {branch}", changes=True),
            target.transaction() as transaction,
            transaction.update_snapshot().fast_append() as append,
        ):
            for path in sorted(paths):
                append.append_data_file(there[path])

    def register(self, table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        """Register the same metadata file, and write a new one if data files are left out."""
        with iceberg_errors(f"reading {table} at {source}"):
            origin = self._load(source, table)
            there = _data_files(origin, _manifests(origin)).keys()
            _refuse(paths - there, f"{table} at {source} has no data file")
        with iceberg_errors(f"registering {table} on {branch}", changes=True):
            catalog: RefCatalog = self._catalog(Ref(branch))
            catalog.create_namespace_if_not_exists(table.rpartition(".")[0])
            try:
                catalog.register_table(table, origin.metadata_location)
            except iceberg.TableAlreadyExistsError:  # a request that is delivered twice fails on its own first delivery
                if self._load(Ref(branch), table).metadata_location != origin.metadata_location:
                    raise
        if left := there - paths:
            self.remove(table, branch, frozenset(left))

    def evolve(self, table: str, branch: str, base: Ref, source: Ref) -> None:
        """Set the schema under the same field ids: adding the columns here would give them other ids, in any order."""
        with iceberg_errors(f"reading {table} at {base}, {source} and {branch}"):
            old, new, target = self._load(base, table), self._load(source, table), self._load(Ref(branch), table)
            if _identity(old) != _identity(target):
                raise Refused(f"table {table} on {branch} is not what it was at {base}")
        said = {name: value for name, value in new.properties.items() if old.properties.get(name) != value}
        with iceberg_errors(f"bringing columns of {table} to {branch}", changes=True):
            catalog: RefCatalog = self._catalog(Ref(branch))
            catalog.set_schema(target, _grown(target.schema(), new.schema()), new.metadata.last_column_id, said)

    def remove(self, table: str, branch: str, paths: frozenset[str]) -> None:
        with iceberg_errors(f"reading {table} at {branch}"):
            target = self._load(Ref(branch), table)
            here = _data_files(target, _manifests(target))
            _refuse(paths - set(here), f"{table} at {branch} has no data file")
        with (
            iceberg_errors(f"removing data files from {table} on {branch}", changes=True),
            target.transaction() as transaction,
            transaction.update_snapshot().overwrite() as overwrite,
        ):
            for path in sorted(paths):
                overwrite.delete_data_file(here[path])

    def _find(self, ref: Ref, table: str) -> Table | None:
        found: Table | None = self._at_commit(Ref("", ref.commit), table) if ref.commit else self._look(ref, table)
        return found

    def _look(self, ref: Ref, table: str) -> Table | None:
        try:
            found: Table = self._catalog(ref).load_table(table)
        except ABSENT:
            return None
        return found

    def _open(self, ref: Ref) -> "RefCatalog":
        return RefCatalog(self._uri, self._warehouse, ref, http=self._http, files=self._files)

    def _load(self, ref: Ref, table: str) -> Table:
        found = self._find(ref, table)
        if found is None:
            raise Refused(f"there is no table {table} at {ref}")
        return found


class Files:
    """Metadata files that were read, by location. They never change, and the next publish needs most of them."""

    def __init__(self) -> None:
        self._read, self._lock = LRUCache[str, bytes](REMEMBERED, getsizeof=len), Lock()

    def get(self, location: str) -> bytes | None:
        with self._lock:
            found: bytes | None = self._read.get(location)
            return found

    def keep(self, location: str, body: bytes) -> None:
        with self._lock, suppress(ValueError):  # the body is larger than the whole cache
            self._read[location] = body


class MetadataIO(FsspecFileIO):
    """File access that reads a metadata file whole, in one request, and once. PyIceberg would first ask for its length,
    and reads some files several times in one commit.
    """

    def __init__(self, properties: Mapping[str, str]) -> None:
        super().__init__(dict(properties))
        self.files = Files()

    def read(self, location: str) -> bytes:
        found = self.files.get(location)
        return self.read_all([location])[0] if found is None else found

    def read_all(self, locations: Sequence[str]) -> list[bytes]:
        """Read the files concurrently."""
        fs = self._fs(locations[0])
        # With more than one request per file, fsspec would first ask for the file's length.
        found: list[bytes] = fs.cat_ranges(list(locations), None, None, on_error="raise", max_concurrency=1)
        for location, body in zip(locations, found, strict=True):
            self.files.keep(location, body)
        return found

    def look_ahead(self, locations: Iterable[str]) -> None:
        """Read the files that are needed next, unless they are cached."""
        unread = [location for location in locations if self.files.get(location) is None]
        if unread:
            self.read_all(unread)

    def new_input(self, location: str) -> FsspecInputFile:
        return _Whole(location, self._fs(location), self)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Delete nothing. PyIceberg cleans up after a commit that it believes failed; if the commit did succeed, the
        table would name deleted files. A file left over is referenced by no table.
        """

    def new_output(self, location: str) -> FsspecOutputFile:
        check_storage(location)
        return super().new_output(location)

    def _fs(self, location: str) -> AbstractFileSystem:
        check_storage(location)
        return self.get_fs(urlparse(location).scheme)


def check_storage(location: str) -> None:
    """Raise Misconfigured if a table names a file outside S3, for example on this machine."""
    if urlparse(location).scheme not in STORAGE:
        raise Misconfigured(f"a table has a file at {location}, and tables are in S3 alone: somebody made it otherwise")


class _Whole(FsspecInputFile):
    def __init__(self, location: str, fs: AbstractFileSystem, io: MetadataIO) -> None:
        super().__init__(location, fs)
        self._io = io

    def open(self, seekable: bool = True) -> BytesIO:  # noqa: ARG002, FBT001, FBT002 (as PyIceberg calls it)
        return BytesIO(self._io.read(self.location))


class RefCatalog(RestCatalog):
    """One ref of the catalog's Iceberg REST. It sets no prefix, because the service names that itself. `more` are
    PyIceberg's own options, and override ours.

    It accepts little else from the service's or a table's configuration. Through PyIceberg's options a service could
    otherwise instantiate any class in this process, sign requests with its credentials, or redirect credentials and
    data elsewhere.
    """

    def __init__(
        self,
        uri: str,
        warehouse: str,
        ref: Ref,
        more: Mapping[str, str] | None = None,
        *,
        http: Patient | None = None,
        files: Files | None = None,
    ) -> None:
        self._http, self._files = http or Patient(), files or Files()
        options = {**OPTIONS, **(more or {})}
        self._io = {PY_IO_IMPL: options[PY_IO_IMPL]}
        super().__init__(str(ref), uri=f"{uri}/iceberg/{segment(ref)}", warehouse=warehouse, **options)
        _check_address(asked=uri, told=self.uri)

    def _fetch_config(self) -> None:
        own = dict(self.properties)
        super()._fetch_config()
        told = {name: said for name in TAKEN if isinstance(said := self.properties.get(name), str)}
        self.uri = str(self.uri)
        self.properties = {**told, **own, URI: self.uri}

    def _create_session(self) -> requests.Session:
        """Mount the shared adapter. This is the only hook through which PyIceberg's calls get a time-out and share
        connections across refs.
        """
        return mount(super()._create_session(), self._http)

    def _load_file_io(self, _: Mapping[str, str] = EMPTY_DICT, location: str | None = None) -> FileIO:
        """Load the file access with this process's own options, ignoring the table's properties and the service's."""
        io = super()._load_file_io(self._io, location)
        if isinstance(io, MetadataIO):
            io.files = self._files
        return io

    def set_schema(self, table: Table, schema: Schema, last_id: int, properties: Mapping[str, str]) -> None:
        """Give the table another schema, field ids included. PyIceberg omits the highest field id ever assigned, and
        Nessie accepts no schema without it.
        """
        metadata = table.metadata
        new = schema.model_copy(update={"schema_id": max(it.schema_id for it in metadata.schemas) + 1})
        columns = [
            {"action": "add-schema", "schema": new.model_dump(mode="json"), "last-column-id": last_id},
            {"action": "set-current-schema", "schema-id": -1},
        ]
        body = {
            "requirements": [
                {"type": "assert-table-uuid", "uuid": str(metadata.table_uuid)},
                {"type": "assert-current-schema-id", "current-schema-id": metadata.current_schema_id},
                {"type": "assert-last-assigned-field-id", "last-assigned-field-id": metadata.last_column_id},
            ],
            # If the columns are unchanged, Nessie rejects the update because it adds none.
            "updates": [
                *(columns if schema != table.schema() else []),
                {"action": "set-properties", "updates": dict(properties)},
            ],
        }
        url = self.url(Endpoints.update_table, **self._split_identifier_for_path(table.name()))
        answer = self._session.post(url, json=body)
        try:
            answer.raise_for_status()
        except requests.HTTPError as exc:
            _handle_non_200_response(exc, COMMIT_ERRORS)


def _check_address(*, asked: str, told: str) -> None:
    """Raise Misconfigured if Nessie announces another address than the one it was asked at. Nessie derives it from the
    request as it sees it, which a proxy in front may have changed; clients, Spark too, would go there.
    """
    if _server(told) != _server(asked):
        why = "behind a load balancer it has to be told what was asked for (docs/operating.md, Nessie)"
        raise Misconfigured(f"Nessie was asked at {asked} and says that its tables are at {told}: {why}")


def _server(address: str) -> tuple[str, str | None, int | None]:
    """Return the address's scheme, host and port, in small letters and with the default port filled in."""
    found = urlparse(address)
    return found.scheme, found.hostname, found.port or PORTS.get(found.scheme)


def _identity(table: Table) -> TableIdentity:
    schema = table.schema()
    names: Mapping[int, str] = index_name_by_id(schema)
    fields = tuple(
        (number, names[number], f"{field.field_type}{' not null' if field.required else ''}")
        for number, field in sorted(index_by_id(schema).items())
    )
    return TableIdentity(
        uuid=str(table.metadata.table_uuid),
        fields=fields,
        last_id=table.metadata.last_column_id,
        partitions=str(table.spec()),
        contract_hash=table.properties.get(CONTRACT_HASH, ""),
    )


def _grown(here: Schema, there: Schema) -> Schema:
    """Return the columns of `here` with the types of `there`, followed by the columns that only `there` has."""
    others = {field.field_id: field for field in there.fields}
    own = [field.model_copy(update={"field_type": others.pop(field.field_id).field_type}) for field in here.fields]
    return Schema(*own, *others.values(), identifier_field_ids=here.identifier_field_ids)


def _manifests(table: Table | None) -> dict[str, ManifestFile]:
    """Return the table's manifests by path; a manifest never changes once written. Raise Refused if one is listed
    twice, because its rows would be read twice.
    """
    snapshot = table.current_snapshot() if table else None
    found: dict[str, ManifestFile] = {}
    if table is None or snapshot is None:
        return found
    for manifest in snapshot.manifests(table.io):
        _refuse({manifest.manifest_path} & found.keys(), f"{'.'.join(table.name())} lists a manifest twice:")
        found[manifest.manifest_path] = manifest
    return found


def _apart(one: Table | None, other: Table | None) -> tuple[dict[str, ManifestFile], dict[str, ManifestFile]]:
    """Return each table's manifests that the other lacks. Manifests that both have are not opened."""
    ones, others = _manifests(one), _manifests(other)
    return (
        {path: ones[path] for path in ones if path not in others},
        {path: others[path] for path in others if path not in ones},
    )


def _data_files(table: Table | None, manifests: Mapping[str, ManifestFile]) -> dict[str, DataFile]:
    """Return the live data files in these manifests, by path. Raise Refused if one is listed twice."""
    found: dict[str, DataFile] = {}
    if table is None:
        return found
    for entry in _live(table, manifests, ManifestContent.DATA):
        file = entry.data_file
        _refuse({file.file_path} & found.keys(), f"{'.'.join(table.name())} has a data file twice:")
        found[file.file_path] = file
    return found


def _delete_files(table: Table | None, manifests: Mapping[str, ManifestFile]) -> dict[str, int]:
    """Return the live delete files of any kind in these manifests: their sequence numbers by path."""
    found = _live(table, manifests, ManifestContent.DELETES) if table else ()
    return {entry.data_file.file_path: entry.sequence_number or 0 for entry in found}


def _deletes(went: Mapping[str, int], came: Mapping[str, int], after: Table | None) -> frozenset[str]:
    """Return the delete files that were added, and the removed ones that may have hidden rows still present. A removed
    one that is older than all data files hid none: Iceberg drops it by itself.
    """
    gone = went.keys() - came.keys()
    oldest = _oldest(after) if gone else 0
    return frozenset(came.keys() - went.keys()) | {path for path in gone if went[path] >= oldest}


def _oldest(table: Table | None) -> float:
    """Return the least sequence number of the table's data files."""
    live = [it for it in _manifests(table).values() if it.content is ManifestContent.DATA and _has_files(it)]
    return min((manifest.min_sequence_number for manifest in live), default=inf)


def _has_files(manifest: ManifestFile) -> bool:
    return manifest.has_added_files() or manifest.has_existing_files()


def _live(table: Table, manifests: Mapping[str, ManifestFile], content: ManifestContent) -> Iterator[ManifestEntry]:
    """Yield the live entries of these manifests. A manifest holds data files or delete files; those of the other kind
    are not opened.
    """
    wanted = [manifest for manifest in manifests.values() if manifest.content is content]
    for start in range(0, len(wanted), AT_ONCE):
        some = wanted[start : start + AT_ONCE]
        fit = sum(manifest.manifest_length for manifest in some) <= REMEMBERED // 2
        if fit and isinstance(table.io, MetadataIO):
            table.io.look_ahead(manifest.manifest_path for manifest in some)
        for manifest in some:
            yield from _entries(table, manifest)


def _entries(table: Table, manifest: ManifestFile) -> list[ManifestEntry]:
    """Read a manifest's entries. Raise Refused if PyIceberg does not know its encoding; its reader has no error of its
    own for that.
    """
    try:
        return manifest.fetch_manifest_entry(table.io, discard_deleted=True)
    except (TypeError, ValueError) as exc:
        name = ".".join(table.name())
        raise Refused(f"the manifest of {name} at {manifest.manifest_path} cannot be read: {exc}") from exc


def _refuse(paths: Iterable[str], what: str) -> None:
    for path in sorted(paths):
        raise Refused(f"{what} {path}")
