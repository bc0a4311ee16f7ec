import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import psutil
import pytest
from lakegate_local.processes import Processes, require_free

from lakegate.errors import Misconfigured

SLEEPER = (sys.executable, "-c", "import time; print('up', flush=True); time.sleep(600)")
PARENT = (
    sys.executable,
    "-c",
    """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
print("up", flush=True)
time.sleep(600)
""",
)


@pytest.fixture
def processes(tmp_path: Path) -> Iterator[Any]:
    found = Processes(folder=tmp_path / "run")
    yield found
    for record in list(found.records()):
        found.end(record)


def start(processes: Processes, command: Sequence[str] = SLEEPER, name: str = "server") -> Any:
    log = processes.folder / "logs" / f"{name}.log"
    record = processes.start(name, command, cwd=processes.folder.parent, env=os.environ, log=log, fingerprint="one")
    deadline = time.monotonic() + 300
    while "up" not in log.read_text():
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return record


def test_started_process_is_found_again_by_its_record(processes: Processes) -> None:
    record = start(processes)

    assert Processes(folder=processes.folder).running("server") == record


def test_ended_process_is_gone_with_its_children_and_its_record(processes: Processes) -> None:
    record = start(processes, PARENT)
    family = [record.process(), *record.process().children(recursive=True)]

    assert processes.end(record)

    assert len(family) == 2
    assert not any(member.is_running() and member.status() != psutil.STATUS_ZOMBIE for member in family)
    assert list(processes.records()) == []


def test_record_of_a_dead_process_is_cleared_without_harm(processes: Processes) -> None:
    record = start(processes)
    process = record.process()
    process.kill()
    psutil.wait_procs([process], timeout=300)

    assert processes.running("server") is None
    assert not processes.end(record)
    assert list(processes.records()) == []


def test_pid_that_now_belongs_to_another_process_is_left_alone(processes: Processes) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    record = start(processes)
    path = processes.folder / "server.pid.json"
    stale = replace(record, pid=bystander.pid, started=f"{record.started}0")
    path.write_text(json.dumps(asdict(stale)))

    assert processes.running("server") is None
    assert not processes.end(stale)
    assert bystander.poll() is None

    bystander.kill()
    bystander.wait()
    processes.end(record)


def test_process_is_found_again_after_the_clock_was_set(processes: Processes, monkeypatch: pytest.MonkeyPatch) -> None:
    record = start(processes)
    told = psutil.Process.create_time

    monkeypatch.setattr(psutil.Process, "create_time", lambda process: told(process) + 3600)

    assert processes.running("server") == record
    assert processes.end(record)


@pytest.mark.parametrize("text", ["", '{"name": "server", "pid"', '{"name": "server", "pid": 1, "more": 2}', "[]"])
def test_record_that_cannot_be_read_counts_as_none(processes: Processes, text: str) -> None:
    processes.folder.mkdir()
    (processes.folder / "server.pid.json").write_text(text)

    assert list(processes.records()) == []
    assert start(processes) == processes.running("server")


def test_process_whose_children_cannot_be_listed_is_ended(
    processes: Processes, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended_meanwhile(process: psutil.Process, **_: Any) -> Any:
        raise psutil.NoSuchProcess(process.pid)

    record = start(processes)
    monkeypatch.setattr(psutil.Process, "children", ended_meanwhile)

    assert processes.end(record)
    assert list(processes.records()) == []


def test_taken_ports_are_named_all_at_once_with_their_owners_and_their_settings() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_server(("127.0.0.1", 0)) as other:
        ports = {"LAKEGATE_LOCAL_PORT": server.getsockname()[1], "LAKEGATE_LOCAL_SLACK_PORT": other.getsockname()[1]}

        with pytest.raises(Misconfigured) as refusal:
            require_free(ports)

    assert all(f"port {port} is taken" in str(refusal.value) for port in ports.values())
    assert f"(pid {os.getpid()})" in str(refusal.value)
    assert "LAKEGATE_LOCAL_PORT=… LAKEGATE_LOCAL_SLACK_PORT=…" in str(refusal.value)


def test_free_port_passes() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]

    require_free({"LAKEGATE_LOCAL_PORT": port})


def test_a_process_that_was_killed_is_gone_when_it_is_started_again(
    processes: Processes, until: Callable[..., Any]
) -> None:
    killed = start(processes)
    psutil.Process(killed.pid).kill()
    until(lambda: killed.process() is None)
    again = start(processes)
    assert not psutil.pid_exists(killed.pid)
    assert again.process()
