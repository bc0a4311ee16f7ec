"""`python -m bench.cold_start`: how much faster a function imports its code because the zip brings byte code.

Each handler is imported by new processes that write no byte code, from the unpacked zip with its own and without it in
turn. What Lambda does before that, such as loading the zip, is left out.
"""

import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter
from zipfile import ZipFile

from infra.config import MACHINE
from infra.packaging import INTERPRETER, package

ROOT = Path(__file__).resolve().parent.parent
HANDLERS, ROUNDS = ("ingest", "settle", "reconcile"), 9


def main() -> None:
    functions = package(ROOT, ROOT / ".local/build" / MACHINE, MACHINE).functions
    with tempfile.TemporaryDirectory() as name:
        folders = {"with": Path(name, "with"), "without": Path(name, "without")}
        with ZipFile(functions) as archive:
            modules = [entry for entry in archive.namelist() if not entry.endswith(".pyc")]
            archive.extractall(folders["with"])
            archive.extractall(folders["without"], modules)
        for handler in HANDLERS:
            print(f"{handler:>10}: {ratio(handler, folders):.2f} times as long without byte code")


def ratio(handler: str, folders: Mapping[str, Path]) -> float:
    """Return the median ratio of a handler's imports without byte code and with it. The first round does not count."""
    rounds = [{how: seconds(handler, folder) for how, folder in folders.items()} for _ in range(1 + ROUNDS)]
    return median(took["without"] / took["with"] for took in rounds[1:])


def seconds(handler: str, folder: Path) -> float:
    """Return what an import takes in a new process. On Lambda it could write no byte code, here it may not (-B)."""
    script = f"import sys; sys.path.insert(0, '.'); import handlers.{handler}"
    began = perf_counter()
    subprocess.run([INTERPRETER, "-I", "-B", "-c", script], cwd=folder, check=True)
    return perf_counter() - began


if __name__ == "__main__":
    main()
