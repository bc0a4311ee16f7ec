"""Commands of an installed lakegate that go on in its home. What they become is noted, and nothing is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner, Result

from lakegate.cli import app as commands
from lakegate.cli import home_commands
from lakegate.cli.exits import Exit
from lakegate.home import Home


class Became(Exception):
    """In a real process, another program would run now."""


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[list[str]]:
    """The programs that an installed lakegate has run, in their order; set-up ends with 0."""
    noted: list[list[str]] = []

    def run(command: list[str], **_: Any) -> Any:
        noted.append(command)
        return subprocess.CompletedProcess(command, 0)

    def become(_: Path, words: list[str]) -> None:
        noted.append(words)
        raise Became

    monkeypatch.setattr(home_commands, "home", lambda: Home(root=tmp_path, is_checkout=False))
    monkeypatch.setattr(home_commands, "is_installed", lambda: True)
    monkeypatch.setattr(home_commands, "unpack", lambda root: noted.append(["unpack", str(root)]))
    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setattr(os, "execv", become)
    monkeypatch.setattr(commands, "_plugins", dict)
    return noted


def given(*words: str) -> Result:
    return CliRunner().invoke(commands.app, words)


def set_up(root: Path, what: str) -> list[list[str]]:
    return [["unpack", str(root)], [sys.executable, "-I", str(root / "tools/setup.py"), what]]


def test_a_local_cloud_is_set_up_and_started_at_home(ran: list[list[str]], tmp_path: Path) -> None:
    given("local", "up")
    bin_ = tmp_path / ".venv/bin"
    there = [str(bin_ / "python"), "-E", "-P", str(bin_ / "lakegate"), "local", "up"]
    assert ran == [*set_up(tmp_path, "local"), there]


def test_the_demo_is_shown_at_home(ran: list[list[str]], tmp_path: Path) -> None:
    given("demo")
    assert ran == [
        *set_up(tmp_path, "local"),
        [str(tmp_path / ".venv/bin/python"), "-E", "-P", "-m", "examples.demo"],
    ]


@pytest.mark.parametrize("words", [["deploy", "prod.toml", "--accept", "name"], ["package", "prod.toml", "folder"]])
def test_a_deployment_and_a_package_are_made_at_home_by_the_same_words(
    ran: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    settings = tmp_path / "prod.toml"
    settings.write_text('nessie.uri = "https://nessie.example.com"\nephemeral = true\n')
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    monkeypatch.setattr(sys, "argv", ["lakegate", *words])
    given(*words)
    assert ran[:-1] == [["unpack", str(tmp_path)], *set_up(tmp_path, "deploy")]
    assert ran[-1][-len(words) :] == words


@pytest.mark.parametrize(
    ("settings", "region", "said"),
    [
        ("nessie.url = 'https://nessie.example.com'\n", "eu-central-1", "did you mean nessie.uri?"),
        ("spark.vcpus = 'many'\nephemeral = true\n", "eu-central-1", "spark.vcpus is a whole number"),
        ("not toml at all", "eu-central-1", "prod.toml"),
        ("nessie.uri = 'https://nessie.example.com'\nephemeral = true\n", "", "AWS_REGION=eu-central-1"),
    ],
)
def test_settings_that_are_wrong_are_told_before_anything_is_installed(
    ran: list[list[str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: str, region: str, said: str
) -> None:
    file = tmp_path / "prod.toml"
    file.write_text(settings)
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "none"))
    if region:
        monkeypatch.setenv("AWS_REGION", region)
    for words in (["deploy", str(file)], ["package", str(file), str(tmp_path / "folder")]):
        told = given(*words)
        assert told.exit_code == Exit.MISUSE
        assert said in told.stderr
    assert ran == [["unpack", str(tmp_path)]] * 2


def test_the_cloud_s_messages_are_asked_for_without_any_set_up(ran: list[list[str]], tmp_path: Path) -> None:
    command = tmp_path / ".venv/bin/lakegate"
    command.parent.mkdir(parents=True)
    command.touch()
    given("local", "slack", "--json")
    assert [words[-3:] for words in ran] == [["local", "slack", "--json"]]


def test_nothing_is_set_up_to_stop_what_never_was(ran: list[list[str]]) -> None:
    told = given("local", "down")
    assert (told.exit_code, ran) == (Exit.MISUSE, [])
    assert "lakegate local up" in told.stderr


def test_set_up_that_fails_ends_the_command(ran: list[list[str]], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, 1))
    told = given("demo")
    assert told.exit_code == Exit.UNREACHABLE
    assert "is not set up" in told.stderr
    assert [words[0] for words in ran] == ["unpack"]


def test_an_installed_lakegate_names_the_local_cloud_s_commands_as_its_home_does() -> None:
    from lakegate_local.commands import app as its

    ours, theirs = get_command(commands.local), get_command(its)
    assert set(ours.commands) == set(theirs.commands)  # type: ignore[attr-defined]
    for name, command in ours.commands.items():  # type: ignore[attr-defined]
        its_options = {it.name for it in theirs.commands[name].params}  # type: ignore[attr-defined]
        assert {it.name for it in command.params} == its_options
