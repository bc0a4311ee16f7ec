"""Airflow's own scheduler, DAG processor, triggerer and API server, as `airflow standalone` starts them, for one run of
the DAG.
"""

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import quote

import requests

from examples.orchestrators.orders import TABLE

DAG = "write_audit_publish"
DONE = ("success", "failed")
STARTS_WITHIN, RUNS_WITHIN, ENDS_WITHIN = 300, 900, 60  # seconds
_LOOK = 0.5  # seconds between two looks


def settings(home: Path, port: int) -> dict[str, str]:
    """Return Airflow's settings: a home of its own, this DAG alone, and a server for whoever is on this machine."""
    section = {
        "CORE__DAGS_FOLDER": str(Path(__file__).with_name("dags")),
        "CORE__LOAD_EXAMPLES": "false",
        "CORE__DAGS_ARE_PAUSED_AT_CREATION": "false",
        "CORE__SIMPLE_AUTH_MANAGER_ALL_ADMINS": "true",
        "CORE__EXECUTION_API_SERVER_URL": f"http://127.0.0.1:{port}/execution/",
        "API__HOST": "127.0.0.1",
        "API__PORT": str(port),
        "API__WORKERS": "1",
    }
    return {"AIRFLOW_HOME": str(home), **{f"AIRFLOW__{name}": value for name, value in section.items()}}


@contextmanager
def standalone(home: Path, port: int, programs: Path, env: Mapping[str, str]) -> Iterator["Server"]:
    """Yield a running Airflow, which ends with the context. Its log is in its home; `programs` is a folder."""
    home.mkdir(parents=True, exist_ok=True)
    path = f"{programs}{os.pathsep}{env.get('PATH', os.defpath)}"
    with (home / "standalone.log").open("wb") as log:
        airflow = subprocess.Popen(
            [str(programs / "airflow"), "standalone"],
            env={**env, **settings(home, port), "PATH": path},
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            server = Server(f"http://127.0.0.1:{port}")
            server.wait(lambda: airflow.poll() is not None)
            yield server
        finally:
            airflow.send_signal(signal.SIGINT)  # it ends its parts
            with suppress(subprocess.TimeoutExpired):
                airflow.wait(timeout=ENDS_WITHIN)
            with suppress(ProcessLookupError):
                os.killpg(airflow.pid, signal.SIGKILL)
            airflow.wait()


class Server:
    """Airflow's API, for whoever is on this machine."""

    def __init__(self, uri: str) -> None:
        self._uri, self._session = uri, requests.Session()
        self._session.trust_env = False  # a proxy would look for 127.0.0.1 on its own machine

    def wait(self, ended: Callable[[], bool]) -> None:
        """Return when Airflow knows the DAG. Raise TimeoutError if that takes too long, or if it has ended."""
        deadline = time.monotonic() + STARTS_WITHIN
        while time.monotonic() < deadline and not ended():
            if self._knows():
                return
            time.sleep(_LOOK)
        raise TimeoutError("Airflow has not started: standalone.log in its home says why")

    def trigger(self, table: str, path: str) -> str:
        """Begin a run of the DAG, and return its id."""
        asked = {"logical_date": None, "conf": {"table": table, "path": path}}
        return str(self._asked("POST", f"dags/{DAG}/dagRuns", json=asked)["dag_run_id"])

    def result(self, run: str) -> str:
        """Return how a run has ended."""
        deadline = time.monotonic() + RUNS_WITHIN
        while time.monotonic() < deadline:
            state = str(self._asked("GET", f"dags/{DAG}/dagRuns/{quote(run, safe='')}")["state"])
            if state in DONE:
                return state
            time.sleep(_LOOK)
        raise TimeoutError(f"run {run} has not ended")

    def tasks(self, run: str) -> dict[str, str]:
        """Return the state of each task of a run."""
        found = self._asked("GET", f"dags/{DAG}/dagRuns/{quote(run, safe='')}/taskInstances")
        return {each["task_id"]: str(each["state"]) for each in found["task_instances"]}

    def log(self, run: str, task: str) -> str:
        """Return what a task's first try has said."""
        place = f"dags/{DAG}/dagRuns/{quote(run, safe='')}/taskInstances/{task}/logs/1"
        return str(self._asked("GET", place, params={"full_content": True}))

    def _knows(self) -> bool:
        try:
            token = self._session.get(f"{self._uri}/auth/token", timeout=5).json()["access_token"]
            self._session.headers["Authorization"] = f"Bearer {token}"
            return bool(self._asked("GET", f"dags/{DAG}"))
        except (requests.RequestException, KeyError):
            return False

    def _asked(self, method: str, path: str, **more: Any) -> Any:
        answer = self._session.request(method, f"{self._uri}/api/v2/{path}", timeout=60, **more)
        answer.raise_for_status()
        return answer.json()


def free_port() -> int:
    """Return a port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        return int(free.getsockname()[1])


def main() -> int:
    """Read the command's options, start Airflow, and run the DAG for a file."""
    parser = argparse.ArgumentParser(prog="examples.orchestrators.airflow", description=__doc__)
    parser.add_argument("path", help="of a parquet or CSV file")
    parser.add_argument("--table", default=TABLE)
    parser.add_argument("--port", type=int, default=0, help="of Airflow's API and pages; 0: one that is free")
    asked = parser.parse_args()
    home = Path(os.environ.get("AIRFLOW_HOME", ".local/airflow")).resolve()
    path = asked.path if "://" in asked.path else str(Path(asked.path).resolve())
    with standalone(home, asked.port or free_port(), Path(sys.executable).parent, os.environ) as airflow:
        run = airflow.trigger(asked.table, path)
        state = airflow.result(run)
        for name, its in airflow.tasks(run).items():
            print(f"{name}: {its}")
        if state != "success":
            print(airflow.log(run, "audit"))
    return 0 if state == "success" else 1
