"""Processes that outlive the command that starts them, recorded in files. It ends no other process."""

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
BOOT = Path("/proc/sys/kernel/random/boot_id")
START_TICKS = 19  # the start time's place in /proc/<pid>/stat, counted after the name

# These children outlive this process on purpose; holding them here keeps Python from warning of them.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, kw_only=True)
class Record:
    """A started process. Pid and start time together identify it, because the system uses a pid again."""

    name: str
    pid: int
    started: str
    fingerprint: str

    def process(self) -> psutil.Process | None:
        """Return the process if it still runs, otherwise None."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            if started(process) == self.started and process.status() != psutil.STATUS_ZOMBIE:
                return process
        return None

    @classmethod
    def read(cls, path: Path) -> "Record | None":
        """Read a record. Return None for a file that is incomplete or from another version."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            return cls(**json.loads(path.read_text()))
        return None


@dataclass(frozen=True, kw_only=True)
class Processes:
    """Processes of one run folder, with one record file each."""

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
        """Start the command in a session of its own, so that closing the terminal does not end it."""
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
        begun = started(psutil.Process(child.pid))
        record = Record(name=name, pid=child.pid, started=begun, fingerprint=fingerprint)
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
            if record := Record.read(path):
                yield record

    def running(self, name: str) -> Record | None:
        for record in self.records():
            if record.name == name and record.process():
                return record
        return None

    def end(self, record: Record) -> bool:
        """End the process and its children; False if it was gone already."""
        process = record.process()
        if process:
            children = descendants(process)
            finish([process], GRACE_SECONDS)
            finish(children, LEFTOVER_SECONDS)
        if child := _children.pop(record.pid, None):
            child.wait()
        self._path(record.name).unlink(missing_ok=True)
        return process is not None

    def _path(self, name: str) -> Path:
        return self.folder / f"{name}.pid.json"


def _forget_ended() -> None:
    """Collect ended children, which stay zombies until their parent polls them."""
    for pid in [pid for pid, child in _children.items() if child.poll() is not None]:
        del _children[pid]


def started(process: psutil.Process) -> str:
    """Return the start time as boot id and ticks, which do not change when the clock is set."""
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
        return f"{BOOT.read_text().strip()} {stat.rpartition(')')[2].split()[START_TICKS]}"
    except OSError:  # the process has ended, and the next call raises, or the system is not Linux
        return str(process.create_time())


def descendants(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def finish(processes: Sequence[psutil.Process], seconds: float) -> None:
    """Ask processes to end, and kill those that do not. Ignore those that are gone or belong to another user."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=seconds)


def require_free(ports: Mapping[str, int]) -> None:
    """Raise Misconfigured for taken ports, with their owners and the settings (the keys of `ports`) to change."""
    if taken := {variable: port for variable, port in ports.items() if not is_free(port)}:
        owners = ", ".join(f"port {port} is taken{listener(port)}" for port in taken.values())
        settings = " ".join(f"{variable}=…" for variable in taken)
        raise Misconfigured(f"{owners}: stop what listens there, or choose other ports with {settings}")


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def listener(port: int) -> str:
    """Return ` by python (pid 123)`, or nothing if the system does not tell."""
    with contextlib.suppress(psutil.AccessDenied, psutil.NoSuchProcess):
        for connection in psutil.net_connections("tcp"):
            if connection.status == psutil.CONN_LISTEN and connection.laddr[1:] == (port,) and connection.pid:
                return f" by {psutil.Process(connection.pid).name()} (pid {connection.pid})"
    return ""


def tail(log: Path, lines: int = 15) -> str:
    """Return the last lines of a log, for an error message."""
    return "\n".join(log.read_text(errors="replace").splitlines()[-lines:]) if log.exists() else ""


def inherited() -> dict[str, str]:
    """Return the variables that a started process inherits: paths and trusted certificates, no credentials."""
    kept = ("PATH", "HOME", "LANG")
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or "CERT" in name or name.endswith("CA_BUNDLE")
    }
