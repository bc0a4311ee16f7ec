"""Nested values that PyIceberg reads for people: what is null in a data file is null, at any depth."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any
from uuid import uuid4

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import schema_to_pyarrow

import lakegate.adapters.lake  # noqa: F401 - as whoever reads for people
from tests.support.runs import FolderCatalog, catalog

INNER = pa.struct([pa.field("b", pa.int32()), pa.field("c", pa.list_(pa.struct([pa.field("d", pa.string())])))])
KIND = pa.struct([pa.field("a", pa.list_(INNER)), pa.field("m", pa.map_(pa.string(), INNER))])
TYPES = {"lists": pa.list_(KIND), "maps": pa.map_(pa.string(), KIND), "structs": KIND}


def drawn(dice: Random, kind: pa.DataType) -> Any:
    """A value of a type as Python lists it, with nulls at every depth."""
    if dice.random() < 0.25:
        return None
    if pa.types.is_struct(kind):
        return {field.name: drawn(dice, field.type) for field in kind}
    if pa.types.is_map(kind):
        return [(key, drawn(dice, kind.item_type)) for key in "xyz"[: dice.randrange(3)]]
    if pa.types.is_list(kind):
        return [drawn(dice, kind.value_type) for _ in range(dice.randrange(3))]
    return dice.randrange(9) if pa.types.is_integer(kind) else dice.choice(["", "t"])


DICE = Random(39)
ROWS = [{name: drawn(DICE, kind) for name, kind in TYPES.items()} for _ in range(200)]


@pytest.fixture(scope="module")
def here(tmp_path_factory: pytest.TempPathFactory) -> FolderCatalog:
    made = catalog(_folder(tmp_path_factory.mktemp("nested")))
    made.create_namespace("shop")
    return made


def _folder(path: Path) -> Path:
    (path / "warehouse").mkdir()
    return path


def test_a_null_of_another_writer_s_file_is_null(here: FolderCatalog) -> None:
    table = pa.Table.from_pylist(ROWS, pa.schema(list(TYPES.items())))
    made = here.create_table(f"shop.t{uuid4().hex}", table.schema)
    path = Path(made.location().removeprefix("file://")) / "data.parquet"
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(table.cast(schema_to_pyarrow(made.schema())), path)
    made.add_files([f"file://{path}"], check_duplicate_files=False)
    assert made.scan().to_arrow().to_pylist() == ROWS
    assert made.scan(limit=1).to_arrow().to_pylist() == ROWS[:1]


def test_a_null_that_is_written_here_is_null(here: FolderCatalog) -> None:
    table = pa.Table.from_pylist(ROWS, pa.schema(list(TYPES.items())))
    made = here.create_table(f"shop.t{uuid4().hex}", table.schema)
    made.append(table)
    [task] = made.scan().plan_files()
    assert pq.read_table(task.file.file_path.removeprefix("file://")).to_pylist() == ROWS
