"""Tests of which installation the command line talks to: the profile file, the stack's outputs, and what is said
without any.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path

import boto3
import pytest
from moto import mock_aws

from lakegate.adapters.function_urls import FunctionUrls
from lakegate.adapters.http import IdentifiedAdapter, TimeoutAdapter
from lakegate.cli import profile
from lakegate.errors import Misconfigured, Retryable
from lakegate.home import Home
from lakegate.operations.operation import Direct
from lakegate.operations.remote import Remote
from lakegate.settings import OPTION, adopt, choose_installation
from lakegate.workflow.service import Service

OUTPUTS = {
    "LandingBucket": "landing",
    "LakeBucket": "lake",
    "ServiceBucket": "service",
    "NessieUri": "http://127.0.0.1:1",
    "Warehouse": "lake",
    "ApplicationId": "app",
    "JobRoleArn": "arn:aws:iam::123456789012:role/job",
    "JobEntryPoint": "s3://x/append_and_audit.py",
    "JobPyFiles": "s3://x/lakegate.zip",
    "JobJars": "s3://x/a.jar",
    "ReconcileFunction": "reconcile",
}


@pytest.fixture(autouse=True)
def aws(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Path]:
    """AWS in memory, and a working directory without a profile file."""
    monkeypatch.chdir(tmp_path)
    for name in ("AWS_ENDPOINT_URL", "LAKEGATE_INSTALLATION", "LAKEGATE_ENV_FILE", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {
        "AWS_ACCESS_KEY_ID": "k",
        "AWS_SECRET_ACCESS_KEY": "s",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    with mock_aws():
        yield tmp_path


def deploy(name: str = "lakegate", **other: str | None) -> None:
    outputs = {key: {"Value": value} for key, value in {**OUTPUTS, **other}.items() if value is not None}
    resources = {"Bucket": {"Type": "AWS::S3::Bucket"}}
    template = json.dumps({"Resources": resources, "Outputs": outputs})
    boto3.client("cloudformation").create_stack(StackName=name, TemplateBody=template)


def connected() -> Service:
    operations = profile.connect().operations
    assert isinstance(operations, Direct)
    return operations.service


def test_the_installation_is_what_the_stack_says() -> None:
    deploy()
    service = connected()
    assert (service.catalog.uri, service.catalog.warehouse) == ("http://127.0.0.1:1", "lake")
    assert service.store.uri("x") == "s3://service/x"


URLS = {
    "ReadUrl": "https://r.lambda-url.us-east-1.on.aws/",
    "ActUrl": "https://a.lambda-url.us-east-1.on.aws/",
    "ReadPolicy": "arn:aws:iam::123456789012:policy/read",
    "ActPolicy": "arn:aws:iam::123456789012:policy/act",
}


def test_operations_are_the_installation_s_own_if_the_stack_names_its_functions() -> None:
    deploy(**URLS)
    operations = profile.connect().operations
    assert isinstance(operations, Remote)
    assert operations.functions == FunctionUrls(
        read=URLS["ReadUrl"],
        act=URLS["ActUrl"],
        read_policy=URLS["ReadPolicy"],
        act_policy=URLS["ActPolicy"],
    )


def test_a_person_without_a_name_is_told_by_number(monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container whose user is in no list of users."""

    def nobody() -> str:
        raise KeyError("getpwuid(): uid not found")

    monkeypatch.setattr("getpass.getuser", nobody)
    assert profile.person() == f"user {os.getuid()}"


def test_rows_are_read_with_the_identity_that_the_stack_asks_for(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy()
    assert type(profile.connect().lake._http) is TimeoutAdapter  # type: ignore[attr-defined]
    deploy("identified", TokenAudience="lake")
    monkeypatch.setenv("LAKEGATE_INSTALLATION", "identified")
    assert type(profile.connect().lake._http) is IdentifiedAdapter  # type: ignore[attr-defined]


def test_rows_are_read_as_the_client_of_the_role_that_a_person_chooses(monkeypatch: pytest.MonkeyPatch) -> None:
    clients = "spark=job:oidc/spark,observer=look:oidc/observer,reader=bi,reader=read:oidc/reader"
    deploy(TokenEndpoint="https://issuer.example.com/token", TokenClients=clients)
    for role, client in (("", "look"), ("reader", "read")):
        monkeypatch.setenv("LAKEGATE_ROLE", role)
        assert profile.connect().lake._http._tokens._client.id == client  # type: ignore[attr-defined]
    monkeypatch.setenv("LAKEGATE_ROLE", "publish")
    with pytest.raises(Misconfigured, match="token_clients has no client with a secret for the role publish"):
        profile.connect()


def test_the_profile_file_names_the_stack(aws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy("other")
    monkeypatch.setenv("LAKEGATE_INSTALLATION", "lakegate")  # put back afterwards, whatever the file sets
    for name in ("AWS_SESSION_TOKEN", "AWS_PROFILE"):
        monkeypatch.setenv(name, "of this shell")
    (aws / ".lakegate.env").write_text("LAKEGATE_INSTALLATION=other\nAWS_ACCESS_KEY_ID=k\nAWS_SECRET_ACCESS_KEY=s\n")
    assert connected().catalog.uri == "http://127.0.0.1:1"
    assert not os.environ.keys() & {"AWS_SESSION_TOKEN", "AWS_PROFILE"}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("AWS_CONFIG_FILE=aws.cfg\nAWS_PROFILE=x\n", "AWS_CONFIG_FILE"),
        ("PATH=/tmp\n", "PATH"),
        ("AWS_ENDPOINT_URL=http://elsewhere\n", "credentials"),
        ("AWS_ENDPOINT_URL=http://elsewhere\nAWS_ACCESS_KEY_ID=\nAWS_SECRET_ACCESS_KEY=\n", "credentials"),
        ("AWS_ENDPOINT_URL=http://elsewhere\nAWS_ACCESS_KEY_ID=k\n", "credentials"),
        ("AWS_ENDPOINT_URL=http://elsewhere\nAWS_PROFILE=mine\n", "credentials"),
    ],
)
def test_a_profile_file_that_came_with_a_folder_runs_nothing_and_is_sent_nothing(
    aws: Path, text: str, says: str
) -> None:
    (aws / ".lakegate.env").write_text(text)
    before = dict(os.environ)
    with pytest.raises(Misconfigured, match=says):
        profile.connect()
    assert dict(os.environ) == before


def test_a_profile_file_that_is_named_and_gone_means_no_other_installation(
    aws: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy()
    monkeypatch.setenv("LAKEGATE_ENV_FILE", str(aws / "gone.env"))
    with pytest.raises(Misconfigured, match="lakegate local up"):
        profile.connect()


@pytest.mark.parametrize("said_in", ["environment", "file"])
def test_aws_region_says_where_the_stack_is(aws: Path, monkeypatch: pytest.MonkeyPatch, said_in: str) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-west-1")
    deploy()
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    if said_in == "file":
        monkeypatch.setenv("AWS_REGION", "us-west-2")
        monkeypatch.setenv("AWS_DEFAULT_REGION", "us-west-2")  # of this shell: the file goes before it
        (aws / ".lakegate.env").write_text("AWS_REGION=eu-west-1\n")
    else:
        monkeypatch.delenv("AWS_DEFAULT_REGION")
    assert connected().store.uri("x") == "s3://service/x"


def test_a_profile_that_the_file_names_has_its_own_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "put back afterwards")
    monkeypatch.setenv("AWS_REGION", "us-west-2")
    adopt({"AWS_PROFILE": "mine"})
    assert os.environ.get("AWS_REGION") is None


def test_where_both_names_say_a_region_it_is_the_one_that_boto3_knows(monkeypatch: pytest.MonkeyPatch) -> None:
    deploy()
    monkeypatch.setenv("AWS_REGION", "eu-west-1")
    assert connected().store.uri("x") == "s3://service/x"


def test_without_a_stack_a_person_is_told_what_to_do() -> None:
    with pytest.raises(Retryable, match="lakegate local up"):
        profile.connect()


def test_a_stack_that_lacks_outputs_is_named_with_all_of_them() -> None:
    deploy(LandingBucket=None, NessieUri=None)
    with pytest.raises(Misconfigured, match=r"LANDING_BUCKET.*NESSIE_URI"):
        profile.connect()


def test_an_endpoint_that_does_not_answer_is_unreachable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(Retryable, match="lakegate local up"):
        profile.outputs("lakegate")


def test_a_function_that_is_not_there_is_misconfigured() -> None:
    with pytest.raises(Misconfigured, match="the function nothing"):
        profile.invoke("nothing")
    with pytest.raises(Misconfigured, match="deploy it again"):
        profile.invoke("")


@pytest.fixture
def local_cloud(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An installed lakegate, whose local cloud is up."""
    root = tmp_path / "cache/lakegate"
    root.mkdir(parents=True)
    monkeypatch.setattr(profile, "home", lambda: Home(root=root, is_checkout=False))
    (root / ".lakegate.env").write_text("LAKEGATE_INSTALLATION=local\n")
    monkeypatch.setenv("LAKEGATE_INSTALLATION", "")
    monkeypatch.delenv("AWS_ACCESS_KEY_ID")
    return root / ".lakegate.env"


def loaded() -> str:
    profile.load_profile()
    return os.environ.get("LAKEGATE_INSTALLATION", "")


def test_an_installed_lakegate_finds_its_local_cloud_from_any_folder(local_cloud: Path) -> None:
    assert local_cloud.exists()
    assert loaded() == "local"


@pytest.mark.parametrize("name", ["AWS_PROFILE", "AWS_ENDPOINT_URL", "AWS_ACCESS_KEY_ID", "LAKEGATE_INSTALLATION"])
def test_a_local_cloud_does_not_go_before_an_installation_that_is_chosen(
    local_cloud: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    assert local_cloud.exists()
    monkeypatch.setenv(name, "chosen")
    assert loaded() != "local"


def test_a_local_cloud_does_not_go_before_a_profile_file_that_is_here(local_cloud: Path) -> None:
    assert local_cloud.exists()
    Path(profile.PROFILE_NAME).write_text("LAKEGATE_INSTALLATION=here\n")
    assert loaded() == "here"


def test_an_installation_that_is_named_goes_before_the_profile_file(aws: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(OPTION, "")  # put back afterwards
    monkeypatch.setenv("LAKEGATE_INSTALLATION", "of this shell")
    deploy("named")
    (aws / ".lakegate.env").write_text("LAKEGATE_INSTALLATION=other\nAWS_ACCESS_KEY_ID=k\nAWS_SECRET_ACCESS_KEY=s\n")
    with pytest.raises(Retryable, match="'other'"):
        profile.connect()
    choose_installation("named")
    for _ in range(2):  # the dashboard connects for each session
        assert connected().catalog.uri == "http://127.0.0.1:1"


@pytest.mark.parametrize(("text", "name"), [("name = 'named'\n", "named"), ("", "lakegate")])
def test_a_settings_file_names_the_installation_that_it_deploys(aws: Path, text: str, name: str) -> None:
    (aws / "prod.toml").write_text(text)
    assert profile.name_of("prod.toml") == name


@pytest.mark.parametrize("text", [None, "name = ", "\0", "name"])
def test_a_settings_file_that_cannot_be_read_names_no_installation(aws: Path, text: str | None) -> None:
    if text is not None:
        (aws / "prod.toml").write_text(text)
    with pytest.raises(Misconfigured, match=r"prod\.toml cannot be read"):
        profile.name_of("prod.toml")


def test_the_variable_of_earlier_releases_is_refused_and_reaches_no_other_installation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    deploy()
    monkeypatch.setenv("LAKEGATE_STACK", "test")
    with pytest.raises(Misconfigured, match="--installation test"):
        profile.connect()


def test_a_profile_file_of_an_earlier_release_is_refused_with_its_new_line(aws: Path) -> None:
    (aws / ".lakegate.env").write_text("LAKEGATE_STACK=test\n")
    with pytest.raises(Misconfigured, match="LAKEGATE_INSTALLATION=test"):
        profile.connect()
