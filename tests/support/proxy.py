"""A proxy that does what is asked and loses the answer to a commit: what a broken connection looks like to a client."""

from __future__ import annotations

import contextlib
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import requests

COMMIT = re.compile(r"/iceberg/.*/tables/[^/]+$")
HOP = {"transfer-encoding", "content-encoding", "content-length", "connection"}


@dataclass(kw_only=True)
class Proxy:
    """Where it listens, and the commits whose answers it has lost."""

    uri: str
    lost: list[str] = field(default_factory=list)


@contextlib.contextmanager
def losing_answers(target: str) -> Iterator[Proxy]:
    """A proxy in front of a Nessie, as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def forward(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            answer = requests.request(
                self.command, target + self.path, headers=dict(self.headers), data=body, timeout=60
            )
            if self.command == "POST" and COMMIT.search(self.path):
                proxy.lost.append(self.path)
                self.close_connection = True
                return
            self.send_response(answer.status_code)
            for name, value in answer.headers.items():
                if name.lower() not in HOP:
                    self.send_header(name, value)
            self.send_header("Content-Length", str(len(answer.content)))
            self.end_headers()
            self.wfile.write(answer.content)

        do_GET = do_POST = do_HEAD = do_PUT = do_DELETE = forward  # noqa: N815 - the server's names

        def log_message(self, *_: object) -> None:
            """It is quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    proxy = Proxy(uri=f"http://127.0.0.1:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
