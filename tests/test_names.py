"""A name says the thing, the verb or the object: pronouns, participles and adverbs among them may only get fewer."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tools.dialect import bound_names, count_by_package, is_dialect

ROOT = Path(__file__).resolve().parent.parent
# Lower a number with each name that you mend, and raise none.
MOST = {
    "lakegate": 2,
    "lakegate/adapters": 1,
    "lakegate/audit": 13,
    "lakegate/contracts": 2,
    "lakegate/deployment": 5,
    "lakegate/doctor": 1,
    "lakegate/express": 9,
    "lakegate/landing": 3,
    "lakegate/operations": 17,
    "lakegate/ports": 10,
    "lakegate/trial": 1,
    "lakegate/wap": 1,
    "lakegate/workflow": 15,
    "spark_jobs": 1,
}


def test_no_package_gains_a_name_of_the_dialect() -> None:
    """`python tools/dialect.py` lists them, by module and line."""
    counts = count_by_package(ROOT)
    assert {package: count for package, count in counts.items() if count > MOST.get(package, 0)} == {}


@pytest.mark.parametrize(
    "source",
    [
        "found = 1",
        "for each in files: ...",
        "[it for it in files]",
        "if said := read(): ...",
        "with open(path) as there: ...",
        "self.told = 1",
        "def look(): ...",
        "def read(its): ...",
        "lambda given: 1",
        "class Chosen: ...",
        "class ToldEvents: ...",
        "is_noted: bool = True",
        "_unpacked, size = 1, 2",
        "try: ...\nexcept OSError as why: ...",
        "match event:\n    case {'id': mine}: ...",
    ],
)
def test_a_name_of_the_dialect_is_counted_wherever_it_is_bound(source: str) -> None:
    assert [name for name, _ in bound_names(ast.parse(source)) if is_dialect(name)] != []


@pytest.mark.parametrize("name", ["rows", "found_rows", "read", "published", "seed", "at", "now", "other", "notify"])
def test_a_thing_or_a_verb_is_no_name_of_the_dialect(name: str) -> None:
    assert not is_dialect(name)
