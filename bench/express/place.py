"""The installation that is measured: a local cloud whose files wait for no others, with a table for each lane."""

import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any

from dotenv import dotenv_values
from lakegate_local.cloud import Cloud, tell_nobody
from lakegate_local.services import ACCOUNT, client
from lakegate_local.settings import LocalSettings

from bench.express.files import Body
from lakegate.access import TAG, Role
from lakegate.adapters.iceberg import RefCatalog
from lakegate.bootstrap import nessie_door
from lakegate.ports import MAIN, Ref
from lakegate.settings import Settings
from lakegate.workflow.service import Service
from tests.chaos.points import service_of
from tests.local.installation import Installation
from tests.local.ports import PORTS, free_ports
from tests.local.things import on_spark

ROOT = Path(__file__).resolve().parents[2]
CONTRACT = ROOT / "contracts/flights.yaml"
PATIENCE, POLL, SLOW_POLL = 600.0, 0.01, 0.25
ON_THE_WAY = ("ingest", "express", "settle")  # functions that a file passes, in this order
DURATION = re.compile(r"REPORT .*\tDuration: ([\d.]+) ms")


WAYS: Mapping[str, Callable[[str], str]] = {
    "express": str,
    "spark": on_spark,
}


@dataclass(frozen=True, kw_only=True)
class Landed:
    """A file in the landing bucket, and how long it took to main."""

    key: str
    version: str
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Place:
    """The installation, its cloud, and what its own service says of main."""

    made: Installation
    cloud: Cloud
    service: Service
    settings: Settings

    def push(self, table: str, way: str) -> None:
        """Push the flights' contract for a table of its own; of the express lane it names no engine."""
        text = CONTRACT.read_text().replace("nyc.flights", table).replace("/nyc/flights/", f"/{table}/")
        path = self.cloud.settings.run.parent / f"{table}.yaml"
        path.write_text(WAYS[way](text))
        self.made.run("contract", "push", path)

    def round(self, table: str, name: str, body: Body) -> "Landed":
        """Upload a file, and wait until main has moved and the table has the file's rows: a file that is rejected, or
        published in part, ends the run.
        """
        wanted, before, began = self.rows(table) + body.rows, self.head(), time.monotonic()
        version = self.made.put(key := f"{table}/{name}.parquet", body.content)
        while True:
            if (head := self.head()) != before:
                took, before = time.monotonic() - began, head
                if self.rows(table) == wanted:
                    return Landed(key=key, version=version, seconds=took)
            self._be_patient(began, f"{table}/{name}")
            time.sleep(POLL)

    def seconds_of_all(self, tables: Sequence[str], files: int, body: Body) -> float:
        """Upload so many files to each of the tables at once, and return how long it takes until the last is on main.
        Raise RuntimeError unless each file is there once.
        """
        began = time.monotonic()
        for number in range(files):
            for table in tables:
                self.made.put(f"{table}/{number}.parquet", body.content)
        for table in tables:
            while self.rows(table) < files * body.rows:
                self._be_patient(began, table)
                time.sleep(SLOW_POLL)
        took = time.monotonic() - began
        wrong = {table: rows for table in tables if (rows := self.rows(table)) != files * body.rows}
        if wrong:
            raise RuntimeError(f"of {files * body.rows:,} rows there are {wrong}")
        return took

    def head(self) -> str | None:
        return self.service.branches.head(MAIN)

    def rows(self, table: str) -> int:
        """Return how many rows the table has on main, as its last snapshot says."""
        settings, http = self.settings, nessie_door(self.settings)
        found = RefCatalog(settings.nessie_uri, settings.warehouse, Ref(MAIN), http=http).find_table(table)
        snapshot = found.current_snapshot() if found else None
        return int(snapshot.summary["total-records"] or 0) if snapshot and snapshot.summary else 0

    def _be_patient(self, began: float, what: str) -> None:
        if time.monotonic() - began > PATIENCE:
            raise TimeoutError(f"{what}: not on main after {PATIENCE:.0f} s\n{self.made.logs()}")

    def lanes(self, tables: Iterable[str]) -> set[str]:
        """Return the lanes by which the tables' batches were published."""
        return {report["lane"] for report in self._reports(tables)}

    def _reports(self, tables: Iterable[str]) -> Iterator[Mapping[str, Any]]:
        wanted = set(tables)
        for entry in self.made.json("status")["published"]:
            tries = self.made.json("show", entry["batch"])["attempts"] if entry["table"] in wanted else ()
            yield from (it["report"] for it in tries if it["report"])

    def work(self) -> "Work":
        return Work(made=self.made)

    @contextmanager
    def article(self) -> Iterator["Shape"]:
        """Start the article's own shape, as a role that may do all of it."""
        first = {
            "nessie": self.settings.nessie_uri,
            "warehouse": self.settings.warehouse,
            "audience": self.settings.token_audience,
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "bench.express.article"],
            cwd=ROOT,
            env={**os.environ, **_publisher(self.cloud.settings)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        shape = Shape(process=process, bucket=self.made.outputs["LandingBucket"])
        shape.say(first)
        try:
            yield shape
        finally:
            process.kill()
            process.communicate()


@dataclass(frozen=True, kw_only=True)
class Shape:
    """The article's process, and the bucket from which it reads."""

    process: "subprocess.Popen[str]"
    bucket: str

    def say(self, order: Mapping[str, Any]) -> None:
        assert self.process.stdin  # noqa: S101 - it was asked for
        self.process.stdin.write(json.dumps(order) + "\n")
        self.process.stdin.flush()

    def seconds(self, table: str, landed: "Landed", *, is_new: bool) -> float:
        """Publish the same file in a table, which is made first if it is new. Return how long the publishing took."""
        order = {"table": table, "key": landed.key, "bucket": self.bucket, "version": landed.version}
        self.say({**order, "is_new": is_new})
        assert self.process.stdout  # noqa: S101 - it was asked for
        took, _ = json.loads(self.process.stdout.readline())
        return float(took)


@dataclass(kw_only=True)
class Work:
    """Time that the functions on a file's way have taken since they were asked last, by Lambda's own words."""

    made: Installation

    def __post_init__(self) -> None:
        self._seen: dict[str, int] = {}
        self.since_last()

    def since_last(self) -> dict[str, float]:
        """Return each function's seconds of all calls that have ended, waiting for none."""
        logs, found = self.made.aws("logs"), {}
        for group in logs.describe_log_groups(logGroupNamePrefix="/aws/lambda/")["logGroups"]:
            name = group["logGroupName"]
            its = [match[1] for event in _events(logs, name) if (match := DURATION.search(event["message"]))]
            found[name.rpartition("-")[2]] = sum(map(float, its[self._seen.get(name, 0) :])) / 1000
            self._seen[name] = len(its)
        return found

    def of_one_file(self) -> dict[str, float]:
        """Wait until each function on the way has ended a call, and return what each took."""
        taken, deadline = dict.fromkeys(ON_THE_WAY, 0.0), time.monotonic() + PATIENCE
        while not all(taken.values()) and time.monotonic() < deadline:
            for name, seconds in self.since_last().items():
                if name in taken:
                    taken[name] += seconds
            time.sleep(POLL)
        return taken


def _events(logs: Any, group: str) -> list[dict[str, Any]]:
    """Return the log in one piece, as the local cloud has it."""
    events: list[dict[str, Any]] = logs.filter_log_events(logGroupName=group)["events"]
    return events


def _publisher(settings: LocalSettings) -> dict[str, str]:
    """Return credentials of a role that may commit to branches and to main."""
    name, iam = f"{settings.stack}-article", client(settings, "iam")
    trust = {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "sts:AssumeRole"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [trust]})
    iam.create_role(RoleName=name, AssumeRolePolicyDocument=policy, Tags=[{"Key": TAG, "Value": str(Role.PUBLISH)}])
    arn = f"arn:aws:iam::{ACCOUNT}:role/{name}"
    found = client(settings, "sts").assume_role(RoleArn=arn, RoleSessionName="article")["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": found["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": found["SecretAccessKey"],
        "AWS_SESSION_TOKEN": found["SessionToken"],
    }


@contextmanager
def place(folder: Path) -> Iterator[Place]:
    """Start the local cloud, and end it afterwards."""
    ports: Mapping[str, Any] = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    settings = LocalSettings(run=folder / "run", profile=folder / ".lakegate.env", batch_window=0, **ports)
    cloud = Cloud(settings=settings)
    try:
        outputs = dict(cloud.up(tell_nobody))
        made = Installation(settings=settings, outputs=outputs, aws=cache(partial(client, settings)))
        profile = {name: value or "" for name, value in dotenv_values(settings.profile).items()}
        service = service_of(outputs, profile)
        yield Place(made=made, cloud=cloud, service=service, settings=Settings.from_outputs(outputs))
    finally:
        cloud.down(tell_nobody)
