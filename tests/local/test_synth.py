import subprocess
from pathlib import Path
from typing import Any

import pytest
from lakegate_local import synth
from lakegate_local.settings import LocalSettings

from infra.settings_file import SettingsFile
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
    cdk(1, "lakegate: run/settings.toml:3: batch.window_seconds is 0, which is at once, to 300")

    with pytest.raises(Misconfigured, match=r"to 300\nbatch\.window_seconds is LAKEGATE_LOCAL_BATCH_WINDOW here$"):
        synth.synthesise(LocalSettings(run=tmp_path, batch_window=301))


def test_the_local_cloud_s_settings_are_a_file_without_a_fault(tmp_path: Path) -> None:
    (tmp_path / "local.toml").write_text(synth.settings_file(LocalSettings(run=tmp_path)))
    assert SettingsFile.read(tmp_path / "local.toml").config("us-east-1").ephemeral
