"""Resolve all dependencies of the project into requirements.lock, and write the requirements files beside it.

It installs nothing and writes no index address, because the installing machine chooses its package index.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = "requirements.lock"
LOCALSTACK = "localstack/requirements.in"
COMPILE = (
    "pip",
    "compile",
    "--quiet",
    "--universal",
    "--python-version=3.11",
    "--no-annotate",
    "--no-header",
)
HEADER = "# Written by `make lock`.\n"


def groups(*names: str) -> tuple[str, ...]:
    return tuple(f"--group={name}" for name in names)


EVERYTHING = groups(
    *("deploy", "spark", "local", "example", "setup", "express", "test", "lint", "docs"),
    *("browser", "service", "functions", "bootstrap", "build"),
)
PARTS = {  # what is installed by another than set-up's uv, or ships: with the lock's hashes
    "requirements.txt": ("--all-extras", *groups("deploy", "setup"), "pyproject.toml"),
    "handlers/requirements.txt": groups("service"),
    "handlers/express.txt": groups("express"),
    "tools/bootstrap.txt": groups("bootstrap"),
}
SPARK = ("pyspark==", "py4j==")
APART = {  # cannot be in the lock, beside its Spark. All else is as locked
    "tools/emr-spark-8.1.0.txt": (*groups("emr-spark-8", "express", "local", "example", "test"), "pyproject.toml"),
}
ALONE = {  # shares nothing with the lock
    **{f"tools/{name}.txt": (f"tools/{name}.in",) for name in ("bom", "datacontract", "readers", "pictures")},
    **{
        f"tools/{name}.txt": ("--extra=wap", "pyproject.toml", f"tools/{name}.in")
        for name in ("airflow", "dagster", "dbos", "prefect")
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="move to the newest versions the inputs allow")
    upgrade = ("--upgrade",) if parser.parse_args().upgrade else ()
    compiled(LOCK, "--all-extras", *EVERYTHING, "pyproject.toml", LOCALSTACK, *upgrade)
    locked = entries((ROOT / LOCK).read_text())
    for path, arguments in PARTS.items():
        chosen = entries(uv(*COMPILE, *arguments, f"--constraint={LOCK}"))
        write(path, "".join(locked[pin] for pin in sorted(chosen)))
    with tempfile.NamedTemporaryFile("w", dir=ROOT, suffix=".txt") as constraints:
        constraints.writelines(block for pin, block in locked.items() if not pin.startswith(SPARK))
        constraints.flush()
        for path, arguments in APART.items():
            compiled(path, *arguments, f"--constraint={constraints.name}")
    for path, arguments in ALONE.items():
        compiled(path, *arguments, *upgrade)


def compiled(path: str, *arguments: str) -> None:
    """Resolve a file by itself. Its versions stay if the arguments allow them."""
    uv(*COMPILE, "--generate-hashes", f"--output-file={path}", *arguments)
    write(path, (ROOT / path).read_text())


def write(path: str, text: str) -> None:
    (ROOT / path).write_text(HEADER + text)
    print(f"{path:32} {len(entries(text)):4} packages")


def entries(text: str) -> dict[str, str]:
    """Return the text of each `name==version` in a requirements file, with its markers and hashes."""
    blocks = re.findall(r"^[^#\s].*(?:\n[ \t]+.*)*\n", text, flags=re.MULTILINE)
    return {re.split(r"[\s;\\]", block, maxsplit=1)[0]: block for block in blocks}


def uv(*arguments: str) -> str:
    command = [str(Path(sys.executable).parent / "uv"), *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
