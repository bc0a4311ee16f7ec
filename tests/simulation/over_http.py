"""The same schedules over a real Nessie: every request to it is a stop of its worker, and a fault may become of it.

Landing bucket, jobs' cluster, store and Slack stay in memory. Jobs commit metadata to real Iceberg tables, through the
same network as the workflow. Each part calls Nessie as its own role, and Nessie keeps the rules of `lakegate.access`.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import Any, ClassVar
from unittest.mock import patch
from urllib.parse import unquote, urlsplit

import requests
from requests.adapters import HTTPAdapter

from lakegate.access import Role, nessie_settings
from lakegate.adapters.http import door
from lakegate.ports import Catalog, Ref, Tables
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from tests.simulation.files import MemoryFiles, in_memory
from tests.simulation.installation import Installation
from tests.simulation.nessie_lake import NessieLake
from tests.simulation.schedule import Mixture, Schedule
from tests.simulation.simulation import LONGEST_WAIT
from tests.simulation.volume import PORTION, Tally, run_some
from tests.simulation.worker import Call, Worker, stopping, working
from tests.support.issuer import Issuer, issuing
from tests.support.nessie import WAREHOUSE, running
from tests.support.nessie_auth import AUDIENCE, FixedToken
from tests.support.proxy import Fault, Proxy, Request, proxy, reads
from tests.world.engine import Lake
from tests.world.installation import FLIGHTS
from tests.world.stories import Story

HTTP = "nessie"
FAULTS = tuple(fault for fault in Fault if fault is not Fault.NONE)
FAULTS_OF_READS = (Fault.LOST, Fault.BUSY, Fault.REFUSED)
MORE = 4  # times as often something becomes of requests that change something: there are ten times fewer of them
LIFE = timedelta(days=1)  # of a token: longer than any run
LATER = (0, 1, 3, 10, 40)  # requests that go first


WORLD = "world"  # a role of who looks on, and of strangers: it may do anything
ANYTHING = {"nessie.server.authorization.rules.world": f"'{WORLD}' in roles"}


@dataclass(frozen=True, kw_only=True)
class Network:
    """A Nessie, the proxy by which workers and jobs reach it, and a token of each role."""

    nessie_uri: str
    proxy: Proxy
    tokens: Mapping[str, str]

    def token(self) -> str:
        """The token of whoever works now. As on AWS, who receives files has another role than who settles."""
        worker = working()
        return self.tokens[Role.INGEST if worker and worker.name.endswith(" ingest") else Role.PUBLISH]

    def shorten(self, request: requests.PreparedRequest) -> None:
        """While nothing happens to requests, they go past the proxy, which takes as long as Nessie: it only counts."""
        if self.proxy.decide is _nothing and request.url and request.url.startswith(self.proxy.uri):
            self.proxy.changes += not reads(str(request.method), request.path_url)
            request.url = self.nessie_uri + request.url.removeprefix(self.proxy.uri)
            # As the proxy does it: Nessie gives its own address by the host's name, and packs nothing.
            request.headers.update({"Host": urlsplit(self.proxy.uri).netloc, "Accept-Encoding": "identity"})


@contextmanager
def network(folder: Path) -> Iterator[Network]:
    """For many schedules, one after the other; what PyIceberg writes is kept in memory, and no retry waits."""
    with ExitStack() as stack:
        issuer = stack.enter_context(issuing(Issuer()))
        rules = nessie_settings(issuer.uri, AUDIENCE) | ANYTHING
        nessie = stack.enter_context(running(folder, rules)).nessie_uri
        tokens = {role: issuer.of(role, AUDIENCE, LIFE) for role in (*Role, WORLD)}
        found = Network(nessie_uri=nessie, proxy=stack.enter_context(proxy(nessie, _nothing)), tokens=tokens)
        stack.enter_context(in_memory())
        stack.enter_context(patch.dict(os.environ, NO_PROXY="127.0.0.1"))  # else one is looked for with each request
        stack.enter_context(patch("urllib3.util.Retry.sleep"))
        stack.enter_context(patch.object(HTTPAdapter, "send", _stopping(HTTPAdapter.send, found)))
        yield found


def _nothing(_: Request) -> tuple[Fault, int]:
    return Fault.NONE, 0


def _stopping(send: Callable[..., requests.Response], network: Network) -> Callable[..., requests.Response]:
    """Stops a worker before each of its requests; others are not stopped."""

    def sent(adapter: HTTPAdapter, request: requests.PreparedRequest, **how: Any) -> requests.Response:
        network.shorten(request)
        return send(adapter, request, **how)

    def stopped(adapter: HTTPAdapter, request: requests.PreparedRequest, **how: Any) -> requests.Response:
        worker = working()
        if worker is None:
            return sent(adapter, request, **how)
        call = Call(HTTP, str(request.method), (request.path_url,))
        answer: requests.Response = worker.call(sent, call, adapter, request, **how)
        return answer

    return stopped


class HttpInstallation(Installation):
    """Everything but Nessie in memory."""

    def __init__(self, trace: Callable[[str], None] | None, network: Network, lake: NessieLake) -> None:
        self._network, self._lake = network, lake
        super().__init__(trace)
        uri = network.proxy.uri
        http = door(uri, network)
        catalog, tables = NessieCatalog(uri, http), NessieTables(uri, WAREHOUSE, http)
        through = replace(self.service, branches=catalog, ledger=catalog, publisher=catalog, tables=tables)
        self.reached = stopping(through, ("runner", "landing", "store", "notifier"))

    def make_lake(self) -> tuple[Lake, Catalog, Tables]:
        """Whoever looks on does so past the network."""
        uri = self._network.nessie_uri
        http = door(uri, FixedToken(self._network.tokens[WORLD]))
        return self._lake, NessieCatalog(uri, http), NessieTables(uri, WAREHOUSE, http)


class HttpSchedule(Schedule):
    """One run of one seed. It is short: a request takes a hundred times as long as a call in memory."""

    network: ClassVar[Network]
    hasty = True
    named_alike = ()  # notes are in the store, and no request is for one
    outlives = 0.0

    def __init__(self, seed: int, trace: Callable[[str], None] | None = None) -> None:
        MemoryFiles.objects.clear()
        self.network.proxy.late.clear()
        self.network.proxy.arrived.clear()
        self.network.proxy.decide = _nothing
        super().__init__(seed, trace)
        if self.mixture.files > 1:
            self._settle_at_once()
        self.network.proxy.decide = self._decide

    def draw(self, chance: Random) -> Mixture:
        files = chance.choice((1, 1, 2))
        drawn = Mixture.draw(chance)
        return replace(
            drawn,
            lost_jobs=min(drawn.lost_jobs, 1),  # each takes an attempt more, and thousands of requests
            terms=replace(drawn.terms, strict=chance.random() < 0.5, unique=chance.random() < 0.2, refers=False),
            keys=files + 1,
            files=files,
            actions=chance.randint(3, 6) if files == 1 else chance.randint(1, 4),
            faults=chance.choice((0.03, 0.06, 0.12)),
            haste=chance.choice((0.9, 0.97)),
            astray=0.0,  # nobody asks Nessie for the way of a file
            first=0.15 * files**2,
            burst=0.0,
            rush=False,
            # A sweep is a dozen requests, and two end each schedule.
            weights=drawn.weights | {"undo": 0.0, "sweep": drawn.weights["sweep"] / 3},
        )

    def _settle_at_once(self) -> None:
        """Each file is a batch of its own, audited on a branch of the same main, some by a job that was given up; now
        all are about to be settled, and some of them twice.
        """
        for _ in range(self.mixture.files):
            self._upload()
            self.left["upload"] -= 1
            self.world.deliver(list(self.world.queue), again=False)
            while self.world.workers:
                self.let(self.world.workers[0])
        for job in self.world.running_jobs():
            if self.chance.random() < 0.2:
                self.world.give_job_up(job)
        self.finish()
        for branch in list(self.world.job_events):
            for again in self.chance.choice(((False,), (True, False))):
                self.world.deliver_job_event(branch, again=again)

    def publish_first(self) -> None:
        """Of a key that comes again: two who decide about its next version both find a receipt on main; and perhaps its
        rows where somebody has written them.
        """
        self.world.upload("flights/0", b"first", Story(rows=1))
        self.rest()
        if self.chance.random() < 0.5:
            self.world.compact(self.world.data_files(FLIGHTS))

    def make_world(self, trace: Callable[[str], None] | None) -> Installation:
        tokens = self.network.tokens
        self.lake = NessieLake(self.network.nessie_uri, self.network.proxy, world=tokens[WORLD], job=tokens[Role.SPARK])
        return HttpInstallation(trace, self.network, self.lake)

    def _decide(self, request: Request) -> tuple[Fault, int]:
        """Asked by the proxy, whose client waits meanwhile: so chance is asked in one order."""
        self.network.proxy.now = self.acting_since
        if self.chance.random() >= self.mixture.faults * (1 if request.reads else MORE):
            return Fault.NONE, 0
        fault = self.chance.choice(FAULTS_OF_READS if request.reads else FAULTS)
        self.world.say(f"request: {fault}", f"{request.method} {request.path}")
        return fault, self.chance.choice(LATER)

    def let_on(self, worker: Worker) -> None:
        """To look at Nessie is to send requests, and a worker's own are stopped."""
        self.let(worker)

    def since(self, began: int) -> int:
        """Return what comes late is the doing of whoever sent it, by what it knew then. A commit that comes after the
        audit is none that the audit knows: its branch is not what was audited any more, as if by a stranger's hand.
        """
        arrived, self.network.proxy.arrived = self.network.proxy.arrived, []
        self.world.meddled |= {_branch(late.request) for late in arrived if late.request.commits_a_table}
        return min([began, *(late.sent for late in arrived)])

    def come_to_an_end(self) -> None:
        """Faults go on until everybody who is at work, and a sweep, has ended; then what is late arrives.

        Every table on main, and on each branch that stays, can be read: the lake reads it where a commit changes it.
        """
        self.finish()
        self.world.advance(LONGEST_WAIT)
        self.world.sweep()
        self.finish()
        self.network.proxy.decide = _nothing
        self.network.proxy.deliver_late()
        self.look()
        super().come_to_an_end()
        for branch in self.lake.branches:
            self.lake.at(Ref(branch))


def _branch(request: Request) -> str:
    """Return which one a table's commit is for, by Iceberg's address of it."""
    return unquote(request.path).partition("/iceberg/v1/")[2].partition("|")[0]


def run_over_http(seeds: range) -> Tally:
    """Run these seeds' schedules, each portion with a new Nessie, whose memory fills."""
    total = Tally()
    for start in range(0, len(seeds), PORTION):
        with TemporaryDirectory() as folder, network(Path(folder)) as HttpSchedule.network:
            total.add(run_some(seeds[start : start + PORTION], HttpSchedule))
    return total
