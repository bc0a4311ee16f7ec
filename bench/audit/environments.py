"""An environment for each engine, pinned by hash, made when first needed, apart from the product's own."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from tools.jars import fetch

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".local/bench"
PINS = Path(__file__).parent / "environments"
UV = ROOT / ".local/envs/bootstrap/bin/uv"


@dataclass(frozen=True, kw_only=True)
class Environment:
    """A Python, and the jars that its Spark needs besides Iceberg's."""

    python: Path
    jars: tuple[Path, ...] = ()


def ready(engine: str) -> Environment:
    """Return an engine's environment, made or brought up to date. lakegate's is the checkout's own."""
    if engine == "lakegate":
        return Environment(python=Path(sys.executable))
    folder, requirements = CACHE / "envs" / engine, PINS / f"{engine}.txt"
    stamp = folder / "requirements.txt"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        _uv("venv", "--quiet", "--clear", "--python", sys.executable, folder)
        _uv("pip", "sync", "--quiet", "--python", folder, "--require-hashes", requirements)
        stamp.write_text(requirements.read_text())
    jars = PINS / f"{engine}.json"
    return Environment(python=folder / "bin/python", jars=_jars(jars) if jars.exists() else ())


def _jars(pins: Path) -> tuple[Path, ...]:
    folder = CACHE / "jars"
    folder.mkdir(parents=True, exist_ok=True)
    return tuple(fetch(pin, folder) for pin in json.loads(pins.read_text()))


def _uv(*words: str | Path) -> None:
    subprocess.run([str(UV), *map(str, words)], check=True, cwd=ROOT)
