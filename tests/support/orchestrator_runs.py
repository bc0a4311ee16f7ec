"""Runs of the examples under orchestrators, each in its own environment, as a person starts them. They are killed from
outside, by what stands between them and Nessie.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

import psutil
import pyarrow.parquet as pq
from pyarrow import csv

from lakegate.adapters.iceberg import RefCatalog
from lakegate.adapters.lake import storage
from lakegate.audit.ref import Ref
from lakegate.publishing.nessie import NessieCatalog
from tests.support.nessie import ROOT, Lake, unique
from tests.support.proxy import Fault, Request, proxy
from tests.support.runs import ids_of, orders

WRITES = 6  # of a run on a Nessie without the table: its branch, namespace, table and rows, the merge, the branch's end
MERGE = 5
KILLS = [(write, moment) for write in range(1, WRITES + 1) for moment in ("before", "after")]
ENDS_WITHIN = 300  # seconds


@dataclass(frozen=True, kw_only=True)
class Example:
    """One example, and a table on a Nessie for it. `env` are settings of the orchestrator's own."""

    name: str
    lake: Lake
    folder: Path
    table: str = field(default_factory=lambda: f"{unique('shop')}.orders")
    env: Mapping[str, str] = field(default_factory=dict)

    def start(
        self, *words: str, uri: str = "", env: Mapping[str, str] = MappingProxyType({}), program: Sequence[str] = ()
    ) -> subprocess.Popen[str]:
        """The example's command, or another program of its Python, as a process. `uri` is where it finds Nessie."""
        own = {"LAKEGATE_NESSIE_URI": uri or self.lake.nessie_uri, "LAKEGATE_WAREHOUSE": self.lake.warehouse}
        return subprocess.Popen(
            [str(ROOT / f".local/envs/{self.name}/bin/python"), *(program or self._command), *words],
            cwd=ROOT,
            env={**_inherited(), **self.lake.environment, **own, **self.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    @property
    def _command(self) -> Sequence[str]:
        return "-m", f"examples.orchestrators.{self.name}"

    def run(self, *words: str, uri: str = "", env: Mapping[str, str] = MappingProxyType({})) -> tuple[int, str]:
        """The command's exit code, and all that it has said."""
        return ended(self.start(*words, uri=uri, env=env))

    def file(self, *ids: int | None, name: str = "orders.parquet") -> str:
        """The path of a file with such orders, as its name says parquet or CSV."""
        path = self.folder / name
        if name.endswith(".csv"):
            csv.write_csv(orders(*ids), path)
        else:
            pq.write_table(orders(*ids), path)
        return str(path)

    def ids(self) -> list[int | None]:
        """The ids that readers of main find."""
        reader = RefCatalog(self.lake.nessie_uri, self.lake.warehouse, Ref("main"), storage())
        return ids_of(reader.find_table(self.table))

    def branches(self) -> list[str]:
        """The names of the table's branches."""
        found = NessieCatalog(self.lake.nessie_uri).list_branches()
        return [it.name for it in found if it.name.startswith(f"wap-{self.table}")]


def merged(write: int, moment: str) -> bool:
    """Return True if main has the rows of a run that was killed there."""
    return write > MERGE or (write, moment) == (MERGE, "after")


def check_it_is_killed_and_run_again(example: Example, write: int, moment: str) -> None:
    """Assert that a file is published once: its run is killed at this write, and made again."""
    path = example.file(1, 2)
    with killing(example.lake, write, moment) as uri:
        code, said = example.run(path, "--table", example.table, uri=uri)
    assert code < 0, said
    assert example.ids() == ([1, 2] if merged(write, moment) else [])
    code, said = example.run(path, "--table", example.table)
    assert (code, example.ids()) == (0, [1, 2]), said


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The exit code of a process, and all that it has said."""
    try:
        said, _ = process.communicate(timeout=ENDS_WITHIN)
    except subprocess.TimeoutExpired:
        process.kill()
        said, _ = process.communicate()
        return -1, f"it has not ended:\n{said}"
    return process.returncode, said


@dataclass(kw_only=True)
class Killer:
    """A proxy before Nessie that kills the process that sends a write, before it is made or after that. It counts
    writes from 1; 0 kills nobody.
    """

    write: int = 0
    moment: str = "before"
    seen: int = 0

    def begin(self, write: int, moment: str) -> None:
        """Kill once more, the writes counted anew."""
        self.write, self.moment, self.seen = write, moment, 0

    def decide(self, request: Request) -> tuple[Fault, int]:
        if request.reads:
            return Fault.NONE, 0
        self.seen += 1
        if self.seen != self.write:
            return Fault.NONE, 0
        os.kill(_sender(request), signal.SIGKILL)
        return (Fault.LOST if self.moment == "before" else Fault.UNANSWERED), 0


@contextlib.contextmanager
def killing(lake: Lake, write: int, moment: str) -> Iterator[str]:
    """Nessie's address, behind which the process that sends this write is killed."""
    killer = Killer(write=write, moment=moment)
    with proxy(lake.nessie_uri, killer.decide) as found:
        yield found.uri
    assert killer.seen >= write, "nobody was killed"


def _sender(request: Request) -> int:
    """The process at the other end of a request's connection."""
    connections = [it for it in psutil.net_connections("tcp4") if it.laddr and it.laddr.port == request.port]
    [found] = {it.pid for it in connections if it.pid} - {os.getpid()}
    return found


def _inherited() -> dict[str, str]:
    """This process's environment, less what is its own."""
    return {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "VIRTUAL_ENV")}
