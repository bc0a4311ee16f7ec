"""A stand-in for a registry of container images over TLS, as its specification has it: strangers get a token first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from lakegate.adapters.http import TimeoutAdapter
from lakegate.adapters.images import LARGEST, LISTS, SECONDS, Images
from tests.support.authority import DeployedAuthority, served

NAME, TAG, TOKEN = "projectnessie/nessie", "0.99.0", "a-token-for-strangers"
SCOPE = f"repository:{NAME}:pull"


def variants(*platforms: str) -> bytes:
    """Return a list of an image's variants, one of them of no platform, as attestations are."""
    manifests: list[dict[str, Any]] = [
        {"digest": f"sha256:{'0' * 64}", "platform": dict(zip(("os", "architecture"), each.split("/"), strict=True))}
        for each in platforms
    ]
    return json.dumps({"mediaType": LISTS[0], "manifests": [*manifests, {"digest": "sha256:1"}]}).encode()


@dataclass(kw_only=True)
class Registry:
    """What the registry has, and what it was asked for. It gives manifests to who has a token, and a token to all."""

    body: bytes = variants("linux/amd64", "linux/arm64")
    status: int = 200
    gives_tokens: bool = True
    uri: str = ""
    asked: list[str] = field(default_factory=list)

    @property
    def image(self) -> str:
        return f"{urlsplit(self.uri).netloc}/{NAME}:{TAG}"

    @property
    def digest(self) -> str:
        return f"@sha256:{hashlib.sha256(self.body).hexdigest()}"


class Handler(BaseHTTPRequestHandler):
    def __init__(self, registry: Registry, *arguments: Any) -> None:
        self._registry = registry
        super().__init__(*arguments)

    def do_GET(self) -> None:
        registry, parts = self._registry, urlsplit(self.path)
        registry.asked.append(parts.path)
        if parts.path == "/auth":
            good = parse_qs(parts.query) == {"service": ["stand-in"], "scope": [SCOPE]}
            return self._send(
                200 if good else 400, json.dumps({"token": TOKEN} if registry.gives_tokens else {}).encode()
            )
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            challenge = f'Bearer realm="{registry.uri}/auth",service="stand-in",scope="{SCOPE}"'
            return self._send(401, b"{}", {"WWW-Authenticate": challenge})
        references = {f"/v2/{NAME}/manifests/{reference}" for reference in (TAG, registry.digest.removeprefix("@"))}
        if parts.path not in references or not {*LISTS} <= {*self.headers["Accept"].split(", ")}:
            return self._send(404, b"{}")
        return self._send(registry.status, registry.body)

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Nothing is worth a line."""


@contextmanager
def registry_and_client(folder: Path) -> Iterator[tuple[Registry, Images]]:
    """The registry, and a client that trusts it, for as long as the context lasts."""
    authority, registry = DeployedAuthority(), Registry()
    handler: Any = partial(Handler, registry)
    with served(authority, folder, handler) as registry.uri:
        yield registry, Images(TimeoutAdapter(retries=0, seconds=SECONDS, largest=LARGEST, authorities=authority.pem))
