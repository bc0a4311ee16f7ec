"""A person at a terminal before an installation in memory: what the command line is given, and what it answers."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from typer.testing import CliRunner, Result

from lakegate.adapters import sql
from lakegate.adapters.sql import Bounds, SqlReading
from lakegate.cli.app import app
from lakegate.cli.installation import Installation
from lakegate.cli.readers.place import Place
from lakegate.errors import Misconfigured
from lakegate.landing.files import FileVersion
from lakegate.operations.operation import Operations
from lakegate.operations.remote import Remote
from lakegate.ports import MAIN, Ref
from lakegate.testing import MemoryWarehouse
from lakegate.workflow.cleaning.clean import clean
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.verification.verify import verify
from tests.support.function_urls import Called
from tests.world.stories import Story
from tests.world.world import CONTRACT, World

ROWS = 10  # of every file
PLACE = Place(
    nessie_uri="https://nessie.example.com",
    warehouse="lake",
    lake_bucket="lakegate-lake",
    region="eu-central-1",
    account="123456789012",
)


@dataclass(kw_only=True)
class MemoryRows:
    """The lake as `query` sees it: Arrow tables by ref and name. `asked` is what it was asked for."""

    held: dict[tuple[str, str], pa.Table] = field(default_factory=dict)
    asked: list[tuple[str, tuple[str, ...], int | None]] = field(default_factory=list)

    def tables(self, ref: Ref) -> list[str]:
        return sorted(name for where, name in self.held if where == ref.branch)

    def columns(self, ref: Ref, table: str) -> list[str] | None:
        found = self.held.get((ref.branch, table))
        return None if found is None else list(found.column_names)

    def rows(
        self, ref: Ref, table: str, columns: Sequence[str], limit: int | None, files: Sequence[str] = ()
    ) -> pa.Table:
        self.asked.append((table, tuple(columns), limit))
        held = self.held[ref.branch, table]
        if files:
            held = held.filter(pc.is_in(held["_lakegate_file"], pa.array(files)))
        return held.select(list(columns)).slice(0, limit)


@dataclass(frozen=True)
class MainAlone:
    """Branches for an identity that the catalog's rules let see main alone, if it is a reader, or else nothing."""

    branches: Any
    role: str

    def head(self, branch: str) -> str | None:
        if branch == MAIN and self.role == "reader":
            return str(self.branches.head(branch))
        raise Misconfigured(f"'VIEW_REFERENCE' is not allowed for role {self.role!r} on reference {branch!r}")


@dataclass(kw_only=True)
class Desk:
    """See the module. A file whose bytes start with `bad` fails its audit; time passes when a command pauses."""

    folder: Path
    world: World = field(default_factory=World)
    rows: MemoryRows = field(default_factory=MemoryRows)
    place: Place = PLACE
    token: str = "observer"  # the role in the catalog of whoever sits here; "": none
    is_working: bool = True  # events arrive and jobs run while a command waits
    sweeps: int = 0
    delivered: set[str] = field(default_factory=set)

    @cached_property
    def warehouse(self) -> MemoryWarehouse:
        return MemoryWarehouse(self.world.lake.files.write_times, self.world.lake.files.deletions)

    @property
    def installation(self) -> Installation:
        service = self.world.service
        return Installation(
            operations=self.operations,
            landing=service.landing,
            lake=self.rows,
            branches=service.branches,
            place=self.place,
            clock=service.clock,
            clean=partial(clean, service, self.warehouse),
            verify=partial(verify, service, self.warehouse),
            token=lambda: self.token,
            pause=self.pause,
        )

    @property
    def operations(self) -> Operations:
        """Operations by the functions that an installation has, as on AWS."""
        return Remote(functions=Called(service=self.world.service, sweep=lambda _: self.sweep(), reading=self.reading))

    def reading(self, token: str) -> SqlReading:
        """The catalog as the role sees it: an observer all, and so does the function itself, a reader main alone."""
        branches: Any = self.world.service.branches
        seen: Any = branches if token in ("", "observer") else MainAlone(branches, token)
        return SqlReading(branches=seen, lake=self.rows, bounds=Bounds(size=sql.ANSWER_SIZE, seconds=60))

    def run(self, *args: str | Path) -> Result:
        return CliRunner().invoke(app, [str(arg) for arg in args], obj=self.installation)

    def json(self, *args: str | Path) -> Any:
        """Return what a command prints with --json, whatever its exit code."""
        return json.loads(self.run(*args, "--json").stdout)

    def file(self, name: str, body: bytes = b"good") -> Path:
        path = self.folder / name
        path.write_bytes(body)
        return path

    def contract(
        self, table: str = "nyc.planes", route: str = "nyc/planes/*.parquet", name: str = "planes.yaml"
    ) -> Path:
        text = CONTRACT.replace("nyc.flights", table).replace("nyc/flights/**", route).replace("nyc-flights", table)
        return self.file(name, text.encode())

    def pause(self, seconds: float) -> None:
        self.world.clock.advance(seconds)
        if self.is_working:
            self.work()

    def work(self) -> None:
        """Every event arrives and every job runs."""
        self.deliver()
        self.world.run()

    def deliver(self) -> None:
        """Deliver all that landed since the last time as one batch a table; the jobs wait."""
        landed = [file for file in self.world.landing.files.values() if file.id not in self.delivered]
        self.delivered |= {file.id for file in landed}
        for file in landed:
            self._learn(file)
        self.world.deliver(*landed)

    def sweep(self) -> None:
        self.sweeps += 1
        for file in self.world.landing.files.values():
            self._learn(file)
        assert reconcile(self.world.service) == []

    def _learn(self, file: FileVersion) -> None:
        is_bad = self.world.landing.bodies[file.key, file.version_id].startswith(b"bad")
        self.world.names.setdefault(file.id, file.id)
        self.world.stories.setdefault(file.id, Story(rows=ROWS, bad="carrier required" if is_bad else ""))

    def published(self, name: str = "1.parquet") -> str:
        """A file that was dropped and published; its batch."""
        assert self.run("drop", self.file(name), "--table", "nyc.flights", "--wait").exit_code == 0
        return str(self.json("status")["published"][0]["batch"])

    def rejected(self, name: str = "bad.parquet") -> str:
        """A file that was dropped and rejected; its batch."""
        dropped = self.run("drop", self.file(name, b"bad"), "--table", "nyc.flights", "--wait")
        assert dropped.exit_code == 1
        return str(self.json("status")["rejected"][0]["batch"])


def crashed(desk: Desk, *names: str) -> str:
    """A batch whose jobs crashed, until each of its files was rejected."""
    dropped_together(desk, *names)
    desk.world.allow_attempts(1)
    while desk.world.runner.open_runs():
        desk.world.kill_jobs("killed by signal 9")
        desk.world.clock.advance(3600)
        assert reconcile(desk.world.service) == []
    return str(desk.json("status")["rejected"][0]["batch"])


def dropped_together(desk: Desk, *names: str) -> None:
    for name in names:
        desk.world.drop(name, rows=3, deliver=False)
    desk.world.drop_together(*names)


def cancelled(desk: Desk, *names: str) -> str:
    """A batch whose job a person cancelled."""
    dropped_together(desk, *names)
    desk.world.cancel_jobs()
    desk.world.run()
    return str(desk.json("status")["rejected"][0]["batch"])
