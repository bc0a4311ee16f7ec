"""`make chaos`: a local cloud of its own, a year of flights dropped month by month, and something broken in each.

At the end every flight is on main once, whatever was broken, and a table says what it was, where, what became of the
month and how long that took.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from dotenv import dotenv_values
from lakegate_local.cloud import Cloud
from lakegate_local.services import client
from lakegate_local.settings import LocalSettings
from rich.console import Console
from rich.table import Table

from examples import nyc
from lakegate.audit.fit import FILE_COLUMN
from tests.chaos.faults import Faults, by_name
from tests.chaos.points import points, service_of
from tests.local.installation import DONE, REJECTED, Installation
from tests.local.ports import PORTS, free_ports

ROOT = Path(__file__).parents[2]
FLIGHTS = "nyc.flights"
DRIVER, INGEST, SETTLE = "kill -9 of the Spark driver", "kill -9 of ingest", "kill -9 of settle"
NESSIE, CLOUD = "kill -9 and restart of Nessie", "LocalStack stopped for 20 s"
SCENES = (  # a month each
    (DRIVER, "job started"),
    (DRIVER, "rows appended"),
    (INGEST, "branch made"),
    (INGEST, "files claimed"),
    (SETTLE, "report written"),
    (NESSIE, "branch made"),
    (NESSIE, "job started"),
    (NESSIE, "rows appended"),
    (NESSIE, "report written"),
    (CLOUD, "files claimed"),
    (CLOUD, "job started"),
    (CLOUD, "report written"),
)
screen = Console(width=110)


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What became of a month; `seconds` are from the fault until it was decided."""

    month: str
    fault: str
    point: str
    became: str
    seconds: float


def main() -> int:
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        ports: Mapping[str, Any] = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        path = Path(folder)
        settings = LocalSettings(run=path / "run", profile=path / ".lakegate.env", nessie_store="ROCKSDB", **ports)
        cloud = Cloud(settings=settings)
        try:
            outputs = cloud.up(lambda part, phrase: screen.print(f"{part}: {phrase}", style="dim"))
            made = Installation(settings=settings, outputs=dict(outputs), aws=lambda name: client(settings, name))
            return _all_scenes(cloud, made, path)
        finally:
            cloud.down(lambda *_: None)


def _all_scenes(cloud: Cloud, made: Installation, folder: Path) -> int:
    example = nyc.write(folder)
    made.run("contract", "push", *sorted((ROOT / "contracts").glob("*.yaml")))
    for name in ("airlines", "airports", "planes"):
        made.drop(f"nyc.{name}", getattr(example, name))
    service = service_of(made.outputs, _profile(cloud.settings))
    faults = by_name(Faults(cloud=cloud), FLIGHTS)
    outcomes = []
    for month, (fault, point) in zip(example.months, SCENES, strict=True):
        here = points(service, FLIGHTS)
        made.json("drop", month, "--table", FLIGHTS)
        here.until(point)
        began = time.monotonic()
        faults[fault]()
        became = _became(made, f"nyc/flights/{month.name}")
        seconds = time.monotonic() - began
        outcomes.append(Outcome(month=month.stem, fault=fault, point=point, became=became, seconds=seconds))
        screen.print(f"{month.stem}: {fault} at '{point}': {became} after {seconds:.0f} s")
    return _told(outcomes, _wrong(made, example.months))


def _profile(settings: LocalSettings) -> dict[str, str]:
    return {name: value for name, value in dotenv_values(settings.profile).items() if value is not None}


def _became(made: Installation, key: str) -> str:
    """Wait for the month's end; a rejected one is retried, as a person would."""
    for became in ("published", "published by a retry"):
        [seen] = made.json("wait", key, "--timeout", 600, code=None)["files"]
        if seen["state"] == "published":
            return became
        made.run("retry", seen["batch"])
    return "rejected twice"


def _wrong(made: Installation, months: Iterable[Path]) -> list[str]:
    """What is not as it must be: every flight of every month once, and nothing open any more."""
    found = made.query(f"SELECT month, count(*) AS n, count(DISTINCT {FILE_COLUMN}) AS files FROM {FLIGHTS} GROUP BY 1")
    rows = {row["month"]: row["n"] for row in found}
    wanted = {number: pq.read_metadata(path).num_rows for number, path in enumerate(months, start=1)}
    status = made.json("status")
    return [
        *(
            f"month {month}: {rows.get(month, 0):,} rows of {n:,}"
            for month, n in wanted.items()
            if rows.get(month) != n
        ),
        *(f"month {row['month']} came from {row['files']} files" for row in found if row["files"] != 1),
        *(f"{name}: {status[name]}" for name in ("in_flight", "held", "rejected") if status[name]),
    ]


def _told(outcomes: list[Outcome], wrong: list[str]) -> int:
    table = Table(
        "month", "fault", "point", "outcome", "seconds to recover", title="What was broken, and what became of it"
    )
    for it in outcomes:
        table.add_row(it.month, it.fault, it.point, it.became, f"{it.seconds:.0f}")
    screen.print(table)
    for line in wrong:
        screen.print(f"✗ {line}", style="red")
    if not wrong:
        screen.print("✓ every flight of the year is on main, once", style="green")
    return REJECTED if wrong else DONE


if __name__ == "__main__":
    sys.exit(main())
