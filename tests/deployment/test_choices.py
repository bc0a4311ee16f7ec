"""Tests of what is deployed against what is to be deployed: nothing is lost without a word."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies

from infra.choices import choices, deployed_choices
from infra.config import DEFAULTS, FIELDS, Config
from lakegate.deployment.choices import NO_RECORD, REPLACING, RUNTIME, Choices, Kind, differences, second
from tests.support.authority import Authority

DEPLOYED = Config(
    name="lake",
    nessie_uri="https://nessie.example.com",
    nessie_ca=Authority.made("ours").pem,
    token_audience="lake",
    token_issuer="https://0123.tokens.sts.global.api.aws",
    token_endpoint="https://issuer.example.com/token",
    token_scope="catalog",
    token_claim="azp",
    token_clients=("spark=c1:oidc/spark",),
    catalog_image=f"quay.io/projectnessie/nessie@sha256:{'0' * 64}",
    catalog_size="prod",
    catalog_certificate="arn:aws:acm:eu-central-1:123456789012:certificate/0a",
    network_vpc="vpc-0a",
    network_zones=("eu-central-1a", "eu-central-1b"),
    slack_secret="lake/slack",
    slack_channel="C0",
    event_bus="lake-events",
    event_webhook_url="https://hook.example.com/lake",
    event_webhook_secret="lake/webhook",
    event_lineage_url="https://lineage.example.com",
    event_lineage_secret="lake/lineage",
    alarm_topic="arn:aws:sns:eu-central-1:123456789012:alarms",
    alarm_canary_hours=6,
    batch_window_seconds=60,
    spark_timeout_minutes=50,
    spark_release="emr-7.12.0",
    spark_image="123456789012.dkr.ecr.eu-central-1.amazonaws.com/lake:1",
    spark_conf=("spark.a=1",),
    spark_vcpus=64,
    spark_jobs_at_once=4,
    batch_audit_tables=True,
    batch_express_megabytes=16,
    landing_uploaders=("arn:aws:iam::123456789012:root=acme/",),
    landing_keep_days=90,
    landing_folders=("s3://theirs/in/",),
    kms_key="arn:aws:kms:eu-central-1:123456789012:key/0a",
    kms_upload_keys=("arn:aws:kms:eu-central-1:210987654321:key/0b",),
    role_boundary="arn:aws:iam::123456789012:policy/boundary",
    ephemeral=True,
    network_subnets=("subnet-1",),
    network_security_groups=("sg-1",),
)
NAMES = list(DEFAULTS)
OFF = frozenset(name for name, default in DEFAULTS.items() if not default)


def own(name: str) -> Any:
    return getattr(DEPLOYED, FIELDS[name])


def recorded(config: Config) -> Choices:
    """The choices as they come back from a deployed template."""
    found = Choices.of_template({"Metadata": json.loads(json.dumps(choices(config).to_metadata()))})
    assert found is not None
    return found


def found(before: Config, after: Config) -> dict[str, tuple[Kind, object, object, bool]]:
    return {it.name: (it.kind, it.before, it.after, it.stops) for it in differences(recorded(before), choices(after))}


def value(config: Config, name: str) -> object:
    return choices(config).values[name]


def test_the_example_gives_every_setting() -> None:
    assert choices(DEPLOYED).given == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_forgotten_stops_the_deployment(name: str) -> None:
    after = DEPLOYED.model_copy(update={FIELDS[name]: DEFAULTS[name]})
    assert found(DEPLOYED, after) == {name: (Kind.DROPPED, value(DEPLOYED, name), value(after, name), True)}


def test_every_setting_that_replaces_another_is_one_that_is_off_by_default() -> None:
    assert REPLACING <= OFF


@given(strategies.sets(strategies.sampled_from(NAMES)))
def test_a_record_of_the_same_choices_differs_in_nothing(forgotten: set[str]) -> None:
    defaults = {FIELDS[name]: DEFAULTS[name] for name in forgotten}
    config = DEPLOYED.model_copy(update=defaults)
    assert found(config, config) == {}
    assert set(found(DEPLOYED, config)) == forgotten


@pytest.mark.parametrize("name", [name for name in NAMES if not isinstance(own(name), bool)])
def test_whatever_is_changed_stops_the_deployment(name: str) -> None:
    """Also if it loses nothing, such as more uploaders or a longer time."""
    after = DEPLOYED.model_copy(update={FIELDS[name]: another(own(name))})
    assert found(DEPLOYED, after) == {name: (Kind.CHANGED, value(DEPLOYED, name), value(after, name), True)}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OFF])
def test_a_default_that_is_changed_stops_as_any_other_value_does(name: str) -> None:
    after = Config().model_copy(update={FIELDS[name]: own(name)})
    assert found(Config(), after) == {name: (Kind.CHANGED, value(Config(), name), value(after, name), True)}


def another(given: Any) -> Any:
    if isinstance(given, tuple):
        return (*given, "more")
    return given + 1 if isinstance(given, int) else f"{given}1"


@pytest.mark.parametrize("name", sorted(OFF))
def test_what_is_added_is_named_and_stops_only_where_it_takes_the_place_of_something(name: str) -> None:
    after = Config().model_copy(update={FIELDS[name]: own(name)})
    assert found(Config(), after) == {
        name: (Kind.ADDED, value(Config(), name), value(DEPLOYED, name), name in REPLACING)
    }


def test_a_default_that_a_release_changes_stops_the_deployment() -> None:
    before = replace(choices(Config()), values={**choices(Config()).values, "spark.release": "emr-7.13.0"})
    (only,) = differences(before, choices(Config()))
    assert (only.name, only.kind, only.stops) == ("spark.release", Kind.CHANGED, True)
    assert (only.before, only.after) == ("emr-7.13.0", "emr-spark-8.1.0")


def test_a_setting_that_a_release_no_longer_has_is_named() -> None:
    before = choices(Config())
    before = Choices(values={**before.values, "old": "x"}, given=frozenset({"old"}))
    (only,) = differences(before, choices(Config()))
    assert (only.name, only.kind, only.means, only.stops) == (
        "old",
        Kind.DROPPED,
        "this release has no such setting",
        True,
    )


def test_a_setting_that_is_new_in_a_release_is_named_once_it_is_given() -> None:
    older = {
        name: value
        for name, value in choices(Config()).values.items()
        if name not in ("batch.window_seconds", "event.bus")
    }
    before = Choices(values=older, given=frozenset())
    assert differences(before, choices(Config())) == []
    (only,) = differences(before, choices(Config(event_bus="bus")))
    assert (only.name, only.kind, only.before, only.after) == ("event.bus", Kind.ADDED, None, "bus")


def test_another_python_for_the_functions_is_named_and_stops_nothing() -> None:
    """Nobody could correct a settings file for it."""
    before = replace(choices(DEPLOYED), values={**choices(DEPLOYED).values, RUNTIME: "python3.11"})
    (only,) = differences(before, choices(DEPLOYED))
    assert (only.name, only.before, only.after, only.stops) == (RUNTIME, "python3.11", "python3.13", False)


def test_a_stack_without_a_record_stops_once() -> None:
    assert Choices.of_template({"Resources": {}}) is None
    (only,) = differences(None, choices(DEPLOYED))
    assert (only.name, only.stops) == (NO_RECORD, True)


def test_a_forgotten_name_would_make_a_second_installation() -> None:
    (only,) = second("lakegate", ["lake"])
    assert (only.name, only.before, only.after, only.stops) == ("name", "lake", "lakegate", True)
    assert second("lakegate", []) == []


EARLIER = {  # what the release before this one recorded of every setting, as far as a file may give it
    **dict.fromkeys(("nessie_uri", "nessie_ca", "kms_key", "catalog_host", "catalog_zone", "landing_bucket"), ""),
    "name": "lake",
    "ephemeral": False,
    "warehouse": "lake",
    "attempts": 3,
    "grace_seconds": 120,
    "vcpus": 16,
    "release": "emr-spark-8.1.0",
    "express": True,
    "express_megabytes": 32,
    "landing_prefixes": [],
    "subnets": [],
    RUNTIME: "python3.13",
}


def of_earlier(**given: object) -> Choices:
    record = Choices(values={**EARLIER, **given}, given=frozenset(given))
    found = deployed_choices({"Metadata": record.to_metadata()})
    assert found is not None
    return found


def test_what_an_earlier_release_recorded_is_compared_by_the_names_of_now() -> None:
    before = of_earlier(name="lake", nessie_uri="https://n", subnets=["subnet-1"], vcpus=32, express=False)
    given: dict[str, Any] = {"nessie_uri": "https://n", "network_subnets": ("subnet-1",), "spark_vcpus": 32}
    after = choices(Config(name="lake", **given, batch_express_megabytes=0))
    assert (before, differences(before, after)) == (after, [])
    told = differences(before, choices(Config(name="lake", nessie_uri="https://n", spark_vcpus=64)))
    assert {(it.name, it.kind) for it in told} == {
        ("network.subnets", Kind.DROPPED),
        ("spark.vcpus", Kind.CHANGED),
        ("batch.express_megabytes", Kind.DROPPED),
    }


def test_a_setting_that_has_gone_stops_the_deployment_where_it_was_given() -> None:
    after = choices(Config(name="lake", nessie_uri="https://n"))
    (only,) = differences(of_earlier(name="lake", catalog_host="n", attempts=5), after)
    assert (only.name, only.kind, only.before, only.means, only.stops) == (
        "attempts",
        Kind.DROPPED,
        5,
        "this release has no such setting",
        True,
    )


def test_a_record_of_this_release_is_taken_as_it_is() -> None:
    assert deployed_choices({"Metadata": choices(DEPLOYED).to_metadata()}) == choices(DEPLOYED)
    assert deployed_choices({}) is None
