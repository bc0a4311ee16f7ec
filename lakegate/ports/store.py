"""Port of the service's own bucket."""

from collections.abc import Iterable, Mapping
from typing import Protocol


class Store(Protocol):
    """Small named objects in the service's own bucket: contracts, jobs, reports, notes. Names are like
    `reports/<branch>.json`.
    """

    def read(self, name: str) -> bytes | None:
        """Return the object, or None."""

    def read_many(self, names: Iterable[str]) -> dict[str, bytes]:
        """Return these objects by name; those that do not exist are absent."""

    def write(self, name: str, body: bytes) -> None:
        """Write or replace the object."""

    def write_many(self, bodies: Mapping[str, bytes]) -> None:
        """Write or replace these by name, in no order: a failure may leave some of them written."""

    def create(self, name: str, body: bytes) -> bool:
        """Write the object unless it exists already; return True if this call wrote it."""

    def delete(self, name: str) -> None:
        """Delete the object; an absent one is fine."""

    def names(self, prefix: str) -> list[str]:
        """Return the names that start with `prefix`, sorted."""

    def uri(self, name: str) -> str:
        """Return the `s3://` URI of an object, existing or not."""
