"""Port of the warehouse: the files of the lake's tables as they lie in storage, whether a table names them or not.

The catalog makes each table in a folder of its own below the warehouse's location, `<namespace>/<table>_<uuid>`. Data
is in its `data/`, metadata in its `metadata/`.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

_FOLDER = re.compile(r"(?P<folder>(?:[^/]+/)+?[^/]+_[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})(?:/(?P<rest>.*))?")
_OF_A_TABLE = ("data/", "metadata/")


@dataclass(frozen=True, kw_only=True)
class StoredFile:
    """An object. The `etag` changes with its content."""

    uri: str
    size: int
    etag: str
    written_at: datetime


class Warehouse(Protocol):
    """Listing and deleting of table folders' files. URIs are the `s3://` ones that tables name."""

    def folders(self, location: str) -> Iterator[str]:
        """Yield the URIs of all table folders below a location, in order."""

    def files(self, folder: str) -> Iterator[StoredFile]:
        """Yield everything that lies below a folder, in no order. The memory that it takes does not grow with the
        number of files.
        """

    def delete(self, uris: Iterable[str]) -> None:
        """Delete these files; absent ones are fine. A failure may leave some of them deleted."""


def normal_uri(uri: str) -> str:
    """Return a URI as this port spells it. Clients spell the scheme in several ways."""
    return f"s3://{uri.partition('://')[2]}"


def table_folder(uri: str, location: str) -> str | None:
    """Return the table folder that a file or folder lies in, or is; None if it is in none below the location."""
    location, uri = normal_uri(location), normal_uri(uri)
    path = uri.removeprefix(f"{location}/")
    match = _FOLDER.fullmatch(path)
    return f"{location}/{match['folder']}" if match and path != uri else None


def is_of_a_table(uri: str, folder: str) -> bool:
    """Return True if a file in a table folder lies where the table's writers put theirs."""
    return uri.removeprefix(f"{folder}/").startswith(_OF_A_TABLE)
