"""One ref of the catalog's Iceberg REST, through PyIceberg."""

from collections.abc import Mapping
from urllib.parse import urlparse

import requests
from pyiceberg import exceptions as iceberg
from pyiceberg.catalog import URI, WAREHOUSE_LOCATION
from pyiceberg.catalog.rest import ConfigResponse, Endpoints, RestCatalog
from pyiceberg.catalog.rest.response import _handle_non_200_response
from pyiceberg.io import PY_IO_IMPL, FileIO
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.typedef import EMPTY_DICT

from lakegate.adapters.http import TimeoutAdapter, mount
from lakegate.adapters.iceberg.errors import ABSENT
from lakegate.adapters.iceberg.files import Files, MetadataIO, check_storage
from lakegate.adapters.refs import segment
from lakegate.errors import Misconfigured
from lakegate.ports import Ref

OPTIONS = {
    PY_IO_IMPL: f"{MetadataIO.__module__}.{MetadataIO.__name__}",
    "s3.remote-signing-enabled": "false",  # this process has credentials of its own
    "s3.connect-timeout": "5",
    "s3.request-timeout": "60",
}
SERVICE_SETTINGS = ("prefix", "namespace-separator", "view-endpoints-supported")  # settings accepted of a service
PORTS = {"http": 80, "https": 443}
COMMIT_ERRORS: dict[int, type[Exception]] = {
    409: iceberg.CommitFailedException,
    500: iceberg.CommitStateUnknownException,
    502: iceberg.CommitStateUnknownException,
    504: iceberg.CommitStateUnknownException,
}


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
        further_options: Mapping[str, str] | None = None,
        *,
        http: TimeoutAdapter | None = None,
        files: Files | None = None,
    ) -> None:
        self._http, self._files = http or TimeoutAdapter(), files or Files()
        options = {**OPTIONS, **(further_options or {})}
        self._io = {PY_IO_IMPL: options[PY_IO_IMPL]}
        super().__init__(str(ref), uri=f"{uri}/iceberg/{segment(ref)}", warehouse=warehouse, **options)
        _check_address(url=uri, announced_url=self.uri)

    def _fetch_config(self) -> None:
        own_properties = dict(self.properties)
        super()._fetch_config()
        settings = {name: setting for name in SERVICE_SETTINGS if isinstance(setting := self.properties.get(name), str)}
        self.uri = str(self.uri)
        self.properties = {**settings, **own_properties, URI: self.uri}

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

    def location(self) -> str:
        """Return the URI of the warehouse's folder. PyIceberg's own configuration has the warehouse's name there."""
        name = {WAREHOUSE_LOCATION: self.properties[WAREHOUSE_LOCATION]}
        answer = self._session.get(self.url(Endpoints.get_config, prefixed=False), params=name)
        answer.raise_for_status()
        defaults = ConfigResponse.model_validate_json(answer.text).defaults or {}
        location = str(defaults.get(WAREHOUSE_LOCATION, ""))
        check_storage(location)
        return location.rstrip("/")

    def find_table(self, name: str) -> Table | None:
        """Return the table, or None if there is none."""
        try:
            table: Table = self.load_table(name)
        except ABSENT:
            return None
        return table

    def set_schema(self, table: Table, schema: Schema, last_id: int, properties: Mapping[str, str]) -> None:
        """Give the table another schema, field ids included. PyIceberg omits the highest field id ever assigned, and
        Nessie accepts no schema without it.
        """
        metadata = table.metadata
        new = schema.model_copy(update={"schema_id": max(old_schema.schema_id for old_schema in metadata.schemas) + 1})
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


def _check_address(*, url: str, announced_url: str) -> None:
    """Raise Misconfigured if Nessie announces another address than the one it was asked at. Nessie derives it from the
    request as it sees it, which a proxy in front may have changed; clients, Spark too, would go there.
    """
    if _server(announced_url) != _server(url):
        hint = "behind a load balancer it must know the address that clients use (docs/how-to/nessie.md)"
        raise Misconfigured(f"Nessie at {url} says that its tables are at {announced_url}: {hint}")


def _server(address: str) -> tuple[str, str | None, int | None]:
    """Return the address's scheme, host and port, in small letters and with the default port filled in."""
    parts = urlparse(address)
    return parts.scheme, parts.hostname, parts.port or PORTS.get(parts.scheme)
