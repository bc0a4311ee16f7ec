"""Rows of the lake's tables for people, through the catalog's Iceberg REST. It needs PyArrow."""

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

import boto3
from pyarrow.fs import FileSystem
from pyiceberg.expressions import BooleanExpression, In, Reference
from pyiceberg.expressions.literals import literal
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.table import ALWAYS_TRUE, Table

from lakegate.adapters.aws import CONFIG
from lakegate.adapters.decoding import TooLarge
from lakegate.adapters.http import TimeoutAdapter
from lakegate.adapters.iceberg import RefCatalog, check_storage, iceberg_errors
from lakegate.adapters.iceberg.nesting import keep_nulls
from lakegate.adapters.scan import read
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.errors import Conflict, Misconfigured
from lakegate.ports import MAIN, Ref

keep_nulls()


class LakeIO(PyArrowFileIO):
    """PyArrow's file access, limited to S3: a table's metadata could name a file on this machine."""

    def _initialize_fs(self, scheme: str, netloc: str | None = None) -> FileSystem:
        check_storage(f"{scheme}://{netloc or ''}")
        return super()._initialize_fs(scheme, netloc)


class IcebergLake:
    """Tables that Nessie's Iceberg REST serves, read by PyArrow with this process's own AWS credentials, each in so
    many seconds at most.
    """

    def __init__(
        self, nessie_uri: str, warehouse: str, http: TimeoutAdapter | None = None, seconds: float = math.inf
    ) -> None:
        self._uri, self._warehouse, self._http, self._seconds = nessie_uri, warehouse, http, seconds
        self._table = cache(self._load)

    def tables(self, ref: Ref) -> list[str]:
        with reading(ref):
            catalog = self._catalog(ref)
            return sorted(".".join(name) for space in catalog.list_namespaces() for name in catalog.list_tables(space))

    def columns(self, ref: Ref, table: str) -> list[str] | None:
        iceberg_table = self._table(ref, table)
        return None if iceberg_table is None else list(iceberg_table.schema().column_names)

    def rows(self, ref: Ref, table: str, columns: Sequence[str], limit: int | None, files: Sequence[str] = ()) -> Any:
        iceberg_table = self._table(ref, table)
        if iceberg_table is None:
            raise Misconfigured(f"there is no table {table} on {ref}")
        if limit == 0:
            return iceberg_table.schema().select(*columns).as_arrow().empty_table()
        with reading(ref):
            row_filter: BooleanExpression = ALWAYS_TRUE
            if (
                files and FILE_COLUMN in iceberg_table.schema().column_names
            ):  # a table that lakegate did not write lacks it
                row_filter = In(term=Reference(FILE_COLUMN), values=set(map(literal, files)))
            scan = iceberg_table.scan(row_filter=row_filter, selected_fields=tuple(columns), limit=limit)
            return read(scan, self._seconds)

    def _load(self, ref: Ref, table: str) -> Table | None:
        with reading(ref):
            return self._catalog(ref).find_table(table)

    def _catalog(self, ref: Ref) -> RefCatalog:
        address = Ref(str(ref)) if ref.branch == MAIN else ref  # with its name, by which rules let a reader see it
        return RefCatalog(self._uri, self._warehouse, address, storage(), http=self._http)


def storage() -> dict[str, str]:
    """Return PyIceberg's S3 options (endpoint, region, keys), from this process's AWS configuration."""
    session = boto3.Session()
    credentials = session.get_credentials()
    if credentials is None:
        raise Misconfigured("there are no AWS credentials to read the lake with; set AWS_PROFILE")
    client, keys = session.client("s3", config=CONFIG), credentials.get_frozen_credentials()
    options = {
        "py-io-impl": "lakegate.adapters.lake.LakeIO",
        "s3.endpoint": client.meta.endpoint_url,
        "s3.region": client.meta.region_name,
        "s3.access-key-id": keys.access_key,
        "s3.secret-access-key": keys.secret_key,
        "s3.session-token": keys.token,
    }
    return {name: value for name, value in options.items() if value}


@contextmanager
def reading(ref: Ref) -> Iterator[None]:
    """Raise Misconfigured if the ref is gone or never existed: the caller can name another."""
    try:
        with iceberg_errors(f"reading {ref}"):
            yield
    except Conflict as error:
        raise Misconfigured(f"there is no {ref}: {error}. Run: lakegate status") from error
    except TooLarge as error:
        raise Misconfigured(f"reading {ref}: {error}. Ask for fewer columns, or for fewer rows by LIMIT") from error
