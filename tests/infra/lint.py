"""cfn-lint over the templates of the installations that tests of the stacks look at (`make lint`).

They are made without packages, and again only after a change of what they or the rules come from.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from tests.infra.conftest import CONTEXT, REVIEWED, ROOT, made_up

FOLDER = ROOT / ".local/templates"
CLEAN = FOLDER / "clean"  # a digest of what the templates, which break no rule, come from
SOURCES = ("infra/**/*.py", "lakegate/*.py", "tests/infra/**/*.py", ".cfnlintrc.yaml", "requirements.lock")
INSTALLATIONS = {"own-catalog": CONTEXT, "reviewed": REVIEWED}
PROGRAMS = Path(sys.executable).parent  # Node is one of them


def main() -> int:
    """Return cfn-lint's exit status."""
    digest = _digest()
    if CLEAN.exists() and CLEAN.read_text() == digest:
        return 0
    os.environ["PATH"] = f"{PROGRAMS}{os.pathsep}{os.environ['PATH']}"
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir(parents=True)
    for name, context in INSTALLATIONS.items():
        _write(name, context)
    status = subprocess.run([PROGRAMS / "cfn-lint"], cwd=ROOT, check=False).returncode
    if not status:
        CLEAN.write_text(digest)
    return status


def _digest() -> str:
    digest = hashlib.sha256()
    for path in sorted(path for pattern in SOURCES for path in ROOT.glob(pattern) if "node_modules" not in path.parts):
        digest.update(str(path).encode() + path.read_bytes())
    return digest.hexdigest()


def _write(name: str, context: dict[str, Any]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        made_up(context, Path(folder)).synth()
        for template in Path(folder, "cdk.out").glob("*.template.json"):
            shutil.copy(template, FOLDER / f"{name}-{template.name}")


if __name__ == "__main__":
    sys.exit(main())
