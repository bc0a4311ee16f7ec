"""The page for those who come from elsewhere: the code of each part publishes once, and a null stops it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.catalog import Catalog
from typer.testing import CliRunner

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.audit.ref import Ref
from lakegate.cli.app import app
from lakegate.wap import AuditFailed, wap
from tests.support.nessie import Lake, unique
from tests.support.pages import DOCS, Fence, commands, fences
from tests.support.runs import branches_of, catalog


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Catalog]:
    found = catalog(tmp_path)
    yield found
    found.close()


PAGE = DOCS / "how-to/from-elsewhere.md"
ARTICLE, ORCHESTRATOR = "## The article and its function", "## Tasks of an orchestrator"


def part(title: str) -> list[Fence]:
    """Return the fences below one heading of the page."""
    lines = PAGE.read_text().splitlines()
    start = lines.index(title)
    end = next((at for at in range(start + 1, len(lines)) if lines[at].startswith("## ")), len(lines))
    return [fence for fence in fences(PAGE) if start < fence.line <= end]


def defined(title: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **words: str) -> dict[str, Any]:
    """Return the names that a part's Python defines, run beside its contract, in which `words` replace others."""
    [contract] = [fence.text for fence in part(title) if fence.language == "yaml"]
    for word, other in words.items():
        contract = contract.replace(word, other)
    (folder / "contract.yaml").write_text(contract)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    for fence in part(title):
        if fence.language == "python":
            exec(fence.text, names)
    return names


def on_main(here: Catalog, table: str) -> int:
    return int(here.load_table(table).scan().count())


def written(folder: Path, name: str, rows: dict[str, Any]) -> str:
    pq.write_table(pa.table(rows), folder / name)
    return str(folder / name)


def test_tasks_of_airflow(here: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = defined(ORCHESTRATOR, tmp_path, monkeypatch)
    for _ in range(2):  # the whole DAG again, and each task twice
        branch = task["create"](here, "run 1")
        for _ in range(2):
            task["write"](here, "run 1", branch, pa.table({"id": [1], "amount": [1.0]}))
            task["audit"](here, "run 1", branch)
        for _ in range(2):
            task["publish"](here, "run 1", branch)
    bad = task["create"](here, "run 2")
    task["write"](here, "run 2", bad, pa.table({"id": pa.array([None], pa.int64()), "amount": [1.0]}))
    for step in ("audit", "publish"):
        with pytest.raises(AuditFailed):
            task[step](here, "run 2", bad)
    task["clean_up"](here)
    assert (on_main(here, "shop.orders"), branches_of(here.load_table("shop.orders"))) == (1, [bad])


def test_steps_in_the_place_of_bauplan_s(here: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    step, good = defined(ORCHESTRATOR, tmp_path, monkeypatch), {"id": [1, 2], "amount": [1.0, 2.0]}
    for _ in range(2):
        branch = step["create"](here, "w 1")
        step["write"](here, "w 1", branch, written(tmp_path, "good.parquet", good))
        assert step["publish"](here, "w 1", branch) == 2
    bad = written(tmp_path, "bad.parquet", {**good, "id": pa.array([1, None], pa.int64())})
    branch = step["create"](here, "w 2")
    step["write"](here, "w 2", branch, bad)
    with pytest.raises(AuditFailed, match="id required: 1 of 2 rows"):
        step["publish"](here, "w 2", branch)
    step["delete"](here, "w 2", branch)
    assert (on_main(here, "shop.orders"), branches_of(here.load_table("shop.orders"))) == (2, [])


def test_files_of_the_article_s_generator(here: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    defined(ARTICLE, tmp_path, monkeypatch)
    (tmp_path / "contract.yaml").rename("customers.yaml")
    lines = [line for fence in part(ARTICLE) for line in commands(fence.text)]
    generating = [line for line in lines if line.startswith("lakegate generate")]
    assert len(generating) == len(("good.parquet", "bad.parquet"))
    for command in generating:
        assert CliRunner().invoke(app, shlex.split(command)[1:]).exit_code == 0

    def published(file: str) -> int:
        with wap(here, "customers.yaml") as branch:
            branch.append(file)
            return branch.publish().rows

    assert published("good.parquet") == 1000
    with pytest.raises(AuditFailed, match=r"bad.parquet: my_col_1 required: \d+ of 1,?000 rows"):
        published("bad.parquet")


@pytest.mark.nessie
def test_a_function_in_the_place_of_the_article_s(lake: Lake, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    namespace = unique("lake")
    for name, value in lake.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("NESSIE_ENDPOINT", lake.nessie_uri)
    monkeypatch.setenv("WAREHOUSE", lake.warehouse)
    monkeypatch.setenv("LANDING", tmp_path.as_uri())
    handle = defined(ARTICLE, tmp_path, monkeypatch, **{"lake.": f"{namespace}."})["lambda_handler"]
    columns = {"my_col_0": pa.array([1, 2], pa.int32()), "my_col_2": [1.0, None]}
    written(tmp_path, "good file.parquet", {**columns, "my_col_1": ["a", "b"]})
    written(tmp_path, "bad.parquet", {**columns, "my_col_1": ["a", None]})
    for _ in range(2):
        handle(event("good+file.parquet"), None)
    with pytest.raises(AuditFailed, match="my_col_1 required"):
        handle(event("bad.parquet"), None)
    main = RefCatalog(lake.nessie_uri, lake.warehouse, Ref("main"), storage())
    assert on_main(main, f"{namespace}.customer_data_log") == 2


def event(key: str) -> dict[str, Any]:
    """One of S3's."""
    return {"Records": [{"s3": {"object": {"key": key, "versionId": f"v of {key}"}}}]}
