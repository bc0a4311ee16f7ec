"""A Nessie with the environment that its tasks on AWS get, over a real PostgreSQL. Both can be killed, started again,
and brought to an earlier moment.
"""

from __future__ import annotations

import re
import signal
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path

import requests

from infra.catalog.settings import PASSWORD, USER, environment
from lakegate.access import nessie_settings
from lakegate.adapters.http import TimeoutAdapter, door
from tests.support import postgres as database
from tests.support.issuer import Issuer
from tests.support.nessie import ON_FREE_PORTS, Lake, nessie_command, process
from tests.support.nessie_auth import AUDIENCE, FixedToken

MAIN = "/api/v2/trees/main"
LIFE = timedelta(days=1)  # of a token: longer than any run
ADDRESS = r"(http://127\.0\.0\.1:\d+)"
REACHABLE = {
    **ON_FREE_PORTS,
    "nessie.catalog.service.s3.default-options.path-style-access": "true",
    "quarkus.datasource.postgresql.jdbc.acquisition-timeout": "30S",  # on a busy machine
}


@dataclass(kw_only=True)
class CatalogServer:
    """See the module. `management` is the address of the health port."""

    lake: Lake  # whose bucket holds the warehouse
    issuer: Issuer
    store: database.Postgres
    folder: Path
    uri: str = ""
    management: str = ""
    _nessie: ExitStack = field(default_factory=ExitStack)
    _database: ExitStack = field(default_factory=ExitStack)

    @property
    def log(self) -> Path:
        return self.folder / "nessie.log"

    def start(self, moment: datetime | None = None) -> None:
        """Start both. With a `moment`, the database is first brought back to it."""
        self.start_database(moment)
        says = f"Listening on: {ADDRESS}"
        nessie = process(nessie_command(), self.log, says, self._environment(), ending=signal.SIGKILL)
        self.uri = self._nessie.enter_context(nessie)
        [self.management] = re.findall(f"Management interface listening on {ADDRESS}", self.log.read_text())

    def start_database(self, moment: datetime | None = None) -> None:
        self._database.enter_context(self.store.restored(moment) if moment else self.store.running())

    def _environment(self) -> Mapping[str, str]:
        """Return what tasks get, and beside it where storage is here."""
        told = environment(
            bucket=self.lake.bucket,
            region=self.lake.region,
            database_host="127.0.0.1",
            database_port=str(self.store.port),
            callers=nessie_settings(self.issuer.uri, AUDIENCE),
        )
        endpoint = {"nessie.catalog.service.s3.default-options.endpoint": self.lake.s3_endpoint}
        secrets = {USER: database.USER, PASSWORD: database.PASSWORD}
        return told | REACHABLE | endpoint | secrets | self.lake.environment

    def kill(self) -> None:
        """End both as `kill -9` does."""
        self.kill_database()
        self._nessie.close()

    def kill_database(self) -> None:
        self._database.close()

    def token(self, role: str) -> str:
        return self.issuer.of(role, AUDIENCE, LIFE)

    def door(self, role: str) -> TimeoutAdapter:
        return door(self.uri, FixedToken(self.token(role)))

    def ask(self, role: str, method: str, path: str, body: object = None, **more: str) -> requests.Response:
        headers = {"Authorization": f"Bearer {self.token(role)}"} if role else {}
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
