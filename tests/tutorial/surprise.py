"""A parquet file that nobody has seen: its columns, their names and types, and its rows are drawn."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LETTERS = "abcdefghijklmnopqrstuvwxyzäöü_ "
Draw = Callable[[random.Random], object]
KINDS: tuple[tuple[pa.DataType, Draw], ...] = (
    (pa.int32(), lambda chance: chance.randrange(-(2**31), 2**31)),
    (pa.int64(), lambda chance: chance.randrange(2**40)),
    (pa.float64(), lambda chance: chance.gauss(0, 1000)),
    (pa.bool_(), lambda chance: chance.random() < 0.5),
    (pa.string(), lambda chance: "".join(chance.choices(LETTERS, k=chance.randrange(1, 30)))),
    (pa.decimal128(12, 2), lambda chance: Decimal(chance.randrange(10**9)) / 100),
    (pa.date32(), lambda chance: date(2020, 1, 1) + timedelta(days=chance.randrange(2000))),
    (pa.timestamp("us"), lambda chance: datetime(2020, 1, 1) + timedelta(seconds=chance.randrange(10**8))),  # noqa: DTZ001
    (pa.timestamp("us", "UTC"), lambda chance: datetime(2020, 1, 1, tzinfo=UTC) + timedelta(seconds=chance.random())),
)


def write(path: Path, seed: int) -> int:
    """Write a file for a seed. Return its number of rows."""
    chance = random.Random(seed)
    rows = chance.randrange(50, 5000)
    columns: dict[str, pa.Array] = {"key": pa.array(range(rows), pa.int64())}
    for at in range(chance.randrange(2, 12)):
        kind, draw = chance.choice(KINDS)
        nulls = chance.choice((0.0, 0.0, 0.1))
        values = [None if chance.random() < nulls else draw(chance) for _ in range(rows)]
        columns[f"{''.join(chance.choices(LETTERS[:26], k=6))}_{at}"] = pa.array(values, kind)
    pq.write_table(pa.table(columns), path)
    return rows
