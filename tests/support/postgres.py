"""A real PostgreSQL in a process of its own, with TLS and a password, as Nessie's tasks meet RDS.

It keeps its data when it is killed and started again. It can be brought to an earlier moment as RDS does it, by a copy
of its files and the log of all that was written since.
"""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import signal
import socket
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import psutil
import pytest

from infra.catalog import settings
from tests.support.authority import Authority
from tests.support.nessie import JARS, process

USER, PASSWORD, DATABASE = "nessie", "correct horse battery staple", "nessie"
CERTIFICATE = "server.pem"  # and its key
KEPT = "1GB"  # of the log: more than any test writes


@dataclass(frozen=True, kw_only=True)
class Postgres:
    """A database's files. `port` is free when they are made."""

    folder: Path
    port: int

    @contextlib.contextmanager
    def running(self, *options: str) -> Iterator[None]:
        """A server as long as the context lasts, which is then killed with all of its processes."""
        files = (f"ssl_cert_file={CERTIFICATE}", f"ssl_key_file={CERTIFICATE}")
        told = ("ssl=on", *files, f"wal_keep_size={KEPT}", *options)
        command = [self._binary("postgres"), "-D", str(self._data), "-p", str(self.port), "-k", ""]
        command += [part for option in told for part in ("-c", option)]
        log = self.folder / "server.log"
        log.unlink(missing_ok=True)
        with process(command, log, "(ready to accept connections)", user=_owner(), ending=signal.SIGKILL):
            try:
                yield
            finally:
                self._kill()

    def _kill(self) -> None:
        """Processes that outlive the first one would keep the next from starting."""
        first = psutil.Process(int((self._data / "postmaster.pid").read_text().split()[0]))
        others = first.children(recursive=True)
        for each in (first, *others):
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()
        psutil.wait_procs(others, timeout=60)

    @contextlib.contextmanager
    def restored(self, moment: datetime) -> Iterator[None]:
        """A server with the empty database's files and all that was written to it until a moment."""
        lost = self.folder / f"lost-{moment:%H%M%S%f}"
        self._data.rename(lost)
        shutil.copytree(self._empty, self._data)
        (self._data / "recovery.signal").touch()
        _own(self._data, *self._data.rglob("*"))
        options = (
            f'restore_command=cp "{lost}/pg_wal/%f" "%p"',
            f"recovery_target_time={moment.isoformat()}",
            "recovery_target_action=promote",
        )
        with self.running(*options):
            yield

    @property
    def _empty(self) -> Path:
        return self.folder / "empty"

    @property
    def store(self) -> Mapping[str, str]:
        """Settings of a Nessie that keeps what it knows here, as its tasks have them."""
        told = settings.store("127.0.0.1", str(self.port))
        return {**told, settings.USER: USER, settings.PASSWORD: PASSWORD}

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _binary(self, name: str) -> str:
        return str(self.folder / "bin" / name)

    def _make(self) -> None:
        """Make an empty database. There is no client among the binaries, so the server itself takes the statement."""
        [jar] = JARS.glob("embedded-postgres-binaries-*.jar")
        with (
            zipfile.ZipFile(jar) as archive,
            archive.open("postgres-linux-x86_64.txz") as packed,
            tarfile.open(fileobj=packed, mode="r:xz") as files,
        ):
            files.extractall(self.folder)  # its bytes are pinned; Python 3.11.2 has no filters yet
        password = self.folder / "password"
        password.write_text(PASSWORD)
        self._data.mkdir(mode=0o700)
        self.folder.chmod(0o755)
        _own(self._data)
        how = ("--username", USER, "--pwfile", str(password), "--auth", "scram-sha-256", "--no-sync")
        self._run("initdb", "--pgdata", str(self._data), *how)
        self._run("postgres", "--single", "-D", str(self._data), "postgres", said=f"CREATE DATABASE {DATABASE}")
        # Nobody vouches for it: Nessie encrypts and does not ask who it is.
        certificate = Authority.made("postgres").issue(self._data / CERTIFICATE)
        certificate.chmod(0o600)
        _own(certificate)
        shutil.copytree(self._data, self._empty)

    def _run(self, name: str, *arguments: str, said: str = "") -> None:
        command = [self._binary(name), *arguments]
        subprocess.run(command, check=True, input=said.encode(), capture_output=True, user=_owner())


@contextlib.contextmanager
def postgres() -> Iterator[Postgres]:
    """Files of an empty database, which go when the context ends. They are outside pytest's folders, which are closed
    to others than their owner.
    """
    if platform.machine() != "x86_64":
        pytest.skip("the binaries of PostgreSQL are x86-64's")
    with tempfile.TemporaryDirectory(prefix="lakegate-postgres-", ignore_cleanup_errors=True) as folder:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = int(free.getsockname()[1])
        made = Postgres(folder=Path(folder), port=port)
        made._make()
        yield made


@pytest.fixture(scope="session")
def catalog_store(request: pytest.FixtureRequest) -> Iterator[Mapping[str, str]]:
    """Settings of where the session's Nessies keep what they know: in memory, or with --postgres in a PostgreSQL."""
    if not request.config.getoption("postgres"):
        yield {}
        return
    with postgres() as made, made.running():
        yield made.store


def _owner() -> str | None:
    """PostgreSQL refuses to run as root."""
    return "nobody" if os.geteuid() == 0 else None


def _own(*paths: Path) -> None:
    if owner := _owner():
        for path in paths:
            shutil.chown(path, owner)
