"""Object storage in memory for what PyIceberg writes: manifests and their lists. It loses nothing and is never late."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from typing import Any, ClassVar
from unittest.mock import patch

from pyiceberg.io import FileIO, InputFile, OutputFile

from lakegate.adapters.iceberg.catalog import OPTIONS


class MemoryFiles(FileIO):
    """PyIceberg makes one for every table; the objects are everybody's."""

    objects: ClassVar[dict[str, bytes]] = {}

    def new_input(self, location: str) -> InputFile:
        return _File(location)

    def new_output(self, location: str) -> OutputFile:
        return _File(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        self.objects.pop(location if isinstance(location, str) else location.location, None)


class _File(InputFile, OutputFile):
    def __len__(self) -> int:
        return len(self._body())

    def exists(self) -> bool:
        return self.location in MemoryFiles.objects

    def open(self, seekable: bool = True) -> Any:  # noqa: ARG002, FBT001, FBT002 - PyIceberg's own signature
        return BytesIO(self._body())

    def to_input_file(self) -> InputFile:
        return self

    def create(self, overwrite: bool = False) -> Any:  # noqa: ARG002, FBT001, FBT002 - as above
        return _Written(self.location)

    def _body(self) -> bytes:
        if not self.exists():
            raise FileNotFoundError(self.location)
        return MemoryFiles.objects[self.location]


class _Written(BytesIO):
    """It is there when it is closed, and whole."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self._location = location

    def close(self) -> None:
        if not self.closed:
            MemoryFiles.objects[self._location] = self.getvalue()
        super().close()


@contextmanager
def in_memory() -> Iterator[None]:
    """From an empty storage on, the adapter's tables are read and written here."""
    MemoryFiles.objects.clear()
    with patch.dict(OPTIONS, {"py-io-impl": f"{MemoryFiles.__module__}.{MemoryFiles.__qualname__}"}):
        yield
