"""Lambda's Runtime API for one execution environment, over HTTP. It carries invocations; it starts no process."""

import queue
import threading
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self

HOST = "127.0.0.1"
API = "/2018-06-01/runtime"
POLL_SECONDS = 0.1
JSON = (("Content-Type", "application/json"),)
MOST = 6 * 2**20 + 100  # bytes of an answer
TOO_LARGE = (
    b'{"errorType":"Function.ResponseSizeTooLarge","errorMessage":"Response payload size exceeded 6291556 bytes."}'
)


@dataclass(frozen=True, kw_only=True)
class Invocation:
    """One event for the function."""

    request_id: str
    payload: bytes
    deadline_ms: int
    function_arn: str
    trace_id: str

    def headers(self) -> tuple[tuple[str, str], ...]:
        return (
            *JSON,
            ("Lambda-Runtime-Aws-Request-Id", self.request_id),
            ("Lambda-Runtime-Deadline-Ms", str(self.deadline_ms)),
            ("Lambda-Runtime-Invoked-Function-Arn", self.function_arn),
            ("Lambda-Runtime-Trace-Id", self.trace_id),
        )


@dataclass(frozen=True, kw_only=True)
class Answer:
    """A function's answer to an invocation."""

    request_id: str
    is_error: bool
    body: bytes


class RuntimeApi(ThreadingHTTPServer):
    """One server for each process that runs a function. It closes with the process."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__((HOST, 0), _Handler)
        self.invocations: queue.Queue[Invocation | None] = queue.Queue()
        self.answers: queue.Queue[Answer] = queue.Queue()
        self.ready = threading.Event()
        self.init_error: bytes | None = None

    @classmethod
    def open(cls) -> Self:
        api = cls()
        threading.Thread(target=api.serve_forever, args=(POLL_SECONDS,), name="runtime-api", daemon=True).start()
        return api

    @property
    def address(self) -> str:
        return f"{HOST}:{self.server_address[1]}"

    def close(self) -> None:
        self.invocations.put(None)  # ends a pending request of a process that has gone
        self.shutdown()
        self.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: RuntimeApi

    def do_GET(self) -> None:
        if self.path != f"{API}/invocation/next":
            self._reply(HTTPStatus.NOT_FOUND)
            return
        self.server.ready.set()
        invocation = self.server.invocations.get()
        if invocation is None:
            self.close_connection = True
        else:
            self._reply(HTTPStatus.OK, invocation.payload, invocation.headers())

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        match self.path.removeprefix(API).strip("/").split("/"):
            case ["init", "error"]:
                self.server.init_error = body
                self.server.ready.set()
            case ["invocation", request_id, "response" | "error"] if len(body) > MOST:
                self.server.answers.put(Answer(request_id=request_id, is_error=True, body=TOO_LARGE))
                self._reply(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_LARGE, JSON)
                return
            case ["invocation", request_id, ("response" | "error") as kind]:
                self.server.answers.put(Answer(request_id=request_id, is_error=kind == "error", body=body))
            case _:
                self._reply(HTTPStatus.NOT_FOUND)
                return
        self._reply(HTTPStatus.ACCEPTED, b'{"status":"OK"}', JSON)

    def _reply(self, status: HTTPStatus, body: bytes = b"", headers: tuple[tuple[str, str], ...] = ()) -> None:
        self.send_response(status)
        for name, value in (*headers, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_args: object) -> None:
        """Log nothing: the function has a log of its own."""
