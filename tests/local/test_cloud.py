import json
import socket
import sys
from dataclasses import replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import psutil
import pytest
from botocore.exceptions import ClientError
from lakegate_local.cloud import Cloud
from lakegate_local.processes import Processes
from lakegate_local.services import servers
from lakegate_local.settings import LocalSettings
from typer.testing import CliRunner

from lakegate.errors import Misconfigured
from tests.local.kinds import Aws
from tests.local.ports import PORTS, free_ports

LOOPBACK = {"127.0.0.1", "::ffff:127.0.0.1", "::1"}


def tell(*_: str) -> None:
    """Nobody watches."""


@pytest.mark.local
def test_everything_listens_on_this_machine_alone(cloud: LocalSettings) -> None:
    addresses = {
        connection.laddr.ip
        for record in Processes(folder=cloud.run).records()
        for process in (psutil.Process(record.pid), *psutil.Process(record.pid).children(recursive=True))
        for connection in process.net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    }

    assert addresses
    assert addresses <= LOOPBACK


@pytest.mark.local
def test_starting_twice_changes_nothing(cloud: LocalSettings) -> None:
    before = list(Processes(folder=cloud.run).records())

    Cloud(settings=cloud).start(tell)

    assert list(Processes(folder=cloud.run).records()) == before
    assert [record.name for record in before] == ["localstack", "nessie", "slack"]


@pytest.mark.local
@pytest.mark.parametrize(("service", "operation"), [("glue", "get_databases"), ("pipes", "list_pipes")])
def test_service_that_localstack_has_not_is_refused_by_name(aws: Aws, service: str, operation: str) -> None:
    with pytest.raises(ClientError, match=f"no service '{service}'"):
        getattr(aws(service), operation)()


def test_resource_that_was_only_said_to_be_made_is_an_error(tmp_path: Path) -> None:
    settings = LocalSettings(run=tmp_path / "run", profile=tmp_path / ".lakegate.env")
    settings.logs.mkdir(parents=True)
    line = "Deployment of resource type AWS::Glue::Job succeeded, but will fail in upcoming LocalStack releases"
    (settings.logs / "localstack.log").write_text(f"fine\n{line}\n")

    with pytest.raises(Misconfigured, match="AWS::Glue::Job"):
        Cloud(settings=settings).require_real_resources()


def test_taken_port_stops_the_start_before_anything_runs(tmp_path: Path) -> None:
    ports: dict[str, Any] = dict(zip(PORTS, free_ports(len(PORTS)), strict=True))
    settings = LocalSettings(run=tmp_path / "run", profile=tmp_path / ".lakegate.env", **ports)
    with (
        socket.create_server(("127.0.0.1", settings.slack_port)),
        pytest.raises(Misconfigured, match="LAKEGATE_LOCAL_SLACK_PORT="),
    ):
        Cloud(settings=settings).start(tell)

    assert list(Processes(folder=settings.run).records()) == []


def test_half_started_cloud_goes_down(tmp_path: Path) -> None:
    settings = LocalSettings(run=tmp_path / "run", profile=tmp_path / ".lakegate.env")
    processes = Processes(folder=settings.run)
    sleeper = (sys.executable, "-c", "import time; time.sleep(600)")
    running = processes.start("slack", sleeper, cwd=tmp_path, env={}, log=tmp_path / "log", fingerprint="x")
    (settings.run / "nessie.pid.json").write_text(
        json.dumps({"name": "nessie", "pid": 2**22 - 1, "started": 1.0, "fingerprint": "x"})
    )

    Cloud(settings=settings).down(tell)

    assert running.process() is None
    assert list(processes.records()) == []


def test_profile_of_another_installation_stays(tmp_path: Path) -> None:
    settings = LocalSettings(run=tmp_path / "run", profile=tmp_path / ".lakegate.env")
    settings.profile.write_text("AWS_PROFILE=production\n")

    Cloud(settings=settings).down(tell)

    assert settings.profile.read_text() == "AWS_PROFILE=production\n"


@pytest.mark.parametrize("change", [{"nessie_heap": "1g"}, {"port": 4999}])
def test_other_settings_make_other_servers(change: dict[str, Any]) -> None:
    settings = LocalSettings()

    before = [server.fingerprint for server in servers(settings)]
    after = [server.fingerprint for server in servers(replace(settings, **change))]

    assert before == [server.fingerprint for server in servers(settings)]
    assert before != after


def test_servers_are_given_no_credentials_of_this_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "a real one")
    monkeypatch.setenv("AWS_PROFILE", "production")

    given = [server.env for server in servers(LocalSettings())]

    assert not [env for env in given if "a real one" in env.values() or "AWS_PROFILE" in env]


def test_commands_are_found_by_the_command_line() -> None:
    [found] = entry_points(group="lakegate.commands", name="local")

    shown = CliRunner().invoke(found.load(), ["--help"]).stdout

    assert all(command in shown for command in ("up", "down", "slack"))
