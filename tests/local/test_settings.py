import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from lakegate_local.commands import elsewhere
from lakegate_local.settings import LocalSettings
from rich.text import Text

from lakegate.errors import Misconfigured
from lakegate.home import Home


def test_defaults_need_no_environment() -> None:
    settings = LocalSettings.from_env({})

    assert settings.endpoint == "http://127.0.0.1:4566"
    assert settings.run == settings.home / ".local/run"


def test_ports_and_memory_are_settings() -> None:
    settings = LocalSettings.from_env(
        {
            "LAKEGATE_LOCAL_NESSIE_PORT": "1234",
            "LAKEGATE_LOCAL_NESSIE_HEAP": "2g",
            "LAKEGATE_LOCAL_AUDIT_TABLES": "true",
        }
    )

    assert settings.nessie == "http://127.0.0.1:1234"
    assert (settings.nessie_heap, settings.audit_tables) == ("2g", True)


def test_all_bad_values_are_named_at_once() -> None:
    with pytest.raises(Misconfigured) as refusal:
        LocalSettings.from_env({"LAKEGATE_LOCAL_PORT": "http", "LAKEGATE_LOCAL_SLACK_PORT": "x"})

    assert "LAKEGATE_LOCAL_PORT='http'" in str(refusal.value)
    assert "LAKEGATE_LOCAL_SLACK_PORT='x'" in str(refusal.value)


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("BATCH_WINDOW", "5.5", "not a whole number"),
        ("PARALLEL_JOBS", "0", "not from 1"),
        ("MINUTE_SECONDS", "0", "not from 1"),
        ("MINUTE_SECONDS", "nan", "not from 1"),
        ("PORT", "70000", "not from 1 to 65535"),
        ("BATCH_WINDOW", "-1", "not from 0"),
        ("AUDIT_TABLES", "yes", "not true or false"),
    ],
)
def test_value_out_of_its_range_is_refused(name: str, text: str, said: str) -> None:
    with pytest.raises(Misconfigured, match=rf"LAKEGATE_LOCAL_{name}='{text}' is {said}"):
        LocalSettings.from_env({f"LAKEGATE_LOCAL_{name}": text})


def test_misspelt_setting_is_named() -> None:
    with pytest.raises(Misconfigured, match="LAKEGATE_LOCAL_PROT is not a setting"):
        LocalSettings.from_env({"LAKEGATE_LOCAL_PROT": "4567", "LAKEGATE_INSTALLATION": "lakegate"})


def test_the_home_is_no_setting() -> None:
    with pytest.raises(Misconfigured, match="LAKEGATE_LOCAL_HOME is not a setting"):
        LocalSettings.from_env({"LAKEGATE_LOCAL_HOME": "elsewhere"})


def test_folder_is_the_same_from_every_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    settings = LocalSettings.from_env({"LAKEGATE_LOCAL_RUN": "run2", "LAKEGATE_LOCAL_PROFILE": "env2"})

    assert (settings.run, settings.profile) == (tmp_path / "run2", tmp_path / "env2")


@pytest.mark.parametrize(("is_checkout", "own"), [(True, True), (True, False), (False, False)])
def test_a_cloud_that_other_folders_do_not_find_says_what_to_set_there(
    tmp_path: Path, *, is_checkout: bool, own: bool
) -> None:
    root = tmp_path / "a [folder] with spaces"
    profile = root / (".lakegate.env" if own else "second.env")
    told = elsewhere(replace(LocalSettings.from_env({}), profile=profile), Home(root=root, is_checkout=is_checkout))
    plain = Text.from_markup(told).plain
    assert shlex.split(plain.partition("export ")[2]) == [f"LAKEGATE_ENV_FILE={profile}"]
    assert (f"Commands find it in {root}. " in plain) == own


def test_an_installed_lakegate_finds_its_cloud_from_any_folder(tmp_path: Path) -> None:
    home = Home(root=tmp_path, is_checkout=False)
    assert elsewhere(replace(LocalSettings.from_env({}), profile=home.profile), home) == ""
