"""Access to a table's metadata files, in S3 alone."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from io import BytesIO
from threading import Lock
from urllib.parse import urlparse

from cachetools import LRUCache
from fsspec import AbstractFileSystem
from pyiceberg.io import InputFile, OutputFile, OutputStream
from pyiceberg.io.fsspec import FsspecFileIO, FsspecInputFile

from lakegate.errors import Misconfigured

STORAGE = ("s3", "s3a", "s3n")
CACHE_BYTES = 32 * 1024**2  # bytes of cached metadata files


class Files:
    """Metadata files that were read, by location. They never change, and the next publish needs most of them."""

    def __init__(self) -> None:
        self._read, self._lock = LRUCache[str, bytes](CACHE_BYTES, getsizeof=len), Lock()

    def get(self, location: str) -> bytes | None:
        with self._lock:
            body: bytes | None = self._read.get(location)
            return body

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
        body = self.files.get(location)
        return self.read_all([location])[0] if body is None else body

    def read_all(self, locations: Sequence[str]) -> list[bytes]:
        """Read the files concurrently. Raise FileNotFoundError, with the location, if one is missing."""
        fs = self._fs(locations[0])
        # With more than one request per file, fsspec would first ask for the file's length.
        bodies = fs.cat_ranges(list(locations), None, None, on_error="return", max_concurrency=1)
        return [self._remember_body(location, body) for location, body in zip(locations, bodies, strict=True)]

    def _remember_body(self, location: str, body: bytes | Exception) -> bytes:
        if isinstance(body, FileNotFoundError):
            raise FileNotFoundError(f"{location} is missing") from body
        if isinstance(body, Exception):
            raise body
        self.files.keep(location, body)
        return body

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

    def new_output(self, location: str) -> "WholeOutput":  # type: ignore[override]
        return WholeOutput(location, partial(self._fs(location).pipe_file, location))

    def _fs(self, location: str) -> AbstractFileSystem:
        check_storage(location)
        return self.get_fs(urlparse(location).scheme)


def check_storage(location: str) -> None:
    """Raise Misconfigured if a table names a file outside S3, for example on this machine."""
    if urlparse(location).scheme not in STORAGE:
        raise Misconfigured(f"a table has a file at {location}, and lakegate reads tables in S3 only")


class WholeOutput(OutputFile):
    """A new file that is written whole, in one request. PyIceberg asks for its length then, which is known."""

    def __init__(self, location: str, store: Callable[[bytes], object]) -> None:
        super().__init__(location)
        self._store, self._length = store, 0

    def __len__(self) -> int:
        return self._length

    def exists(self) -> bool:
        """Return False: no two files have one name."""
        return False

    def to_input_file(self) -> InputFile:
        raise NotImplementedError(f"{self.location} is written, and not read")

    def create(self, overwrite: bool = False) -> OutputStream:  # noqa: ARG002, FBT001, FBT002 (as PyIceberg calls it)
        return _Body(self._write)

    def _write(self, body: bytes) -> None:
        self._store(body)
        self._length = len(body)


class _Body(BytesIO):
    """The bytes of a new file, which are written when it is closed, and else never."""

    def __init__(self, write: Callable[[bytes], None]) -> None:
        super().__init__()
        self._write = write

    def close(self) -> None:
        if not self.closed:
            body = self.getvalue()
            super().close()
            self._write(body)

    def __del__(self) -> None:
        super().close()


class _Whole(FsspecInputFile):
    def __init__(self, location: str, fs: AbstractFileSystem, io: MetadataIO) -> None:
        super().__init__(location, fs)
        self._io = io

    def open(self, seekable: bool = True) -> BytesIO:  # noqa: ARG002, FBT001, FBT002 (as PyIceberg calls it)
        return BytesIO(self._io.read(self.location))
