"""Data files of the express engine: the same partitions with the same rows as PyIceberg makes, in one request each."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.io.pyarrow import PyArrowFileIO, _dataframe_to_data_files, schema_to_pyarrow
from pyiceberg.manifest import DataFile
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from lakegate.audit.errors import HandedOver
from lakegate.express.appending import write
from lakegate.express.creating import schema_of, spec_of
from lakegate.express.objects import DataIO, Objects
from tests.support.plans import plan

ENOUGH = 200
COLUMNS = {
    "id": "bigint", "name": "string", "day": "date", "at": "timestamp", "clock": "timestamp_ntz", "flag": "boolean",
}  # fmt: skip
PARTITIONS = (
    (),
    ("`name`",),
    ("`flag`", "`day`"),
    ("months(`at`)",),
    ("years(`day`)", "truncate(2, `name`)"),
    ("bucket(3, `id`)", "days(`clock`)"),
)


def a_table(folder: Path, *partitions: str) -> Table:
    by = plan("nyc.t", COLUMNS, (), partitions)
    schema = schema_of(by.columns)
    spec, own = spec_of(by, schema), {"format-version": "2"}
    metadata = new_table_metadata(schema, spec, UNSORTED_SORT_ORDER, f"file://{folder}", own)
    return Table(("nyc", "t"), metadata, "", PyArrowFileIO(), None)  # type: ignore[arg-type]


def rows_for(table: Table, count: int) -> pa.Table:
    """Random rows of few values, in several chunks; some are null."""
    dice, schema = random.Random(20130131), schema_to_pyarrow(table.schema(), include_field_ids=False)
    some: Mapping[str, Sequence[Any]] = {
        "id": range(-5, 5),
        "name": ("", "a", "aé", "aéb", "b"),
        "day": [date(1969, 12, 31) + timedelta(days=200 * at) for at in range(4)],
        "at": [datetime(1969, 12, 31, 23, tzinfo=UTC) + timedelta(days=20 * at) for at in range(4)],
        "clock": [datetime.fromisoformat("1969-12-31T23:59:59.999999") + timedelta(hours=9 * at) for at in range(4)],
        "flag": (True, False),
    }

    def piece(size: int) -> pa.Table:
        columns = {name: [dice.choice([None, *its]) for _ in range(size)] for name, its in some.items()}
        return pa.table([pa.array(columns.get(each.name, ["f1"] * size), each.type) for each in schema], schema=schema)

    return pa.concat_tables([piece(count // 2), piece(count - count // 2)])


def told(files: Sequence[DataFile]) -> dict[str, tuple[Any, ...]]:
    """Each file's rows, size and statistics, by its partition."""
    return {
        str(file.partition): (
            pq.read_table(place := file.file_path.removeprefix("file://"), partitioning=None).to_pylist(),
            Path(place).stat().st_size == file.file_size_in_bytes,
            *(file.record_count, file.value_counts, file.null_value_counts, file.lower_bounds, file.upper_bounds),
        )
        for file in files
    }


@pytest.mark.parametrize("partitions", PARTITIONS, ids=" ".join)
@pytest.mark.parametrize("count", [1, 300])
def test_partitions_and_their_rows_are_those_that_pyiceberg_makes(
    tmp_path: Path, partitions: tuple[str, ...], count: int
) -> None:
    table = a_table(tmp_path, *partitions)
    rows = rows_for(table, count)
    theirs = list(_dataframe_to_data_files(table.metadata, rows, PyArrowFileIO()))
    assert told(write(table, rows, PyArrowFileIO(), ENOUGH)) == told(theirs)


def test_no_rows_make_no_data_file(tmp_path: Path) -> None:
    for partitions in PARTITIONS:
        table = a_table(tmp_path, *partitions)
        assert write(table, rows_for(table, 0), PyArrowFileIO(), ENOUGH) == []


def test_more_partitions_than_are_written_are_handed_over(tmp_path: Path) -> None:
    table = a_table(tmp_path, "`name`")
    with pytest.raises(HandedOver, match="6 partitions, and the express engine writes 5"):
        write(table, rows_for(table, 300), PyArrowFileIO(), 5)


class Written(Objects):
    """Objects that are kept here."""

    def __init__(self) -> None:
        super().__init__()
        self.bodies: list[tuple[str, bytes]] = []

    def write(self, uri: str, body: bytes) -> None:
        self.bodies.append((uri, body))


def test_each_data_file_is_written_in_one_request(tmp_path: Path) -> None:
    table, objects = a_table(tmp_path, "`name`"), Written()
    files = write(table, rows_for(table, 300), DataIO(objects), ENOUGH)
    assert {file.file_path: file.file_size_in_bytes for file in files} == {
        place: len(body) for place, body in objects.bodies
    }
    assert len(objects.bodies) == len(files) == 6
