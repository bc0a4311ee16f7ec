"""Files of real flights of several sizes. No two flights of one file have the same key."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from io import BytesIO
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

ROWS = {"0.1 MB": 5_600, "1 MB": 59_000, "10 MB": 590_000}
AT_THE_LIMIT, BEYOND = "32 MB", "100 MB"
LARGE = {AT_THE_LIMIT: 1_960_000, BEYOND: 5_900_000}  # what the express lane takes at most, and what goes to Spark
KEY = ["time_hour", "carrier", "flight"]


@dataclass(frozen=True, kw_only=True)
class Body:
    """A parquet file."""

    rows: int
    content: bytes
    uncompressed: int  # bytes, as its footer says
    in_memory: int  # bytes of its rows in Arrow

    @classmethod
    def of(cls, flights: pa.Table) -> "Body":
        keys = flights.group_by(KEY).aggregate([])
        if keys.num_rows != flights.num_rows:
            raise ValueError(f"{flights.num_rows:,} flights have {keys.num_rows:,} keys: they would be rejected")
        pq.write_table(flights, target := BytesIO())
        about = pq.ParquetFile(BytesIO(content := target.getvalue())).metadata
        size = sum(about.row_group(at).total_byte_size for at in range(about.num_row_groups))
        return cls(rows=flights.num_rows, content=content, uncompressed=size, in_memory=flights.nbytes)


def bodies(months: Sequence[Path], rows: Mapping[str, int] = ROWS) -> Mapping[str, Body]:
    """Return a file of each size; the largest ones have some flights again, minutes later."""
    year = pa.concat_tables([pq.read_table(path) for path in months])
    copies = [_later(year, number) for number in range(max(rows.values()) // year.num_rows + 1)]
    every = pa.concat_tables(copies)
    return {size: Body.of(every.slice(0, count)) for size, count in rows.items()}


def _later(flights: pa.Table, minutes: int) -> pa.Table:
    """Return the flights as others: their hour is in the primary key."""
    place = flights.schema.get_field_index("time_hour")
    hours = pc.add(flights["time_hour"], pa.scalar(timedelta(minutes=minutes)))
    return flights.set_column(place, flights.schema.field(place), hours.cast(flights.schema.field(place).type))
