"""The preflight names each fault of an account, asked of an emulator, and the command that mends it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from lakegate_local.slack_server import SlackStandIn

from infra.choices import choices
from infra.config import Config
from lakegate.adapters.account import ECS_ROLE
from lakegate.adapters.images import LISTS
from lakegate.adapters.site import Site
from lakegate.cli.preflight import Preflight
from lakegate.clients import OF_THE_SERVICE
from lakegate.doctor.finding import Finding, Verdict
from lakegate.doctor.preflight import ADDRESSES, BOOTSTRAP, NETWORKS
from lakegate.doctor.zones import choose
from tests.infra.conftest import CATALOG
from tests.support.aws_account import TRUST, AwsAccount, account
from tests.support.federation import ISSUER
from tests.support.image_registry import Registry, registry_and_client, variants
from tests.support.issuer import AUDIENCE_OF_CLIENTS, CLIENT, TOKENS, Issuer, issuing
from tests.support.wsgi import serving

HOST, REGION = "nessie.lake.example.com", "us-east-1"
CHANNEL, TOKEN = "C0123456789", "xoxb-test"
TOPIC = "arn:aws:sns:us-east-1:123456789012:lake"


@pytest.fixture
def aws(monkeypatch: pytest.MonkeyPatch) -> Iterator[AwsAccount]:
    with account(monkeypatch, REGION) as made:
        yield made


@pytest.fixture
def slack(tmp_path: Path) -> SlackStandIn:
    return SlackStandIn(token=TOKEN, file=tmp_path / "slack.jsonl", members={CHANNEL: True, "C0OTHER0000": False})


@pytest.fixture
def address(slack: SlackStandIn) -> Iterator[str]:
    with serving(slack) as address:
        yield address


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    with registry_and_client(tmp_path) as (registry, images):
        monkeypatch.setattr("lakegate.adapters.site.Images", lambda: images)
        yield registry


@pytest.fixture
def settings(aws: AwsAccount, address: str, registry: Registry) -> dict[str, Any]:
    """Those of an installation with all that an account has to have, in an account that has it."""
    zone = boto3.client("route53").create_hosted_zone(Name="lake.example.com", CallerReference="1")["HostedZone"]
    boto3.client("secretsmanager").create_secret(Name="lakegate/slack", SecretString=f"{TOKEN} {address}/api/")
    boto3.client("sns").create_topic(Name="lake")
    aws.asked.clear()
    return CATALOG | {
        "nessie_uri": f"https://{HOST}",
        "catalog_image": registry.image + registry.digest,
        "catalog_certificate": zone["Id"].rpartition("/")[2],
        "network_zones": choose(Site().zones().values(), REGION),
        "token_issuer": ISSUER,
        "token_audience": "lakegate",
        "slack_secret": "lakegate/slack",
        "slack_channel": CHANNEL,
        "alarm_topic": TOPIC,
    }


def findings(settings: dict[str, Any], deployed_zones: tuple[str, ...] | None = None) -> dict[str, Finding]:
    """Return the findings by their subjects. Whatever is not ok says what to do."""
    config = Config(**settings)
    preflight = Preflight.by(choices(config).values, {}, addresses=1, deployed_zones=deployed_zones)
    found = preflight.findings()
    assert all((it.verdict is Verdict.OK) == (not it.todo) for it in found)
    assert len({it.subject for it in found}) == len(found)
    return {it.subject: it for it in found}


def not_ok(settings: dict[str, Any], **more: Any) -> dict[str, Finding]:
    return {name: it for name, it in findings(settings, **more).items() if it.verdict is not Verdict.OK}


SUBJECTS = {
    "CDK's bucket and roles",
    *("your rights", "zones", NETWORKS, ADDRESSES, "issuer of tokens", "a token of STS", "Nessie's name"),
    "catalog.image",
    *("Slack", "Slack's channel", "alarm topic", "Lambda's calls at once", "vCPUs"),
}
READING = ("Get", "List", "Describe", "Simulate")


def test_an_account_that_has_all_is_well_and_nothing_is_changed_in_it(
    aws: AwsAccount, settings: dict[str, Any], slack: SlackStandIn
) -> None:
    found = findings(settings)
    assert {name: it.verdict for name, it in found.items()} == dict.fromkeys(SUBJECTS, Verdict.OK)
    assert [it for it in aws.asked if not it.partition(":")[2].startswith(READING)] == []
    assert slack.messages == []


def of_settings(**more: Any) -> Callable[[AwsAccount, dict[str, Any]], None]:
    return lambda _, settings: settings.update(more)


def of_account(**more: Any) -> Callable[[AwsAccount, dict[str, Any]], None]:
    return lambda aws, _: vars(aws).update(more)


def of_a_client(service: Any, operation: str, **parameters: Any) -> Callable[[AwsAccount, dict[str, Any]], None]:
    return lambda *_: getattr(boto3.client(service), operation)(**parameters)


def without_issuer(aws: AwsAccount, _: dict[str, Any]) -> None:
    aws.federation.is_on = False


def in_another_zone(_: AwsAccount, settings: dict[str, Any]) -> None:
    zone = boto3.client("route53").create_hosted_zone(Name="other.example.com", CallerReference="2")["HostedZone"]
    settings["catalog_certificate"] = zone["Id"].rpartition("/")[2]


def in_a_private_zone(_: AwsAccount, settings: dict[str, Any]) -> None:
    vpc = boto3.client("ec2").create_vpc(CidrBlock="10.0.0.0/16")["Vpc"]["VpcId"]
    place: Any = {"VPCRegion": REGION, "VPCId": vpc}
    made = boto3.client("route53").create_hosted_zone(
        Name="lake.example.com", CallerReference="3", VPC=place, HostedZoneConfig={"PrivateZone": True}
    )
    settings["catalog_certificate"] = made["HostedZone"]["Id"].rpartition("/")[2]


def of_another_name(_: AwsAccount, settings: dict[str, Any]) -> None:
    arn = boto3.client("acm").request_certificate(DomainName="*.example.com")["CertificateArn"]
    settings["catalog_certificate"] = arn


def certificate_to_be_proved(_: AwsAccount, settings: dict[str, Any]) -> None:
    arn = boto3.client("acm").request_certificate(DomainName="*.lake.example.com")["CertificateArn"]
    settings["catalog_certificate"] = arn


def with_another_token(*_: Any) -> None:
    secrets = boto3.client("secretsmanager")
    text = secrets.get_secret_value(SecretId="lakegate/slack")["SecretString"]
    secrets.put_secret_value(SecretId="lakegate/slack", SecretString=text.replace(TOKEN, "xoxb-other"))


def full(service: str, quota: str) -> Callable[[AwsAccount, dict[str, Any]], None]:
    return lambda aws, _: aws.quotas[service].update({quota: 0.0})


FAULTS: dict[str, tuple[Callable[[AwsAccount, dict[str, Any]], None], str, Verdict, str]] = {
    "a zone without the service": (
        of_settings(network_zones=("use1-az3", "use1-az4")),
        "zones",
        Verdict.WRONG,
        "not in use1-az3.*use1-az1, use1-az2, use1-az4, use1-az5, use1-az6",
    ),
    "zones by names of which one lacks the service": (
        of_settings(network_zones=("us-east-1b", "us-east-1e")),
        "zones",
        Verdict.WRONG,
        "not in use1-az3",
    ),
    "no issuer": (without_issuer, "issuer of tokens", Verdict.WRONG, "aws iam enable-outbound-web-id"),
    "another issuer": (
        of_settings(token_issuer="https://0b.tokens.sts.global.api.aws"),
        "issuer of tokens",
        Verdict.WRONG,
        f'set token.issuer to "{ISSUER}"',
    ),
    "no such zone": (of_settings(catalog_certificate="Z0NONE"), "Nessie's name", Verdict.WRONG, "NoSuchHostedZone"),
    "another domain's zone": (in_another_zone, "Nessie's name", Verdict.WRONG, f"{HOST} is not in other.example.com"),
    "a private zone": (in_a_private_zone, "Nessie's name", Verdict.WRONG, "is a private zone"),
    "a certificate of another name": (of_another_name, "Nessie's certificate", Verdict.WRONG, f"not of {HOST}"),
    "a certificate that is not proved": (
        certificate_to_be_proved,
        "Nessie's certificate",
        Verdict.WRONG,
        "PENDING_VALIDATION.*describe-certificate",
    ),
    "no secret": (of_settings(slack_secret="lakegate/none"), "Slack", Verdict.WRONG, "put-secret-value"),
    "another secret": (with_another_token, "Slack", Verdict.WRONG, "invalid_auth.*put-secret-value"),
    "a channel without the bot": (
        of_settings(slack_channel="C0OTHER0000"),
        "Slack's channel",
        Verdict.WRONG,
        "not in C0OTHER0000.*/invite",
    ),
    "no channel": (of_settings(slack_channel="C0NONE00000"), "Slack's channel", Verdict.WRONG, "channel_not_found"),
    "a channel by its name": (of_settings(slack_channel="#lake"), "Slack's channel", Verdict.UNKNOWN, "doctor --mess"),
    "no topic": (of_settings(alarm_topic=f"{TOPIC}-too"), "alarm topic", Verdict.WRONG, "aws sns create-topic"),
    "no room for a VPC": (full("vpc", NETWORKS), NETWORKS, Verdict.WRONG, "request-service-quota-increase .* vpc"),
    "no room for an address": (full("ec2", ADDRESSES), ADDRESSES, Verdict.WRONG, "has 0 of 0.*1 more"),
    "a new account's calls": (of_account(calls=10), "Lambda's calls at once", Verdict.UNKNOWN, "L-B99A9384"),
    "too few vCPUs": (of_settings(spark_vcpus=32), "vCPUs", Verdict.WRONG, "may use 32, and the account has 16"),
    "a right too few": (
        of_account(denied={"sts:AssumeRole"}),
        "your rights",
        Verdict.WRONG,
        "may not sts:AssumeRole.*upgrading.md#rights",
    ),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_each_fault_is_said_alone_and_with_what_to_run(aws: AwsAccount, settings: dict[str, Any], fault: str) -> None:
    break_it, subject, verdict, words = FAULTS[fault]
    break_it(aws, settings)
    found = not_ok(settings)
    assert {name: it.verdict for name, it in found.items()} == {subject: verdict}
    assert re.search(words, f"{found[subject].said} → {found[subject].todo}")


UNASKED = {
    "iam:SimulatePrincipalPolicy": "your rights",
    "ec2:DescribeVpcs": NETWORKS,
    "ec2:DescribeAddresses": ADDRESSES,
    "iam:GetOutboundWebIdentityFederationInfo": "issuer of tokens",
    "sts:GetWebIdentityToken": "a token of STS",
    "route53:GetHostedZone": "Nessie's name",
    "iam:GetRole": "your rights",
    "secretsmanager:GetSecretValue": "Slack",
    "sns:GetTopicAttributes": "alarm topic",
    "lambda:GetAccountSettings": "Lambda's calls at once",
}


@pytest.mark.parametrize("operation", UNASKED)
def test_what_the_caller_may_not_ask_for_is_unknown_and_not_ok(
    aws: AwsAccount, settings: dict[str, Any], operation: str
) -> None:
    aws.unasked.add(operation)
    found = not_ok(settings)
    assert found[UNASKED[operation]].verdict is Verdict.UNKNOWN
    assert "AccessDenied" in found[UNASKED[operation]].said
    assert Verdict.WRONG not in {it.verdict for it in found.values()}


@pytest.mark.parametrize(
    ("body", "status", "verdict", "words"),
    [
        (variants("linux/amd64"), 200, Verdict.WRONG, "is for linux/amd64, and not for linux/arm64"),
        (b'{"mediaType": "of one variant"}', 200, Verdict.UNKNOWN, "does not say its platform"),
        (variants("linux/arm64"), 404, Verdict.WRONG, "404"),
        (variants("linux/arm64"), 503, Verdict.UNKNOWN, "503"),
    ],
)
def test_an_image_has_to_be_there_for_the_processor_that_runs_it(
    settings: dict[str, Any], registry: Registry, body: bytes, status: int, verdict: Verdict, words: str
) -> None:
    registry.body, registry.status = body, status
    settings["catalog_image"] = registry.image + registry.digest
    found = not_ok(settings)
    assert {name: it.verdict for name, it in found.items()} == {"catalog.image": verdict}
    assert words in found["catalog.image"].said


def test_an_image_of_ecr_is_looked_for_there(settings: dict[str, Any]) -> None:
    ecr, place = boto3.client("ecr"), "123456789012.dkr.ecr.us-east-1.amazonaws.com"
    ecr.create_repository(repositoryName="nessie")
    body = variants("linux/amd64", "linux/arm64").decode()
    ecr.put_image(repositoryName="nessie", imageManifest=body, imageManifestMediaType=LISTS[0], imageTag="1")
    (made,) = ecr.describe_images(repositoryName="nessie")["imageDetails"]
    settings["catalog_image"] = f"{place}/nessie:1@{made['imageDigest']}"
    assert not_ok(settings) == {}
    settings["catalog_image"] = f"{place}/nessie:1@sha256:{'0' * 64}"
    assert "there is no image" in not_ok(settings)["catalog.image"].said


def test_an_account_that_never_used_ecs_asks_for_the_right_to_make_its_role(
    aws: AwsAccount, settings: dict[str, Any]
) -> None:
    aws.denied = {"iam:CreateServiceLinkedRole"}
    assert not_ok(settings) == {}
    boto3.client("iam").delete_role(RoleName=ECS_ROLE)
    assert "may not iam:CreateServiceLinkedRole" in not_ok(settings)["your rights"].said


@pytest.mark.usefixtures("aws")
def test_a_session_may_what_its_role_may_and_root_all() -> None:
    role = boto3.client("iam").create_role(RoleName="deployer", Path="/teams/", AssumeRolePolicyDocument=TRUST)["Role"]
    session = boto3.client("sts").assume_role(RoleArn=role["Arn"], RoleSessionName="me")["Credentials"]
    keys = {"aws_access_key_id": session["AccessKeyId"], "aws_secret_access_key": session["SecretAccessKey"]}
    site = Site(lambda service: boto3.client(service, aws_session_token=session["SessionToken"], **keys))  # type: ignore[call-overload]
    assert site.caller == role["Arn"] == "arn:aws:iam::123456789012:role/teams/deployer"
    site.caller = "arn:aws:iam::123456789012:root"
    assert site.denials({"*": ["iam:CreateRole"]}) == []


def test_each_client_of_an_oidc_issuer_is_asked_for_a_token(aws: AwsAccount, settings: dict[str, Any]) -> None:
    with issuing(Issuer()) as issuer:
        names = {role: f"lakegate/{role}" for role in OF_THE_SERVICE}
        for role, name in names.items():
            boto3.client("secretsmanager").create_secret(Name=name, SecretString=issuer.passwords[role])
        clients = tuple(f"{role}={CLIENT.format(role)}:{name}" for role, name in names.items())
        more = {"token_endpoint": "https://issuer.example.com/token", "token_clients": clients, "token_claim": "azp"}
        config = Config(**settings | {**more, "token_audience": AUDIENCE_OF_CLIENTS}).model_copy(
            update={"token_endpoint": f"{issuer.uri}{TOKENS}"}
        )
        preflight = Preflight.by(choices(config).values, {}, addresses=1, deployed_zones=None)
        assert {it.verdict for it in preflight.clients()} == {Verdict.OK}
        issuer.known[OF_THE_SERVICE[0]] = "another"
        verdicts = [it.verdict for it in preflight.clients()]
        assert sorted(verdicts) == [*[Verdict.OK] * 3, Verdict.WRONG]
        aws.unasked.add("secretsmanager:GetSecretValue")
        assert {it.verdict for it in preflight.clients()} == {Verdict.UNKNOWN}


def test_what_a_deployment_makes_itself_is_not_missed(aws: AwsAccount, settings: dict[str, Any]) -> None:
    aws.federation.is_on = False
    found = not_ok(settings | {"catalog_certificate": "", "token_issuer": ""})
    assert {name: it.verdict for name, it in found.items()} == {"issuer of tokens": Verdict.UNKNOWN}
    assert "--accept federation" in found["issuer of tokens"].todo


def test_an_account_that_cdk_never_used_asks_for_the_rights_to_bootstrap_it(
    aws: AwsAccount, settings: dict[str, Any]
) -> None:
    boto3.client("ssm").delete_parameter(Name=BOOTSTRAP)
    aws.denied = {"sts:AssumeRole", "iam:CreateRole"}
    found = not_ok(settings)
    assert "may not iam:CreateRole" in found["your rights"].said
    assert "--accept bootstrap" in found["CDK's bucket and roles"].todo


def test_an_authority_that_is_to_be_made_asks_for_the_rights_to_keep_it(
    aws: AwsAccount, settings: dict[str, Any]
) -> None:
    aws.denied = {"acm:ImportCertificate", "secretsmanager:CreateSecret"}
    assert not_ok(settings) == {}
    found = not_ok(settings | {"catalog_certificate": ""})
    assert "may not secretsmanager:CreateSecret, acm:ImportCertificate" in found["your rights"].said


def test_a_network_that_is_there_takes_no_more_room_and_stays_in_its_zones(
    aws: AwsAccount, settings: dict[str, Any]
) -> None:
    aws.quotas["vpc"][NETWORKS] = 0.0
    assert not_ok(settings, deployed_zones=settings["network_zones"]) == {}
    assert "zones" not in findings(settings | {"network_zones": ()}, deployed_zones=())
    found = not_ok(settings, deployed_zones=("use1-az5", "use1-az6"))
    assert found["zones"].verdict is Verdict.WRONG
    assert "['use1-az5', 'use1-az6']" in found["zones"].todo


@pytest.mark.usefixtures("aws")
def test_the_zones_that_are_chosen_have_the_service_and_are_the_same_each_time() -> None:
    assert "use1-az3" in Site().zones().values()
    assert (
        choose(Site().zones().values(), REGION)
        == choose(reversed(Site().zones().values()), REGION)
        == ("use1-az1", "use1-az2")
    )
