"""Choices about the catalog: a stack of ours, or a Nessie that an installation brings, and never a half of each."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from infra.config import Config, setting_name
from infra.settings_file import SettingsFile
from tests.infra.test_config import faults_of
from tests.support.settings import settings_text

MANUAL = Path(__file__).parents[2] / "docs/how-to/identities.md"
DIGEST = "0123456789abcdef" * 4
STACK: dict[str, Any] = {
    "nessie_uri": "https://nessie.example.com",
    "token_audience": "lakegate",
    "token_issuer": "https://0123.tokens.sts.global.api.aws",
    "catalog_image": f"quay.io/projectnessie/nessie@sha256:{DIGEST}",
    "catalog_certificate": "Z0123456789",
    "network_vpc": "create",
}
NETWORK: dict[str, Any] = {
    "network_vpc": "vpc-0a1b",
    "network_subnets": ("subnet-0a", "subnet-0b"),
    "network_zones": ("eu-west-1a", "eu-west-1b"),
}
CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"network_zones": ("eu-west-1a", "eu-west-1b")},
        {"catalog_size": "prod"},
        {"catalog_certificate": CERTIFICATE},
        {"nessie_uri": "https://nessie.example.com/"},
        {"catalog_image": f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/quay/nessie:0.99.0@sha256:{DIGEST}"},
        {"catalog_image": f"registry.example.com:5000/nessie@sha256:{DIGEST}"},
        {"network_vpc": "10.20.0.0/16", "spark_vcpus": 1000},
        {"network_vpc": "192.168.255.0/24", "spark_vcpus": 68},
        NETWORK,
        NETWORK | {"network_security_groups": ("sg-0a",)},
    ],
)
def test_a_catalog_stack_needs_no_more_than_this(more: dict[str, Any]) -> None:
    assert Config(**STACK | more).faults("eu-west-1") == []


CLIENTS: dict[str, Any] = {
    "token_audience": "",
    "token_issuer": "https://issuer.example.com/realms/lake",
    "token_endpoint": "https://issuer.example.com/realms/lake/protocol/openid-connect/token",
    "token_claim": "azp",
    "token_clients": tuple(f"{role}=c-{role}:oidc/{role}" for role in ("spark", "ingest", "publish", "observer")),
}


def test_a_catalog_stack_that_trusts_an_oidc_issuer_needs_the_claim_and_no_audience() -> None:
    assert Config(**STACK | CLIENTS).faults("eu-west-1") == []
    assert Config(**STACK | CLIENTS | {"token_audience": "lake"}).faults("eu-west-1") == []
    (fault,) = Config(**STACK | CLIENTS | {"token_claim": ""}).faults()
    assert fault == "token.endpoint needs token.issuer and token.claim for a catalog stack"


def test_a_wrong_endpoint_is_one_that_is_given_for_other_choices() -> None:
    (fault,) = faults_of(STACK | CLIENTS | {"token_endpoint": "http://issuer.example.com/token"})
    assert fault.startswith("token.endpoint is the address at which")


def test_the_manual_s_clients_are_whole(tmp_path: Path) -> None:
    (text, _) = re.findall(r"```toml\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    rest = {name: value for name, value in STACK.items() if not name.startswith("token_")}
    (tmp_path / "dev.toml").write_text(settings_text(**rest) + text)
    assert SettingsFile.read(tmp_path / "dev.toml").config().token_endpoint


@pytest.mark.parametrize("missing", ["token_audience", "network_vpc"])
def test_what_a_catalog_stack_lacks_is_named_beside_the_way_without_one(missing: str) -> None:
    (fault,) = Config(**STACK | {missing: ""}).faults()
    assert fault == f"leave out catalog.image, or give what a catalog stack needs as well: {setting_name(missing)}"


def test_without_an_address_of_nessie_there_is_no_installation() -> None:
    (fault,) = Config().faults()
    assert fault == "give nessie.uri, the address of a Nessie of yours or of the catalog stack"
    (fault,) = Config(**STACK | {"nessie_uri": ""}).faults()
    assert fault.startswith("nessie.uri is https:// and a host's name")


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"catalog_image": "quay.io/projectnessie/nessie"}, "<registry>/<name> with its :<tag> or @sha256:<digest>"),
        ({"catalog_image": f"nessie@sha256:{DIGEST}"}, "<registry>/<name> with its"),
        ({"catalog_image": f"quay.io/projectnessie/nessie@sha256:{DIGEST[1:]}"}, "<registry>/<name> with its"),
        ({"catalog_size": "huge"}, "catalog.size is one of dev, prod"),
        ({"nessie_uri": "https://nessie.example.com:19120"}, "nessie.uri is https:// and a host's name"),
        ({"nessie_uri": "https://nessie.example.com/nessie"}, "nessie.uri is https:// and a host's name"),
        ({"nessie_uri": "https://nessie"}, "nessie.uri is https:// and a host's name"),
        ({"catalog_certificate": "example.com"}, "catalog.certificate is the ARN of a certificate in ACM"),
        ({"catalog_certificate": "01234567"}, "catalog.certificate is the ARN of a certificate in ACM"),
        (
            {"catalog_certificate": CERTIFICATE.replace("eu-west-1", "us-east-1")},
            "a certificate in eu-west-1, the stack's region",
        ),
        ({"token_issuer": "http://issuer.example.com"}, "token.issuer begins with https://"),
        ({"token_issuer": "issuer.example.com"}, "token.issuer is the address of the account's STS issuer"),
        ({"network_vpc": "new"}, "network.vpc is create, a new VPC's private range"),
        ({"network_vpc": "10.20.0.0/15"}, "network.vpc is create, a new VPC's private range"),
        ({"network_vpc": "10.20.0.0/25"}, "(/16 to /24)"),
        ({"network_vpc": "10.20.0.1/16"}, "network.vpc is create, a new VPC's private range"),  # a host's address
        ({"network_vpc": "8.8.0.0/16"}, "network.vpc is create, a new VPC's private range"),
        ({"network_vpc": "172.32.0.0/16"}, "network.vpc is create, a new VPC's private range"),
        ({"network_vpc": "2001:db8::/24"}, "network.vpc is create, a new VPC's private range"),
        ({"network_vpc": "10.20.0.0/24", "spark_vcpus": 70}, "network.vpc has room for 34 workers of Spark"),
        (
            {"network_vpc": "10.20.0.0/24", "network_zones": ("euw1-az1", "euw1-az2", "euw1-az3")},
            "network.vpc has room for 2 workers",
        ),
        ({"network_zones": ("eu-west-1a",)}, "network.zones names two availability zones at least"),
        ({"network_subnets": ("subnet-0a",)}, "= create makes its own"),
        ({"network_security_groups": ("sg-0a",)}, "= create makes its own"),
        ({"network_vpc": "vpc-0a1b"}, "network.vpc needs network.subnets"),
        (NETWORK | {"network_zones": ("eu-west-1a", "eu-west-1b", "eu-west-1c")}, "the subnets' own"),
        (NETWORK | {"network_zones": ("eu-west-1a", "eu-west-1a")}, "network.zones names two availability zones"),
        ({"spark_timeout_minutes": 61}, "spark.timeout_minutes is at most 60"),
    ],
)
def test_a_wrong_choice_is_named_alone(more: dict[str, Any], words: str) -> None:
    (fault,) = faults_of(STACK | more, "eu-west-1")
    assert words in fault


@pytest.mark.parametrize("name", ["network_vpc", "network_zones", "catalog_certificate", "token_issuer"])
def test_beside_a_nessie_that_is_there_nothing_is_chosen_for_the_stack(name: str) -> None:
    value = {**STACK, "network_zones": ("eu-west-1a", "eu-west-1b")}[name]
    network: dict[str, Any] = {"network_subnets": ("subnet-0a",), "network_security_groups": ("sg-0a",)}
    brought = {"nessie_uri": "https://nessie.example.com", **network}
    assert Config(**brought).faults() == []
    (fault,) = Config(**brought | {name: value}).faults()
    assert fault == f"give catalog.image, Nessie's, for a catalog stack, which {setting_name(name)} would be for"
