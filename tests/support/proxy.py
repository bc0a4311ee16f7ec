"""A proxy that does to requests what networks and the things in them do: it loses, delays, repeats and refuses them.

Whoever starts it decides what becomes of each request; it decides nothing itself.
"""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import urllib3

COMMIT = re.compile(r"/iceberg/.*/tables/[^/]+$")
# Not the host, by which Nessie names itself; and nobody need pack an answer that stays on one machine.
HOP = {"transfer-encoding", "content-length", "connection", "accept-encoding"}
READS = ("GET", "HEAD")


class Fault(StrEnum):
    """The fault that one request meets."""

    NONE = "is passed on"
    LOST = "is lost"
    UNANSWERED = "is done, and its answer is lost"
    LATE = "arrives late, when its client has given up"
    TWICE = "is delivered twice, and the second answer comes back"
    AGAIN = "is delivered once more later"
    BUSY = "is answered 429"
    REFUSED = "is answered 503 before it is done"
    BROKEN = "is answered 502 after it is done"


def reads(method: str, path: str) -> bool:
    """Return True if such a request changes nothing."""
    return method in READS or (method == "POST" and path.endswith("/contents"))


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request as it came. `port` is its client's."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes
    port: int = 0

    @property
    def reads(self) -> bool:
        return reads(self.method, self.path)

    @property
    def commits_a_table(self) -> bool:
        return self.method == "POST" and COMMIT.search(self.path) is not None


@dataclass(frozen=True, kw_only=True)
class Answer:
    """The answer to one request."""

    status: int
    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""


UNDONE = {Fault.LOST: None, Fault.LATE: None, Fault.BUSY: Answer(status=429), Fault.REFUSED: Answer(status=503)}
INSTEAD = {Fault.UNANSWERED: None, Fault.BROKEN: Answer(status=502)}


@dataclass(kw_only=True)
class Late:
    """A request that arrives when so many others have; it was sent at `sent`."""

    request: Request
    after: int
    sent: int


Decide = Callable[[Request], tuple[Fault, int]]  # what becomes of it, and after how many others it comes late


@dataclass(kw_only=True)
class Proxy:
    """A proxy: its address, the requests to deliver late, and the faults it has caused."""

    target: str
    decide: Decide
    uri: str = ""
    late: list[Late] = field(default_factory=list)
    changes: int = 0  # requests delivered that may have changed something
    met: list[tuple[Fault, Request]] = field(default_factory=list)  # requests that something happened to
    now: int = 0  # as whoever started it counts time
    arrived: list[Late] = field(default_factory=list)  # what came late

    def __post_init__(self) -> None:
        self._pool = urllib3.PoolManager()

    def pass_on(self, request: Request) -> Answer | None:
        """None where the client hears nothing."""
        fault, after = self.decide(request)
        if fault is not Fault.NONE:
            self.met.append((fault, request))
        for late in self.late:
            late.after -= 1
        self.deliver_late(lambda late: late.after < 0)
        if fault in (Fault.LATE, Fault.AGAIN) and not request.reads:
            self.late.append(Late(request=request, after=after, sent=self.now))
        if fault in UNDONE:
            return UNDONE[fault]
        answer = self.deliver(request)
        if fault is Fault.TWICE:
            answer = self.deliver(request)
        return INSTEAD.get(fault, answer)

    def deliver_late(self, due: Callable[[Late], bool] = lambda _: True) -> None:
        """Deliver what is due of what is late, in the order in which it came."""
        for late in [late for late in self.late if due(late)]:
            self.late.remove(late)
            self.arrived.append(late)
            self.deliver(late.request)

    def deliver(self, request: Request) -> Answer:
        self.changes += not request.reads
        headers = {name: value for name, value in request.headers.items() if name.lower() not in HOP}
        found = self._pool.request(
            request.method,
            self.target + request.path,
            headers=headers,
            body=request.body,
            retries=False,
            redirect=False,
            decode_content=False,
            timeout=60,
        )
        kept = {name: value for name, value in found.headers.items() if name.lower() not in HOP}
        return Answer(status=found.status, headers=kept, body=found.data)


@contextlib.contextmanager
def proxy(target: str, decide: Decide) -> Iterator[Proxy]:
    """A proxy in front of a server, as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def handle(self) -> None:
            with contextlib.suppress(ConnectionError):  # a client may go without a word
                super().handle()

        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            request = Request(
                method=self.command,
                path=self.path,
                headers=dict(self.headers),
                body=body,
                port=self.client_address[1],
            )
            answer = found.pass_on(request)
            if answer is None:
                self.close_connection = True
                return
            self.send_response(answer.status)
            for name, value in {**answer.headers, "Content-Length": str(len(answer.body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(answer.body)

        do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = forward  # noqa: N815 - the server's names

        def log_message(self, *_: object) -> None:
            """It is quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    found = Proxy(target=target, decide=decide, uri=f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
