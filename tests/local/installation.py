"""The deployed stack as its user sees it: by the commands a person would type, and a stranger's uploads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

from lakegate_local.settings import LocalSettings
from lakegate_local.slack_messages import read
from typer.testing import CliRunner

from lakegate.cli.app import app

PATIENCE = 600.0
DONE, REJECTED = 0, 1


@dataclass(frozen=True, kw_only=True)
class Installation:
    """The deployed stack, as its user sees it. `said` is what its commands have said so far, `seen` the arguments and
    the environment of each process that a test has seen at work.
    """

    settings: LocalSettings
    outputs: dict[str, str]
    aws: Callable[[str], Any]
    said: list[str] = field(default_factory=list)
    seen: set[tuple[str, str]] = field(default_factory=set)

    def run(self, *arguments: object, code: int | None = DONE) -> str:
        """A command's standard output; the test fails if it did not end with this code (None: whatever it is).

        It runs in this process, where a new one would spend two seconds on its imports, with a new one's environment.
        """
        with patch.dict(os.environ, self.environment, clear=True):
            done = CliRunner().invoke(app, [*map(str, arguments)], catch_exceptions=False)
        return self._ended(arguments, done.exit_code, done.stdout, done.stderr, code)

    def run_as_process(self, *arguments: object, code: int | None = DONE) -> str:
        """The same as a person does it: by the installed command, in a process of its own."""
        command = [str(Path(sys.executable).parent / "lakegate"), *map(str, arguments)]
        done = subprocess.run(
            command, env=self.environment, capture_output=True, text=True, timeout=PATIENCE + 60, check=False
        )
        return self._ended(arguments, done.returncode, done.stdout, done.stderr, code)

    @property
    def environment(self) -> dict[str, str]:
        """All that a command knows of this installation."""
        return {"PATH": os.defpath, "HOME": str(self.settings.run), "LAKEGATE_ENV_FILE": str(self.settings.profile)}

    def _ended(self, arguments: Sequence[object], ended: int, output: str, errors: str, code: int | None) -> str:
        self.said.append(output + errors)
        assert code in (None, ended), f"{arguments} ended with {ended}:\n{output}\n{errors}\n{self.logs()}"
        return output

    def logs(self) -> str:
        """The last words of each function, for a test that failed."""
        logs, lines = self.aws("logs"), []
        for group in logs.describe_log_groups()["logGroups"]:
            events = logs.filter_log_events(logGroupName=group["logGroupName"])["events"]
            lines += [f"--- {group['logGroupName']}", *(event["message"].rstrip() for event in events[-60:])]
        return "\n".join(lines)

    def json(self, *arguments: object, code: int | None = DONE) -> Any:
        return json.loads(self.run(*arguments, "--json", code=code))

    def query(self, sql: str, ref: str = "main") -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.json("query", sql, "--ref", ref)
        return rows

    def wait(self, *targets: str, code: int = DONE) -> None:
        self.run("wait", *targets, "--timeout", PATIENCE, code=code)

    def drop(self, table: str, *files: Path, code: int = DONE) -> dict[str, dict[str, Any]]:
        """Drop files and wait for them; what became of each, by file name."""
        landed = self.json("drop", *files, "--table", table)["files"]
        seen = self.json("wait", *(entry["file"] for entry in landed), "--timeout", PATIENCE, code=code)["files"]
        return {Path(entry["file"]).name: entry for entry in seen}

    def rejected(self, prefix: str) -> dict[str, str]:
        """Reasons by key, of the rejected files whose key starts so."""
        entries = self.json("status")["rejected"]
        return {
            key: "; ".join(entry["reasons"]) for entry in entries for key in entry["files"] if key.startswith(prefix)
        }

    def put(self, key: str, body: bytes) -> str:
        """Return what a stranger's upload does. Returns the version id."""
        answer = self.aws("s3").put_object(Bucket=self.outputs["LandingBucket"], Key=key, Body=body)
        return str(answer["VersionId"])

    def messages(self, mentions: str) -> list[str]:
        """The Slack messages that mention this, as text."""
        texts = [json.dumps(message, ensure_ascii=False) for message in read(self.settings.messages)]
        return [text for text in texts if mentions in text]
