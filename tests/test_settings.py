"""Settings: every fault at once, and the same settings from the environment as from the stack's outputs."""

from dataclasses import fields

import pytest

from lakegate import bootstrap
from lakegate.audit.model.client import Client
from lakegate.clients import list_faults, parse_list
from lakegate.errors import Misconfigured
from lakegate.settings import Settings, output_name

CLIENTS = "spark=job-1:oidc/spark,ingest=in-2:oidc/ingest,reader=bi,reader=r:oidc/reader"
COMPLETE = {field.name: "1" if field.type is int else f"a-{field.name}" for field in fields(Settings)} | {
    "token_clients": CLIENTS,
    "role": "ingest",
}


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
        assert bootstrap.service(settings).catalog.uri == "https://nessie.example.com"


def test_all_faults_are_named_at_once() -> None:
    broken = COMPLETE | {"landing_bucket": "", "nessie_uri": "", "grace_seconds": "soon", "token_clients": "spark=,x=y"}
    with pytest.raises(Misconfigured) as error:
        Settings.from_mapping(broken)
    words = ("LANDING_BUCKET", "NESSIE_URI", "GRACE_SECONDS='soon'", "'spark=' is not <role>=", "'x=y' is not <role>=")
    assert [word for word in words if word not in str(error.value)] == []


def test_what_has_a_default_may_be_left_out() -> None:
    optional = ("slack", "grace", "job_timeout", "attempts", "token", "role")
    settings = Settings.from_mapping({name: value for name, value in COMPLETE.items() if not name.startswith(optional)})
    assert min(settings.grace_seconds, settings.attempts) > 0


def test_each_role_has_the_client_that_holds_a_secret_for_it() -> None:
    settings = Settings.from_mapping(COMPLETE)
    scope, endpoint = settings.token_scope, settings.token_endpoint
    assert settings.client("spark") == Client(id="job-1", secret="oidc/spark", endpoint=endpoint, scope=scope)
    assert settings.client("reader") == Client(id="r", secret="oidc/reader", endpoint=endpoint, scope=scope)
    with pytest.raises(Misconfigured, match="no client with a secret for the role publish"):
        settings.client("publish")


def test_without_an_issuer_s_endpoint_nobody_is_a_client() -> None:
    settings = Settings.from_mapping(COMPLETE | {"token_endpoint": ""})
    assert (settings.client("spark"), settings.has_identity) == (None, True)
    assert not Settings.from_mapping(COMPLETE | {"token_endpoint": "", "token_audience": ""}).has_identity
    assert Settings.from_mapping(COMPLETE | {"token_audience": ""}).has_identity


ALL = ("spark=1:s/1", "ingest=2:s/2", "publish=3:s/3", "observer=4:s/4")


@pytest.mark.parametrize(
    ("texts", "says"),
    [
        (ALL, []),
        ((*ALL, "reader=5:s/5", "reader=6", "observer=7"), []),
        ((*ALL, "reader"), ["is <role>=<client id>"]),
        ((*ALL, "writer=5:s/5"), ["is <role>=<client id>"]),
        ((*ALL, "reader=5:arn:aws:secret"), ["is <role>=<client id>"]),
        ((*ALL, "reader=it's"), ["is <role>=<client id>"]),
        (ALL[1:], ["look at spark"]),
        ((*ALL, "ingest=5:s/5"), ["look at ingest"]),
        (("spark=1", *ALL[1:]), ["look at spark", "and not for spark"]),
        ((*ALL, "reader=5:s/5", "reader=6:s/6"), ["at most for reader"]),
        ((*ALL, "reader=4"), ["a client of its own, and has 4 twice"]),
        ((*ALL, "reader=5:s/1"), ["a secret of its own, and has s/1 twice"]),
        (("x", "spark=1:s/1", "ingest=1:s/2"), ["is <role>", "look at publish, observer", "has 1 twice"]),
    ],
)
def test_a_list_of_clients_is_looked_at_as_a_whole(texts: tuple[str, ...], says: list[str]) -> None:
    found = list(list_faults(texts))
    assert len(found) == len(says)
    assert all(part in text for part, text in zip(says, found, strict=True))


def test_a_client_is_written_as_it_is_read() -> None:
    assert [str(each) for each in parse_list((*ALL, "reader=6"))] == [*ALL, "reader=6"]
