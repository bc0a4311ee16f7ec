"""Functions at their URLs, over HTTP: what is signed, and what Lambda's own answers mean."""

from __future__ import annotations

import gzip
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from lakegate.adapters.function_urls import FunctionUrls
from lakegate.errors import LakegateError, Misconfigured, OutcomeUnknown, Retryable

KEY, SECRET, TOKEN = "AKIAIOSFODNN7EXAMPLE", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "a session's token"


class Lambda(ThreadingHTTPServer):
    """A server that answers as it is told, and keeps what it was asked. It hangs up if `status` is 0."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.status, self.body = 200, '{"format": 1}'
        self.asked: list[tuple[str, dict[str, str], bytes]] = []

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/{path}"


class _Handler(BaseHTTPRequestHandler):
    server: Lambda

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.asked.append((self.path, headers, body))
        if not self.server.status:
            self.close_connection = True
            return
        packed = gzip.compress(self.server.body.encode())
        self.send_response(self.server.status)
        for name, value in (("Content-Encoding", "gzip"), ("Content-Length", str(len(packed)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(packed)

    def log_message(self, *_args: object) -> None:
        """Log nothing."""


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Lambda]:
    for name in ("AWS_PROFILE", "AWS_ENDPOINT_URL"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", KEY)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
    monkeypatch.setenv("AWS_SESSION_TOKEN", TOKEN)
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setenv("HOME", str(tmp_path))  # whose .netrc no request may take
    (tmp_path / ".netrc").write_text("machine 127.0.0.1 login mallory password x\n")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    made = Lambda()
    threading.Thread(target=made.serve_forever, args=(0.05,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def urls(server: Lambda) -> FunctionUrls:
    return FunctionUrls(read=server.url("read"), act=server.url("act"), read_policy="the-read", act_policy="the-act")


def signature(url: str, headers: dict[str, str], body: bytes) -> str:
    """The signature that AWS reckons for what it received."""
    asked = AWSRequest("POST", url, {"Content-Type": headers["content-type"]}, body)
    signer: Any = SigV4Auth(Credentials(KEY, SECRET, TOKEN), "lambda", "eu-central-1")
    asked.context["timestamp"] = headers["x-amz-date"]
    for name in ("X-Amz-Date", "X-Amz-Security-Token"):
        asked.headers[name] = headers[name.lower()]
    canonical = signer.canonical_request(asked)
    return str(signer.signature(signer.string_to_sign(asked, canonical), asked))


@pytest.mark.parametrize("changes", [False, True])
def test_a_request_is_signed_by_the_person_s_own_credentials(server: Lambda, changes: bool) -> None:  # noqa: FBT001
    assert urls(server).call("Retry", '{"x": "y"}', changes=changes) == '{"format": 1}'
    [(path, headers, body)] = server.asked
    assert path == ("/act" if changes else "/read")
    assert body == b'{"x": "y"}'
    assert headers["authorization"].startswith(f"AWS4-HMAC-SHA256 Credential={KEY}/")
    assert "/eu-central-1/lambda/aws4_request" in headers["authorization"]
    assert headers["authorization"].endswith(f"Signature={signature(server.url(path[1:]), headers, body)}")
    assert headers["x-amz-security-token"] == TOKEN
    assert SECRET not in str(headers)


@pytest.mark.parametrize(
    ("status", "asking", "acting"),
    [
        (403, Misconfigured, Misconfigured),
        (404, Misconfigured, Misconfigured),
        (413, Misconfigured, Misconfigured),
        (429, Retryable, Retryable),
        (500, Retryable, OutcomeUnknown),
        (502, Retryable, OutcomeUnknown),
        (504, Retryable, OutcomeUnknown),
        (0, Retryable, OutcomeUnknown),
    ],
)
def test_a_lost_answer_is_asked_for_again_unless_it_is_an_act_s(
    server: Lambda, status: int, asking: type[LakegateError], acting: type[LakegateError]
) -> None:
    server.status, server.body = status, '{"Message": "as Lambda says"}'
    for kind, changes in ((asking, False), (acting, True)):
        server.asked.clear()
        with pytest.raises(kind) as raised:
            urls(server).call("Retry", "{}", changes=changes)
        assert type(raised.value) is kind
        assert len(server.asked) == 1


def test_who_may_not_call_is_told_which_policy_to_ask_for(server: Lambda) -> None:
    server.status = 403
    with pytest.raises(Misconfigured, match="policy the-read attached"):
        urls(server).call("ShowStatus", "{}", changes=False)
    with pytest.raises(Misconfigured, match="policy the-act attached"):
        urls(server).call("Retry", "{}", changes=True)


def test_an_act_that_was_never_sent_is_retryable(server: Lambda) -> None:
    server.shutdown()
    server.server_close()
    with pytest.raises(Retryable):
        urls(server).call("Retry", "{}", changes=True)


def test_without_credentials_nothing_is_sent(server: Lambda, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    with pytest.raises(Misconfigured, match="there are no AWS credentials"):
        urls(server).call("Retry", "{}", changes=True)
    assert server.asked == []
