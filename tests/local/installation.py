"""The deployed stack as its user sees it: by the commands a person would type, and a stranger's uploads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from lakegate_local.settings import LocalSettings
from lakegate_local.slack_messages import read

PATIENCE = 600.0
DONE, REJECTED = 0, 1


@dataclass(frozen=True, kw_only=True)
class Installation:
    """The deployed stack, as its user sees it."""

    settings: LocalSettings
    outputs: dict[str, str]
    aws: Callable[[str], Any]

    def run(self, *arguments: object, code: int | None = DONE) -> str:
        """A command's standard output; the test fails if it did not end with this code (None: whatever it is)."""
        command = [str(Path(sys.executable).parent / "lakegate"), *map(str, arguments)]
        env = {"PATH": os.defpath, "HOME": str(self.settings.run), "LAKEGATE_ENV_FILE": str(self.settings.profile)}
        done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=PATIENCE + 60, check=False)
        said = f"{arguments} ended with {done.returncode}:\n{done.stdout}\n{done.stderr}"
        assert code in (None, done.returncode), f"{said}\n{self.logs()}"
        return done.stdout

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
        """What a stranger's upload does. Returns the version id."""
        answer = self.aws("s3").put_object(Bucket=self.outputs["LandingBucket"], Key=key, Body=body)
        return str(answer["VersionId"])

    def messages(self, mentions: str) -> list[str]:
        """The Slack messages that mention this, as text."""
        texts = [json.dumps(message, ensure_ascii=False) for message in read(self.settings.messages)]
        return [text for text in texts if mentions in text]
