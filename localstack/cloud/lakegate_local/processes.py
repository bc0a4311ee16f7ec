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
BOOT = Path("/proc/sys/kernel/random/boot_id")
START_TICKS = 19  # its place in /proc/<pid>/stat, counted behind the name

# Python warns of a child that nobody waits for, and these are not waited for by intention.
_children: dict[int, subprocess.Popen[bytes]] = {}


@dataclass(frozen=True, kw_only=True)
class Record:
    """A process that was started: its pid alone may be another process's by now, pid and start may not."""

    name: str
    pid: int
    started: str
    fingerprint: str

    def process(self) -> psutil.Process | None:
        """The process, if it still is the one."""
        with contextlib.suppress(psutil.NoSuchProcess):
            process = psutil.Process(self.pid)
            if started(process) == self.started and process.status() != psutil.STATUS_ZOMBIE:
                return process
        return None

    @classmethod
    def read(cls, path: Path) -> "Record | None":
        """None if it was cut short, or written by another version: nothing can be said of its process."""
        with contextlib.suppress(OSError, ValueError, TypeError):
            return cls(**json.loads(path.read_text()))
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
    """Children that were killed by somebody else stay zombies until they are asked for."""
    for pid in [pid for pid, child in _children.items() if child.poll() is not None]:
        del _children[pid]


def started(process: psutil.Process) -> str:
    """When it was started, in a form that does not change when the clock is set, as its time of day does."""
    try:
        stat = Path(f"/proc/{process.pid}/stat").read_text()
        return f"{BOOT.read_text().strip()} {stat.rpartition(')')[2].split()[START_TICKS]}"
    except OSError:  # it has ended, as the next call says, or this is no Linux
        return str(process.create_time())


def descendants(process: psutil.Process) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return process.children(recursive=True)
    return []


def finish(processes: Sequence[psutil.Process], seconds: float) -> None:
    """Ask processes to end, and kill those that do not. One that is gone, or another user's, is let be."""
    for process in processes:
        with contextlib.suppress(psutil.Error):
            process.terminate()
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    for process in alive:
        with contextlib.suppress(psutil.Error):
            process.kill()
    psutil.wait_procs(alive, timeout=seconds)


def require_free(ports: Mapping[str, int]) -> None:
    """Misconfigured, naming all ports that something listens on already, who has them and the settings (the keys)."""
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
