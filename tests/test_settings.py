"""Settings: every fault at once, and the same settings from the environment as from the stack's outputs."""

from dataclasses import fields

import pytest

from lakegate import bootstrap
from lakegate.errors import Misconfigured
from lakegate.settings import Settings, output_name

COMPLETE = {field.name: "1" if field.type is int else f"a-{field.name}" for field in fields(Settings)}


def test_settings_survive_the_environment() -> None:
    settings = Settings.from_mapping(COMPLETE)
    assert Settings.from_env(settings.to_env()) == settings


def test_the_stacks_outputs_say_the_same() -> None:
    outputs = {output_name(name): value for name, value in COMPLETE.items()} | {"Other": "ignored"}
    assert Settings.from_outputs(outputs) == Settings.from_mapping(COMPLETE)


@pytest.mark.parametrize(("said", "prefixes"), [("", ("",)), ("in/", ("in/",)), ("in/,out/", ("in/", "out/"))])
def test_files_land_below_the_prefixes_that_are_said_or_anywhere(said: str, prefixes: tuple[str, ...]) -> None:
    service = bootstrap.service(Settings.from_mapping(COMPLETE | {"landing_prefixes": said, "nessie_ca": ""}))
    assert service.landing_prefixes == prefixes


@pytest.mark.parametrize("end", ["", "/", "//"])
def test_a_slash_at_the_end_of_nessies_address_is_taken_off_wherever_it_is_said(end: str) -> None:
    said = COMPLETE | {"nessie_uri": f"https://nessie.example.com{end}", "nessie_ca": ""}
    outputs = {output_name(name): value for name, value in said.items()}
    env = {f"LAKEGATE_{name.upper()}": value for name, value in said.items()}
    for settings in (Settings.from_mapping(said), Settings.from_outputs(outputs), Settings.from_env(env)):
        assert settings.nessie_uri == "https://nessie.example.com"
        assert bootstrap.service(settings).nessie_uri == "https://nessie.example.com"


def test_all_faults_are_named_at_once() -> None:
    broken = COMPLETE | {"landing_bucket": "", "nessie_uri": "", "grace_seconds": "soon"}
    with pytest.raises(Misconfigured) as error:
        Settings.from_mapping(broken)
    assert [word in str(error.value) for word in ("LANDING_BUCKET", "NESSIE_URI", "GRACE_SECONDS='soon'")] == [True] * 3


def test_what_has_a_default_may_be_left_out() -> None:
    optional = ("slack", "grace", "job_timeout", "attempts")
    settings = Settings.from_mapping({name: value for name, value in COMPLETE.items() if not name.startswith(optional)})
    assert min(settings.grace_seconds, settings.attempts) > 0
