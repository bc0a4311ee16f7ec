"""Tests of what is deployed against what is to be deployed: nothing is lost without a word."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, strategies

from infra.choices import choices
from infra.config import DEFAULTS, Config
from lakegate.deployment.choices import NO_RECORD, REPLACING, RUNTIME, Choices, Kind, differences, second
from tests.support.authority import Authority

DEPLOYED = Config(
    name="lake",
    nessie_uri="https://nessie.example.com",
    nessie_ca=Authority.made("ours").pem,
    warehouse="house",
    token_audience="lake",
    token_issuer="https://0123.tokens.sts.global.api.aws",
    token_endpoint="https://issuer.example.com/token",
    token_scope="catalog",
    token_claim="azp",
    token_clients=("spark=c1:oidc/spark",),
    nessie_image=f"quay.io/projectnessie/nessie@sha256:{'0' * 64}",
    catalog_size="prod",
    catalog_host="nessie.example.com",
    catalog_certificate="arn:aws:acm:eu-central-1:123456789012:certificate/0a",
    catalog_zone="Z0123",
    vpc="vpc-0a",
    azs=("eu-central-1a", "eu-central-1b"),
    slack_secret="lake/slack",
    slack_channel="C0",
    slack_api="https://slack.example.com/api/",
    event_bus="lake-events",
    webhook_url="https://hook.example.com/lake",
    webhook_secret="lake/webhook",
    lineage_url="https://lineage.example.com",
    lineage_secret="lake/lineage",
    alarm_topic="arn:aws:sns:eu-central-1:123456789012:alarms",
    runbook="https://wiki.example.com/lakegate",
    undecided_minutes=60,
    rejected_percent=20,
    canary_hours=6,
    architecture="x86_64",
    batch_window=60,
    reconcile_minutes=10,
    job_timeout_minutes=50,
    release="emr-7.12.0",
    image="123456789012.dkr.ecr.eu-central-1.amazonaws.com/lake:1",
    spark_conf=("spark.a=1",),
    vcpus=64,
    jobs_at_once=4,
    grace_seconds=300,
    compact_after_days=20,
    attempts=5,
    audit_tables=True,
    express=False,
    express_megabytes=16,
    uploaders=("arn:aws:iam::123456789012:root=acme/",),
    landing_days=90,
    landing_bucket="theirs",
    landing_prefixes=("in/",),
    kms_key="arn:aws:kms:eu-central-1:123456789012:key/0a",
    upload_keys=("arn:aws:kms:eu-central-1:210987654321:key/0b",),
    ephemeral=True,
    subnets=("subnet-1",),
    security_groups=("sg-1",),
)
NAMES = list(DEFAULTS)
OFF = frozenset(name for name, default in DEFAULTS.items() if not default)


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
    after = DEPLOYED.model_copy(update={name: getattr(Config(), name)})
    assert found(DEPLOYED, after) == {name: (Kind.DROPPED, value(DEPLOYED, name), value(after, name), True)}


def test_every_setting_that_replaces_another_is_one_that_is_off_by_default() -> None:
    assert REPLACING <= OFF


@given(strategies.sets(strategies.sampled_from(NAMES)))
def test_a_record_of_the_same_choices_differs_in_nothing(forgotten: set[str]) -> None:
    defaults = {name: DEFAULTS[name] for name in forgotten}
    config = DEPLOYED.model_copy(update=defaults)
    assert found(config, config) == {}
    assert set(found(DEPLOYED, config)) == forgotten


@pytest.mark.parametrize("name", [name for name in NAMES if not isinstance(getattr(DEPLOYED, name), bool)])
def test_whatever_is_changed_stops_the_deployment(name: str) -> None:
    """Also if it loses nothing, such as more uploaders or a longer time."""
    after = DEPLOYED.model_copy(update={name: another(getattr(DEPLOYED, name))})
    assert found(DEPLOYED, after) == {name: (Kind.CHANGED, value(DEPLOYED, name), value(after, name), True)}


@pytest.mark.parametrize("name", [name for name in NAMES if name not in OFF])
def test_a_default_that_is_changed_stops_as_any_other_value_does(name: str) -> None:
    after = Config().model_copy(update={name: getattr(DEPLOYED, name)})
    assert found(Config(), after) == {name: (Kind.CHANGED, value(Config(), name), value(after, name), True)}


def another(given: Any) -> Any:
    if isinstance(given, tuple):
        return (*given, "more")
    return given + 1 if isinstance(given, int) else f"{given}1"


@pytest.mark.parametrize("name", sorted(OFF))
def test_what_is_added_is_named_and_stops_only_where_it_takes_the_place_of_something(name: str) -> None:
    after = Config().model_copy(update={name: getattr(DEPLOYED, name)})
    assert found(Config(), after) == {
        name: (Kind.ADDED, value(Config(), name), value(DEPLOYED, name), name in REPLACING)
    }


def test_a_default_that_a_release_changes_stops_the_deployment() -> None:
    before = replace(choices(Config()), values={**choices(Config()).values, "release": "emr-7.13.0"})
    (only,) = differences(before, choices(Config()))
    assert (only.name, only.kind, only.stops) == ("release", Kind.CHANGED, True)
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
    older = {name: value for name, value in choices(Config()).values.items() if name not in ("attempts", "event_bus")}
    before = Choices(values=older, given=frozenset())
    assert differences(before, choices(Config())) == []
    (only,) = differences(before, choices(Config(event_bus="bus")))
    assert (only.name, only.kind, only.before, only.after) == ("event_bus", Kind.ADDED, None, "bus")


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
