"""The zips: the same inputs are the same bytes, made once; what is in the functions' zip is what a function needs."""

from __future__ import annotations

import io
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path

import pytest
import zstandard

from handlers.packages import unpack
from infra import packaging
from infra.config import MACHINE, Config
from infra.ingest.express import SCRATCH
from infra.packaging import INTERPRETER, Bundles, add_authorities
from lakegate.errors import Misconfigured
from lakegate.settings import CA_FILE, PACKAGES

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 250 * 1024 * 1024  # what Lambda unpacks
MACHINES = {"arm64": "aarch64", "x86_64": "x86_64"}
ELF = {"aarch64": 183, "x86_64": 62}  # at byte 18 of a library
TAG = re.compile(r"^Tag: [^-\n]+-[^-\n]+-([^\n]+)", re.MULTILINE)
GLIBC = re.compile(r"manylinux_2_([0-9]+)_|manylinux(?:1|2010|2014)_")
RUNTIMES_GLIBC = 34  # Amazon Linux 2023 has 2.34
MAGIC = (3571).to_bytes(2, "little") + b"\r\n"  # of Python 3.13
UNCHECKED = b"\x01\0\0\0"  # flags of byte code that Python takes without a look at its source


def package(root: Path, build: Path, architecture: str = Config().architecture) -> Bundles:
    return packaging.package(root, build, architecture)


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout that is small enough to package in no time: it requires nothing."""
    root = tmp_path / "checkout"
    for name in ("handlers/ingest.py", "lakegate/settings.py", "lakegate/data/schema.json", "spark_jobs/job.py"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n")
    for name in ("requirements", "express"):
        (root / f"handlers/{name}.txt").write_text("# nothing\n")
    return root


def contents(path: Path) -> dict[str, bytes]:
    with zipfile.ZipFile(path) as archive:
        return {entry.filename: archive.read(entry) for entry in archive.infolist()}


def byte_code(names: Iterable[str]) -> set[str]:
    """Return where Python 3.13, which the functions run on, looks for the byte code of these modules."""
    modules = [Path(name) for name in names if name.endswith(".py")]
    return {str(path.parent / "__pycache__" / f"{path.stem}.cpython-313.pyc") for path in modules}


def made(bundles: Bundles) -> list[tuple[int, int]]:
    """Return which very files these are: a zip that is made again is another one."""
    return [(path.stat().st_ino, path.stat().st_mtime_ns) for path in (bundles.functions, bundles.py_files)]


def test_each_zip_holds_its_packages_with_their_data(checkout: Path, tmp_path: Path) -> None:
    bundles = package(checkout, tmp_path / "build")
    product = {"lakegate/settings.py", "lakegate/data/schema.json"}
    modules = {"handlers/ingest.py", "lakegate/settings.py"}
    assert set(contents(bundles.functions)) == product | modules | byte_code(modules)
    assert set(contents(bundles.py_files)) == product | {"spark_jobs/job.py"}


def test_two_checkouts_with_the_same_sources_make_the_same_bytes(checkout: Path, tmp_path: Path) -> None:
    shutil.copytree(checkout, tmp_path / "other", copy_function=shutil.copyfile)
    (tmp_path / "other/lakegate/__pycache__").mkdir()
    (tmp_path / "other/lakegate/__pycache__/settings.cpython-311.pyc").write_bytes(b"left by a run")
    (tmp_path / "other/lakegate/__pycache__/gone.cpython-311.pyc").write_bytes(b"left by a run")
    one, other = package(checkout, tmp_path / "build"), package(tmp_path / "other", tmp_path / "build2")
    assert one.functions.read_bytes() == other.functions.read_bytes()
    with zipfile.ZipFile(one.functions) as archive:
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert one.py_files.read_bytes() == other.py_files.read_bytes()


def test_what_has_not_changed_is_not_made_again(checkout: Path, tmp_path: Path) -> None:
    before = made(package(checkout, tmp_path / "build"))
    (checkout / "lakegate/settings.py").touch()
    assert made(package(checkout, tmp_path / "build")) == before


def test_a_change_of_product_code_is_in_both_zips_and_leaves_third_parties_alone(
    checkout: Path, tmp_path: Path
) -> None:
    package(checkout, tmp_path / "build")
    third_party = (tmp_path / "build/third-party.zip").stat()
    (checkout / "lakegate/settings.py").write_text("changed = True\n")
    bundles = package(checkout, tmp_path / "build")
    functions = contents(bundles.functions)
    assert functions["lakegate/settings.py"] == b"changed = True\n"
    assert b"changed" in functions["lakegate/__pycache__/settings.cpython-313.pyc"]
    assert contents(bundles.py_files)["lakegate/settings.py"] == b"changed = True\n"
    assert (tmp_path / "build/third-party.zip").stat().st_ino == third_party.st_ino


def test_a_renamed_module_leaves_nothing_of_its_old_name(checkout: Path, tmp_path: Path) -> None:
    package(checkout, tmp_path / "build")
    (checkout / "lakegate/settings.py").rename(checkout / "lakegate/choices.py")
    bundles = package(checkout, tmp_path / "build")
    assert "lakegate/settings.py" not in contents(bundles.functions)
    assert "lakegate/choices.py" in contents(bundles.functions)


def test_an_interrupted_run_is_taken_up_again(checkout: Path, tmp_path: Path) -> None:
    bundles = package(checkout, tmp_path / "build")
    whole = bundles.functions.read_bytes()
    bundles.functions.write_bytes(whole[:100])
    bundles.functions.with_suffix(".inputs").unlink()
    assert package(checkout, tmp_path / "build").functions.read_bytes() == whole


def test_without_a_python_for_byte_code_nothing_is_packaged_and_it_is_said_what_to_run(
    checkout: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for found, said in ((Path(sys.executable), "set-up's is 3.11"), (tmp_path / "python", "set-up's is none")):
        monkeypatch.setattr(packaging, "INTERPRETER", found)
        with pytest.raises(Misconfigured, match=f"Python 3.13, and {said}.*Run: make deploy-setup"):
            package(checkout, tmp_path / "build")
    assert not list((tmp_path / "build").glob("*.zip"))


@pytest.mark.synth
@pytest.mark.extended
def test_the_functions_zip_is_the_same_bytes_twice(function_zip: Path, tmp_path: Path) -> None:
    """Third parties' packages, too, which are installed, compiled and compressed once more."""
    again = package(ROOT, tmp_path).functions
    assert again.read_bytes() == function_zip.read_bytes()


@pytest.mark.synth
def test_the_express_lanes_zip_is_the_functions_and_an_archive_and_the_same_bytes_twice(
    checkout: Path, tmp_path: Path
) -> None:
    functions = package(checkout, tmp_path).functions
    whole = packaging.express(checkout, tmp_path, "x86_64", functions).read_bytes()
    before, made = contents(functions), contents(tmp_path / "express.zip")
    assert made.keys() - before.keys() == {PACKAGES}
    assert made.items() > before.items()
    (tmp_path / PACKAGES).with_suffix(".inputs").unlink()
    assert packaging.express(checkout, tmp_path, "x86_64", functions).read_bytes() == whole


@pytest.mark.parametrize(
    ("name", "is_left_out"),
    [
        ("pyarrow/include/arrow/api.h", True),
        ("pyarrow/lib.pyx", True),
        ("pyarrow/libarrow_flight.so.2600", True),
        ("pyarrow/libarrow_python.so", True),
        ("pyarrow/libarrow_python.so.2600.1.0", True),
        ("pyarrow/libarrow_python.so.2600", False),
        ("pyarrow/libarrow.so.2600", False),
        ("pyarrow/parquet/core.py", False),
        ("_duckdb.abi3.so", False),
    ],
)
def test_of_the_express_lanes_packages_is_left_out_what_nothing_loads(name: str, is_left_out: bool) -> None:  # noqa: FBT001
    assert bool(packaging.UNUSED_FILES.match(name)) is is_left_out


@pytest.fixture
def members(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A function's folder with an archive of one module, and a temporary folder of its own."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "scratch"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "scratch").mkdir()
    body = b"packed = True"
    with (
        (tmp_path / PACKAGES).open("wb") as target,
        zstandard.ZstdCompressor().stream_writer(target) as packed,
        tarfile.open(fileobj=packed, mode="w|") as archive,
    ):
        archive.addfile(packaging._member("a_packed_module.py", len(body)), io.BytesIO(body))
    return tmp_path


def test_packed_packages_are_found_once_they_are_unpacked_and_are_not_unpacked_twice(members: Path) -> None:
    unpack(members)
    module = members / "scratch/packages/a_packed_module.py"
    assert find_spec("a_packed_module") is not None
    before = module.stat()
    unpack(members)
    assert module.stat().st_ino == before.st_ino


def test_what_a_killed_process_has_half_unpacked_is_unpacked_again(members: Path) -> None:
    half = members / "scratch/packages.partial/a_packed_module.py"
    half.parent.mkdir()
    half.write_text("pack")
    unpack(members)
    assert (members / "scratch/packages/a_packed_module.py").read_text() == "packed = True"


def test_without_an_archive_the_packages_are_those_that_are_installed(tmp_path: Path) -> None:
    before = [*sys.path]
    unpack(tmp_path)
    assert sys.path == before


@pytest.mark.synth
def test_authorities_are_one_more_file_and_the_same_bytes_twice(checkout: Path, tmp_path: Path) -> None:
    plain = package(checkout, tmp_path).functions
    before = plain.read_bytes()
    first = add_authorities(plain, "-----BEGIN CERTIFICATE-----")
    made = first.read_bytes()
    with zipfile.ZipFile(first) as archive, zipfile.ZipFile(plain) as without:
        assert set(archive.namelist()) - set(without.namelist()) == {CA_FILE}
        assert archive.read(CA_FILE) == b"-----BEGIN CERTIFICATE-----"
    assert add_authorities(plain, "-----BEGIN CERTIFICATE-----").read_bytes() == made
    assert plain.read_bytes() == before


@pytest.mark.synth
def test_the_functions_zip_fits_lambda(function_zip: Path) -> None:
    with zipfile.ZipFile(function_zip) as archive:
        entries = archive.infolist()
    assert sum(entry.file_size for entry in entries) < LIMIT
    assert len(entries) == len({entry.filename for entry in entries})


@pytest.mark.synth
def test_the_express_lanes_zip_fits_lambda_and_its_packages_fit_its_disk(function_zip: Path) -> None:
    build = ROOT / ".local/build" / Config().architecture
    whole = packaging.express(ROOT, build, Config().architecture, function_zip)
    with zipfile.ZipFile(whole) as archive:
        entries = archive.infolist()
        with (
            archive.open(PACKAGES) as packed,
            zstandard.ZstdDecompressor().stream_reader(packed) as stream,
            tarfile.open(fileobj=stream, mode="r|") as packages,
        ):
            members = [*packages]
    assert sum(entry.file_size for entry in entries) < LIMIT
    assert LIMIT / 2 < sum(member.size for member in members) < SCRATCH.to_mebibytes() * 2**20 / 2
    assert {"duckdb", "pyarrow", "pyiceberg_core"} <= {member.name.split("/")[0] for member in members}


@pytest.mark.synth
def test_the_functions_zip_carries_no_spark_arrow_or_tests(function_zip: Path) -> None:
    with zipfile.ZipFile(function_zip) as archive:
        names = archive.namelist()
    unwanted = {"pyspark", "pyarrow", "pandas", "numpy", "bin", "tests"}
    assert [name for name in names if unwanted.intersection(name.split("/")[:-1])] == []


@pytest.mark.synth
def test_each_module_of_the_functions_zip_has_byte_code_that_is_taken_as_it_is(function_zip: Path) -> None:
    """A function cannot write into its folder: without, each cold start would compile every module."""
    with zipfile.ZipFile(function_zip) as archive:
        names = set(archive.namelist())
        compiled = {name: archive.read(name) for name in names if name.endswith(".pyc")}
    assert compiled.keys() == byte_code(names)
    assert {code[:8] for code in compiled.values()} == {MAGIC + UNCHECKED}


@pytest.mark.synth
def test_compiled_packages_are_for_the_runtimes_processor_python_and_glibc(function_zip: Path, own_zip: Path) -> None:
    for architecture, path in {MACHINE: own_zip, Config().architecture: function_zip}.items():
        machine = MACHINES[architecture]
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            libraries = [name for name in names if name.endswith(".so")]
            built_for = {int.from_bytes(archive.open(name).read(20)[18:], "little") for name in libraries}
            wheels = [name for name in names if name.endswith(".dist-info/WHEEL")]
            tags = {name: set(TAG.findall(archive.read(name).decode())) for name in wheels}
        assert len(libraries) > 10
        assert built_for == {ELF[machine]}
        assert [name for name in libraries if not name.endswith(f".cpython-313-{machine}-linux-gnu.so")] == []
        compiled = {name: found for name, found in tags.items() if found != {"any"}}
        assert len(compiled) > 10
        assert {name: found for name, found in compiled.items() if not is_loadable(found, machine)} == {}


def is_loadable(platforms: Iterable[str], machine: str) -> bool:
    """A wheel is for any of its platforms. One without a number of glibc is older than all with one."""
    return any(
        platform.endswith(f"_{machine}") and (found := GLIBC.match(platform)) and int(found[1] or 0) <= RUNTIMES_GLIBC
        for each in platforms
        for platform in each.split(".")
    )


@pytest.mark.synth
@pytest.mark.parametrize(
    ("module", "name"),
    [
        ("ingest", "handler"),
        ("settle", "handler"),
        ("reconcile", "handler"),
        ("canary", "handler"),
        ("operate", "read"),
        ("operate", "act"),
    ],
)
@pytest.mark.share(3)
def test_a_handler_imports_from_the_zip_alone_and_brings_no_spark_or_arrow(
    unpacked: Path, module: str, name: str
) -> None:
    """In an environment with the Lambda runtime client and nothing else, as on Lambda."""
    script = (
        f"import sys; sys.path.insert(0, '.'); from handlers.{module} import {name}; assert callable({name}); "
        "print(sorted({'pyspark', 'pyarrow', 'duckdb', 'typer'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [INTERPRETER, "-I", "-B", "-c", script], cwd=unpacked, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr
