"""A stand-in for AWS STS: it answers GetWebIdentityToken with the local cloud's issuer, and publishes its documents.

Who calls is told by the access key alone, which is the role's name here.
"""

from __future__ import annotations

import base64
import json
import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from lakegate_localstack import issuer as local

from lakegate.access import TAG

CALLER = re.compile(r"Credential=([^/]+)/")
ANSWER = """<GetWebIdentityTokenResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetWebIdentityTokenResult>
<WebIdentityToken>{token}</WebIdentityToken><Expiration>{until:%Y-%m-%dT%H:%M:%SZ}</Expiration>
</GetWebIdentityTokenResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></GetWebIdentityTokenResponse>
"""
REFUSAL = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>AccessDenied</Code><Message>not you</Message></Error><RequestId>1</RequestId></ErrorResponse>"""


class Issuer(local.Issuer):
    """The issuer of an account, whose roles are named for their parts. It remembers what it gave to who called."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(now=now)
        self.issued: list[str] = []

    def of(self, role: str, audience: str, life: timedelta = timedelta(minutes=15), **claims: Any) -> str:
        """A token of a role; `claims` override its own."""
        arn = f"arn:aws:iam::123456789012:role/lakegate-{role}"
        return self.token(arn, {TAG: role}, [audience], life, **claims)

    def ask(self, caller: str, asked: dict[str, list[str]]) -> tuple[int, str]:
        """The answer to a call of STS."""
        if asked["Action"] != ["GetWebIdentityToken"] or caller == "nobody":
            return 403, REFUSAL
        life = timedelta(seconds=int(asked["DurationSeconds"][0]))
        token = self.of(caller, asked["Audience.member.1"][0], life)
        self.issued.append(token)
        return 200, ANSWER.format(token=token, until=self.now() + life)


def unsigned(**claims: Any) -> str:
    """A token that says it has no signature."""
    return f"{local.coded({'alg': 'none', 'typ': 'JWT'})}.{local.coded(claims)}."


def expiry(token: str) -> datetime:
    """When a token expires."""
    claims = token.split(".")[1]
    return datetime.fromtimestamp(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"], UTC)


@contextmanager
def issuing(issuer: Issuer) -> Iterator[Issuer]:
    """The issuer, at a free port as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = issuer.documents.get(self.path)
            self._answer(200 if found else 404, json.dumps(found or {}), "application/json")

        def do_POST(self) -> None:
            asked = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode())
            caller = CALLER.search(self.headers["Authorization"])
            self._answer(*issuer.ask(caller[1] if caller else "nobody", asked), "text/xml")

        def _answer(self, status: int, text: str, kind: str) -> None:
            body = text.encode()
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        issuer.uri = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
