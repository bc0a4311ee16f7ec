import subprocess
from pathlib import Path
from typing import Any

import pytest
from lakegate_local import synth
from lakegate_local.settings import LocalSettings

from lakegate.errors import Misconfigured


@pytest.fixture
def cdk(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`cdk(code, output)` is what the command ends with from now on; it makes its folder."""

    def set_end(code: int, output: str = "") -> None:
        def run(command: list[str], **_: Any) -> Any:
            Path(command[command.index("--output") + 1]).mkdir(parents=True, exist_ok=True)
            return subprocess.CompletedProcess(command, code, output, "")

        monkeypatch.setattr(subprocess, "run", run)

    return set_end


def test_assets_of_an_earlier_version_go(tmp_path: Path, cdk: Any) -> None:
    cdk(0)
    old = synth.synthesise(LocalSettings(run=tmp_path)) / "asset.old.zip"
    old.touch()

    synth.synthesise(LocalSettings(run=tmp_path))
    assert old.exists()  # nothing has changed
    synth.synthesise(LocalSettings(run=tmp_path, batch_window=6))
    assert not old.exists()


def test_setting_that_the_stack_refuses_is_named_as_it_was_given(tmp_path: Path, cdk: Any) -> None:
    cdk(1, "Misconfigured: -c grace_seconds is over -c batch_window")

    with pytest.raises(Misconfigured, match="-c grace_seconds is LAKEGATE_LOCAL_GRACE_SECONDS here"):
        synth.synthesise(LocalSettings(run=tmp_path, batch_window=30))
