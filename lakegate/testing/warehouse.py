"""`Warehouse` in memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from lakegate.ports import StoredFile
from lakegate.ports.warehouse import table_folder


class MemoryWarehouse:
    """`Warehouse` over the files that `times` names, with the times of writing, but for those that were deleted."""

    def __init__(self, times: Callable[[], Mapping[str, datetime]], deletions: set[str] | None = None) -> None:
        self._times = times
        self.deletions: set[str] = set() if deletions is None else deletions

    def present_files(self) -> dict[str, datetime]:
        """Return all files that are there, with the times of writing."""
        return {uri: at for uri, at in self._times().items() if uri not in self.deletions}

    def folders(self, location: str) -> Iterator[str]:
        folders = (table_folder(uri, location) for uri in self.present_files())
        yield from sorted({folder for folder in folders if folder})

    def files(self, folder: str) -> Iterator[StoredFile]:
        for uri, at in self.present_files().items():
            if uri.startswith(f"{folder}/"):
                yield StoredFile(uri=uri, size=1, etag=f"etag of {uri}", written_at=at)

    def delete(self, uris: Iterable[str]) -> None:
        self.deletions.update(uris)
