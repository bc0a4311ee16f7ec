"""`Warehouse` in memory."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from datetime import datetime

from lakegate.ports import StoredFile
from lakegate.ports.warehouse import table_folder


class MemoryWarehouse:
    """`Warehouse` over the files that `written` names, with the times of writing, but for those that were deleted."""

    def __init__(self, written: Callable[[], Mapping[str, datetime]], deleted: set[str] | None = None) -> None:
        self._written = written
        self.deleted: set[str] = set() if deleted is None else deleted

    def there(self) -> dict[str, datetime]:
        """Return all files that are there, with the times of writing."""
        return {uri: at for uri, at in self._written().items() if uri not in self.deleted}

    def folders(self, location: str) -> Iterator[str]:
        folders = (table_folder(uri, location) for uri in self.there())
        yield from sorted({folder for folder in folders if folder})

    def files(self, folder: str) -> Iterator[StoredFile]:
        for uri, at in self.there().items():
            if uri.startswith(f"{folder}/"):
                yield StoredFile(uri=uri, size=1, etag=f"etag of {uri}", modified=at)

    def delete(self, uris: Iterable[str]) -> None:
        self.deleted.update(uris)
