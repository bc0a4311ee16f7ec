"""An archive of the classes that a first driver loaded, with which the JVM starts Spark in half the time.

It changes nothing else: a JVM starts without an archive that does not fit it.
"""

import hashlib
import logging
import threading
import time
from pathlib import Path

from lakegate_localstack import processes

LOG = logging.getLogger(__name__)
POLITENESS = ("nice", "-n", "19")
WORTH_IT = "\norg/apache/iceberg/"  # a driver that loaded no Iceberg would leave a poor archive for good
ABANDONED_SECONDS = 3600.0  # making an archive takes far less


class ClassArchive:
    """One archive for each Java and class path, kept from one local cloud to the next."""

    def __init__(self, folder: Path, java: Path, class_path: str, options: tuple[str, ...]) -> None:
        content = "\n".join([(java.parent.parent / "release").read_text(), class_path, *options])
        self._path = folder / f"spark-{hashlib.sha256(content.encode()).hexdigest()[:16]}.jsa"
        self._dump: tuple[str | Path, ...] = (*POLITENESS, java, *options, "-Xshare:dump", "-cp", class_path)
        self._lock = threading.Lock()
        self._making = False

    def option(self, classes: Path) -> str:
        """Return the JVM's option: use the archive, or list the loaded classes for making one."""
        if self._path.exists():
            return f"-XX:SharedArchiveFile={self._path}"
        return f"-XX:DumpLoadedClassList={classes}"

    def learn(self, classes: Path) -> None:
        """Make the archive in the background from a driver's list, unless there is one or it is being made."""
        with self._lock:
            if self._making or self._path.exists() or WORTH_IT not in classes.read_text():
                return
            self._making = True
        threading.Thread(target=self._make, args=(classes,), name="class-archive", daemon=True).start()

    def _make(self, classes: Path) -> None:
        """Make the archive. After a failure, the next driver's end makes another attempt."""
        partial = self._path.with_suffix(f".{classes.parent.name}")
        try:
            self._dump_to(partial, classes)
            partial.replace(self._path)
            self._forget_others()
        except Exception:
            LOG.exception("no archive of classes was made of %s", classes)
        finally:
            partial.unlink(missing_ok=True)
            self._making = False

    def _dump_to(self, partial: Path, classes: Path) -> None:
        partial.parent.mkdir(parents=True, exist_ok=True)
        output = classes.with_suffix(".log")
        with output.open("wb") as log:
            command = (*self._dump, f"-XX:SharedClassListFile={classes}", f"-XX:SharedArchiveFile={partial}")
            done = processes.start(command, folder=classes.parent, env={}, stdout=log, stderr=log)
        if done.wait() != 0:
            raise RuntimeError(f"exit code {done.returncode}; {output} says why")

    def _forget_others(self) -> None:
        """Remove archives of other versions and old partial ones. A recent partial one may be another cloud's work."""
        for path in self._path.parent.glob("spark-*"):
            is_done = path.suffix == self._path.suffix
            if path != self._path and (is_done or time.time() - path.stat().st_mtime > ABANDONED_SECONDS):
                path.unlink(missing_ok=True)
