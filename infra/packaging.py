"""Packaging of a deployment's zips: `functions.zip` for Lambda and `lakegate.zip` for Spark's `--py-files`.

The same inputs give the same bytes, and a zip is not made again while its inputs are unchanged. It uploads nothing.
The functions' zip is for one architecture of Lambda, and no other. That of the express lane holds the same, and a
packed archive: DuckDB and Arrow beside the others' packages pass what Lambda unpacks.
"""

import fcntl
import hashlib
import io
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import zstandard
from uv import find_uv_bin

from infra.config import PYTHON
from lakegate.errors import Misconfigured
from lakegate.home import home
from lakegate.settings import CA_FILE, PACKAGES

EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can hold
REQUIREMENTS = Path("handlers/requirements.txt")
OF_EXPRESS = Path("handlers/express.txt")
# The runtime is Amazon Linux 2023, which has glibc 2.34.
PLATFORMS = {"arm64": "aarch64-manylinux_2_34", "x86_64": "x86_64-manylinux_2_34"}
# Set-up makes it. Byte code is of one version of Python, and the same for every architecture.
INTERPRETER = home().root / ".local/envs/functions/bin/python"
# Installers' own records, which differ from run to run.
INSTALLERS_NOTES = {"INSTALLER", "RECORD", "REQUESTED", "direct_url.json", "uv_build.json", "uv_cache.json"}
LEFT_OUT = {"tests", "test"}
# Of PyArrow: sources and headers, servers of Arrow Flight, and copies of libraries under names that none is loaded by.
UNUSED_FILES = re.compile(
    r"pyarrow/(include|src)/|.*\.(pyx|pxd|pxi)$|.*flight|adbc_driver|.*-stubs/|pyarrow/libarrow_python\w*\.so(\.[0-9.]+\..*)?$"
)
# A function's folder is read-only, so without byte code in the zip every cold start compiles every module. The code
# is not compared with its source. It names the folder that Lambda unpacks to, or Python would rename all of it.
COMPILE = ("-m", "compileall", "-q", "-f", "--invalidation-mode", "unchecked-hash")
TASK, UNPACK_FOLDER = "/var/task", "/tmp/packages"  # noqa: S108 (Lambda's own folders)


@dataclass(frozen=True, kw_only=True)
class Bundles:
    """A deployment's zips."""

    functions: Path
    py_files: Path


def package(root: Path, build: Path, architecture: str) -> Bundles:
    """Bring both zips in `build` up to date with the checkout at `root`. One process at a time does so. A folder is of
    one architecture.
    """
    build.mkdir(parents=True, exist_ok=True)
    with (build / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        python = _python()
        third_party = _third_party(root, build, architecture, python)
        for_lambda = [*_sources(root, "handlers"), *_sources(root, "lakegate")]
        for_spark = [*_sources(root, "lakegate"), *_sources(root, "spark_jobs")]
        return Bundles(
            functions=_functions(build / "functions.zip", root, for_lambda, third_party),
            py_files=_py_files(build / "lakegate.zip", root, for_spark),
        )


def _python() -> str:
    """Return the version of the Python that makes byte code. Raise Misconfigured if it is not the functions'."""
    command = [str(INTERPRETER), "-I", "-S", "-c", "import sys; print(sys.version)"]
    try:
        version = subprocess.check_output(command, text=True).strip()  # noqa: S603 - fixed arguments
    except (OSError, subprocess.CalledProcessError):
        version = "none"
    if not version.startswith(f"{PYTHON}."):
        raise Misconfigured(
            f"byte code of the functions takes a Python {PYTHON}, and set-up's is {version}. "
            f"Run: {home().set_up(deploys=True)}"
        )
    return version


def _third_party(root: Path, build: Path, architecture: str, python: str) -> Path:
    """Return a zip of the functions' requirements, kept apart because they seldom change and take long to compress."""
    target, folder = build / "third-party.zip", build / "third-party"

    def make(partial: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        _install(root / REQUIREMENTS, folder, PLATFORMS[architecture])
        _compile(folder)
        with zipfile.ZipFile(partial, "w") as archive:
            _add(archive, folder, _files_to_ship(folder))
        shutil.rmtree(folder)

    return _up_to_date(target, _digest(root, [root / REQUIREMENTS], architecture + python), make)


def express(root: Path, build: Path, architecture: str, functions: Path) -> Path:
    """Return the functions' zip with the express lane's packages in it, packed."""
    packages = _packages(root, build, architecture)
    target = build / "express.zip"
    shutil.copyfile(functions, target)
    with zipfile.ZipFile(target, "a") as archive:
        entry = _entry(PACKAGES)
        entry.compress_type = zipfile.ZIP_STORED
        archive.writestr(entry, packages.read_bytes())
    return target


def _packages(root: Path, build: Path, architecture: str) -> Path:
    """Return an archive of the express lane's own packages, which is unpacked in a second."""
    folder, requirements = build / "express", root / OF_EXPRESS

    def make(partial: Path) -> None:
        shutil.rmtree(folder, ignore_errors=True)
        _install(requirements, folder, PLATFORMS[architecture])
        _compile(folder, UNPACK_FOLDER)
        with (
            partial.open("wb") as target,
            zstandard.ZstdCompressor().stream_writer(target) as stream,
            tarfile.open(fileobj=stream, mode="w|") as archive,
        ):
            for path in _files_to_ship(folder):
                if not UNUSED_FILES.match(name := path.relative_to(folder).as_posix()):
                    archive.addfile(_member(name, path.stat().st_size), io.BytesIO(path.read_bytes()))
        shutil.rmtree(folder)

    return _up_to_date(build / PACKAGES, _digest(root, [requirements], architecture + _python()), make)


def _member(name: str, size: int) -> tarfile.TarInfo:
    """Return a file's entry, of which every machine makes the same bytes."""
    member = tarfile.TarInfo(name)
    member.size, member.mode = size, 0o644
    return member


def _install(requirements: Path, folder: Path, platform: str) -> None:
    """Install wheels for Lambda's platform, independent of this machine's, each checked against its hash."""
    subprocess.run(  # noqa: S603 - fixed arguments
        [
            *(find_uv_bin(), "--no-config", "pip", "install", "--quiet", "--target", folder),
            *("--no-deps", "--require-hashes", "--only-binary", ":all:", "--link-mode", "copy"),
            *("--python-platform", platform, "--python-version", PYTHON, "--requirement", requirements),
        ],
        check=True,
        env={"UV_SYSTEM_CERTS": "1", **os.environ},
    )


def _compile(folder: Path, place: str = TASK) -> None:
    """Add byte code to every module below the folder, for the place that it is unpacked to. A process of its own does
    so, in the order of names, because byte code depends a little on what the compiling process did before.
    """
    subprocess.run(  # noqa: S603 - fixed arguments
        [INTERPRETER, "-I", "-S", *COMPILE, "-p", place, "-s", folder, folder], check=True
    )


def _files_to_ship(folder: Path) -> Iterator[Path]:
    """Yield the files of an installed folder that a function needs: no tests, no commands, no installer's notes."""
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        is_noise = relative.parts[0] in {"bin", ".lock"} or LEFT_OUT.intersection(relative.parts)
        is_note = relative.parts[0].endswith(".dist-info") and path.name in INSTALLERS_NOTES
        if path.is_file() and not is_noise and not is_note:
            yield path


def _sources(root: Path, name: str) -> list[Path]:
    """Return a package's own files, data included."""
    return [
        path
        for path in sorted((root / name).rglob("*"))
        if path.is_file()
        and "__pycache__" not in path.parts
        and path.relative_to(root) not in (REQUIREMENTS, OF_EXPRESS)
    ]


def _functions(target: Path, root: Path, files: list[Path], third_party: Path) -> Path:
    """Return a zip of the product's files with their byte code, appended to the third parties'."""

    def make(partial: Path) -> None:
        shutil.copyfile(third_party, partial)
        with zipfile.ZipFile(partial, "a") as archive, tempfile.TemporaryDirectory(dir=target.parent) as name:
            folder = Path(name)
            for path in files:
                copy = folder / path.relative_to(root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)
            _compile(folder)
            _add(archive, folder, (path for path in sorted(folder.rglob("*")) if path.is_file()))

    return _up_to_date(target, _digest(root, files, third_party.with_suffix(".inputs").read_text()), make)


def _py_files(target: Path, root: Path, files: list[Path]) -> Path:
    """Return a zip of the job's files."""

    def make(partial: Path) -> None:
        with zipfile.ZipFile(partial, "w") as archive:
            _add(archive, root, files)

    return _up_to_date(target, _digest(root, files), make)


def _add(archive: zipfile.ZipFile, root: Path, files: Iterable[Path]) -> None:
    for path in files:
        archive.writestr(_entry(path.relative_to(root).as_posix()), path.read_bytes())


def _entry(name: str) -> zipfile.ZipInfo:
    """Return a file's entry, of which every machine makes the same bytes."""
    entry = zipfile.ZipInfo(name, EPOCH)
    entry.external_attr = 0o100644 << 16
    entry.create_system = 3  # Linux
    entry.compress_type = zipfile.ZIP_DEFLATED
    return entry


def add_authorities(functions: Path, authorities: str) -> Path:
    """Return the functions' zip with authorities in it, certificates as PEM text."""
    target = functions.with_stem(f"{functions.stem}-trusting")
    shutil.copyfile(functions, target)
    with zipfile.ZipFile(target, "a") as archive:
        archive.writestr(_entry(CA_FILE), authorities)
    return target


def _digest(root: Path, files: Iterable[Path], inputs: str = "") -> str:
    """Return a hash of the files' names and bytes, and of this module and its Python, which put them together."""
    digest = hashlib.sha256(Path(__file__).read_bytes() + sys.version.encode() + inputs.encode())
    for path in files:
        body = path.read_bytes()
        digest.update(f"{path.relative_to(root)}\0{len(body)}\0".encode() + body)
    return digest.hexdigest()


def _up_to_date(target: Path, inputs: str, make: Callable[[Path], None]) -> Path:
    """Make the target unless it was made from the same inputs. The stamp comes last, so that interrupted work shows."""
    stamp = target.with_suffix(".inputs")
    if not (target.exists() and stamp.exists() and stamp.read_text() == inputs):
        stamp.unlink(missing_ok=True)
        partial = target.with_suffix(".partial")
        make(partial)
        partial.replace(target)
        stamp.write_text(inputs)
    return target
