"""DuckDB and Arrow, stored packed in the folders of the functions that have them: unpacked they pass Lambda's limit."""

import os
import shutil
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any

import zstandard

from lakegate.settings import CODE, PACKAGES

# Functions run on a Python that has it. The first 3.11 have not, and run tests of this alone.
EXTRACT_OPTIONS: dict[str, Any] = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}


def unpack(code: Path = CODE) -> None:
    """Have Python find the packages, unpacked in the temporary folder, which outlives a process on Lambda. Without an
    archive they are installed.
    """
    os.putenv("ARROW_DEFAULT_MEMORY_POOL", "system")  # its own would take a gigabyte at once, as a bound counts it
    archive, folder = code / PACKAGES, Path(tempfile.gettempdir()) / "packages"
    if not archive.exists():
        return
    if not folder.exists():
        partial = folder.with_suffix(".partial")
        shutil.rmtree(partial, ignore_errors=True)
        with (
            archive.open("rb") as file,
            zstandard.ZstdDecompressor().stream_reader(file) as stream,
            tarfile.open(fileobj=stream, mode="r|") as members,
        ):
            members.extractall(partial, **EXTRACT_OPTIONS)  # noqa: S202 (the archive is our own)
        partial.replace(folder)
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
