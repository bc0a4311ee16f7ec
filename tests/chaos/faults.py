"""Faults to cause: a Spark driver, a function's process, Nessie, LocalStack. Each is broken for real, by a signal.

LocalStack is stopped and not killed: AWS may not answer, and its open-source edition does not survive a kill.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import psutil
from lakegate_local.cloud import Cloud
from lakegate_local.processes import Processes
from lakegate_local.services import client

SECONDS, WORK_SECONDS = 900.0, 2.0
MOMENT = 0.01  # seconds: a tenth of what the quickest step of a function takes
SETTLING = ("JobEnded", "Sweep")  # parts of the names of the rules by which a job is settled


@dataclass(frozen=True, kw_only=True)
class Still:
    """A function whose `processes` stand still."""

    processes: Sequence[psutil.Process]

    def move(self) -> None:
        """Let them go on for a moment."""
        self.go_on()
        time.sleep(MOMENT)
        self.stop()

    def go_on(self) -> None:
        self._send(signal.SIGCONT)

    def stop(self) -> None:
        self._send(signal.SIGSTOP)

    def kill(self) -> None:
        _kill(lambda: self.processes)

    def _send(self, what: signal.Signals) -> None:
        for process in self.processes:
            with contextlib.suppress(psutil.NoSuchProcess):
                process.send_signal(what)


@dataclass(frozen=True, kw_only=True)
class Faults:
    """Faults of one local cloud. `pause` is how long LocalStack does not answer, in seconds."""

    cloud: Cloud
    pause: float = 20.0

    def kill_driver(self, table: str) -> None:
        """The Java process of the table's job, and with it its Python."""
        _kill(lambda: [it for it in self._of(f"wap-{table}-") if "/java " in _command(it)])

    @contextlib.contextmanager
    def job_stands_still(self, table: str) -> Iterator[Callable[[], None]]:
        """The table's job gets no further inside the block, until it is told to go on by what this gives."""
        group = os.getpgid(_found(lambda: self._of(f"wap-{table}-"), "stop")[0].pid)
        os.killpg(group, signal.SIGSTOP)

        def go_on() -> None:
            with contextlib.suppress(ProcessLookupError):  # it has ended since
                os.killpg(group, signal.SIGCONT)

        try:
            yield go_on
        finally:
            go_on()

    def kill_function(self, handler: str) -> None:
        """Every process of the function, whether it is at work or waits for it."""
        _kill(lambda: self._of(handler))

    @contextlib.contextmanager
    def function_stands_still(self, handler: str) -> Iterator[Still]:
        """The function's processes get no further inside the block, but for the moments in which they move."""
        still = Still(processes=_found(lambda: self._of(handler), "stop"))
        still.stop()
        try:
            yield still
        finally:
            still.go_on()

    def warm(self, handler: str) -> None:
        """Have a process of the function wait for something to do: it is called with what it cannot read."""
        functions = client(self.cloud.settings, "lambda")
        found = functions.list_functions()["Functions"]
        [name] = [it["FunctionName"] for it in found if it["Handler"].startswith(handler)]
        functions.invoke(FunctionName=name, Payload=b"{}")

    @contextlib.contextmanager
    def nobody_settles(self) -> Iterator[None]:
        """Neither the end of a job nor a sweep calls a function inside the block."""
        events = client(self.cloud.settings, "events")
        rules = [rule["Name"] for rule in events.list_rules()["Rules"] if any(it in rule["Name"] for it in SETTLING)]
        assert len(rules) == len(SETTLING), rules
        for name in rules:
            events.disable_rule(Name=name)
        try:
            yield
        finally:
            for name in rules:
                events.enable_rule(Name=name)

    def kill_settling(self, function: str, run: str) -> None:
        """Call the settle function of this name with the end of a job run, and kill its process in the middle: it waits
        for Nessie, which says nothing until it is dead. To be called where nobody else settles.
        """
        handler, nessie = "handlers.settle", self._server("nessie")
        before = {it.pid: _used(it) for it in self._of(handler)}
        nessie.send_signal(signal.SIGSTOP)
        try:
            payload = json.dumps({"detail": {"jobRunId": run}})
            client(self.cloud.settings, "lambda").invoke(
                FunctionName=function, InvocationType="Event", Payload=payload.encode()
            )
            _kill(lambda: self._at_work(handler, before))
        finally:
            nessie.send_signal(signal.SIGCONT)

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

    def _of(self, part: str) -> list[psutil.Process]:
        """Return what this LocalStack runs and whose command has that in it: another local cloud's is let alone."""
        return [it for it in self._server("localstack").children(recursive=True) if part in _command(it)]

    def _at_work(self, handler: str, before: Mapping[int, float]) -> list[psutil.Process]:
        """Return those that have used processor time since; they are given a while to come to what they wait for. One
        that waits for something to do uses none.
        """
        if found := [it for it in self._of(handler) if _used(it) > before.get(it.pid, 0.0)]:
            time.sleep(WORK_SECONDS)
        return found

    def _server(self, name: str) -> psutil.Process:
        record = Processes(folder=self.cloud.settings.run).running(name)
        process = record.process() if record else None
        assert process, f"{name} does not run"
        return process


def by_name(faults: Faults, table: str, function: str, run: Callable[[], str]) -> Mapping[str, Callable[[], None]]:
    """Every fault as a person calls it. `function` is the name of the one that settles, `run` tells what it settles."""
    return {
        "kill -9 of the Spark driver": lambda: faults.kill_driver(table),
        "kill -9 of ingest": lambda: faults.kill_function("handlers.ingest"),
        "kill -9 of settle": lambda: faults.kill_settling(function, run()),
        "kill -9 and restart of Nessie": faults.kill_nessie,
        f"LocalStack stopped for {faults.pause:.0f} s": faults.stop_localstack,
    }


def _found(find: Callable[[], Sequence[psutil.Process]], what_for: str) -> Sequence[psutil.Process]:
    deadline = time.monotonic() + SECONDS
    while not (found := find()):
        assert time.monotonic() < deadline, f"there was nothing to {what_for}"
        time.sleep(0.02)
    return found


def _kill(find: Callable[[], Sequence[psutil.Process]]) -> None:
    """All that are found, of which there must be one; they must be seen to be dead."""
    found = _found(find, "kill")
    deadline = time.monotonic() + SECONDS
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


def _command(process: psutil.Process) -> str:
    """Empty if it is dead."""
    with contextlib.suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
        return " ".join(process.cmdline())
    return ""


def _used(process: psutil.Process) -> float:
    """Seconds of processor time, to a hundredth."""
    with contextlib.suppress(psutil.NoSuchProcess):
        used = process.cpu_times()
        return float(used.user + used.system)
    return 0.0
