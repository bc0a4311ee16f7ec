"""Gaps are filled: defaults, an image's digest, the account's issuer, and a certificate of an own authority."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import boto3
import pytest
from cryptography import x509
from moto import mock_aws

from infra.authority import LIFE, RENEWAL
from infra.choices import choices
from infra.config import Config
from infra.gaps import Gaps
from infra.settings_file import SettingsFile, write
from lakegate.errors import Misconfigured
from tests.support.federation import ISSUER, Federation
from tests.support.image_registry import Registry, registry_and_client

pytestmark = pytest.mark.usefixtures("federation", "registry")

NOW = datetime.now(UTC)
SILENT = lambda _: None  # noqa: E731


@pytest.fixture
def federation(monkeypatch: pytest.MonkeyPatch) -> Iterator[Federation]:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
    monkeypatch.setattr(boto3, "DEFAULT_SESSION", None)
    with mock_aws():
        switch = Federation(is_on=True)
        switch.register_by_default()
        yield switch


@pytest.fixture
def registry(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Registry]:
    """The registry of the default image, which Gaps asks."""
    with registry_and_client(tmp_path) as (registry, images):
        monkeypatch.setattr("infra.completion.IMAGE", registry.image)
        monkeypatch.setattr("infra.gaps.Images", lambda: images)
        yield registry


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """The settings of a file that has one line."""
    return of_text(tmp_path, 'name = "lake"\n')


def of_text(folder: Path, text: str) -> Config:
    (folder / "dev.toml").write_text(text)
    return SettingsFile.read(folder / "dev.toml").config("eu-central-1")


def filled(config: Config, now: datetime = NOW) -> Config:
    return Gaps(config, None).fill(now, SILENT)


def certificate(config: Config) -> x509.Certificate:
    found = boto3.client("acm").get_certificate(CertificateArn=config.catalog_certificate)
    assert found["CertificateChain"].startswith(config.nessie_ca)  # the emulator appends an authority of its own
    return x509.load_pem_x509_certificate(found["Certificate"].encode())


def test_a_file_of_one_line_lacks_what_a_deployment_fills(
    federation: Federation, registry: Registry, config: Config
) -> None:
    assert (config.nessie_uri, config.token_audience, config.network_vpc) == (
        "https://lake-nessie.internal",
        "lakegate",
        "create",
    )
    assert config.gaps() == ["the digest of catalog.image", "catalog.certificate", "token.issuer"]
    whole = filled(config)
    assert (whole.gaps(), whole.faults("eu-central-1")) == ([], [])
    assert (whole.catalog_image, whole.token_issuer) == (registry.image + registry.digest, ISSUER)
    assert federation.asked == []


def test_what_is_filled_is_a_file_again(config: Config, tmp_path: Path) -> None:
    whole = filled(config)
    assert SettingsFile.read(write(tmp_path / "whole.toml", whole)).config("eu-central-1") == whole


def test_the_certificate_is_of_an_authority_whose_key_is_in_the_account_alone(config: Config, tmp_path: Path) -> None:
    whole = filled(config)
    signed, authority = certificate(whole), x509.load_pem_x509_certificate(whole.nessie_ca.encode())
    signed.verify_directly_issued_by(authority)
    names = signed.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["lake-nessie.internal"]
    secret = boto3.client("secretsmanager").get_secret_value(SecretId="lake/authority")["SecretString"]
    assert "PRIVATE KEY" in secret
    assert "PRIVATE KEY" not in write(tmp_path / "whole.toml", whole).read_text() + repr(whole)


def test_a_second_deployment_changes_nothing(registry: Registry, config: Config) -> None:
    first = filled(config)
    registry.asked.clear()
    gaps = Gaps(config, choices(first))
    assert gaps.config == first  # before anything is made, so that it is compared with what is deployed
    assert gaps.fill(NOW, SILENT) == first
    assert registry.asked == []
    assert len(boto3.client("acm").list_certificates()["CertificateSummaryList"]) <= 1


def test_a_certificate_is_renewed_in_time_under_the_same_authority(config: Config) -> None:
    first = filled(config, NOW - (LIFE - RENEWAL))
    before = certificate(first)
    assert filled(config, NOW - timedelta(days=1)) == first
    assert certificate(first) == before
    assert filled(config, NOW + timedelta(minutes=1)) == first
    assert certificate(first).not_valid_after_utc > before.not_valid_after_utc


def test_a_certificate_that_is_gone_is_made_again(config: Config) -> None:
    first = filled(config)
    boto3.client("acm").delete_certificate(CertificateArn=first.catalog_certificate)
    again = filled(config)
    assert again.catalog_certificate != first.catalog_certificate
    assert again.nessie_ca == first.nessie_ca
    certificate(again)
    assert filled(config) == again


def test_another_name_gets_an_authority_of_its_own(config: Config) -> None:
    first = filled(config)
    other = config.model_copy(update={"nessie_uri": "https://nessie.example.com"})
    assert filled(other).nessie_ca != first.nessie_ca


def test_a_secret_of_somebody_else_is_not_overwritten(config: Config) -> None:
    for text in ("theirs", "[]", '{"certificate": "theirs"}'):
        boto3.client("secretsmanager").create_secret(Name="lake/authority", SecretString=text)
        with pytest.raises(Misconfigured, match="lake/authority"):
            filled(config)
        boto3.client("secretsmanager").delete_secret(SecretId="lake/authority", ForceDeleteWithoutRecovery=True)


def test_the_account_s_switch_is_turned_on_by_a_fill_alone(federation: Federation, config: Config) -> None:
    federation.is_on = False
    gaps = Gaps(config, None)
    assert (gaps.need_federation, federation.asked) == (True, [])
    assert gaps.fill(NOW, SILENT).token_issuer == ISSUER
    assert federation.asked == ["enable"]
    assert not Gaps(config, None).need_federation


def test_a_tag_is_asked_for_again_only_if_it_is_another(registry: Registry, config: Config) -> None:
    older = config.model_copy(update={"catalog_image": f"{registry.image}.1{registry.digest}"})
    assert Gaps(config, choices(older)).config.catalog_image == registry.image + registry.digest


@pytest.mark.parametrize(
    "text",
    [
        '[nessie]\nuri = "https://n.example.com"\n[network]\nsubnets = ["subnet-0a"]\nsecurity_groups = ["sg-0a"]\n',
        'ephemeral = true\n[nessie]\nuri = "http://n"\n',
    ],
)
def test_a_nessie_that_is_there_leaves_no_gaps(
    federation: Federation, registry: Registry, tmp_path: Path, text: str
) -> None:
    federation.is_on = False
    config = of_text(tmp_path, text)
    gaps = Gaps(config, None)
    assert (gaps.need_federation, gaps.fill(NOW, SILENT), config.gaps()) == (False, config, [])
    assert (registry.asked, federation.asked) == ([], [])


def test_a_certificate_of_one_s_own_is_not_replaced(tmp_path: Path) -> None:
    own: dict[str, Any] = {"uri": "https://nessie.example.com"}
    zone = f'[nessie]\nuri = "{own["uri"]}"\n[catalog]\ncertificate = "Z0123456789ABCDEFGHIJ"\n'
    whole = filled(of_text(tmp_path, zone))
    assert (whole.catalog_certificate, whole.nessie_ca, whole.nessie_uri) == ("Z0123456789ABCDEFGHIJ", "", own["uri"])
    assert boto3.client("secretsmanager").list_secrets()["SecretList"] == []


def test_an_oidc_issuer_takes_the_place_of_the_account_s(tmp_path: Path) -> None:
    clients = '["spark=a:s/a", "ingest=b:s/b", "publish=c:s/c", "observer=d:s/d"]'
    oidc = f'[token]\nendpoint = "https://i.example.com/token"\nclients = {clients}\n'
    with pytest.raises(Misconfigured, match=r"token\.endpoint needs token\.issuer and token\.claim"):
        of_text(tmp_path, oidc)
    whole = of_text(tmp_path, oidc + 'issuer = "https://i.example.com"\nclaim = "azp"\n')
    assert (whole.token_audience, whole.gaps()) == ("", ["the digest of catalog.image", "catalog.certificate"])
