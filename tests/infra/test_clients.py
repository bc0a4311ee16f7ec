"""An installation whose catalog knows clients of an OIDC issuer: each role may read its own client's secret alone."""

from __future__ import annotations

import re
from typing import Any

import pytest

from lakegate.access import Role, nessie_settings
from lakegate.audit.model.client import Client
from lakegate.clients import ids_by_role
from lakegate.settings import PREFIX, Settings
from tests.infra.conftest import CATALOG, CONTEXT, synthesised
from tests.infra.template import Stack, flat
from tests.support.iam import listed

pytestmark = pytest.mark.synth
ENDPOINT = "https://issuer.example.com/realms/lake/protocol/openid-connect/token"
CLIENTS = [*(f"{role}=client-{role}:oidc/{role}" for role in Role), "reader=bi"]
CHOSEN: dict[str, Any] = CATALOG | {
    **{name: CONTEXT[name] for name in ("slack_secret", "slack_channel", "alarm_canary_hours")},
    "token_audience": "",
    "token_issuer": "https://issuer.example.com/realms/lake",
    "token_endpoint": ENDPOINT,
    "token_scope": "catalog",
    "token_claim": "azp",
    "token_clients": CLIENTS,
    "spark_timeout_minutes": 120,
    "kms_key": "create",
}
PARTS = {
    "IngestRole": Role.INGEST,
    "SettleRole": Role.PUBLISH,
    "ReconcileRole": Role.PUBLISH,
    "ActRole": Role.PUBLISH,
    "ReadRole": Role.OBSERVER,
    "SparkRole": Role.SPARK,
}
TOLD_OF_SLACK = ("IngestRole", "SettleRole", "ReconcileRole", "ActRole")
LAMBDA = "AWS::Lambda::Function"


@pytest.fixture(scope="module")
def stack(tmp_path_factory: pytest.TempPathFactory) -> Stack:
    return synthesised(CHOSEN, tmp_path_factory.mktemp("clients"))


def settings_of(stack: Stack, function: str) -> Settings:
    environment = stack.one(LAMBDA, f"{function}Function")["Environment"]["Variables"]
    return Settings.from_env({name: flat(value) for name, value in environment.items()})


def secret(name: str) -> str:
    return f"arn:<AWS::Partition>:secretsmanager:<AWS::Region>:<AWS::AccountId>:secret:{name}-??????"


@pytest.mark.parametrize(("role", "part"), PARTS.items())
def test_each_role_reads_its_own_client_s_secret_and_no_other_s(stack: Stack, role: str, part: Role) -> None:
    found = {right for right in stack.rights(role) if right[0].startswith("secretsmanager:")}
    names = [f"oidc/{part}", *(["lakegate/slack"] if role in TOLD_OF_SLACK else [])]
    assert found == {("secretsmanager:GetSecretValue", secret(name)) for name in names}


@pytest.mark.parametrize(("role", "part"), PARTS.items())
def test_a_role_decrypts_the_secrets_that_it_reads_and_no_others(stack: Stack, role: str, part: Role) -> None:
    likes = [each.get("Condition", {}).get("StringLike", {}) for each in stack.statements(role)]
    arns = {flat(arn) for like in likes for arn in listed(like.get("kms:EncryptionContext:SecretARN", []))}
    names = [f"oidc/{part}", *(["lakegate/slack"] if role in TOLD_OF_SLACK else [])]
    assert arns == {secret(name) for name in names}


def test_nobody_reads_a_reader_s_secret_and_nobody_asks_sts(stack: Stack) -> None:
    for role in stack.resources("AWS::IAM::Role"):
        assert secret("oidc/reader") not in {resource for _, resource in stack.rights(role)}
        assert "sts:GetWebIdentityToken" not in {action for action, _ in stack.rights(role)}
        assert "lakegate" not in {tag["Key"] for tag in stack.one("AWS::IAM::Role", role).get("Tags", [])}


@pytest.mark.parametrize(
    ("function", "part"), [(role.removesuffix("Role"), part) for role, part in PARTS.items() if role != "SparkRole"]
)
def test_a_function_knows_its_own_client_and_the_job_s(stack: Stack, function: str, part: Role) -> None:
    settings = settings_of(stack, function)
    assert settings.role == part
    assert set(settings.token_clients.split(",")) == {f"{each}=client-{each}:oidc/{each}" for each in (part, "spark")}
    assert settings.client(part) == Client(
        id=f"client-{part}", secret=f"oidc/{part}", endpoint=ENDPOINT, scope="catalog"
    )


def test_the_canary_has_no_identity(stack: Stack) -> None:
    assert not settings_of(stack, "Canary").has_identity


def test_a_person_s_command_line_finds_the_clients_of_people(stack: Stack) -> None:
    outputs = {name: flat(body["Value"]) for name, body in stack.template["Outputs"].items()}
    settings = Settings.from_outputs(outputs)
    assert settings.role == ""
    for role in (Role.OBSERVER, Role.READER):
        client = settings.client(role)
        assert client
        assert (client.id, client.secret) == (f"client-{role}", f"oidc/{role}")


def test_nessie_trusts_the_issuer_and_knows_each_role_s_clients(stack: Stack) -> None:
    (container,) = stack.one("AWS::ECS::TaskDefinition", "ServerTask")["ContainerDefinitions"]
    told = {each["Name"]: flat(each["Value"]) for each in container["Environment"]}
    expected = nessie_settings(CHOSEN["token_issuer"], "", "azp", ids_by_role(CLIENTS))
    assert told.items() >= expected.items()
    assert "'bi' in roles" in expected["nessie.server.authorization.rules.read-main"]
    assert "quarkus.oidc.token.audience" not in told


def test_the_largest_environment_of_a_function_leaves_room(stack: Stack) -> None:
    """A generated name or id is shorter than what is written here for it, so this is no less than Lambda counts."""
    environment = stack.one(LAMBDA, "ActFunction")["Environment"]["Variables"]
    sizes = [len(name) + len(re.sub(r"<[^>]+>", "x" * 24, flat(value))) for name, value in environment.items()]
    assert sum(sizes) < 4096 - 512 - 512
    assert PREFIX + "TOKEN_CLIENTS" in environment
