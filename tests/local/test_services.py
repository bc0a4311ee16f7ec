"""The local cloud's own clients go to it, whatever the shell says, and what its servers are started with."""

import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from lakegate_local.services import client, installed, servers, status
from lakegate_local.settings import LocalSettings

from lakegate.errors import Misconfigured
from tests.local.ports import free_ports

BUCKETS = b"<ListAllMyBucketsResult><Owner/><Buckets/></ListAllMyBucketsResult>"


class Bucketless(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(BUCKETS)))
        self.end_headers()
        self.wfile.write(BUCKETS)

    def log_message(self, *_args: object) -> None:
        """Nobody reads it."""


@pytest.fixture
def elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """A shell in which everything leads away from this machine."""
    [nobody] = free_ports(1)
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{nobody}",
        "AWS_ENDPOINT_URL_S3": f"http://127.0.0.1:{nobody}",
        "AWS_PROFILE": "no-such-profile",
        "AWS_USE_FIPS_ENDPOINT": "true",
        "USE_SSL": "1",
        "HTTP_PROXY": f"http://127.0.0.1:{nobody}",
        "http_proxy": f"http://127.0.0.1:{nobody}",
    }.items():
        monkeypatch.setenv(name, value)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def s3() -> Iterator[LocalSettings]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Bucketless)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield LocalSettings(port=server.server_address[1])
    server.shutdown()
    server.server_close()


@pytest.mark.usefixtures("elsewhere")
def test_clients_are_led_nowhere_else_by_the_environment(s3: LocalSettings) -> None:
    assert client(s3, "s3").list_buckets()["Buckets"] == []
    assert client(s3, "cloudformation").meta.endpoint_url == s3.endpoint
    assert status("GET", s3.endpoint) == 200


def test_server_is_the_same_whatever_it_inherits(monkeypatch: pytest.MonkeyPatch) -> None:
    before = [server.fingerprint for server in servers(LocalSettings())]

    monkeypatch.setenv("PATH", "/another/bin")
    monkeypatch.setenv("SSL_CERT_FILE", "/another/certificate")

    assert [server.fingerprint for server in servers(LocalSettings())] == before
    assert {server.env["PATH"] for server in servers(LocalSettings())} == {"/another/bin"}


def test_localstack_reads_no_options_of_another_project() -> None:
    settings = LocalSettings()

    [localstack] = [server for server in servers(settings) if server.name == "localstack"]

    assert Path(localstack.env["CONFIG_DIR"]).is_relative_to(settings.data)


def test_what_is_not_set_up_is_told_with_the_command(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="make setup"):
        servers(replace(LocalSettings(), home=tmp_path))
    with pytest.raises(Misconfigured, match=r"holds 0\. Run"):
        installed(tmp_path, "python")
