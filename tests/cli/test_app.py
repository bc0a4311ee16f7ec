"""The command line as a whole: help, exit codes, and errors that are paragraphs."""

import subprocess
import sys

import pytest
from typer.testing import CliRunner

from lakegate.cli.app import app
from lakegate.cli.exits import Exit, exit_code
from lakegate.errors import Conflict, ContractFaults, LakegateError, Misconfigured, OutcomeUnknown, Refused, Retryable
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
