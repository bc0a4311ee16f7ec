"""An archive of the classes that a driver loaded, with which the JVM starts Spark in half the time.

The second driver makes it when it ends, which takes it some twenty seconds: a cloud with one job is spared them. The
archive changes nothing else: a JVM starts without one that does not fit it.
"""

import hashlib
import threading
from mmap import ACCESS_READ, mmap
from pathlib import Path

NAME = "classes.jsa"
WORTH_IT = b"org/apache/iceberg/spark/"  # a driver that loaded no Iceberg would leave a poor archive for good


class ClassArchive:
    """One archive for each Java and class path, kept from one local cloud to the next."""

    def __init__(self, folder: Path, java: Path, class_path: str, options: tuple[str, ...]) -> None:
        content = "\n".join([(java.parent.parent / "release").read_text(), class_path, *options])
        self._path = folder / f"spark-{hashlib.sha256(content.encode()).hexdigest()[:16]}.jsa"
        self._lock = threading.Lock()
        self._drivers = 0
        self._maker: Path | None = None

    def options(self, work: Path) -> tuple[str, ...]:
        """Return the JVM's options for the driver in a folder: use the archive, make it there, or neither."""
        with self._lock:
            if self._path.exists():
                return (f"-XX:SharedArchiveFile={self._path}",)
            self._drivers += 1
            if self._drivers == 1 or self._maker:
                return ()
            self._maker = work
            return (f"-XX:ArchiveClassesAtExit={work / NAME}",)

    def keep(self, work: Path) -> None:
        """Keep the archive that the driver in a folder has made, if it made one and it is worth it."""
        made = work / NAME
        if made.exists() and _worth_it(made):
            self._path.parent.mkdir(parents=True, exist_ok=True)
            made.replace(self._path)
            self._forget_others()

    def release(self, work: Path) -> None:
        """Let another driver make the archive if the one in this folder was to and has not."""
        with self._lock:
            if work == self._maker:
                (work / NAME).unlink(missing_ok=True)
                self._maker = None

    def _forget_others(self) -> None:
        """Remove the archives of other versions."""
        for path in set(self._path.parent.glob("spark-*.jsa")) - {self._path}:
            path.unlink(missing_ok=True)


def _worth_it(archive: Path) -> bool:
    with archive.open("rb") as file, mmap(file.fileno(), 0, access=ACCESS_READ) as content:
        return content.find(WORTH_IT) >= 0
