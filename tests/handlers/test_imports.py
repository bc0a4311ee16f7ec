"""The packages that a cold start pays for: a function imports what parses contracts and SQL only when it needs that."""

import subprocess
import sys

import pytest

NOT_AT_START = {"sqlglot", "jsonschema", "duckdb", "pyarrow", "typer"}


@pytest.mark.parametrize("handler", ["ingest", "settle", "reconcile", "operate", "canary"])
def test_a_function_starts_without_what_it_may_never_need(handler: str) -> None:
    code = f"import handlers.{handler}, sys; print(sorted({NOT_AT_START!r} & set(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
