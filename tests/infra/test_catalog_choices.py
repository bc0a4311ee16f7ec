"""Choices about the catalog: a stack of ours, or a Nessie that an installation brings, and never a half of each."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

from infra.config import Config
from lakegate.errors import Misconfigured

MANUAL = Path(__file__).parents[2] / "docs/how-to/identities.md"
DIGEST = "0123456789abcdef" * 4
STACK: dict[str, Any] = {
    "token_audience": "lakegate",
    "token_issuer": "https://0123.tokens.sts.global.api.aws",
    "nessie_image": f"quay.io/projectnessie/nessie@sha256:{DIGEST}",
    "catalog_host": "nessie.example.com",
    "catalog_zone": "Z0123456789",
    "vpc": "create",
}
NETWORK: dict[str, Any] = {
    "vpc": "vpc-0a1b",
    "subnets": ("subnet-0a", "subnet-0b"),
    "azs": ("eu-west-1a", "eu-west-1b"),
}
CERTIFICATE = "arn:aws:acm:eu-west-1:123456789012:certificate/01234567-89ab-cdef-0123-456789abcdef"


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"azs": ("eu-west-1a", "eu-west-1b")},
        {"catalog_size": "prod"},
        {"catalog_zone": "", "catalog_certificate": CERTIFICATE},
        {"nessie_image": f"123456789012.dkr.ecr.eu-west-1.amazonaws.com/quay/nessie:0.99.0@sha256:{DIGEST}"},
        {"nessie_image": f"registry.example.com:5000/nessie@sha256:{DIGEST}"},
        NETWORK,
        NETWORK | {"security_groups": ("sg-0a",)},
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
    assert fault == "give -c nessie_uri, or what a catalog stack needs as well: -c token_claim"


def test_a_wrong_endpoint_is_one_that_is_given_for_other_choices() -> None:
    with pytest.raises(Misconfigured, match=r"^-c token_endpoint is the address at which [^;]*$"):
        Config.read((STACK | CLIENTS | {"token_endpoint": "http://issuer.example.com/token"}).get)


def test_the_manual_s_clients_are_whole() -> None:
    (text, _) = re.findall(r"```toml\n(.*?)```", MANUAL.read_text(), re.DOTALL)
    chosen: dict[str, Any] = STACK | tomllib.loads(text)
    assert Config.read(chosen.get).token_endpoint


@pytest.mark.parametrize("missing", ["token_audience", "token_issuer", "nessie_image", "catalog_host", "vpc"])
def test_what_a_catalog_stack_lacks_is_named_beside_the_way_without_one(missing: str) -> None:
    (fault,) = Config(**STACK | {missing: ""}).faults()
    assert fault == f"give -c nessie_uri, or what a catalog stack needs as well: -c {missing}"


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"nessie_image": "quay.io/projectnessie/nessie:0.99.0"}, "a tag alone may become another image"),
        ({"nessie_image": f"nessie@sha256:{DIGEST}"}, "<registry>/<name>@sha256"),
        ({"nessie_image": f"quay.io/projectnessie/nessie@sha256:{DIGEST[1:]}"}, "<registry>/<name>@sha256"),
        ({"catalog_size": "huge"}, "catalog_size is one of dev, prod"),
        ({"catalog_host": "https://nessie.example.com"}, "catalog_host is a host's name"),
        ({"catalog_host": "nessie"}, "catalog_host is a host's name"),
        ({"catalog_zone": "example.com"}, "catalog_zone is the id of a hosted zone"),
        ({"catalog_zone": ""}, "either -c catalog_zone"),
        ({"catalog_certificate": CERTIFICATE}, "either -c catalog_zone"),
        ({"catalog_zone": "", "catalog_certificate": "01234567"}, "certificate is the ARN of a certificate in ACM"),
        (
            {"catalog_zone": "", "catalog_certificate": CERTIFICATE.replace("eu-west-1", "us-east-1")},
            "a certificate in eu-west-1, the stack's region",
        ),
        ({"token_issuer": "http://issuer.example.com"}, "token_issuer is the address of the account's STS issuer"),
        ({"warehouse": "the-lake"}, "warehouse is small letters and digits"),
        ({"vpc": "new"}, "vpc is create, or the id of a VPC"),
        ({"azs": ("eu-west-1a",)}, "azs names two availability zones at least"),
        ({"subnets": ("subnet-0a",)}, "vpc=create makes its own"),
        ({"security_groups": ("sg-0a",)}, "vpc=create makes its own"),
        ({"vpc": "vpc-0a1b"}, "vpc needs -c subnets"),
        (NETWORK | {"azs": ("eu-west-1a", "eu-west-1b", "eu-west-1c")}, "the zone of each"),
        (NETWORK | {"azs": ("eu-west-1a", "eu-west-1a")}, "azs names two availability zones at least"),
        ({"job_timeout_minutes": 61}, "job_timeout_minutes is at most 60"),
    ],
)
def test_a_wrong_choice_is_named_alone(more: dict[str, Any], said: str) -> None:
    with pytest.raises(Misconfigured) as refusal:
        Config.read((STACK | more).get, "eu-west-1")
    assert said in str(refusal.value)
    assert ";" not in str(refusal.value)


@pytest.mark.parametrize(
    "name", ["vpc", "azs", "nessie_image", "catalog_host", "catalog_certificate", "catalog_zone", "token_issuer"]
)
def test_beside_a_nessie_that_is_there_nothing_is_chosen_for_the_stack(name: str) -> None:
    value = {**STACK, "azs": ("eu-west-1a", "eu-west-1b"), "catalog_certificate": CERTIFICATE}[name]
    network: dict[str, Any] = {"subnets": ("subnet-0a",), "security_groups": ("sg-0a",)}
    brought = {"nessie_uri": "https://nessie.example.com", **network}
    assert Config(**brought).faults() == []
    (fault,) = Config(**brought | {name: value}).faults()
    assert fault == f"-c nessie_uri takes the place of the catalog stack, which -c {name} would be for"
