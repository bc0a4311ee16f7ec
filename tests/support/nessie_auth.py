"""A real Nessie with authentication and lakegate's rules on, beside the session's own, over the same object storage. It
knows roles of IAM and clients of another issuer, each by a tenant of Quarkus, with the settings that each has alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import boto3
import pytest
import requests

from lakegate.access import RULES, Role, nessie_settings
from lakegate.adapters.http import door
from lakegate.publishing.nessie import NessieCatalog, NessieTables
from tests.support.issuer import AUDIENCE_OF_CLIENTS, CLAIM, CLIENT, CLIENTS, Issuer, issuing
from tests.support.nessie import Lake, nessie

AUDIENCE = "lakegate-test"


@dataclass(frozen=True)
class FixedToken:
    """One token, whoever it is of."""

    text: str

    def token(self) -> str:
        return self.text


@dataclass(frozen=True, kw_only=True)
class NessieAuth:
    """A guarded Nessie, and the issuer that it trusts."""

    lake: Lake
    issuer: Issuer

    def token(self, role: str) -> str:
        return self.issuer.of(role, AUDIENCE)

    def ask(self, token: str, method: str, path: str, body: object = None, **query: str) -> tuple[int, Any]:
        """A call as anybody makes it: the status and the answer's JSON."""
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        url = f"{self.lake.nessie_uri}{path}"
        answer = requests.request(method, url, json=body, params=query, headers=headers, timeout=300)
        return answer.status_code, answer.json() if answer.content else {}

    def catalog(self, role: str) -> NessieCatalog:
        return NessieCatalog(self.lake.nessie_uri, door(self.lake.nessie_uri, FixedToken(self.token(role))))

    def tables(self, role: str) -> NessieTables:
        uri = self.lake.nessie_uri
        return NessieTables(uri, self.lake.warehouse, door(uri, FixedToken(self.token(role))))


@pytest.fixture(scope="session")
def guarded(
    lake: Lake, tmp_path_factory: pytest.TempPathFactory, catalog_store: Mapping[str, str]
) -> Iterator[NessieAuth]:
    """One for the whole session."""
    log = tmp_path_factory.mktemp("guarded") / "nessie.log"
    with issuing(Issuer()) as issuer:
        apart = {"nessie.version.store.persist.repository-id": "guarded"}
        settings = {**_both(issuer), **catalog_store, **apart}
        with nessie(log, lake.s3_endpoint, f"s3://{lake.bucket}/guarded", settings) as uri:
            yield NessieAuth(lake=replace(lake, nessie_uri=uri), issuer=issuer)


def _both(issuer: Issuer) -> dict[str, str]:
    clients = {role: (CLIENT.format(role),) for role in Role}
    by_tag = nessie_settings(issuer.uri, AUDIENCE)
    by_client = nessie_settings(issuer.uri + CLIENTS, AUDIENCE_OF_CLIENTS, CLAIM, clients)
    tenant = {
        name.replace("quarkus.oidc.", "quarkus.oidc.clients."): value
        for name, value in by_client.items()
        if name.startswith("quarkus.oidc.")
    }
    both = {f"nessie.server.authorization.rules.{rule.name}-of-clients": rule.cel(clients) for rule in RULES}
    return {**by_tag, **tenant, **both, "quarkus.oidc.resolve-tenants-with-issuer": "true"}


def act_as(role: Role | str, guarded: NessieAuth, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on this process calls AWS as the role; the stand-in tells it by the access key."""
    places = {f"AWS_ENDPOINT_URL_{service}": guarded.issuer.uri for service in ("STS", "SECRETS_MANAGER")}
    environment = guarded.lake.environment | places | {"AWS_ACCESS_KEY_ID": role}
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
