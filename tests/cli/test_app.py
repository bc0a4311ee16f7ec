"""The command line as a whole: help, exit codes, and errors that are paragraphs."""

import os
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
from typer.main import get_command
from typer.testing import CliRunner

from lakegate.cli.app import app
from lakegate.cli.exits import Exit, exit_code
from lakegate.errors import Conflict, ContractFaults, LakegateError, Misconfigured, OutcomeUnknown, Refused, Retryable
from lakegate.settings import OPTION
from tests.cli.desk import Desk

HEAVY = ("boto3", "pyarrow", "duckdb", "pyiceberg", "sqlglot", "structlog", "pynessie", "slack_sdk")


def failing(desk: Desk, monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    def fail() -> None:
        raise error

    monkeypatch.setattr(desk.world.service.branches, "list_branches", fail)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (Retryable("Nessie does not answer"), Exit.UNREACHABLE),
        (OutcomeUnknown("the commit may have happened"), Exit.UNREACHABLE),
        (Conflict("somebody was first"), Exit.UNREACHABLE),
        (Refused("it was discarded"), Exit.REJECTED),
        (ContractFaults("x.yaml", []), Exit.REJECTED),
        (Misconfigured("no such thing"), Exit.MISUSE),
        (ZeroDivisionError("a fault of ours"), Exit.FAULT),
    ],
)
def test_every_error_is_a_paragraph_and_a_code(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, error: Exception, code: Exit
) -> None:
    failing(desk, monkeypatch, error)
    told = desk.run("status")
    assert told.exit_code == code
    assert str(error) in told.stderr
    assert "Traceback" not in told.stderr
    assert told.stdout == ""


def test_every_class_of_error_has_a_code() -> None:
    kinds = LakegateError.__subclasses__()
    assert [kind for kind in kinds if exit_code(kind("x")) is Exit.FAULT] == []


def test_debugging_shows_where(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(desk, monkeypatch, ZeroDivisionError("a fault of ours"))
    monkeypatch.setenv("LAKEGATE_DEBUG", "1")
    assert "Traceback" in desk.run("status").stderr


def test_an_interrupted_command_ends_quietly(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    failing(desk, monkeypatch, KeyboardInterrupt())  # type: ignore[arg-type]
    told = desk.run("status")
    assert told.exit_code == 130
    assert told.stderr == ""


def test_help_says_what_exit_codes_mean() -> None:
    assert "Exit codes" in CliRunner().invoke(app, ["--help"]).stdout


def test_a_page_is_not_asked_for_together_with_what_it_would_leave_out(desk: Desk) -> None:
    for other in (["--rows", "any"], ["--json"]):
        told = desk.run("show", "any", "--html", "-", *other)
        assert told.exit_code == Exit.MISUSE
        assert "leave out" in told.stderr


def test_commands_of_other_packages_are_found() -> None:
    assert CliRunner().invoke(app, ["local", "--help"]).exit_code == 0


def test_an_unknown_command_is_misuse() -> None:
    assert CliRunner().invoke(app, ["drp"]).exit_code == 2


def test_help_does_not_import_what_only_commands_need() -> None:
    code = f"import sys, lakegate.cli.app; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout == "[]\n"


@pytest.mark.parametrize("how", [(), ("--json",)])
def test_output_that_nobody_reads_is_no_rejection(desk: Desk, how: tuple[str, ...]) -> None:
    lakegate = [sys.executable, "-c", "from lakegate.cli.app import main; main()"]
    command = [*lakegate, "contract", "check", str(desk.contract())]
    with subprocess.Popen([*command, *how], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


def leaves(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Yield every command that does something, with its words."""
    group = group or get_command(app)
    for name in group.list_commands(None):
        command = group.get_command(None, name)
        if hasattr(command, "list_commands"):
            yield from leaves(command, (*path, name))
        else:
            yield (*path, name), command


@pytest.mark.parametrize(
    ("words", "command"), [*leaves()], ids=lambda it: " ".join(it) if isinstance(it, tuple) else ""
)
def test_just_the_commands_that_ask_an_installation_take_its_name(words: tuple[str, ...], command: Any) -> None:
    """A command's help says that it needs none; those of the local cloud and a deployment have theirs."""
    takes = [param.opts for param in command.params].count(["--installation"])
    needs_none = "Needs no installation" in " ".join(command.help.split()) or words[0] in ("deploy", "demo", "local")
    assert takes == (0 if needs_none else 1)


@pytest.mark.parametrize("words", [["status"], ["contract", "push", __file__], ["doctor"]])
def test_the_installation_that_is_named_is_asked(words: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    asked = list[str]()

    def outputs(name: str) -> None:
        asked.append(name)
        raise Retryable("nothing answers")

    monkeypatch.setenv(OPTION, "")  # put back afterwards
    for module in ("profile.outputs", "doctor.outputs_of"):
        monkeypatch.setattr(f"lakegate.cli.{module}", outputs)
    told = CliRunner().invoke(app, [*words, "--installation", "test"])
    assert (told.exit_code, asked) == (Exit.UNREACHABLE, ["test"])


@pytest.mark.parametrize(
    ("line", "offers"),
    [("lakegate sta", "status"), ("lakegate contract pu", "push"), ("lakegate status --inst", "--installation")],
)
def test_a_shell_completes_commands_and_options(line: str, offers: str) -> None:
    env = {"_LAKEGATE_COMPLETE": "complete_bash", "COMP_WORDS": line, "COMP_CWORD": str(line.count(" "))}
    program = "import sys; sys.argv[0] = 'lakegate'; from lakegate.cli.app import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", program], env={**os.environ, **env}, capture_output=True, text=True, check=False
    )
    assert offers in done.stdout.split(), done.stderr
