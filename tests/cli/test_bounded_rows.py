"""Rows for people, in bounded memory: the same as PyIceberg reads, and no answer beyond what a person can have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.expressions.parser import parse
from pyiceberg.io.pyarrow import ArrowScan
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.schema import Schema
from pyiceberg.table import FileScanTask, Table
from pyiceberg.types import (
    BinaryType,
    DateType,
    DecimalType,
    DoubleType,
    ListType,
    LongType,
    MapType,
    NestedField,
    StringType,
    StructType,
    TimestampType,
    TimestamptzType,
)

from lakegate.adapters import decoding, scan, sql
from lakegate.adapters.decoding import parquet_batches
from lakegate.adapters.scan import BoundedScan, read
from lakegate.adapters.sql import Statement, run
from lakegate.errors import Misconfigured
from lakegate.ports import Ref
from tests.support.folder_tables import NAME, LakeOfOne, table_of, with_files

MAIN = Ref("main")
PART = StructType(NestedField(20, "x", LongType()), NestedField(21, "y", StringType()))
SCHEMA = Schema(
    NestedField(1, "n", LongType()),
    NestedField(2, "text", StringType()),
    NestedField(3, "raw", BinaryType()),
    NestedField(4, "price", DecimalType(12, 2)),
    NestedField(5, "ratio", DoubleType()),
    NestedField(6, "day", DateType()),
    NestedField(7, "local", TimestampType()),
    NestedField(8, "moment", TimestamptzType()),
    NestedField(9, "parts", ListType(22, PART, element_required=False)),
    NestedField(
        10, "of", MapType(23, StringType(), 24, StructType(NestedField(25, "z", StringType())), value_required=False)
    ),
    NestedField(11, "late", StringType()),
)
TYPES: dict[str, list[pa.DataType]] = {
    "n": [pa.int64(), pa.int32()],
    "text": [pa.string(), pa.large_string()],
    "raw": [pa.binary()],
    "price": [pa.decimal128(12, 2), pa.decimal128(8, 2)],
    "ratio": [pa.float64(), pa.float32()],
    "day": [pa.date32()],
    "local": [pa.timestamp("us"), pa.timestamp("ms")],
    "moment": [pa.timestamp("us", tz="UTC")],
    "parts": [pa.list_(pa.struct([("x", pa.int64()), ("y", pa.string())])), pa.list_(pa.struct([("y", pa.string())]))],
    "of": [pa.map_(pa.string(), pa.struct([("z", pa.string())]))],
}
FILTERS = ("true", "n > 3", "text is null", "text = 'b'")


def value(dice: Random, name: str) -> Any:
    """A value of a column, a third of them null."""
    if dice.random() < 1 / 3:
        return None
    text, number = dice.choice(["", "a", "b", "c" * 50]), dice.randint(0, 9)
    parts = [
        {"x": number, "y": None if number % 2 else text} if dice.random() < 0.7 else None for _ in range(number % 3)
    ]
    return {
        "text": text,
        "raw": text.encode(),
        "price": number,
        "ratio": number / 4,
        "parts": parts,
        "of": {part: {"z": text} if number % 2 else None for part in "xy"[: number % 3]}.items(),
    }.get(name, number)


def file(dice: Random, path: Path) -> Path:
    """A data file with some of the columns, each of a type that the table's reads."""
    columns = {}
    for name, kinds in TYPES.items():
        if dice.random() < 0.85:
            kind = dice.choice(kinds)
            values = [value(dice, name) for _ in range(40)]
            if name == "parts" and kind == kinds[1]:
                values = [it and [part and {"y": part["y"]} for part in it] for it in values]
            columns[name] = pa.array([list(it) if name == "of" and it is not None else it for it in values], kind)
    how = {"use_dictionary": dice.random() < 0.7, "row_group_size": dice.choice([7, 40])}
    pq.write_table(pa.table(columns or {"n": [1] * 40}), path, **how)
    return path


def deletes(dice: Random, of: str, path: Path) -> DataFile:
    places = sorted(dice.sample(range(40), 9))
    pq.write_table(pa.table({"file_path": [of] * 9, "pos": pa.array(places, pa.int64())}), path)
    return DataFile.from_args(
        content=DataFileContent.POSITION_DELETES, file_path=str(path), file_format=FileFormat.PARQUET
    )


def tasks(dice: Random, table: Table, folder: Path) -> list[FileScanTask]:
    """Tasks of all data files, some with rows that are deleted."""
    plain = sorted(table.scan().plan_files(), key=lambda task: task.file.file_path)
    return [
        FileScanTask(it.file, {deletes(dice, it.file.file_path, folder / f"{at}.deletes")} if at % 2 else set())
        for at, it in enumerate(plain)
    ]


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.share(2)
def test_rows_are_those_that_pyiceberg_reads(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dice = Random(seed)
    monkeypatch.setattr(decoding, "PIECE", dice.choice([200, decoding.PIECE]))
    monkeypatch.setattr(scan, "_SMALL", dice.choice([0, scan._SMALL]))
    table = with_files(SCHEMA, [file(dice, tmp_path / f"{at}.parquet") for at in range(4)], tmp_path)
    wanted = table.schema().select(*dice.sample([field.name for field in SCHEMA.fields], 6))
    given = tasks(dice, table, tmp_path)
    for condition in FILTERS:
        for limit in (None, 1, 45):
            of = (table.metadata, table.io, wanted, parse(condition), True, limit)
            expected = ArrowScan(*of).to_table(given).to_pylist()
            assert [row for batch in BoundedScan(*of).to_record_batches(given) for row in batch.to_pylist()] == expected


def test_types_are_those_that_pyiceberg_reads(tmp_path: Path) -> None:
    table = table_of([file(Random(0), tmp_path / "0.parquet")], tmp_path)
    for some in (table.scan(limit=3), table.scan(row_filter="n > 100")):
        assert read(some).equals(some.to_arrow())


def test_a_scan_with_a_limit_opens_no_file_beyond(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = [file(Random(0), tmp_path / f"{at:02}.parquet") for at in range(30)]
    table, decoded = table_of(paths, tmp_path), list[Sequence[str]]()

    def decode(source: Any, columns: Sequence[str], *, far: bool) -> Iterator[pa.RecordBatch]:
        decoded.append(columns)
        return parquet_batches(source, columns, far=far)

    monkeypatch.setattr(scan, "parquet_batches", decode)
    assert read(table.scan(limit=50)).num_rows == 50
    assert len(decoded) == 2


def test_an_answer_of_more_than_a_person_reads_says_what_to_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sql, "MOST_BYTES", 1_400)
    pq.write_table(pa.table({"text": ["x" * 100] * 11, "n": range(11)}), tmp_path / "0.parquet")
    lake = LakeOfOne(table_of([tmp_path / "0.parquet"], tmp_path))
    for many in (f"SELECT text FROM {NAME}", f"SELECT [{{'a': text}}] FROM {NAME}", f"SELECT text::BLOB FROM {NAME}"):
        with pytest.raises(Misconfigured, match=r"more than 1,400 bytes: ask for fewer rows by LIMIT"):
            run(lake, Statement.parse(many), MAIN)
    assert len(run(lake, Statement.parse(f"SELECT left(text, 50) FROM {NAME}"), MAIN).rows) == 11
    assert len(run(lake, Statement.parse(f"SELECT text FROM {NAME} LIMIT 9"), MAIN).rows) == 9
    with pytest.raises(Misconfigured, match=r"more than 1,400 bytes"):  # one wide letter, and each takes four bytes
        run(lake, Statement.parse(f"SELECT text || '\U0001f600' FROM {NAME} LIMIT 5"), MAIN)


def test_a_query_without_memory_says_what_to_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sql, "MEMORY", 16 * 1024**2)
    pq.write_table(pa.table({"n": range(11)}), tmp_path / "0.parquet")
    lake = LakeOfOne(table_of([tmp_path / "0.parquet"], tmp_path))
    many = f"SELECT len(list(of)) FROM {NAME}, range(1000000) numbers(of)"
    with pytest.raises(Misconfigured, match=r"more memory than there is for it: ask for fewer rows by LIMIT"):
        run(lake, Statement.parse(many), MAIN)


def test_bytes_that_are_no_text_are_marked_in_each_batch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(decoding, "PIECE", 64)
    texts = pa.array([b"good", b"\xff", None] * 50).view(pa.string())
    pq.write_table(pa.table({"text": texts}), tmp_path / "0.parquet", write_statistics=False)
    lake = LakeOfOne(table_of([tmp_path / "0.parquet"], tmp_path))
    answer = run(lake, Statement.parse(f"SELECT text, count(*) FROM {NAME} GROUP BY 1 ORDER BY 1"), MAIN)
    assert answer.rows == [("good", 50), ("\ufffd", 50), (None, 50)]
