"""Time from an upload to its rows on main, by the express lane and by Spark, on a local cloud of its own.

Events, functions and jobs are the deployed stack's. A round uploads one file that no other file gathers with, and asks
Nessie for main's head until it has moved: the merge is the only commit there.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import cache, partial
from io import BytesIO
from pathlib import Path
from typing import Any, Self

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from dotenv import dotenv_values
from lakegate_local.cloud import Cloud, tell_nobody
from lakegate_local.services import client
from lakegate_local.settings import LocalSettings

from examples import nyc
from lakegate.ports import MAIN
from lakegate.workflow.service import Service
from tests.chaos.points import service_of
from tests.local.installation import Installation
from tests.local.ports import PORTS, free_ports
from tests.local.things import on_spark

ROOT = Path(__file__).resolve().parents[1]
FIGURES = ROOT / "bench/figures/express.json"
TABLES = {"express": "bench.express", "spark": "bench.spark"}
ROWS = {"1 MB": 59_000, "10 MB": 590_000}
WARM = 3
PATIENCE, POLL = 600.0, 0.01


@dataclass(frozen=True, kw_only=True)
class Seconds:
    """Median, 99th percentile, least and greatest of several rounds."""

    rounds: int
    median: float
    p99: float
    low: float
    high: float

    @classmethod
    def of(cls, found: Sequence[float]) -> Self:
        ordered = sorted(found)
        late = ordered[min(len(ordered) - 1, round(0.99 * len(ordered)))]
        median = statistics.median(ordered)
        told = (round(it, 2) for it in (median, late, ordered[0], ordered[-1]))
        return cls(rounds=len(ordered), **dict(zip(("median", "p99", "low", "high"), told, strict=True)))


@dataclass(frozen=True, kw_only=True)
class Place:
    """The installation, and what its own service says of main."""

    made: Installation
    service: Service

    def seconds(self, table: str, name: str, body: bytes) -> float:
        """Upload a file and wait until main has moved."""
        before, began = self.service.branches.head(MAIN), time.monotonic()
        self.made.put(f"{table}/{name}.parquet", body)
        while self.service.branches.head(MAIN) == before:
            if time.monotonic() - began > PATIENCE:
                raise TimeoutError(f"{table}/{name}: not on main after {PATIENCE:.0f} s\n{self.made.logs()}")
            time.sleep(POLL)
        return time.monotonic() - began

    def lanes(self, table: str) -> set[str]:
        """Return the lanes of the table's published batches but the first, which made it."""
        entries = [it for it in self.made.json("status")["published"] if it["table"] == table]
        entries.sort(key=lambda it: str(it["since"]))
        shown = [self.made.json("show", it["batch"])["attempts"] for it in entries[1:]]
        return {it["report"]["lane"] for tries in shown for it in tries if it["report"]}


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    """Start a local cloud whose files wait for no others, with a table for each lane."""
    ports: Mapping[str, Any] = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    settings = LocalSettings(run=folder / "run", profile=folder / ".lakegate.env", batch_window=0, **ports)
    cloud = Cloud(settings=settings)
    try:
        outputs = dict(cloud.up(tell_nobody))
        made = Installation(settings=settings, outputs=outputs, aws=cache(partial(client, settings)))
        profile = {name: value or "" for name, value in dotenv_values(settings.profile).items()}
        flights = (ROOT / "contracts/flights.yaml").read_text()
        for lane, table in TABLES.items():
            text = flights.replace("nyc.flights", table).replace("/nyc/flights/", f"/{table}/")
            path = folder / f"{lane}.yaml"
            path.write_text(on_spark(text) if lane == "spark" else text)
            made.run("contract", "push", path)
        yield Place(made=made, service=service_of(outputs, profile))
    finally:
        cloud.down(tell_nobody)


def bodies(months: Sequence[Path]) -> dict[str, bytes]:
    """Return a parquet file of each size, of real flights; the larger one has some again, a minute later."""
    year = pa.concat_tables([pq.read_table(path) for path in months])
    made = {}
    for size, count in ROWS.items():
        copies = [_later(year, number) for number in range(count // year.num_rows + 1)]
        pq.write_table(pa.concat_tables(copies).slice(0, count), target := BytesIO())
        made[size] = target.getvalue()
    return made


def _later(flights: pa.Table, minutes: int) -> pa.Table:
    """Return the flights as others: their hour is in the primary key."""
    place = flights.schema.get_field_index("time_hour")
    hours = pc.add(flights["time_hour"], pa.scalar(timedelta(minutes=minutes)))
    return flights.set_column(place, flights.schema.field(place), hours.cast(flights.schema.field(place).type))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.express", description=__doc__)
    parser.add_argument("--rounds", type=int, default=50, help="of the express lane")
    parser.add_argument("--spark-rounds", type=int, default=5)
    chosen = parser.parse_args(arguments)
    os.environ.pop("LAKEGATE_ENV_FILE", None)
    with tempfile.TemporaryDirectory(prefix="bench-express-") as folder:
        files = bodies(nyc.write(Path(folder)).months)
        with place(Path(folder)) as here:
            rounds = {"express": chosen.rounds, "spark": chosen.spark_rounds}
            for table in TABLES.values():
                here.seconds(table, "first", files["1 MB"])  # makes the table, and starts what is cold
            found = {
                lane: {size: measured(here, lane, size, files[size], count) for size in ROWS}
                for lane, count in rounds.items()
            }
            lanes = {lane: sorted(here.lanes(table)) for lane, table in TABLES.items()}
    told = {
        "at": f"{datetime.now(UTC):%Y-%m-%d}",
        "bytes": {size: len(body) for size, body in files.items()},
        "lanes": lanes,
        "seconds": {lane: {size: asdict(it) for size, it in its.items()} for lane, its in found.items()},
        "spark / express": {
            size: round(found["spark"][size].median / found["express"][size].median, 1) for size in ROWS
        },
    }
    FIGURES.write_text(json.dumps(told, indent=1) + "\n")
    print(FIGURES.read_text())
    return 0 if lanes == {lane: [lane] for lane in TABLES} else 1


def measured(here: Place, lane: str, size: str, body: bytes, rounds: int) -> Seconds:
    """Return what the rounds took, after some more of the express lane, which warm it up."""
    warm = WARM if lane == "express" else 0
    found = [here.seconds(TABLES[lane], f"{size[:-3]}-{number}", body) for number in range(warm + rounds)]
    return Seconds.of(found[warm:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
