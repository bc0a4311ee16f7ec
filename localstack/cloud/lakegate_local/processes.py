"""Processes that outlive the command that starts them, remembered in files. It ends none that it did not start."""

import contextlib
import json
import os
import socket
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from lakegate.errors import Misconfigured

GRACE_SECONDS = 15.0
LEFTOVER_SECONDS = 3.0

# Python warns of a child that nobody waits for, and these are not waited for by intention.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, kw_only=True)
class Record:
    """A process that was started: its pid alone may be another process's by now, pid and start time may not."""

    name: str
    pid: int
    started: float
    fingerprint: str

    def process(self) -> psutil.Process | None:
        """The process, if it still is the one."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            if process.create_time() == self.started and process.status() != psutil.STATUS_ZOMBIE:
                return process
        return None


@dataclass(frozen=True, kw_only=True)
class Processes:
    """What runs in one run folder, one record file each."""

    folder: Path

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        cwd: Path,
        env: Mapping[str, str],
        log: Path,
        fingerprint: str,
    ) -> Record:
        """Start it in a session of its own, so that ending this command's terminal does not end it."""
        _forget_ended()
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("wb") as output:
            child = subprocess.Popen(
                [str(part) for part in command],
                cwd=cwd,
                env=dict(env),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        _children[child.pid] = child
        started = psutil.Process(child.pid).create_time()
        record = Record(name=name, pid=child.pid, started=started, fingerprint=fingerprint)
        self._remember(record)
        return record

    def _remember(self, record: Record) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(record.name)
        partial = path.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(record)))
        partial.replace(path)

    def records(self) -> Iterator[Record]:
        for path in sorted(self.folder.glob("*.pid.json")):
            yield Record(**json.loads(path.read_text()))

    def running(self, name: str) -> Record | None:
        for record in self.records():
            if record.name == name and record.process():
                return record
        return None

    def end(self, record: Record) -> bool:
        """End the process and its children; False if it was gone already."""
        process = record.process()
        if process:
            children = process.children(recursive=True)
            finish([process], GRACE_SECONDS)
            finish(children, LEFTOVER_SECONDS)
        if child := _children.pop(record.pid, None):
            child.wait()
        self._path(record.name).unlink(missing_ok=True)
        return process is not None

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.pid.json"


def _forget_ended() -> None:
    """Children that were killed by somebody else stay zombies until they are asked for."""
    for pid in [pid for pid, child in _children.items() if child.poll() is not None]:
        del _children[pid]


def finish(processes: Sequence[psutil.Process], seconds: float) -> None:
    """Ask processes to end, and kill those that do not."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    for process in alive:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(alive, timeout=seconds)


def require_free(port: int, variable: str) -> None:
    """Misconfigured, naming the port, who has it and the setting, if something listens there already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as exc:
            raise Misconfigured(
                f"port {port} is taken{listener(port)}: stop that program, or choose another port with {variable}=…"
            ) from exc


def listener(port: int) -> str:
    """` by python (pid 123)`, where the system tells."""
    with contextlib.suppress(psutil.AccessDenied, psutil.NoSuchProcess):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,) and connection.pid:
                return f" by {psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return ""


def tail(log: Path, lines: int = 15) -> str:
    """The end of a log, for an error message."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""


def inherited() -> dict[str, str]:
    """What a started process may see of this one's environment: paths and trusted certificates, no credentials."""
    kept = ("PATH", "HOME", "LANG")
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or "CERT" in name or name.endswith("CA_BUNDLE")
    }
