"""Difference of two states of a table, by their manifests. Nothing here reads a manifest: an engine does.

A manifest never changes once written, so a manifest that both states list is not opened: the cost is that of the
commits between them, whatever the table holds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, TypeVar

from lakegate.audit.errors import ListedTwice

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Manifest(Protocol):
    """A manifest as a snapshot lists it. A manifest holds data files or delete files, never both."""

    @property
    def path(self) -> str: ...

    @property
    def holds_deletes(self) -> bool: ...

    @property
    def is_live(self) -> bool:
        """False if it only says which files were removed, which the next commit forgets."""

    @property
    def oldest(self) -> int:
        """Least sequence number of its files."""


M = TypeVar("M", bound=Manifest)


class State(Protocol[M, T_co]):
    """A table at a commit, or no table: then it lists nothing. `files` are what an engine knows of a data file."""

    @property
    def table(self) -> str: ...

    def manifests(self) -> Iterable[M]:
        """Yield the manifests that the state's snapshot lists."""

    def data_files(self, manifests: Sequence[M]) -> Iterable[tuple[str, T_co]]:
        """Yield the live data files in these manifests with their paths."""

    def delete_files(self, manifests: Sequence[M]) -> Iterable[tuple[str, int]]:
        """Yield the live delete files in these manifests: a name that no other has, and the sequence number."""


@dataclass(frozen=True, kw_only=True)
class FileDifference(Generic[T]):
    """Data files of one state alone by path, and the names of delete files by which a row may have come or gone."""

    new_files: Mapping[str, T] = field(default_factory=dict)
    lost_files: Mapping[str, T] = field(default_factory=dict)
    deletes: frozenset[str] = frozenset()


def compare(before: State[M, T], after: State[M, T]) -> FileDifference[T]:
    """Compare two states. Raise ListedTwice if a manifest, or a data file in those that are opened, is there twice."""
    old_manifests, came = only_in_one(before, after)
    old_files, new_files = data_files(before, old_manifests), data_files(after, came)
    old_deletes, new = _delete_files(before, old_manifests), _delete_files(after, came)
    return FileDifference(
        new_files=_without(new_files, old_files),
        lost_files=_without(old_files, new_files),
        deletes=frozenset(_without(new, old_deletes)) | _effective(_without(old_deletes, new), after),
    )


def by_path(state: State[M, T]) -> dict[str, M]:
    """Return the state's manifests by path. Raise ListedTwice if one is there twice.

    Iceberg lists one twice by itself if Nessie reports a conflict about a commit that succeeded, and repeats it.
    """
    return _files_once(
        ((manifest.path, manifest) for manifest in state.manifests()), f"{state.table} lists the manifest"
    )


def only_in_one(state: State[M, T], other: State[M, T]) -> tuple[dict[str, M], dict[str, M]]:
    """Return each state's manifests that the other lacks."""
    own_manifests, other_manifests = by_path(state), by_path(other)
    return _without(own_manifests, other_manifests), _without(other_manifests, own_manifests)


def data_files(state: State[M, T], manifests: Mapping[str, M]) -> dict[str, T]:
    """Return the live data files in these manifests by path. Raise ListedTwice if one is there twice."""
    data_manifests = [manifest for manifest in manifests.values() if not manifest.holds_deletes and manifest.is_live]
    return _files_once(state.data_files(data_manifests), f"{state.table} has the data file")


def has_deletes(state: State[M, T]) -> bool:
    """Return True if the table has delete files."""
    return any(manifest.holds_deletes and manifest.is_live for manifest in by_path(state).values())


def _delete_files(state: State[M, T], manifests: Mapping[str, M]) -> dict[str, int]:
    return dict(
        state.delete_files([manifest for manifest in manifests.values() if manifest.holds_deletes and manifest.is_live])
    )


def _effective(removed_deletes: Mapping[str, int], after: State[M, T]) -> frozenset[str]:
    """Return those removed delete files that may have hidden a row. A delete file hides rows of older data files alone;
    if all data files are younger it hid none, and Iceberg drops it with any commit that removes data files.
    """
    if not removed_deletes:
        return frozenset()
    live = [manifest.oldest for manifest in by_path(after).values() if not manifest.holds_deletes and manifest.is_live]
    return frozenset(name for name, sequence in removed_deletes.items() if live and sequence >= min(live))


def _without(files: Mapping[str, T], exclusions: Mapping[str, object]) -> dict[str, T]:
    return {path: file for path, file in files.items() if path not in exclusions}


def _files_once(entries: Iterable[tuple[str, T]], description: str) -> dict[str, T]:
    files: dict[str, T] = {}
    for path, file in entries:
        if path in files:
            raise ListedTwice(f"table {description} {path} twice: a reader finds its rows twice")
        files[path] = file
    return files
