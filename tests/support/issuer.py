"""A stand-in for AWS STS: it answers GetWebIdentityToken with the local cloud's issuer, and publishes its documents.
It is an OIDC issuer with clients, too, and AWS Secrets Manager with their passwords.

Who calls AWS is told by the access key alone, which is the role's name here. A role has a client and a secret named for
it, and may read no other.
"""

from __future__ import annotations

import base64
import json
import re
import secrets
import threading
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs

from lakegate_localstack import issuer as local

from lakegate.access import TAG, Role
from lakegate.audit.model.client import Client

CLIENT, SECRET, CLAIM = "lakegate-{}", "lakegate/oidc/{}", "azp"
CLIENTS, TOKENS = "/clients", "/clients/token"  # below the issuer's own address: another issuer to who trusts one
AUDIENCE_OF_CLIENTS, SCOPE = "lakegate-test", "lakegate/catalog"
CALLER = re.compile(r"Credential=([^/]+)/")
ANSWER = """<GetWebIdentityTokenResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetWebIdentityTokenResult>
<WebIdentityToken>{token}</WebIdentityToken><Expiration>{until:%Y-%m-%dT%H:%M:%SZ}</Expiration>
</GetWebIdentityTokenResult><ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></GetWebIdentityTokenResponse>
"""
IDENTITY = """<GetCallerIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><GetCallerIdentityResult>
<Arn>arn:aws:sts::123456789012:assumed-role/lakegate-{role}/a-session</Arn><UserId>1</UserId>
<Account>123456789012</Account></GetCallerIdentityResult>
<ResponseMetadata><RequestId>1</RequestId></ResponseMetadata></GetCallerIdentityResponse>
"""
REFUSAL = """<ErrorResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/"><Error><Type>Sender</Type>
<Code>{code}</Code><Message>not you, or not for so long</Message></Error><RequestId>1</RequestId></ErrorResponse>"""


class Issuer(local.Issuer):
    """The issuer of an account, whose roles are named for their parts. It remembers what it gave to who called."""

    def __init__(self, now: Callable[[], datetime] = lambda: datetime.now(UTC)) -> None:
        super().__init__(now=now)
        self.issued: list[str] = []
        self.answers = True  # or says that it cannot
        self.session_end = datetime.max.replace(tzinfo=UTC)  # of every role's session
        self.life = timedelta(hours=1)  # of a client's token
        self.passwords = {role: f"{role}-7f3a-{secrets.token_hex(8)}" for role in Role}
        self.known = dict(self.passwords)  # by which the issuer knows the clients

    def of(self, role: str, audience: str, life: timedelta = timedelta(minutes=15), **claims: Any) -> str:
        """A token of a role; `claims` override its own."""
        arn = f"arn:aws:iam::123456789012:role/lakegate-{role}"
        return self.token(arn, {TAG: role}, [audience], life, **claims)

    def ask(self, caller: str, asked: dict[str, list[str]]) -> tuple[int, str]:
        """The answer to a call of STS."""
        if asked["Action"] == ["GetCallerIdentity"]:
            return 200, IDENTITY.format(role=caller)
        if asked["Action"] != ["GetWebIdentityToken"] or caller == "nobody":
            return 403, REFUSAL.format(code="AccessDenied")
        life = timedelta(seconds=int(asked["DurationSeconds"][0]))
        if self.now() + life > self.session_end:
            return 403, REFUSAL.format(code="SessionDurationEscalationException")
        token = self.of(caller, asked["Audience.member.1"][0], life)
        self.issued.append(token)
        return 200, ANSWER.format(token=token, until=self.now() + life)

    @property
    def documents(self) -> Mapping[str, Mapping[str, Any]]:
        """Return those of the account's issuer, and of the clients'."""
        own = super().documents
        return {**own, CLIENTS + local.DISCOVERY: {**own[local.DISCOVERY], "issuer": self.uri + CLIENTS}}

    def of_client(self, role: str, **claims: Any) -> str:
        """A token of a role's client, in the shape of Keycloak's; `claims` override its own."""
        now, client = int(self.now().timestamp()), CLIENT.format(role)
        own = {"aud": AUDIENCE_OF_CLIENTS, "sub": str(uuid.uuid4()), CLAIM: client, "scope": SCOPE}
        token = self.signed(
            {"iss": self.uri + CLIENTS, **own, "iat": now, "exp": now + int(self.life.total_seconds()), **claims}
        )
        self.issued.append(token)
        return token

    def grant(self, form: Mapping[str, list[str]]) -> tuple[int, dict[str, Any]]:
        """The answer of the token endpoint."""
        [client], [password] = form.get("client_id", [""]), form.get("client_secret", [""])
        role = next((each for each in Role if CLIENT.format(each) == client), None)
        if form["grant_type"] != ["client_credentials"]:
            return 400, {"error": "unsupported_grant_type"}
        if role is None or self.known[role] != password:
            return 401, {"error": "invalid_client", "error_description": f"{client} is not known by {password}"}
        if form.get("scope", [SCOPE]) != [SCOPE]:
            return 400, {"error": "invalid_scope", "error_description": "no such scope"}
        token, life = self.of_client(role), int(self.life.total_seconds())
        return 200, {"access_token": token, "token_type": "Bearer", "expires_in": life, "scope": SCOPE}

    def secret(self, caller: str, name: str) -> tuple[int, dict[str, Any]]:
        """The answer of Secrets Manager to GetSecretValue."""
        if name != SECRET.format(caller) or caller not in set(Role):
            return 400, {"__type": "AccessDeniedException", "Message": f"{caller} may not read {name}"}
        return 200, {"Name": name, "SecretString": f"{self.passwords[Role(caller)]}\n"}


def unsigned(**claims: Any) -> str:
    """A token that says it has no signature."""
    return f"{local.coded({'alg': 'none', 'typ': 'JWT'})}.{local.coded(claims)}."


def expiry(token: str) -> datetime:
    """Return when a token expires."""
    claims = token.split(".")[1]
    return datetime.fromtimestamp(json.loads(base64.urlsafe_b64decode(claims + "=" * (-len(claims) % 4)))["exp"], UTC)


def client(issuer: Issuer, role: str, **other: str) -> Client:
    """A role's client, as settings name it."""
    own = {"id": CLIENT.format(role), "secret": SECRET.format(role), "endpoint": issuer.uri + TOKENS, "scope": SCOPE}
    return Client(**{**own, **other})


def as_settings(issuer: Issuer) -> dict[str, str]:
    """The settings of an installation with these clients."""
    clients = ",".join(f"{role}={CLIENT.format(role)}:{SECRET.format(role)}" for role in Role)
    return {"token_endpoint": issuer.uri + TOKENS, "token_scope": SCOPE, "token_clients": clients}


@contextmanager
def issuing(issuer: Issuer) -> Iterator[Issuer]:
    """The issuer, at a free port as long as the context lasts."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = issuer.documents.get(self.path)
            self._answer(200 if found else 404, json.dumps(found or {}), "application/json")

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"])).decode()
            caller = CALLER.search(self.headers.get("Authorization", ""))
            who = caller[1] if caller else "nobody"
            if not issuer.answers:
                self._answer(503, "", "text/plain")
            elif self.path == TOKENS:
                status, found = issuer.grant(parse_qs(body))
                self._answer(status, json.dumps(found), "application/json")
            elif self.headers.get("X-Amz-Target") == "secretsmanager.GetSecretValue":
                status, found = issuer.secret(who, json.loads(body)["SecretId"])
                self._answer(status, json.dumps(found), "application/x-amz-json-1.1")
            else:
                self._answer(*issuer.ask(who, parse_qs(body)), "text/xml")

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
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield issuer
        finally:
            server.shutdown()
            thread.join()
