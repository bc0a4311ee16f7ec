"""Tests of which package may import what, where an allow-list says it better than import-linter's contracts in
pyproject.toml.

It reads source files and imports none of them.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("lakegate", "handlers", "spark_jobs", "infra")


def sources(*folders: str) -> list[Path]:
    return [
        path for folder in folders for path in sorted((ROOT / folder).rglob("*.py")) if "node_modules" not in path.parts
    ]


def imported(path: Path) -> set[str]:
    """Every module that a file imports, wherever in the file it does."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        if isinstance(node, ast.ImportFrom):
            names.add("." * node.level + (node.module or ""))
    return names


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        ("lakegate/audit", ("lakegate.audit", "lakegate.counts")),
        ("spark_jobs", ("lakegate.audit", "lakegate.counts", "spark_jobs", "pyspark", "py4j")),
    ],
)
def test_what_spark_imports_needs_no_package_of_ours_or_others(folder: str, allowed: tuple[str, ...]) -> None:
    inside = re.compile("|".join(rf"{re.escape(name)}(\.|$)" for name in allowed))
    found = {
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources(folder)
        for name in imported(path)
        if name.split(".")[0] not in sys.stdlib_module_names and not inside.match(name)
    }
    assert found == set()


PURE = ("backoff", "facts", "keys", "references", "rules")


@pytest.mark.parametrize("name", PURE)
def test_the_rules_of_settling_read_nothing(name: str) -> None:
    """They import values and each other: no service, no archive, no clock."""
    inside = re.compile(r"lakegate\.(audit|landing|ports|workflow\.settlement\.(" + "|".join(PURE) + r"))(\.|$)")
    path = ROOT / f"lakegate/workflow/settlement/{name}.py"
    found = {it for it in imported(path) if it.split(".")[0] not in sys.stdlib_module_names and not inside.match(it)}
    assert (found, {"time", "random"} & imported(path)) == (set(), set())
    assert not re.search(r"\bnow\(|\bService\b", path.read_text())


def test_the_top_of_the_package_imports_nothing() -> None:
    assert imported(ROOT / "lakegate/__init__.py") <= {"__future__"}


def test_only_settings_reads_the_environment() -> None:
    reads = re.compile(r"\bos\.(environ|getenv)\b|\bfrom os import .*\b(environ|getenv)\b")
    found = {str(path.relative_to(ROOT)) for path in sources("lakegate", "handlers") if reads.search(path.read_text())}
    assert found <= {"lakegate/settings.py"}


def test_no_module_is_put_among_python_s_own_by_hand() -> None:
    patched = re.compile(r"sys\.modules\[[^]]+\] *=(?!=)")
    found = {str(path.relative_to(ROOT)) for path in sources(*PRODUCT) if patched.search(path.read_text())}
    assert found == set()


def test_the_product_does_not_know_the_local_cloud() -> None:
    names = re.compile("localstack|moto", re.IGNORECASE)
    found = {
        f"{path.relative_to(ROOT)}: {hit[0]}" for path in sources(*PRODUCT) if (hit := names.search(path.read_text()))
    }
    assert found == set()


def test_no_module_of_the_job_is_called_as_one_of_python_s_own() -> None:
    """A submitted script's folder comes first on the path: `numbers` there would be everybody's `numbers`."""
    assert {path.stem for path in (ROOT / "spark_jobs").iterdir()} & sys.stdlib_module_names == set()


def headwords() -> set[str]:
    """Return every word in bold of the tables of words and rooms."""
    pages = [(ROOT / page).read_text() for page in ("docs/reference/words.md", "ARCHITECTURE.md")]
    rows = [line for page in pages for line in page.splitlines() if line.startswith("|")]
    return {word for row in rows for word in re.findall(r"\*\*([a-z ]+)\*\*", row)}


@pytest.mark.parametrize("folder", ["lakegate/workflow", "lakegate/landing"])
def test_every_module_s_name_is_a_word_that_is_explained(folder: str) -> None:
    names = {path.stem.replace("_", " ") for path in sources(folder) if path.stem != "__init__"}
    assert names - headwords() == set()


@pytest.mark.parametrize("package", ["lakegate", "lakegate/workflow", "lakegate/contracts", "spark_jobs", "infra"])
def test_the_architecture_names_every_room(package: str) -> None:
    rooms = {path.parent.name for path in (ROOT / package).glob("*/__init__.py")}
    text = (ROOT / "ARCHITECTURE.md").read_text()
    assert {room for room in rooms if not re.search(rf"`[^`]*\b{room}\b", text)} == set()


@pytest.mark.parametrize("package", ["lakegate/workflow", "lakegate/contracts"])
def test_there_are_at_most_ten_modules_at_a_level(package: str) -> None:
    folders = [path for path in (ROOT / package).rglob("*") if path.is_dir()]
    crowded = {path.name: len(list(path.glob("[!_]*.py"))) for path in [*folders, ROOT / package]}
    assert {name: count for name, count in crowded.items() if count > 10} == {}
