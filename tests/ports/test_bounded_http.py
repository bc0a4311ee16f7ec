"""Tests of what each HTTP client of ours makes of a server that redirects, sends drops, never ends, or is not what was
asked.
"""

from __future__ import annotations

import gzip
import json
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, ClassVar
from unittest.mock import patch
from urllib.error import URLError

import pytest

from lakegate.adapters import client_tokens, slack
from lakegate.adapters.channels import posting
from lakegate.adapters.client_tokens import ClientTokens
from lakegate.adapters.http import CHUNK, TimeoutAdapter, _Waits
from lakegate.adapters.iceberg import RefCatalog, iceberg_errors
from lakegate.adapters.slack import SlackNotifier
from lakegate.audit.bounded_http import open_url
from lakegate.audit.model.catalog import CatalogAddress
from lakegate.audit.model.client import Client
from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Retryable
from lakegate.ports import Message, MessageKind, Ref
from lakegate.publishing.nessie import NessieCatalog
from lakegate.testing import MemoryClock
from spark_jobs.tables import nessie
from tests.ports.test_runner import SETTINGS

SECONDS = 0.2
PAUSE = 0.02
ENDLESS = 50_000_000  # bytes: more than is sent before a client gives up
PACKED = gzip.compress(b" " * ENDLESS)
HASH = "0" * 64


@dataclass(kw_only=True)
class Server:
    """A server that answers every request in one way, byte by byte as it is told."""

    answer: Callable[[], Iterator[bytes]]
    requests: list[bytes] = field(default_factory=list)
    listener: socket.socket = field(default_factory=lambda: socket.create_server(("127.0.0.1", 0)))
    port: int = 0
    ended: threading.Event = field(default_factory=threading.Event)
    first: threading.Event = field(default_factory=threading.Event)  # request

    def __post_init__(self) -> None:
        self.port = self.listener.getsockname()[1]

    @property
    def uri(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def serve(self) -> None:
        while not self.ended.is_set():
            with suppress(OSError):
                client, _ = self.listener.accept()
                threading.Thread(target=self._answer, args=(client,), daemon=True).start()

    def _answer(self, client: socket.socket) -> None:
        with client, suppress(OSError):
            if asked := client.recv(65536):
                self.requests.append(asked)
                self.first.set()
            for piece in self.answer():
                if self.ended.is_set():
                    return
                client.sendall(piece)


@contextmanager
def serving(answer: Callable[[], Iterator[bytes]]) -> Iterator[Server]:
    server = Server(answer=answer)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.ended.set()
        with suppress(OSError):
            socket.create_connection(server.listener.getsockname()).close()
        thread.join()
        server.listener.close()


def head(status: str, *headers: str) -> bytes:
    return "\r\n".join([f"HTTP/1.1 {status}", "Content-Type: application/json", *headers, "", ""]).encode()


def redirecting(to: str, status: int) -> Callable[[], Iterator[bytes]]:
    return lambda: iter([head(f"{status} Elsewhere", f"Location: {to}", "Content-Length: 0", "Connection: close")])


def dripping_head() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\nX-Drip: "
    while True:
        time.sleep(PAUSE)
        yield b"."


def dripping_headers() -> Iterator[bytes]:
    yield b"HTTP/1.1 200 OK\r\n"
    for number in range(90):
        time.sleep(PAUSE)
        yield f"X-{number}: drip\r\n".encode()


def dripping_status() -> Iterator[bytes]:
    while True:
        time.sleep(PAUSE)
        yield b"HTTP/1.1 100 Continue\r\n\r\n"


def dripping_body() -> Iterator[bytes]:
    yield head("200 OK", f"Content-Length: {ENDLESS}")
    while True:
        time.sleep(PAUSE)
        yield b" "


def dripping_chunks() -> Iterator[bytes]:
    yield head("200 OK", "Transfer-Encoding: chunked")
    while True:
        time.sleep(PAUSE)
        yield b"1\r\n \r\n"


def endless_body() -> Iterator[bytes]:
    yield head("200 OK")
    for _ in range(ENDLESS // 10_000):
        yield b" " * 10_000


def packed_body() -> Iterator[bytes]:
    yield head("200 OK", "Content-Encoding: gzip", f"Content-Length: {len(PACKED)}") + PACKED


def deep_body() -> Iterator[bytes]:
    body = b"[" * 50_000
    yield head("200 OK", f"Content-Length: {len(body)}") + body


DRIPS = [dripping_head, dripping_headers, dripping_status, dripping_body, dripping_chunks]


def silence() -> Iterator[bytes]:
    """Nothing, for as long as anybody waits."""
    while True:
        time.sleep(PAUSE)
        yield b""


def long_body() -> Iterator[bytes]:
    """A body that keeps coming, faster than any time-out between two pieces."""
    yield head("200 OK")
    while True:
        time.sleep(PAUSE)
        yield b" " * CHUNK


def catalog(uri: str) -> NessieCatalog:
    return NessieCatalog(uri, TimeoutAdapter(seconds=SECONDS))


def iceberg_catalog(uri: str) -> Any:
    with iceberg_errors("opening"):
        return RefCatalog(uri, "lake", Ref("main"), http=TimeoutAdapter(seconds=SECONDS))


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A deadline that no busy machine comes to."""
    monkeypatch.setattr(sys.modules[__name__], "SECONDS", 300.0)


CALLS: dict[str, Callable[[str], object]] = {
    "head": lambda uri: catalog(uri).head("main"),
    "commit": lambda uri: catalog(uri).compact(HASH, ["key"], None),
    "create": lambda uri: catalog(uri).create_branch("wap-x", HASH),
    "delete": lambda uri: catalog(uri)._rest.references.delete_branch("wap-x", HASH),
    "iceberg": iceberg_catalog,
}


def tell(uri: str) -> None:
    its = replace(SETTINGS, slack_secret="s", slack_channel="C1")
    notifier = SlackNotifier(its)
    with (
        patch.object(slack, "secret_text", return_value=f"xoxb-secret {uri}/"),
        patch.object(slack, "SECONDS", SECONDS),
    ):
        notifier.notify(Message(kind=MessageKind.UNROUTED, batch="", table="", branch="", files=(), commands=()))


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 300, 304])
@pytest.mark.parametrize("call", CALLS)
def test_a_redirect_is_followed_by_no_client_and_says_from_where_to_where(call: str, status: int) -> None:
    with serving(lambda: iter([head("200 OK", "Content-Length: 2") + b"{}"])) as other:
        there = f"{other.uri}/taken?token=secret"
        with (
            serving(redirecting(there, status)) as server,
            pytest.raises(LakegateError) as caught,
            _in_our_words(),
        ):
            CALLS[call](server.uri)
        assert other.requests == []
    assert isinstance(caught.value, Misconfigured)
    assert f"{server.uri} redirects to {other.uri}" in str(caught.value)
    assert "secret" not in str(caught.value)


@contextmanager
def _in_our_words() -> Iterator[None]:
    """Pynessie's own calls are put in our words by whoever makes them."""
    from lakegate.publishing.nessie import nessie_errors

    with nessie_errors("asking", changes=True):
        yield


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_slack_s_token_goes_to_nobody_to_whom_slack_redirects(status: int) -> None:
    with serving(lambda: iter([head("200 OK", "Content-Length: 11") + b'{"ok":true}'])) as other:
        with serving(redirecting(f"{other.uri}/x", status)) as server, pytest.raises(LakegateError) as caught:
            tell(server.uri)
        assert other.requests == []
        assert len(server.requests) == 1
    assert isinstance(caught.value, Misconfigured)
    assert f"{server.uri} redirects to {other.uri}" in str(caught.value)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_the_job_follows_no_redirect(status: int) -> None:
    with serving(lambda: iter([head("200 OK", "Content-Length: 2") + b"{}"])) as other:
        with (
            serving(redirecting(other.uri, status)) as server,
            pytest.raises(URLError, match=rf"redirects to {other.uri}"),
        ):
            nessie.head(CatalogAddress(uri=server.uri, warehouse=""), "main")
        assert other.requests == []


@pytest.mark.parametrize("call", CALLS)
def test_a_call_without_an_answer_is_given_up_at_the_deadline_of_all_its_tries(call: str) -> None:
    with serving(silence) as server:
        with pytest.raises(LakegateError, match=server.uri) as caught, _in_our_words():
            CALLS[call](server.uri)
        assert server.first.wait(timeout=300)  # a busy machine may not have read it yet
        assert len(server.requests) == 1
    assert isinstance(caught.value, OutcomeUnknown | Retryable)


def test_a_try_after_another_has_the_time_that_is_left() -> None:
    waits = _Waits(5.0, 60.0, 0.2)
    first = waits.clone()
    assert 0 < float(str(first.read_timeout)) <= 0.2
    assert 0 < float(str(waits.clone().connect_timeout)) <= float(str(first.connect_timeout))
    waits.deadline = time.monotonic()
    with pytest.raises(TimeoutError, match=r"no whole answer came in 0\.2 s"):
        waits.clone()


@pytest.mark.parametrize("call", CALLS)
def test_an_answer_that_keeps_coming_is_given_up_at_the_deadline_of_the_whole_call(call: str) -> None:
    with serving(long_body) as server, pytest.raises(LakegateError) as caught, _in_our_words():
        CALLS[call](server.uri)
    assert f"{server.uri} has not answered in full after {SECONDS} s" in str(caught.value)
    assert isinstance(caught.value, OutcomeUnknown | Retryable)


@pytest.mark.parametrize("answer", [silence, long_body], ids=lambda answer: answer.__name__)
def test_a_change_that_is_not_answered_in_time_may_have_been_made(answer: Callable[[], Iterator[bytes]]) -> None:
    with serving(answer) as server, pytest.raises(OutcomeUnknown):
        catalog(server.uri).compact(HASH, ["key"], None)


def test_slack_and_the_job_give_up_at_their_deadlines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nessie, "TIMEOUT_SECONDS", SECONDS)
    with serving(silence) as server:
        with pytest.raises(OutcomeUnknown):
            tell(server.uri)
        with pytest.raises(OSError, match=r"no whole answer came in 0\.2 s"):
            nessie.head(CatalogAddress(uri=server.uri, warehouse=""), "main")


# Strangers: receivers of events, and OIDC issuers.


def post(uri: str) -> None:
    posting.post("sending an event", uri, b"{}", {})


@pytest.mark.parametrize("drip", DRIPS, ids=lambda drip: drip.__name__)
def test_a_stranger_s_answer_in_drips_is_given_up_at_the_deadline(
    drip: Callable[[], Iterator[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(posting, "SECONDS", SECONDS)
    with serving(drip) as server, pytest.raises(OutcomeUnknown, match=r"no whole answer came in 0\.2 s"):
        post(server.uri)


def test_a_stranger_s_answer_without_an_end_is_given_up_at_its_largest() -> None:
    with serving(endless_body) as server, pytest.raises(OutcomeUnknown, match="more than 1,048,576 bytes"):
        post(server.uri)


@pytest.mark.parametrize("body", [endless_body, packed_body], ids=lambda body: body.__name__)
def test_an_issuer_s_answer_without_an_end_is_given_up_at_its_largest(
    body: Callable[[], Iterator[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client_tokens, "secret_text", lambda *_: "secret")
    with serving(body) as server:
        tokens = ClientTokens(Client(id="ingest", secret="s", endpoint=f"{server.uri}/token"), MemoryClock())
        with pytest.raises(Retryable, match="more than 1,048,576 bytes"):
            tokens.issue()


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("call", ["head", "commit", "create"])
def test_an_answer_that_is_nested_without_an_end_is_no_nessie_s(call: str) -> None:
    with serving(deep_body) as server, pytest.raises(Misconfigured, match="the answer is not Nessie's"):
        CALLS[call](server.uri)


@pytest.mark.usefixtures("patient")
@pytest.mark.parametrize("call", CALLS)
def test_an_address_where_nobody_is_is_named_with_its_port(call: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        uri = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(Retryable, match=uri), _in_our_words():
        CALLS[call](uri)


@pytest.mark.usefixtures("patient")
def test_an_answer_that_comes_in_time_is_read_whole() -> None:
    body = json.dumps({"reference": {"hash": HASH, "more": "x" * 90_000}}).encode()

    def whole() -> Iterator[bytes]:
        yield head("200 OK", f"Content-Length: {len(body)}") + body

    with serving(whole) as server:
        assert catalog(server.uri).head("main") == HASH
        assert open_url(f"{server.uri}/x", SECONDS)[1] == body


@pytest.mark.usefixtures("patient")
def test_a_branch_that_is_not_there_is_none_still() -> None:
    body = b'{"errorCode": "REFERENCE_NOT_FOUND", "message": "no such thing"}'
    with serving(lambda: iter([head("404 Not Found", f"Content-Length: {len(body)}") + body])) as server:
        assert catalog(server.uri).head("wap-x") is None
        with pytest.raises(Conflict, match=server.uri):
            catalog(server.uri).base("wap-x")


class Kept(BaseHTTPRequestHandler):
    """A server that keeps its connections, and counts them."""

    protocol_version = "HTTP/1.1"
    made: ClassVar[list[object]] = []

    def setup(self) -> None:
        super().setup()
        self.made.append(self.client_address)

    def do_GET(self) -> None:
        body = json.dumps({"reference": {"hash": HASH}}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.mark.usefixtures("patient")
def test_a_connection_is_kept_from_one_answer_to_the_next() -> None:
    with ThreadingHTTPServer(("127.0.0.1", 0), Kept) as server:
        threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
        its = catalog(f"http://127.0.0.1:{server.server_port}")
        assert [its.head("main") for _ in range(5)] == [HASH] * 5
        its._rest.session.close()
        its._rest._http.poolmanager.clear()
        server.shutdown()
    assert len(Kept.made) == 1


@pytest.mark.parametrize("call", ["head", "commit", "iceberg"])
def test_an_address_that_speaks_another_protocol_is_a_persons_to_change_whatever_the_time(call: str) -> None:
    with serving(lambda: iter([head("200 OK", "Content-Length: 2") + b"{}"])) as server, pytest.raises(Misconfigured):
        CALLS[call](server.uri.replace("http:", "https:"))
