"""`make chaos`: a local cloud of its own, a year of flights dropped month by month, and something broken in each.

At the end every flight is on main once, whatever was broken, and a table says what it was, where, what became of the
month and how long that took.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from dotenv import dotenv_values
from lakegate_local.cloud import Cloud, Tell
from lakegate_local.services import client
from lakegate_local.settings import LocalSettings
from rich.console import Console

from examples import nyc
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.ports import MAIN
from lakegate.workflow.service import Service
from tests.chaos import outcomes as told
from tests.chaos.faults import Faults, by_name
from tests.chaos.outcomes import BY_ITSELF, BY_RETRY, Outcome
from tests.chaos.points import points, service_of
from tests.local.installation import DONE, REJECTED, Installation
from tests.local.ports import PORTS, free_ports
from tests.local.things import on_spark

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "bench/figures/chaos.json"
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
WAITS = ("batch_window", "grace_seconds", "reconcile_minutes")  # the settings that recovery waits for
PATIENCE = 600.0  # seconds until a month is decided
TIDY_SECONDS = 150.0  # two sweeps: a branch whose settling was killed is deleted by one
SAID = 60  # words of a command that failed; what follows is the functions' logs
screen = Console(width=150)


@dataclass(frozen=True, kw_only=True)
class Play:
    """One local cloud with the stack deployed, and a file for each scene."""

    cloud: Cloud
    made: Installation
    service: Service
    months: tuple[Path, ...]

    def all_scenes(self) -> list[Outcome]:
        return [self._shown(self._scene(*scene)) for scene in zip(self.months, SCENES, strict=True)]

    def _scene(self, month: Path, scene: tuple[str, str]) -> Outcome:
        fault, point = scene
        played = Outcome(month=month.stem, fault=fault, point=point, became="")
        try:
            return self._break(month, played)
        except AssertionError as failure:  # the other scenes are played all the same
            return replace(played, became=f"failed: {str(failure).splitlines()[0]}")

    def _break(self, month: Path, played: Outcome) -> Outcome:
        here, key = points(self.service, FLIGHTS), f"nyc/flights/{month.name}"
        faults = Faults(cloud=self.cloud)
        fault = by_name(faults, FLIGHTS, self.made.outputs["SettleFunction"], here.run)[played.fault]
        with faults.nobody_settles() if played.fault == SETTLE else nullcontext():
            self.made.run("drop", month, "--table", FLIGHTS)
            here.until(played.point)
            began = time.monotonic()
            fault()
        played = replace(played, seen_at=here.furthest())
        became, attempt = self._became(key)
        seconds, messages = time.monotonic() - began, len(self.made.messages(key))
        return replace(played, became=became, attempt=attempt, seconds=round(seconds, 1), messages=messages)

    def _became(self, key: str) -> tuple[str, int]:
        """Wait for the month's end; a rejected one is retried, as a person would. And which attempt it was."""
        for became in (BY_ITSELF, BY_RETRY):
            self.made.run("wait", key, "--timeout", PATIENCE, code=None)
            seen = self._seen(key)
            if seen["state"] == "published":
                return became, seen["attempt"]
            if seen["state"] != "rejected":
                return f"{seen['state']} after {PATIENCE:.0f} s", seen["attempt"]
            self.made.run("retry", seen["batch"])
        return "rejected again", seen["attempt"]

    def _seen(self, key: str) -> dict[str, Any]:
        """What a person would see of it: what is being done with it, or else what was decided last."""
        status = self.made.json("status")
        lines = [line for name in ("in_flight", "unrouted", "rejected", "published") for line in status[name]]
        return next((line for line in lines if key in line["files"]), {"state": "nowhere", "attempt": 0})

    def _shown(self, it: Outcome) -> Outcome:
        screen.print(f"{it.month}: {it.fault} at '{it.point}': {it.became} after {it.seconds:.0f} s")
        return it

    def wrong(self) -> list[str]:
        """What is not as it must be: every flight of every month once, nothing open any more, no branch left."""
        status = self.made.json("status")
        open_lists = [f"{name}: {status[name]}" for name in ("in_flight", "unrouted", "rejected") if status[name]]
        return [*self._wrong_on_main(), *open_lists, *(f"branch {name} is left" for name in self._branches_left())]

    def _wrong_on_main(self) -> list[str]:
        try:
            return self._wrong_rows()
        except AssertionError as failure:  # there is no table where no month was published
            return [f"{FLIGHTS} cannot be read: {' '.join(str(failure).split()[:SAID])}"]

    def _wrong_rows(self) -> list[str]:
        keys = "count(DISTINCT (time_hour, carrier, flight))"
        sql = f"SELECT month, count(*) AS n, {keys} AS keys, count(DISTINCT {FILE_COLUMN}) AS files FROM {FLIGHTS}"
        found = {row["month"]: row for row in self.made.query(f"{sql} GROUP BY month")}
        wrong = []
        for month, path in enumerate(self.months, start=1):
            wanted = {"month": month, "n": _rows(path), "keys": _rows(path), "files": 1}
            if (there := found.pop(month, None)) != wanted:
                wrong.append(f"on main is {there}, and not {wanted}")
        return [*wrong, *(f"on main is {row}, which nobody dropped" for row in found.values())]

    def _branches_left(self) -> list[str]:
        deadline = time.monotonic() + TIDY_SECONDS
        while left := [branch.name for branch in self.service.branches.list_branches() if branch.name != MAIN]:
            if time.monotonic() > deadline:
                break
            time.sleep(1.0)
        return left


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--out", type=Path, default=FIGURES, help="where the outcomes are written, as JSON")
    out, began = parser.parse_args(arguments).out, time.monotonic()
    with tempfile.TemporaryDirectory(prefix="chaos-") as folder:
        ports: Mapping[str, Any] = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
        path = Path(folder)
        settings = LocalSettings(run=path / "run", profile=path / ".lakegate.env", nessie_store="ROCKSDB", **ports)
        cloud = Cloud(settings=settings)
        try:
            play = _prepared(cloud, path)
            outcomes = play.all_scenes()
            wrong, flights = play.wrong(), sum(map(_rows, play.months))
        finally:
            cloud.down(lambda *_: None)
    waits = {name: getattr(settings, name) for name in WAITS}
    told.write(out, outcomes, waits, time.monotonic() - began)
    return verdict(outcomes, wrong, flights)


def _rows(path: Path) -> int:
    return int(pq.read_metadata(path).num_rows)


def _prepared(cloud: Cloud, folder: Path) -> Play:
    """With the contracts pushed, and the tables that flights refer to on main."""
    outputs = dict(cloud.up(_once()))
    made = Installation(settings=cloud.settings, outputs=outputs, aws=cache(partial(client, cloud.settings)))
    example = nyc.write(folder)
    made.run("contract", "push", *sorted((ROOT / "contracts").glob("*.yaml")))
    by_spark = folder / "flights.yaml"  # whose driver is killed
    by_spark.write_text(on_spark((ROOT / "contracts/flights.yaml").read_text()))
    made.run("contract", "push", by_spark)
    for name in ("airlines", "airports", "planes"):
        made.run("drop", getattr(example, name), "--table", f"nyc.{name}")
    made.wait()
    profile = {name: value for name, value in dotenv_values(cloud.settings.profile).items() if value is not None}
    return Play(cloud=cloud, made=made, service=service_of(outputs, profile), months=example.months)


def _once() -> Tell:
    """Prints a phrase once that is told again and again."""
    said: set[str] = set()

    def tell(part: str, phrase: str) -> None:
        if (line := f"{part}: {phrase}") not in said:
            screen.print(line, style="dim")
        said.add(line)

    return tell


def verdict(outcomes: Sequence[Outcome], wrong: Sequence[str], flights: int) -> int:
    """The exit code."""
    screen.print(told.table(outcomes))
    everything = [*(line for it in outcomes for line in it.wrong), *wrong]
    for line in everything:
        screen.print(f"✗ {line}", style="red")
    if not everything:
        screen.print(f"✓ {flights:,} flights are on main, each once", style="green")
    return REJECTED if everything else DONE


if __name__ == "__main__":
    sys.exit(main())
