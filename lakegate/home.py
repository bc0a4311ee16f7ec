"""The home of this package: the folder that holds what it needs to run a local cloud or to deploy.

In a checkout, that is the checkout. An installed wheel carries the same files, and unpacks them into the user's cache,
because nothing may be added to where packages are installed. In either folder `tools/setup.py` installs the rest.
"""

import fcntl
import hashlib
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from platformdirs import user_cache_path

PACKAGE = Path(__file__).resolve().parent
CARGO = "carried"  # the folder of a wheel's package in which all but its packages is
SIBLING = "spark_jobs"  # a package of its own, installed beside this one
MANIFEST = ".carried"  # what was unpacked, in the form of sha256sum


@dataclass(frozen=True, kw_only=True)
class Home:
    """A checkout, or a folder in the user's cache."""

    root: Path
    is_checkout: bool

    @property
    def bin(self) -> Path:
        return self.root / ".venv/bin"

    @property
    def profile(self) -> Path:
        """Return the file by which the command line finds this home's local cloud."""
        return self.root / ".lakegate.env"

    def set_up(self, *, deploys: bool = False) -> str:
        """Return the command that a person gives to install what is missing here."""
        if self.is_checkout:
            return "make deploy-setup (or make setup)" if deploys else "make setup"
        return "lakegate deploy" if deploys else "lakegate local up"


def home(package: Path = PACKAGE) -> Home:
    """Return the home of a package: the folder around it, or of a wheel's, the user's."""
    if is_installed(package):
        return Home(root=user_cache_path("lakegate"), is_checkout=False)
    return Home(root=package.parent, is_checkout=not (package.parent / MANIFEST).exists())


def is_installed(package: Path = PACKAGE) -> bool:
    """Return True if lakegate is installed from a wheel, not run from a checkout."""
    return (package / CARGO).is_dir()


def unpack(root: Path, package: Path = PACKAGE) -> None:
    """Bring the folder to what the package carries. Whatever else is there stays. One process at a time does so."""
    root.mkdir(parents=True, exist_ok=True)
    cargo = dict(_cargo(package))
    digests = {name: _sha256(source) for name, source in cargo.items()}
    with (root / f"{MANIFEST}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        present = _read_manifest(root / MANIFEST)
        if present == digests:
            return
        for name in present.keys() - digests.keys():
            (root / name).unlink(missing_ok=True)
        for name in (name for name, digest in digests.items() if present.get(name) != digest):
            _copy(cargo[name], root / name)
        (root / MANIFEST).write_text("".join(f"{digest}  {name}\n" for name, digest in digests.items()))


def _cargo(package: Path) -> Iterator[tuple[str, Path]]:
    """Yield each carried file, by its path in a checkout: the packages, and what is beside them there."""
    cargo = package / CARGO
    for path in sorted((*package.rglob("*"), *(package.parent / SIBLING).rglob("*"))):
        relative = path.relative_to(cargo if path.is_relative_to(cargo) else package.parent)
        if path.is_file() and "__pycache__" not in relative.parts:
            yield str(relative), path


def _copy(source: Path, target: Path) -> None:
    """Copy as one step: a program that runs keeps the file that it has opened."""
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(f"{target.name}.partial")
    shutil.copyfile(source, partial)
    partial.replace(target)


def _read_manifest(path: Path) -> Mapping[str, str]:
    lines = path.read_text().splitlines() if path.exists() else []
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
