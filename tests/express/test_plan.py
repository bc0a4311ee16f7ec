"""Tests of which plans need Spark, told by the plan alone."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.plan import Plan, Scope
from lakegate.contracts import load
from lakegate.express.plan import spark_only
from tests.support.nessie import ROOT
from tests.support.plans import duplicates, failing, nulls, orphans, plan

PLAIN = plan("nyc.t", {"id": "bigint", "x": "float", "at": "timestamp"}, [nulls("id"), duplicates("id")], ["days(at)"])


def test_a_plan_of_plain_columns_needs_no_spark() -> None:
    assert spark_only(PLAIN) == ""


@pytest.mark.parametrize(
    ("needs", "why"),
    [
        (replace(PLAIN, files=FileFormat(kind=FileKind.CSV)), "format csv"),
        (plan("nyc.t", {"tags": "array<string>"}), '"tags" is nested'),
        (plan("nyc.t", {"x": "double"}, [], ["x"]), "partitions by a column"),
        (plan("nyc.t", {"x": "double"}, [duplicates("x", scope=Scope.TABLE)]), "tables on main"),
        (plan("nyc.t", {"id": "bigint", "up": "bigint"}, [orphans(["up"], "nyc.t", ["id"])]), "refers to itself"),
        (plan("nyc.t", {"x": "float"}, [failing("x", "CAST(x AS STRING) = '1.1'")]), "decimal digits"),
    ],
)
def test_what_needs_spark_is_told_with_its_reason(needs: Plan, why: str) -> None:
    assert why in spark_only(needs)


@pytest.mark.parametrize("path", sorted((ROOT / "contracts").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_contracts_in_the_repository_need_no_spark(path: Path) -> None:
    assert spark_only(load(path.read_text(), path.name).plan) == ""


def test_asking_imports_neither_duckdb_nor_arrow() -> None:
    code = "import sys, lakegate.express.plan; sys.exit(any(it in sys.modules for it in ('duckdb', 'pyarrow')))"
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
