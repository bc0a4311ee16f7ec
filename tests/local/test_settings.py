import pytest
from lakegate_local.settings import LocalSettings

from lakegate.errors import Misconfigured


def test_defaults_need_no_environment() -> None:
    settings = LocalSettings.from_env({})

    assert settings.endpoint == "http://127.0.0.1:4566"
    assert settings.run == settings.checkout / ".local/run"


def test_ports_and_memory_are_settings() -> None:
    settings = LocalSettings.from_env({"LAKEGATE_LOCAL_NESSIE_PORT": "1234", "LAKEGATE_LOCAL_NESSIE_HEAP": "2g"})

    assert settings.nessie == "http://127.0.0.1:1234"
    assert settings.nessie_heap == "2g"


def test_all_bad_values_are_named_at_once() -> None:
    with pytest.raises(Misconfigured) as refusal:
        LocalSettings.from_env({"LAKEGATE_LOCAL_PORT": "http", "LAKEGATE_LOCAL_SLACK_PORT": "x"})

    assert "LAKEGATE_LOCAL_PORT='http'" in str(refusal.value)
    assert "LAKEGATE_LOCAL_SLACK_PORT='x'" in str(refusal.value)
