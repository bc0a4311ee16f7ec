"""What can break: a Spark driver, a function's process, Nessie, LocalStack. Each is broken for real, by a signal.

LocalStack is stopped and not killed: AWS may not answer, and its open-source edition does not survive a kill.
"""

from __future__ import annotations

import contextlib
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

import psutil
from lakegate_local.cloud import Cloud
from lakegate_local.processes import Processes

SECONDS = 60.0


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults of one local cloud. `pause` is how long LocalStack does not answer, in seconds."""

    cloud: Cloud
    pause: float = 20.0

    def kill_driver(self, table: str) -> None:
        """The Java process of the table's job, and with it its Python."""
        _kill(lambda: _drivers(table))

    def kill_function(self, handler: str) -> None:
        """Every process of the function, whether it is at work or waits for it."""
        _kill(lambda: list(_commands(handler)))

    def kill_nessie(self) -> None:
        """And start it again, with what it had written."""
        _kill(lambda: [self._server("nessie")])
        self.cloud.restart("nessie")

    def stop_localstack(self) -> None:
        """It and all that it runs hear nothing for a while; their connections stay open."""
        server = self._server("localstack")
        server.send_signal(signal.SIGSTOP)
        time.sleep(self.pause)
        server.send_signal(signal.SIGCONT)

    def _server(self, name: str) -> psutil.Process:
        record = Processes(folder=self.cloud.settings.run).running(name)
        process = record.process() if record else None
        assert process, f"{name} does not run"
        return process


def by_name(faults: Faults, table: str) -> Mapping[str, Callable[[], None]]:
    """Every fault as a person calls it."""
    return {
        "kill -9 of the Spark driver": lambda: faults.kill_driver(table),
        "kill -9 of ingest": lambda: faults.kill_function("handlers.ingest"),
        "kill -9 of settle": lambda: faults.kill_function("handlers.settle"),
        "kill -9 and restart of Nessie": faults.kill_nessie,
        f"LocalStack stopped for {faults.pause:.0f} s": faults.stop_localstack,
    }


def _kill(find: Callable[[], list[psutil.Process]]) -> None:
    """All that are found, of which there must be one; they must be seen to be dead."""
    deadline = time.monotonic() + SECONDS
    while not (found := find()):
        assert time.monotonic() < deadline, "there was nothing to kill"
        time.sleep(0.02)
    for process in found:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    while any(map(_runs, found)):
        assert time.monotonic() < deadline, "what was killed still runs"
        time.sleep(0.02)


def _runs(process: psutil.Process) -> bool:
    """One that is dead may be there until its parent asks for it."""
    with contextlib.suppress(psutil.NoSuchProcess):
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    return False


def _drivers(table: str) -> list[psutil.Process]:
    return [process for process in _commands(f"wap-{table}-") if process.name() == "java"]


def _commands(part: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter(["cmdline", "status"]):
        alive = process.info["status"] != psutil.STATUS_ZOMBIE
        if alive and part in " ".join(process.info["cmdline"] or ()):
            yield process
