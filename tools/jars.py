"""Fetch the jars of tools/jars.json into a folder, each checked against its SHA-256. `jars.py FOLDER job` fetches those
that a deployment ships with its job, and `jars.py FOLDER RELEASE` those for tests on another release of EMR Serverless.

It needs no Maven, and fetches no dependencies of a jar, because the list names every jar in use.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import sys
import tempfile
from pathlib import Path

from jgo.maven import MavenContext

PINS = Path(__file__).with_name("jars.json")


def main(folder: Path, use: str = "") -> None:
    pins = json.loads(PINS.read_text())
    for stale in folder.glob("download-*"):
        shutil.rmtree(stale)  # an earlier run was interrupted here
    for pin in pins:
        if pin.get("use", "") in ({use} if use else {"", "job"}):
            fetch(pin, folder)
    kept = {name(pin) for pin in pins}
    for stale in folder.glob("*.jar"):
        if stale.name not in kept:
            stale.unlink()


def name(pin: dict[str, str]) -> str:
    return "-".join(pin[part] for part in ("artifact", "version", "classifier") if part in pin) + ".jar"


def fetch(pin: dict[str, str], folder: Path) -> Path:
    target = folder / name(pin)
    if target.exists() and sha256(target) == pin["sha256"]:
        return target
    with tempfile.TemporaryDirectory(prefix="download-", dir=folder) as download:
        maven = MavenContext(repo_cache=Path(download), timeout=60)
        component = maven.project(pin["group"], pin["artifact"]).at_version(pin["version"])
        verified(component.artifact(classifier=pin.get("classifier", "")).resolve(), pin).replace(target)
    return target


def verified(path: Path, pin: dict[str, str]) -> Path:
    found = sha256(path)
    if found != pin["sha256"]:
        sys.exit(f"{path.name}: its SHA-256 is {found}, but tools/jars.json says {pin['sha256']}. The jar is not used.")
    return path


def sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
