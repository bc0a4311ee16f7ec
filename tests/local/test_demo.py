import subprocess
from pathlib import Path
from typing import Any

import pytest

from examples import demo


def test_commands_of_the_demo_mean_the_local_cloud_whatever_the_shell_says(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given: list[str] = []

    def run(command: list[str], *, env: dict[str, str], **_: Any) -> Any:
        given.append(env["LAKEGATE_ENV_FILE"])
        return subprocess.CompletedProcess(command, 0, "[]")

    monkeypatch.setattr(subprocess, "run", run)
    monkeypatch.setenv("LAKEGATE_ENV_FILE", "/production.env")
    monkeypatch.setenv("LAKEGATE_LOCAL_PROFILE", str(tmp_path / "second.env"))

    demo.run("contract", "push", "contracts/flights.yaml")
    demo.answer("status")

    assert given == [str(tmp_path / "second.env")] * 2
