"""A table's manifests and the files that they list, read by PyIceberg."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyiceberg.io import FileIO
from pyiceberg.manifest import DataFile, ManifestContent, ManifestEntry, ManifestFile
from pyiceberg.table import Table

from lakegate.adapters.iceberg.files import CACHE_BYTES, MetadataIO
from lakegate.audit.data_files import manifests
from lakegate.errors import Refused

AT_ONCE = 16  # manifests read concurrently


@dataclass(frozen=True)
class ListedManifest:
    """A manifest as PyIceberg has it."""

    manifest: ManifestFile

    @property
    def path(self) -> str:
        return str(self.manifest.manifest_path)

    @property
    def holds_deletes(self) -> bool:
        return self.manifest.content is ManifestContent.DELETES

    @property
    def is_live(self) -> bool:
        return self.manifest.has_added_files() or self.manifest.has_existing_files()

    @property
    def oldest(self) -> int:
        return self.manifest.min_sequence_number


@dataclass(frozen=True)
class TableState:
    """A table at a commit, or none."""

    source: Table | None

    @property
    def table(self) -> str:
        return ".".join(self.source.name()) if self.source else ""

    def manifests(self) -> Iterable[ListedManifest]:
        snapshot = self.source.current_snapshot() if self.source else None
        return map(ListedManifest, snapshot.manifests(self.source.io)) if self.source and snapshot else ()

    def data_files(self, manifests: Sequence[ListedManifest]) -> Iterator[tuple[str, DataFile]]:
        for entry in self._entries(manifests):
            yield entry.data_file.file_path, entry.data_file

    def delete_files(self, manifests: Sequence[ListedManifest]) -> Iterator[tuple[str, int]]:
        for entry in self._entries(manifests):
            yield entry.data_file.file_path, entry.sequence_number or 0

    def _entries(self, manifests: Sequence[ListedManifest]) -> Iterator[ManifestEntry]:
        files = [manifest.manifest for manifest in manifests]
        for manifest in fetch_manifests(self.source.io, files) if self.source else ():
            yield from live_entries(self.source.io, manifest, of=f" of {self.table}") if self.source else ()


def fetch_manifests(io: FileIO, manifests: Sequence[ManifestFile]) -> Iterator[ManifestFile]:
    """Yield the manifests. Fetch some of them ahead, as many as the cache can hold."""
    for start in range(0, len(manifests), AT_ONCE):
        chunk = manifests[start : start + AT_ONCE]
        fit = sum(manifest.manifest_length for manifest in chunk) <= CACHE_BYTES // 2
        if fit and isinstance(io, MetadataIO):
            io.look_ahead(manifest.manifest_path for manifest in chunk)
        yield from chunk


def live_entries(io: FileIO, manifest: ManifestFile, of: str = "") -> list[ManifestEntry]:
    """Read a manifest's live entries. Raise Refused if PyIceberg does not know its encoding; its reader has no error of
    its own for that. The message names the table by `of`, if that is known.
    """
    try:
        return manifest.fetch_manifest_entry(io, discard_deleted=True)
    except (TypeError, ValueError) as exc:
        raise Refused(f"the manifest{of} at {manifest.manifest_path} cannot be read: {exc}") from exc


def data_files(table: Table | None) -> dict[str, DataFile]:
    """Return the table's data files by path."""
    state = TableState(table)
    return manifests.data_files(state, manifests.by_path(state))


def unshared_files(table: Table, other: Table) -> tuple[dict[str, DataFile], dict[str, DataFile]]:
    """Return the data files in manifests that the other table lacks, of both."""
    states = TableState(table), TableState(other)
    own_manifests, other_manifests = manifests.only_in_one(*states)
    return manifests.data_files(states[0], own_manifests), manifests.data_files(states[1], other_manifests)
