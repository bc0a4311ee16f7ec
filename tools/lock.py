"""Resolve all dependencies of the project into requirements.lock, and export each requirements file from it.

It installs nothing and writes no index address, because the installing machine chooses its package index.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCK = ROOT / "requirements.lock"
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
HEADER = "# Written by `make lock` from {sources}. {what}\n"


@dataclass(frozen=True, kw_only=True)
class Export:
    """One requirements file: a part of the lock, with the lock's hashes."""

    path: str
    what: str
    arguments: tuple[str, ...]


def groups(*names: str) -> tuple[str, ...]:
    return tuple(f"--group={name}" for name in names)


LOCAL_GROUPS = ("deploy", "spark", "local", "example", "setup")
PRODUCT_GROUPS = (*LOCAL_GROUPS, "express", "test", "lint", "docs")
EXPORTS = (
    Export(
        path="requirements.txt",
        what="What .venv holds for deploying alone: the service, its command line, its deployment, and set-up's tools.",
        arguments=("--all-extras", *groups("deploy", "setup"), "pyproject.toml"),
    ),
    Export(
        path="requirements-local.txt",
        what="What .venv holds for the local cloud and the demo: the product and Spark, and no tests.",
        arguments=("--all-extras", *groups(*LOCAL_GROUPS), "pyproject.toml"),
    ),
    Export(
        path="requirements-dev.txt",
        what="What .venv holds: the product, Spark, the tests, the linters and the site's builder.",
        arguments=("--all-extras", *groups(*PRODUCT_GROUPS), "pyproject.toml"),
    ),
    Export(
        path="handlers/requirements.txt",
        what="What ships in the functions' zip.",
        arguments=groups("service"),
    ),
    Export(
        path="handlers/express.txt",
        what="What the express lane's function has beside the functions' packages.",
        arguments=groups("express"),
    ),
    Export(
        path="tools/dashboard.txt",
        what="What the dashboard's tests need beside a browser, in an environment of its own.",
        arguments=("--extra=dashboard", *groups("browser", "local", "spark", "test"), "pyproject.toml"),
    ),
    Export(
        path="localstack/requirements.txt",
        what="LocalStack, in an environment of its own, installed without dependencies.",
        arguments=("--no-deps", LOCALSTACK),
    ),
    Export(
        path="localstack/functions.txt",
        what="The runtime client of the local functions; their packages come from the zip.",
        arguments=groups("functions"),
    ),
    Export(path="tools/bootstrap.txt", what="What set-up starts with.", arguments=groups("bootstrap")),
)


BUNDLES = (
    Export(
        path="tools/emr-spark-8.1.0.txt",
        what="What the tests of the job need on another Spark, in an environment of its own.",
        arguments=(*groups("emr-spark-8", "express", "local", "example", "test"), "pyproject.toml"),
    ),
)
ALONE = (
    Export(
        path="tools/datacontract.txt",
        what="Another tool for contracts, in an environment of its own.",
        arguments=("tools/datacontract.in",),
    ),
    Export(
        path="tools/readers.txt",
        what="Engines that read tables, in an environment of their own.",
        arguments=("tools/readers.in",),
    ),
    Export(
        path="tools/pictures.txt",
        what="What draws a terminal, in an environment of its own.",
        arguments=("tools/pictures.in",),
    ),
    *(
        Export(
            path=f"tools/{name}.txt",
            what="An orchestrator and lakegate.wap, in an environment of their own.",
            arguments=("--extra=wap", "pyproject.toml", f"tools/{name}.in"),
        )
        for name in ("airflow", "dagster", "dbos", "prefect")
    ),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upgrade", action="store_true", help="move to the newest versions the inputs allow")
    upgrade = parser.parse_args().upgrade
    resolve(upgrade=upgrade)
    locked = entries(LOCK.read_text())
    for export in EXPORTS:
        write(export, locked)
    for export in BUNDLES:
        write_apart(export, locked)
    for export in ALONE:
        write_alone(export, upgrade=upgrade)


def resolve(*, upgrade: bool) -> None:
    """Resolve everything at once. Without `upgrade`, locked versions stay if the inputs allow them."""
    every = groups(*PRODUCT_GROUPS, "browser", "service", "functions", "bootstrap", "build")
    output = (f"--output-file={LOCK}", *(("--upgrade",) if upgrade else ()))
    uv(*COMPILE, "--generate-hashes", "--all-extras", *every, *output, "pyproject.toml", LOCALSTACK)
    header = HEADER.format(sources=f"pyproject.toml and {LOCALSTACK}", what="Everything.")
    LOCK.write_text(header + LOCK.read_text())


def write(export: Export, locked: dict[str, str]) -> None:
    chosen = entries(uv(*COMPILE, *export.arguments, f"--constraint={LOCK}"))
    header = HEADER.format(sources=LOCK.name, what=export.what)
    body = "".join(locked[requirement] for requirement in sorted(chosen))
    (ROOT / export.path).write_text(header + body)
    print(f"{export.path:32} {len(chosen):4} packages")


def write_apart(export: Export, locked: dict[str, str]) -> None:
    """Write what cannot be in the lock beside another Spark. All else is as locked."""
    with tempfile.NamedTemporaryFile("w", dir=ROOT, suffix=".txt") as constraints:
        constraints.writelines(block for name, block in locked.items() if not name.startswith(("pyspark==", "py4j==")))
        constraints.flush()
        found = uv(*COMPILE, "--generate-hashes", *export.arguments, f"--constraint={constraints.name}")
    (ROOT / export.path).write_text(HEADER.format(sources="pyproject.toml", what=export.what) + found)
    print(f"{export.path:32} {len(entries(found)):4} packages")


def write_alone(export: Export, *, upgrade: bool) -> None:
    """Write what shares nothing with the lock. Without `upgrade`, its versions stay."""
    path = ROOT / export.path
    output = (f"--output-file={path}", *(("--upgrade",) if upgrade else ()))
    uv(*COMPILE, "--generate-hashes", *output, *export.arguments)
    sources = ", ".join(argument for argument in export.arguments if not argument.startswith("--"))
    path.write_text(HEADER.format(sources=sources, what=export.what) + path.read_text())
    print(f"{export.path:32} {len(entries(path.read_text())):4} packages")


def entries(text: str) -> dict[str, str]:
    """Return the text of each `name==version` in a requirements file, with its markers and hashes."""
    blocks = re.findall(r"^[^#\s].*(?:\n[ \t]+.*)*\n", text, flags=re.MULTILINE)
    return {re.split(r"[\s;\\]", block, maxsplit=1)[0]: block for block in blocks}


def uv(*arguments: str) -> str:
    command = [str(Path(sys.executable).parent / "uv"), *arguments]
    return subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout


if __name__ == "__main__":
    main()
