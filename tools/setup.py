"""Installs all that the commands of this checkout need: environments, jars and Node packages, pinned by hash.

It uses nothing of the machine but Python 3.11 and the network, and changes nothing outside the checkout but
the package managers' own caches.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import ssl
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LOCAL = ROOT / ".local"
BOOTSTRAP = LOCAL / "envs/bootstrap"
VENV = ROOT / ".venv"
# Two small distributions of the local cloud: its commands for .venv, its plug-ins for LocalStack's environment.
CLOUD = Path("localstack/cloud")
PLUGINS = Path("localstack/plugins")
# An environment holds its own path and its Python: moved, or under another Python, it is made again.
PLACE = f"{ROOT} {sys.version}".replace("\n", " ")


@dataclass(frozen=True, kw_only=True)
class Step:
    """One folder that set-up fills, and the files that decide what is in it."""

    what: str
    folder: Path
    inputs: tuple[str, ...]
    run: Callable[[Path], None]
    resumes: bool = False  # it goes on from a half-filled folder by itself

    @property
    def stamp(self) -> Path:
        return self.folder / ".set-up-done"

    def fingerprint(self) -> str:
        digest = hashlib.sha256()
        for path in ("tools/setup.py", *self.inputs):
            digest.update((ROOT / path).read_bytes())
        return f"{PLACE}\n{digest.hexdigest()}\n"

    def recorded(self) -> str:
        """What the stamp says; nothing if the step never finished, was interrupted, or was made elsewhere."""
        text = self.stamp.read_text() if self.stamp.exists() else ""
        return text if text.startswith(f"{PLACE}\n") else ""


def main() -> None:
    if sys.version_info[:2] != (3, 11):
        sys.exit(
            f"lakegate needs Python 3.11; this is {sys.version.split()[0]} ({sys.executable}).\n"
            "Install Python 3.11 and put it first on PATH, or name it for all of make: export PYTHON=python3.11"
        )
    LOCAL.mkdir(exist_ok=True)
    with (LOCAL / "setup.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # two runs at once would undo each other
        for step in steps():
            perform(step)


def steps() -> tuple[Step, ...]:
    return (
        Step(
            what="uv, which installs the rest",
            folder=BOOTSTRAP,
            inputs=("tools/bootstrap.txt",),
            run=bootstrap,
        ),
        Step(
            what="the product, Spark, tests",
            folder=VENV,
            inputs=("requirements-dev.txt", "pyproject.toml", f"{CLOUD}/pyproject.toml"),
            run=product,
        ),
        Step(
            what="LocalStack",
            folder=LOCAL / "envs/localstack",
            inputs=("localstack/requirements.txt", f"{PLUGINS}/pyproject.toml"),
            run=localstack,
        ),
        Step(
            what="the functions' runtime client",
            folder=LOCAL / "envs/functions",
            inputs=("localstack/functions.txt",),
            run=functions,
        ),
        Step(
            what="jars of Iceberg, Nessie, S3A",
            folder=LOCAL / "jars",
            inputs=("tools/jars.json", "tools/jars.py"),
            run=jars,
            resumes=True,
        ),
        Step(
            what="the cdk command",
            folder=ROOT / "infra/node_modules",
            inputs=("infra/package.json", "infra/package-lock.json"),
            run=node,
        ),
    )


def perform(step: Step) -> None:
    begin = time.monotonic()
    print(f"  {step.what:30} {step.folder.relative_to(ROOT)!s:22}", end=" ", flush=True)
    if step.recorded() == step.fingerprint():
        print("up to date", flush=True)
        return
    if not step.recorded() and not step.resumes:
        shutil.rmtree(step.folder, ignore_errors=True)
    step.folder.mkdir(parents=True, exist_ok=True)
    step.stamp.unlink(missing_ok=True)
    step.run(step.folder)
    step.stamp.write_text(step.fingerprint())
    print(f"{time.monotonic() - begin:.1f} s", flush=True)


def bootstrap(folder: Path) -> None:
    command(sys.executable, "-m", "venv", folder)
    command(
        folder / "bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--require-hashes",
        "-r",
        "tools/bootstrap.txt",
    )


def product(folder: Path) -> None:
    install(folder, "requirements-dev.txt")
    editable(folder, ROOT)
    editable(folder, ROOT / CLOUD)


def localstack(folder: Path) -> None:
    install(folder, "localstack/requirements.txt")
    editable(folder, ROOT / PLUGINS)


def functions(folder: Path) -> None:
    install(folder, "localstack/functions.txt")


def jars(folder: Path) -> None:
    command(VENV / "bin/python", "tools/jars.py", folder)


def node(folder: Path) -> None:
    npm = ("ci", "--ignore-scripts", "--no-audit", "--no-fund", "--silent", "--prefix", folder.parent)
    command(VENV / "bin/npm", *npm, environ={"PATH": f"{VENV / 'bin'}{os.pathsep}{os.environ['PATH']}"})


def install(folder: Path, requirements: str) -> None:
    """Make the environment hold exactly the file's packages; locked tools build what comes as source."""
    if not (folder / "bin/python").exists():
        uv("venv", "--quiet", "--clear", "--python", sys.executable, folder)
    uv(
        *("pip", "sync", "--quiet", "--python", folder, "--require-hashes"),
        *("--build-constraints", "requirements.lock", requirements),
    )


def editable(folder: Path, project: Path) -> None:
    uv(
        *("pip", "install", "--quiet", "--python", folder, "--no-deps"),
        *("--build-constraints", "requirements.lock", "--editable", project),
    )


def uv(*arguments: str | Path) -> None:
    command(BOOTSTRAP / "bin/uv", *arguments)


def command(*arguments: str | Path, environ: Mapping[str, str] | None = None) -> None:
    everything = {**certificates(), **os.environ, **(environ or {})}
    everything.pop("VIRTUAL_ENV", None)
    words = [str(argument) for argument in arguments]
    done = subprocess.run(words, check=False, cwd=ROOT, env=everything, stdin=subprocess.DEVNULL)
    if done.returncode:
        shown = " ".join(words).replace(f"{ROOT}/", "")
        sys.exit(f"\nSet-up stopped: `{shown}` failed (exit {done.returncode}). `make setup` goes on from here.")


def certificates() -> dict[str, str]:
    """Let every tool trust what this machine trusts, by each tool's own variable; what is set stays."""
    paths = ssl.get_default_verify_paths()
    defaults = {"NODE_OPTIONS": "--use-system-ca"}
    if paths.cafile:
        return {**defaults, "REQUESTS_CA_BUNDLE": paths.cafile, "NODE_EXTRA_CA_CERTS": paths.cafile}
    if paths.capath and any(Path(paths.capath).glob("*.0")):
        return {**defaults, "REQUESTS_CA_BUNDLE": paths.capath}
    return defaults


if __name__ == "__main__":
    try:
        main()
    except KeyboardInterrupt:
        sys.exit("\nSet-up interrupted. `make setup` goes on from here.")
