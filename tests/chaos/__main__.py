"""`make chaos`: a local cloud of its own, a year of flights dropped by half months, and something broken in each.

The first halves go by Spark and the second ones by express, some of them handed over to Spark. At the end every flight
is on main once, whatever was broken, and a table says what it was, where, what became of the half month and how long
that took.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, nullcontext
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
from infra.config import SWEEP_MINUTES, Config
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN
from lakegate.workflow.service import Service
from tests.chaos import outcomes as told
from tests.chaos.faults import Faults, by_name
from tests.chaos.outcomes import BY_ITSELF, BY_RETRY, EXPRESS, HANDED_OVER, SPARK, Outcome
from tests.chaos.points import Points, points, service_of
from tests.local.installation import DONE, REJECTED, Installation
from tests.local.ports import PORTS, free_ports
from tests.local.things import on_spark

ROOT = Path(__file__).parents[2]
FIGURES = ROOT / "bench/figures/chaos.json"
FLIGHTS = "nyc.flights"
DRIVER, INGEST, SETTLE = "kill -9 of the Spark driver", "kill -9 of ingest", "kill -9 of settle"
FUNCTION, NESSIE = "kill -9 of the express function", "kill -9 and restart of Nessie"
CLOUD = "LocalStack stopped for 20 s"
SCENES = {  # a part of a month each
    SPARK: (
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
    ),
    EXPRESS: (
        (INGEST, "branch made"),
        (INGEST, "files claimed"),
        (FUNCTION, "job started"),
        (FUNCTION, "job taken"),
        (FUNCTION, "rows appended"),
        (FUNCTION, "report written"),
        (SETTLE, "end told"),
        (NESSIE, "rows appended"),
    ),
    HANDED_OVER: (  # the express function was killed before
        (SETTLE, "end told"),
        (SETTLE, "handed over"),
        (SETTLE, "next files claimed"),
        (DRIVER, "next job started"),
    ),
}
STILL = {INGEST: "handlers.ingest", SETTLE: "handlers.settle"}  # what stands still, but for moments, up to the point
LANE = "handlers.express"
PATIENCE = 600.0  # seconds until a part is decided
TIDY_SECONDS = 150.0  # two sweeps: a branch whose settling was killed is deleted by one
SAID = 60  # words of a command that failed; what follows is the functions' logs
screen = Console(width=150)


@dataclass(frozen=True, kw_only=True)
class Play:
    """One local cloud with the stack deployed, and two files for each month: one goes by Spark, and one by express."""

    cloud: Cloud
    made: Installation
    service: Service
    months: tuple[tuple[Path, Path], ...]
    contracts: Mapping[str, Path]

    def all_scenes(self) -> list[Outcome]:
        by_spark, by_express = zip(*self.months, strict=True)
        on_express = [(way, *scene) for way in (EXPRESS, HANDED_OVER) for scene in SCENES[way]]
        return [
            *self._on(SPARK, by_spark, [(SPARK, *scene) for scene in SCENES[SPARK]]),
            *self._on(EXPRESS, by_express, on_express),
        ]

    def _on(self, lane: str, parts: Sequence[Path], scenes: Sequence[tuple[str, str, str]]) -> list[Outcome]:
        self.made.run("contract", "push", self.contracts[lane])
        return [self._shown(self._scene(*scene)) for scene in zip(parts, scenes, strict=True)]

    def _scene(self, part: Path, scene: tuple[str, str, str]) -> Outcome:
        way, fault, point = scene
        played = Outcome(month=part.stem, way=way, fault=fault, point=point, became="")
        try:
            return self._break(part, played)
        except AssertionError as failure:  # the other scenes are played all the same
            return replace(played, became=f"failed: {str(failure).splitlines()[0]}")

    def _break(self, part: Path, played: Outcome) -> Outcome:
        here, key, faults = points(self.service, FLIGHTS), f"nyc/flights/{part.name}", Faults(cloud=self.cloud)
        with faults.nobody_settles() if played.fault == SETTLE else nullcontext():
            began = (self._break_spark if played.way == SPARK else self._break_express)(part, played, here, faults)
        played = replace(played, seen_at=here.furthest())
        became, attempt = self._became(key)
        seconds, messages = time.monotonic() - began, len(self.made.messages(key))
        lanes = here.lanes(attempt) if attempt else ()
        return replace(played, became=became, lanes=lanes, seconds=round(seconds, 1), messages=messages)

    def _break_spark(self, part: Path, played: Outcome, here: Points, faults: Faults) -> float:
        """Drop the part, and break something once it is at the point. Return the time of that."""
        fault = by_name(faults, FLIGHTS, self.made.outputs["SettleFunction"], here.run)[played.fault]
        self.made.run("drop", part, "--table", FLIGHTS)
        here.until(played.point)
        began = time.monotonic()
        fault()
        return began

    def _break_express(self, part: Path, played: Outcome, here: Points, faults: Faults) -> float:
        """The same, where a lane is too quick to be looked at: functions stand still, but for moments."""
        names = {LANE, STILL.get(played.fault, LANE)}
        for name in names:
            faults.warm(name)
        with ExitStack() as stack:
            still = {name: stack.enter_context(faults.function_stands_still(name)) for name in names}
            lane, its = still[LANE], still[STILL.get(played.fault, LANE)]
            self.made.run("drop", part, "--table", FLIGHTS)
            if played.way == HANDED_OVER:
                here.until("job taken", meanwhile=lane.move)
                lane.kill()
            elif its is not lane:
                lane.go_on()
            here.until(played.point, meanwhile=its.move)
            began = time.monotonic()
            if played.fault == NESSIE:
                its.go_on()  # and meet what is gone
            broken: Mapping[str, Callable[[], None]] = {
                DRIVER: partial(faults.kill_driver, FLIGHTS),
                NESSIE: faults.kill_nessie,
            }
            broken.get(played.fault, its.kill)()
        return began

    def _became(self, key: str) -> tuple[str, Attempt | None]:
        """Wait for the part's end; a rejected one is retried, as a person would. And which attempt it was."""
        for became in (BY_ITSELF, BY_RETRY):
            self.made.run("wait", key, "--timeout", PATIENCE, code=None)
            seen = self._seen(key)
            attempt = Attempt(table=FLIGHTS, batch=seen["batch"], number=seen["attempt"]) if seen["attempt"] else None
            if seen["state"] == "published":
                return became, attempt
            if seen["state"] != "rejected":
                return f"{seen['state']} after {PATIENCE:.0f} s", attempt
            self.made.run("retry", seen["batch"])
        return "rejected again", attempt

    def _seen(self, key: str) -> dict[str, Any]:
        """Return what a person would see of it: what is being done with it, or else what was decided last."""
        status = self.made.json("status")
        lines = [line for name in ("in_flight", "unrouted", "rejected", "published") for line in status[name]]
        return next((line for line in lines if key in line["files"]), {"state": "nowhere", "batch": "", "attempt": 0})

    def _shown(self, it: Outcome) -> Outcome:
        screen.print(f"{it.month}, {it.way}: {it.fault} at '{it.point}': {it.became} after {it.seconds:.0f} s")
        return it

    def wrong(self) -> list[str]:
        """Return what is not as it must be: every flight of every month once, nothing open any more, no branch left."""
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
        for month, parts in enumerate(self.months, start=1):
            rows = sum(map(_rows, parts))
            wanted = {"month": month, "n": rows, "keys": rows, "files": len(parts)}
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
            wrong, flights = play.wrong(), sum(_rows(part) for parts in play.months for part in parts)
        finally:
            cloud.down(lambda *_: None)
    config = Config(ephemeral=True, batch_window_seconds=settings.batch_window)
    waits = {  # what recovery waits for
        "batch_window": config.batch_window_seconds,
        "grace_seconds": config.grace_seconds,
        "reconcile_minutes": SWEEP_MINUTES[True],
    }
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
    for name in ("airlines", "airports", "planes"):
        made.run("drop", getattr(example, name), "--table", f"nyc.{name}")
    made.wait()
    profile = {name: value for name, value in dotenv_values(cloud.settings.profile).items() if value is not None}
    return Play(
        cloud=cloud,
        made=made,
        service=service_of(outputs, profile),
        months=tuple(map(_halved, example.months)),
        contracts={SPARK: by_spark, EXPRESS: ROOT / "contracts/flights.yaml"},
    )


def _halved(month: Path) -> tuple[Path, Path]:
    """Write the first and the second half of a month as files of their own."""
    flights = pq.read_table(month)
    half, first, second = flights.num_rows // 2, *(month.with_stem(f"{month.stem}-{part}") for part in "ab")
    pq.write_table(flights.slice(0, half), first)
    pq.write_table(flights.slice(half), second)
    return first, second


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
