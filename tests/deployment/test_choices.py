"""What is deployed against what is to be deployed: nothing is lost without a word."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given, strategies

from infra.choices import choices
from infra.config import Config
from lakegate.deployment.choices import (
    ADDED,
    CHANGED,
    DROPPED,
    NO_RECORD,
    NOTED,
    RUNTIME,
    Choices,
    Kind,
    differences,
    second,
)

DEPLOYED = Config(
    name="lake",
    nessie_uri="https://nessie.example.com",
    nessie_ca="-----BEGIN CERTIFICATE-----",
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
NAMES = [field.name for field in fields(Config)]
OFF = [field.name for field in fields(Config) if not field.default]


def recorded(config: Config) -> Choices:
    """The choices as they come back from a deployed template."""
    found = Choices.of_template({"Metadata": json.loads(json.dumps(choices(config).to_metadata()))})
    assert found is not None
    return found


def found(before: Config, after: Config) -> dict[str, tuple[Kind, str, bool]]:
    return {it.name: (it.kind, it.means, it.stops) for it in differences(recorded(before), choices(after))}


def test_the_example_gives_every_setting() -> None:
    assert choices(DEPLOYED).given == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_whatever_is_forgotten_stops_the_deployment(name: str) -> None:
    forgotten: dict[str, Any] = {name: getattr(Config(), name)}
    assert found(DEPLOYED, replace(DEPLOYED, **forgotten)) == {name: (Kind.DROPPED, DROPPED.get(name, ""), True)}


@pytest.mark.parametrize("name", OFF)
def test_it_is_said_of_everything_that_is_off_by_default_what_forgetting_it_means(name: str) -> None:
    assert DROPPED[name]


@pytest.mark.parametrize("name", set(CHANGED) - set(OFF))
def test_a_default_that_is_changed_loses_what_any_other_value_does(name: str) -> None:
    assert ADDED[name] == CHANGED[name]


def test_every_sentence_is_of_a_setting() -> None:
    assert {*DROPPED, *CHANGED, *ADDED, *NOTED} <= {*NAMES, RUNTIME}


@given(strategies.sets(strategies.sampled_from(NAMES)))
def test_a_record_of_the_same_choices_differs_in_nothing(forgotten: set[str]) -> None:
    defaults: dict[str, Any] = {field.name: field.default for field in fields(Config) if field.name in forgotten}
    config = replace(DEPLOYED, **defaults)
    assert found(config, config) == {}
    assert set(found(DEPLOYED, config)) == forgotten


@pytest.mark.parametrize(
    "change",
    [
        {"nessie_uri": "https://other.example.com"},
        {"warehouse": "other"},
        {"token_audience": "other"},
        {"token_issuer": "https://other.example.com"},
        {"token_endpoint": "https://other.example.com/token"},
        {"token_claim": "cid"},
        {"token_clients": ("spark=c2:oidc/spark",)},
        {"catalog_host": "other.example.com"},
        {"vpc": "create"},
        {"azs": ("eu-central-1a", "eu-central-1c")},
        {"landing_days": 60},
        {"landing_bucket": "another"},
        {"landing_prefixes": ("in/shop/",)},
        {"kms_key": "create"},
        {"upload_keys": ("arn:aws:kms:eu-central-1:210987654321:key/0c",)},
        {"uploaders": ("arn:aws:iam::123456789012:root=other/",)},
    ],
)
def test_a_change_that_loses_something_stops_the_deployment(change: dict[str, Any]) -> None:
    ((name, difference),) = found(DEPLOYED, replace(DEPLOYED, **change)).items()
    assert difference == (Kind.CHANGED, CHANGED[name], True)


@pytest.mark.parametrize(
    "change",
    [
        {"slack_channel": "C1"},
        {"vcpus": 128},
        {"landing_days": 120},
        {"landing_prefixes": ("in/", "out/")},
        {"uploaders": (*DEPLOYED.uploaders, "arn:aws:iam::123456789012:role/b")},
    ],
)
def test_a_change_that_loses_nothing_does_not(change: dict[str, Any]) -> None:
    (difference,) = found(DEPLOYED, replace(DEPLOYED, **change)).values()
    assert difference == (Kind.CHANGED, "", False)


@pytest.mark.parametrize("given", [DEPLOYED, replace(DEPLOYED, release=Config.release)])
def test_an_image_is_changed_with_the_release(given: Config) -> None:
    kind = Kind.CHANGED if given is DEPLOYED else Kind.ADDED
    after = replace(given, release="emr-7.11.0")
    assert found(given, after) == {"release": (kind, CHANGED["release"], True)}
    assert not any(stops for *_, stops in found(given, replace(after, image=f"{after.image}1")).values())
    without, later = replace(given, image=""), replace(after, image="")
    assert found(without, later) == {"release": (kind, NOTED["release"], False)}


def test_an_image_stops_a_release_of_lakegate_whose_default_has_another_spark() -> None:
    before = replace(DEPLOYED, release=Config.release)
    older = replace(choices(before), values={**choices(before).values, "release": "emr-7.13.0"})
    (only,) = differences(older, choices(before))
    assert (only.name, only.means, only.stops) == ("release", CHANGED["release"], True)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_added_stops_where_a_sentence_says_why(name: str) -> None:
    (difference,) = found(Config(), replace(Config(), **{name: getattr(DEPLOYED, name)})).values()
    stops = name in ADDED and name != "release"  # which loses something only beside an image
    assert difference == (Kind.ADDED, ADDED[name] if stops else NOTED.get(name, ""), stops)


def test_a_default_that_a_release_changes_is_a_change() -> None:
    before = replace(choices(Config()), values={**choices(Config()).values, "release": "emr-7.13.0"})
    (only,) = differences(before, choices(Config()))
    assert (only.name, only.kind, only.before) == ("release", Kind.CHANGED, "emr-7.13.0")
    assert (only.after, only.means, only.stops) == ("emr-spark-8.1.0", NOTED["release"], False)


def test_a_setting_that_a_release_no_longer_has_is_named() -> None:
    before = choices(Config())
    before = Choices(values={**before.values, "old": "x"}, given=frozenset({"old"}))
    (only,) = differences(before, choices(Config()))
    assert (only.name, only.kind, only.stops) == ("old", Kind.DROPPED, True)


def test_a_setting_that_is_new_in_a_release_loses_nothing() -> None:
    values = {name: value for name, value in choices(Config()).values.items() if name != "attempts"}
    (only,) = differences(Choices(values=values, given=frozenset()), choices(Config()))
    assert (only.name, only.stops) == ("attempts", False)


@pytest.mark.parametrize(
    ("chosen", "told"),
    [
        ("arm64", {"runtime": ("python3.11", "python3.13"), "architecture": ("x86_64", "arm64")}),
        ("x86_64", {"runtime": ("python3.11", "python3.13")}),
    ],
)
def test_other_functions_than_those_of_an_older_release_are_told_and_stop_nothing(
    chosen: str, told: dict[str, tuple[str, str]]
) -> None:
    older, new = choices(DEPLOYED), NOTED.keys() - {"release"}
    values = {name: value for name, value in older.values.items() if name not in new}
    before = Choices(values=values, given=older.given - new)
    changed = differences(before, choices(replace(DEPLOYED, architecture=chosen)))
    assert {it.name: (it.before, it.after) for it in changed} == told
    assert {(it.means, it.stops) for it in changed} == {(NOTED[name], False) for name in told}


def test_a_stack_without_a_record_stops_once() -> None:
    assert Choices.of_template({"Resources": {}}) is None
    (only,) = differences(None, choices(DEPLOYED))
    assert (only.name, only.stops) == (NO_RECORD, True)


def test_a_forgotten_name_would_make_a_second_installation() -> None:
    (only,) = second("lakegate", ["lake"])
    assert (only.name, only.before, only.after, only.stops) == ("name", "lake", "lakegate", True)
    assert second("lakegate", []) == []
