"""A package: an installation's templates and assets for a bucket of one's own, and a Terraform module beside them."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path

from lakegate.deployment.assembly import Assembly
from lakegate.errors import Misconfigured

ASSETS = "assets"  # what goes into the bucket, by its keys
STACKS = "stacks.json"  # the installation's name, and by each stack's name its template's key and parameters


def require_place(folder: Path) -> None:
    """Raise Misconfigured unless the folder is new, empty or an earlier package."""
    if folder.exists() and not (folder / STACKS).exists() and any(folder.iterdir()):
        raise Misconfigured(
            f"no package is in {folder}, but other files are. Name a folder that is empty or does not exist"
        )


def write(assembly: Assembly, name: str, files: Iterable[Path], folder: Path) -> None:
    """Write the package of an installation into the folder, in the place of an earlier one, with files beside it."""
    shutil.rmtree(folder / ASSETS, ignore_errors=True)
    stacks = {
        stack: {
            "template": _write_assets(assembly, stack, folder / ASSETS),
            "parameters": sorted(assembly.template(stack).get("Parameters", {})),
        }
        for stack in assembly.stacks()
    }
    (folder / STACKS).write_text(json.dumps({"name": name, "stacks": stacks}, indent=2) + "\n")
    for file in files:
        shutil.copyfile(file, folder / file.name)


def _write_assets(assembly: Assembly, stack: str, folder: Path) -> str:
    """Write a stack's assets below their keys, and return its template's key."""
    assets = assembly.assets(stack)
    for asset in assets:
        target = folder / asset.key
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(asset.source, target)
    return assets[-1].key
