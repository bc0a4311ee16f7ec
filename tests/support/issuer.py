"""A stand-in for AWS STS and for the account's issuer: it answers GetWebIdentityToken, and publishes its keys.

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

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from lakegate.access import TAG

ACCOUNT = "123456789012"
CALLER = re.compile(r"Credential=([^/]+)/")
ANSWER = """<GetWebIdentityTokenResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetWebIdentityTokenResult>
<WebIdentityToken>{token}</WebIdentityToken><Expiration>{until:%Y-%m-%dT%H:%M:%SZ}</Expiration>
</GetWebIdentityTokenResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></GetWebIdentityTokenResponse>
"""
REFUSAL = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>AccessDenied</Code><Message>not you</Message></Error><RequestId>1</RequestId></ErrorResponse>"""


class Issuer:
    """Tokens in the shape of those of STS. `now` is the time that it puts in them."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        self.now, self.uri = now, ""
        self.issued: list[str] = []
        self._key = rsa.generate_private_key(public_exponent=65537, key_size=2048)

    def token(self, role: str, audience: str, life: timedelta = timedelta(minutes=15), **claims: Any) -> str:
        """A token for a role; `claims` override its own."""
        now = int(self.now().timestamp())
        own = {
            "iss": self.uri,
            "aud": audience,
            "sub": f"arn:aws:iam::{ACCOUNT}:role/lakegate-{role}",
            "iat": now,
            "exp": now + int(life.total_seconds()),
            "jti": str(len(self.issued)),
            "https://sts.amazonaws.com/": {"aws_account": ACCOUNT, "principal_tags": {TAG: role}},
        }
        return self.signed({**own, **claims})

    def signed(self, claims: dict[str, Any], algorithm: str = "RS256") -> str:
        text = f"{coded({'alg': algorithm, 'kid': 'one', 'typ': 'JWT'})}.{coded(claims)}"
        made = self._key.sign(text.encode(), padding.PKCS1v15(), hashes.SHA256()) if algorithm == "RS256" else b""
        return f"{text}.{_base64(made)}"

    def ask(self, caller: str, asked: dict[str, list[str]]) -> tuple[int, str]:
        """The answer to a call of STS."""
        if asked["Action"] != ["GetWebIdentityToken"] or caller == "nobody":
            return 403, REFUSAL
        life = timedelta(seconds=int(asked["DurationSeconds"][0]))
        token = self.token(caller, asked["Audience.member.1"][0], life)
        self.issued.append(token)
        return 200, ANSWER.format(token=token, until=self.now() + life)

    def keys(self) -> dict[str, Any]:
        public = self._key.public_key().public_numbers()
        key = {"kty": "RSA", "kid": "one", "use": "sig", "alg": "RS256"}
        return {"keys": [{**key, "n": _number(public.n), "e": _number(public.e)}]}

    def discovery(self) -> dict[str, Any]:
        return {
            "issuer": self.uri,
            "jwks_uri": f"{self.uri}/.well-known/jwks.json",
            "response_types_supported": ["id_token"],
            "subject_types_supported": ["public"],
            "id_token_signing_alg_values_supported": ["RS256"],
        }


def coded(part: dict[str, Any]) -> str:
    return _base64(json.dumps(part).encode())


def _base64(body: bytes) -> str:
    return base64.urlsafe_b64encode(body).rstrip(b"=").decode()


def _number(number: int) -> str:
    return _base64(number.to_bytes((number.bit_length() + 7) // 8, "big"))


def expiry(token: str) -> datetime:
    """When a token expires."""
    claims = token.split(".")[1]
    return datetime.fromtimestamp(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"], UTC)


@contextmanager
def issuing(issuer: Issuer) -> Iterator[Issuer]:
    """The issuer, at a free port as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            paths = {"/.well-known/openid-configuration": issuer.discovery, "/.well-known/jwks.json": issuer.keys}
            found = paths.get(self.path)
            self._answer(200 if found else 404, json.dumps(found() if found else {}), "application/json")

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
