"""Hostile files as bytes: what is told of them takes time in proportion to their size, and no Spark."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from spark_jobs.formats.avro import schema as avro_schema
from spark_jobs.formats.avro.blocks import SYNC, Block, walk
from spark_jobs.formats.footer import Unreadable
from tests.hostile import files
from tests.hostile.growth import assert_linear


def walked(body: bytes) -> Iterator[Block]:
    start = body.index(files.SYNC) + SYNC
    return walk(lambda at, size: body[at : at + size], start, len(body), files.SYNC)


def blocks(body: bytes) -> list[Block]:
    return list(walked(body))


def said(body: bytes) -> str:
    with pytest.raises(Unreadable) as found:
        blocks(body)
    return str(found.value)


def test_blocks_are_walked_in_time_with_their_number() -> None:
    assert_linear(files.tiny_blocks, lambda body: sum(block.rows for block in walked(body)), 4_000)


def test_names_that_stand_for_billions_of_columns_are_counted_in_time_with_the_schema() -> None:
    found = avro_schema.size(files.doubling(100))
    assert (found.columns > 2**100, found.nesting) == (True, 101)
    assert_linear(files.doubling, avro_schema.size, 20)


@pytest.mark.parametrize("size", [0, 1, 36, 4_095, 4_096, 5_000, 1_000_000])
def test_blocks_of_any_size_are_found_where_they_are(size: int) -> None:
    bodies = [b"x" * size, b"y" * 10, b"", b"z" * size]
    body = files.avro(files.record(("a", "string")), list(zip((3, 2, 1, 5), bodies, strict=True)))
    found = blocks(body)
    assert [(it.rows, body[it.start : it.start + it.size]) for it in found] == list(
        zip((3, 2, 1, 5), bodies, strict=True)
    )


def test_what_a_head_claims_beyond_its_file_is_told_with_the_claim() -> None:
    head = files.avro(files.record(("a", "string")))
    claims = {
        files.number(10) + files.number(2**31 - 1): "says that it has 2,147,483,647 bytes, and there are 36",
        files.number(10) + files.number(2**62): "says that it has 4,611,686,018,427,387,904 bytes",
        files.number(-5) + files.number(3): "says that it has -5 rows in 3 bytes",
        files.number(5) + files.number(-3): "says that it has 5 rows in -3 bytes",
        files.number(5) + files.number(10): "does not end where it says",
        b"\xff" * 20: "has no head that can be read",
    }
    for claim, why in claims.items():
        assert f"a block is corrupt (block 1 {why}" in said(head + claim + b"x" * 20 + files.SYNC), why
    assert "block 2 has no head that can be read" in said(files.tiny_blocks(1) + b"\x80")


def test_rows_behind_a_block_without_any_are_not_passed_over() -> None:
    kind = files.record(("id", "int"))
    assert "(block 1 has no rows and stands before others" in said(files.avro(kind, [(0, b""), (1, b"\x02")]))
    assert [it.rows for it in blocks(files.avro(kind, [(1, b"\x02"), (0, b""), (0, b"")]))] == [1, 0, 0]


NOTHING = files.record(name="nothing")
OF_NOTHING = {
    "nulls": "null",
    "records": NOTHING,
    "fixed": {"type": "fixed", "name": "f", "size": 0},
    "records of nulls": files.NOTHINGS,
}


@pytest.mark.parametrize("name", OF_NOTHING)
def test_an_array_of_what_takes_no_bytes_is_refused_wherever_it_stands(name: str) -> None:
    array = {"type": "array", "items": OF_NOTHING[name]}
    for kind in (array, ["null", array], {"type": "map", "values": array}, files.record(("b", array), name="in")):
        with pytest.raises(Unreadable, match="an array of what takes no bytes"):
            avro_schema.size(files.record(("id", "int"), ("a", kind), name="out"))


def test_how_few_bytes_a_row_takes_is_known_by_its_schema() -> None:
    kinds = {
        "null": 0, "int": 1, "double": 8, "string": 1,
        json.dumps(["null", "double"]): 1, json.dumps(["int", "float"]): 2,
        json.dumps({"type": "array", "items": "int"}): 1, json.dumps({"type": "fixed", "name": "f", "size": 9}): 9,
        json.dumps(files.NOTHINGS): 0,
    }  # fmt: skip
    for kind, least in kinds.items():
        schema = json.loads(kind) if kind[0] in "[{" else kind
        assert avro_schema.size(files.record(("a", schema), name="out")).least == least, kind


def test_a_schema_within_itself_is_refused() -> None:
    with pytest.raises(Unreadable, match="'r' is a part of itself"):
        avro_schema.size(files.record(("id", "int"), ("r", ["null", "r"])))
