"""The pages for those who come from elsewhere: what each says to write publishes once, and a null stops it."""

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
from tests.support.pages import DOCS, commands, fences
from tests.support.runs import branches_of, catalog


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Catalog]:
    found = catalog(tmp_path)
    yield found
    found.close()


def said(page: str, folder: Path, monkeypatch: pytest.MonkeyPatch, **other: str) -> dict[str, Any]:
    """The names that a page's Python defines, run beside the page's contract; `other` are other words of that."""
    [contract] = [it.text for it in fences(DOCS / page) if it.language == "yaml"]
    for word, its in other.items():
        contract = contract.replace(word, its)
    (folder / "contract.yaml").write_text(contract)
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    for fence in fences(DOCS / page):
        if fence.language == "python":
            exec(fence.text, names)
    return names


def on_main(here: Catalog, table: str) -> int:
    return int(here.load_table(table).scan().count())


def written(folder: Path, name: str, rows: dict[str, Any]) -> str:
    pq.write_table(pa.table(rows), folder / name)
    return str(folder / name)


def test_tasks_of_airflow(here: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task = said("how-to/from-airflow.md", tmp_path, monkeypatch)
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


ROWS = {
    "how-to/from-dbos.md": ("trips.yellow_trips", {"passenger_count": [1, 2], "fare": [1.0, 2.0]}, "passenger_count"),
    "how-to/from-prefect.md": ("crm.people", {"name": ["a", "b"], "age": [1, 2]}, "age"),
}


@pytest.mark.parametrize("page", ROWS)
def test_steps_in_the_place_of_bauplan_s(
    page: str, here: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    step, (table, good, checked) = said(page, tmp_path, monkeypatch), ROWS[page]
    publish = step.get("publish") or step["run_quality_checks_and_merge"]
    drop = step.get("delete_branch") or step["delete_branch_if_exists"]
    for _ in range(2):
        branch = step["source_to_iceberg_table"](here, "w 1", written(tmp_path, "good.parquet", good))
        assert publish(here, "w 1", branch) == 2
    bad = written(tmp_path, "bad.parquet", {**good, checked: pa.array([1, None], pa.int64())})
    branch = step["source_to_iceberg_table"](here, "w 2", bad)
    with pytest.raises(AuditFailed, match=f"{checked} required: 1 of 2 rows"):
        publish(here, "w 2", branch)
    drop(here, "w 2", branch)
    assert (on_main(here, table), branches_of(here.load_table(table))) == (2, [])


def test_files_of_the_article_s_generator(here: Catalog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = "how-to/from-the-article.md"
    said(page, tmp_path, monkeypatch)
    (tmp_path / "contract.yaml").rename("customers.yaml")
    asked = [it for fence in fences(DOCS / page) for it in commands(fence.text) if it.startswith("lakegate generate")]
    for command in asked:
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
    handle = said("how-to/from-lambda.md", tmp_path, monkeypatch, **{"lake.": f"{namespace}."})["lambda_handler"]
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
