import fcntl
import json
import shutil
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import psutil
import pytest
from botocore.exceptions import ClientError
from lakegate_local import cloud as cloud_module
from lakegate_local.cloud import Cloud
from lakegate_local.processes import Processes, Record
from lakegate_local.services import Server, servers
from lakegate_local.settings import LocalSettings
from typer.testing import CliRunner

from lakegate.errors import Misconfigured, Retryable
from tests.local.kinds import Aws
from tests.local.ports import PORTS, free_ports

LOOPBACK = {"127.0.0.1", "::ffff:127.0.0.1", "::1"}


SLEEPER = (sys.executable, "-c", "import time; time.sleep(600)")


def tell(*_: str) -> None:
    """Nobody watches."""


@dataclass
class Sleepers:
    """A cloud whose servers do nothing."""

    cloud: Cloud
    servers: list[Server]

    @property
    def records(self) -> list[Record]:
        return list(Processes(folder=self.cloud.settings.run).records())

    @property
    def kept(self) -> Path:
        return self.cloud.settings.data / "kept"


@pytest.fixture
def sleepers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two of them, started, with a file of theirs."""
    settings = LocalSettings(run=tmp_path / "run", profile=tmp_path / ".lakegate.env")
    made = Sleepers(cloud=Cloud(settings=settings), servers=[sleeper("one"), sleeper("two")])
    monkeypatch.setattr(cloud_module, "servers", lambda _settings: made.servers)
    made.cloud.start(tell)
    made.kept.write_text("a lake")
    yield made
    made.cloud.down(tell)


def sleeper(name: str, answers: Callable[[], bool] = lambda: True, **options: str) -> Server:
    return Server(name=name, command=SLEEPER, ports={}, answers=answers, options=options)


def test_running_server_that_is_slow_to_answer_is_waited_for(sleepers: Sleepers) -> None:
    before, answers = sleepers.records, iter([False, False, True])
    sleepers.servers[0] = sleeper("one", lambda: next(answers))

    sleepers.cloud.start(tell)

    assert sleepers.records == before
    assert sleepers.kept.exists()


def test_running_cloud_is_not_given_up_for_other_settings_but_the_commands_are_named(sleepers: Sleepers) -> None:
    before = sleepers.records
    sleepers.servers[1] = sleeper("two", HEAP="2g")

    with pytest.raises(Misconfigured, match=r"two was started with other settings.*lakegate local down"):
        sleepers.cloud.start(tell)

    assert sleepers.records == before
    assert all(record.process() for record in before)
    assert sleepers.kept.exists()


def test_what_still_runs_is_not_given_up_for_a_server_that_ended(sleepers: Sleepers) -> None:
    [one, two] = sleepers.records
    Processes(folder=sleepers.cloud.settings.run).end(two)

    with pytest.raises(Misconfigured, match=r"two has stopped.*lakegate local down"):
        sleepers.cloud.start(tell)

    assert one.process()
    assert sleepers.kept.exists()


def test_cloud_that_does_not_come_up_leaves_nothing_running(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    settings = LocalSettings(run=tmp_path / "run", profile=tmp_path / ".lakegate.env")
    ends = Server(name="two", command=(sys.executable, "-c", "print('why')"), ports={}, answers=lambda: False)
    monkeypatch.setattr(cloud_module, "servers", lambda _settings: [sleeper("one"), ends])

    with pytest.raises(Retryable, match=r"two has ended[\s\S]*why"):
        Cloud(settings=settings).start(tell)

    assert list(Processes(folder=settings.run).records()) == []


def test_what_a_cloud_held_goes_with_it_and_nobody_else_could_read_it(sleepers: Sleepers) -> None:
    settings = sleepers.cloud.settings
    modes = {folder.stat().st_mode & 0o777 for folder in (settings.data, settings.logs)}

    sleepers.cloud.down(tell)

    assert modes == {0o700}
    assert not settings.data.exists()
    assert (settings.logs / "one.log").exists()


def test_who_waits_for_another_command_is_told(sleepers: Sleepers) -> None:
    told: list[str] = []
    with (sleepers.cloud.settings.run / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)

        def tell_and_let_go(_: str, phrase: str) -> None:
            told.append(phrase)
            fcntl.flock(held, fcntl.LOCK_UN)

        sleepers.cloud.start(tell_and_let_go)

    assert told[:2] == ["waiting for another `lakegate local`", "was not free"]


@pytest.mark.parametrize("command", ["start", "down"])
def test_folder_that_holds_files_of_others_is_refused(tmp_path: Path, command: str) -> None:
    theirs = tmp_path / "project/data/years of work"
    theirs.parent.mkdir(parents=True)
    theirs.touch()
    settings = LocalSettings(run=tmp_path / "project", profile=tmp_path / ".lakegate.env")

    with pytest.raises(Misconfigured, match="LAKEGATE_LOCAL_RUN="):
        getattr(Cloud(settings=settings), command)(tell)

    assert [path.name for path in theirs.parents[1].rglob("*")] == ["data", "years of work"]


def test_what_cannot_be_removed_is_named(sleepers: Sleepers, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(folder: Path) -> None:
        raise PermissionError(13, "Permission denied", str(folder))

    monkeypatch.setattr(shutil, "rmtree", refuse)
    with pytest.raises(Misconfigured, match="data cannot be removed"):
        sleepers.cloud.down(tell)
    monkeypatch.undo()


@pytest.mark.parametrize("theirs", ["AWS_PROFILE=production\n", "AWS_ENDPOINT_URL=http://127.0.0.1:5566\n"])
def test_profile_of_another_installation_stops_the_start_before_anything_runs(tmp_path: Path, theirs: str) -> None:
    settings = LocalSettings(run=tmp_path / "run", profile=tmp_path / ".lakegate.env")
    settings.profile.write_text(theirs)

    with pytest.raises(Misconfigured, match="LAKEGATE_LOCAL_PROFILE="):
        Cloud(settings=settings).up(tell)

    assert list(Processes(folder=settings.run).records()) == []
    assert settings.profile.read_text() == theirs


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
    running = processes.start("slack", SLEEPER, cwd=tmp_path, env={}, log=tmp_path / "log", fingerprint="x")
    (settings.run / "nessie.pid.json").write_text(
        json.dumps({"name": "nessie", "pid": 2**22 - 1, "started": "boot 1", "fingerprint": "x"})
    )
    (settings.run / "lock").touch()

    Cloud(settings=settings).down(tell)

    assert running.process() is None
    assert list(processes.records()) == []


@pytest.mark.parametrize("theirs", ["AWS_PROFILE=production\n", "AWS_ENDPOINT_URL=http://127.0.0.1:5566\n"])
def test_profile_of_another_installation_stays(tmp_path: Path, theirs: str) -> None:
    settings = LocalSettings(run=tmp_path / "run", profile=tmp_path / ".lakegate.env")
    settings.profile.write_text(theirs)

    Cloud(settings=settings).down(tell)

    assert settings.profile.read_text() == theirs


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


@pytest.mark.parametrize(("kind", "refused"), [("AWS::Glue::Job", True), ("AWS::CloudWatch::Dashboard", False)])
def test_a_resource_that_localstack_only_pretends_to_have_made_is_refused_unless_it_is_the_dashboard(
    tmp_path: Path,
    kind: str,
    refused: bool,  # noqa: FBT001
) -> None:
    cloud = Cloud(settings=LocalSettings(run=tmp_path))
    cloud.settings.logs.mkdir()
    said = f"WARN --- Deployment of resource type {kind} succeeded, but will fail in upcoming LocalStack releases"
    (cloud.settings.logs / "localstack.log").write_text(f"Ready.\n{said}\n")
    with pytest.raises(Misconfigured, match=kind) if refused else nullcontext():
        cloud.require_real_resources()
