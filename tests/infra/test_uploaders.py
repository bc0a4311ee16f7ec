"""Tests of who may write which key of the landing bucket: the bucket's policy, evaluated as AWS does for a request."""

from __future__ import annotations

from typing import Any

import pytest

from tests.infra.conftest import EPHEMERAL, synthesised
from tests.infra.template import flat
from tests.support import iam
from tests.support.iam import Request, listed

pytestmark = pytest.mark.synth
ACME, GLOBEX, ETL = "210987654321", "321098765432", "123456789012"  # the last one is the stack's own account
ACMES, GLOBEXES = f"arn:aws:iam::{ACME}:role/uploads", f"arn:aws:iam::{GLOBEX}:role/uploads"
ANYBODY_OF_ACME = f"arn:aws:iam::{ACME}:role/of/Somebody"
ETLS = f"arn:aws:iam::{ETL}:role/etl"
VENDOR = f"arn:aws:iam::{ACME}:root"
CHOSEN = (f"{VENDOR}=acme/", f"{VENDOR}=shared/in/", f"{GLOBEXES}=globex/", f"{GLOBEXES}=shared/in/", ETLS)
PUT, DELETE = "s3:PutObject", "s3:DeleteObject"
OVER_TLS = {"aws:SecureTransport": "true", "s3:TlsVersion": "1.3"}


@pytest.fixture(scope="module")
def policy(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """The statements of the landing bucket's policy, with the bucket's ARN as `landing`."""
    stack = synthesised(EPHEMERAL | {"landing_uploaders": CHOSEN}, tmp_path_factory.mktemp("cdk.out"))
    bucket = stack.name("AWS::S3::Bucket", "StorageLanding")
    (found,) = [each for each in stack.resources("AWS::S3::BucketPolicy").values() if {"Ref": bucket} == each["Bucket"]]
    statements: list[dict[str, Any]] = found["PolicyDocument"]["Statement"]
    for statement in statements:
        for part in {"Resource", "NotResource"} & statement.keys():
            statement[part] = [flat(each).replace(f"<{bucket}.Arn>", "landing") for each in listed(statement[part])]
    return statements


def effects(policy: list[dict[str, Any]], who: str, action: str, key: str, **more: str) -> set[str]:
    context = {name: [value] for name, value in (OVER_TLS | more).items()}
    request = Request(principal=who, action=action, resource=f"landing/{key}", context=context)
    return iam.effects(request, policy)


def may(policy: list[dict[str, Any]], who: str, action: str, key: str, **more: str) -> bool:
    """Return True if a principal of another account may do it. That account allows its principals everything."""
    return effects(policy, who, action, key, **more) == {"Allow"}


@pytest.mark.parametrize(
    ("who", "key", "allowed"),
    [
        (ACMES, "acme/orders/january.parquet", True),
        (ACMES, "shared/in/x.csv", True),
        (ANYBODY_OF_ACME, "acme/orders/january.parquet", True),
        (GLOBEXES, "globex/x.csv", True),
        (GLOBEXES, "shared/in/x.csv", True),
        (ETLS, "acme/orders/january.parquet", True),
        (ETLS, "anything", True),
        (GLOBEXES, "acme/orders/january.parquet", False),
        (GLOBEXES, "acme/", False),
        (GLOBEXES, "x.csv", False),
        (GLOBEXES, "globex", False),
        (GLOBEXES, "globexes/x.csv", False),
        (GLOBEXES, "GLOBEX/x.csv", False),
        (GLOBEXES, "other/globex/x.csv", False),
        (GLOBEXES, "shared/x.csv", False),
        (ANYBODY_OF_ACME, "globex/x.csv", False),
        (f"arn:aws:iam::{GLOBEX}:role/another", "globex/x.csv", False),
        (f"arn:aws:iam::{ETL}:role/another", "anything", False),
    ],
)
def test_an_uploader_writes_below_its_prefixes_and_nowhere_else(
    policy: list[dict[str, Any]],
    who: str,
    key: str,
    allowed: bool,  # noqa: FBT001
) -> None:
    assert may(policy, who, PUT, key) is allowed


@pytest.mark.parametrize("action", [PUT, DELETE, "s3:DeleteObjectVersion", "s3:AbortMultipartUpload"])
def test_an_uploader_with_prefixes_is_denied_others_keys_even_where_its_own_account_allows_them(
    policy: list[dict[str, Any]], action: str
) -> None:
    for who in (GLOBEXES, ANYBODY_OF_ACME):
        assert effects(policy, who, action, "initech/x.csv") == {"Deny"}
    assert effects(policy, GLOBEXES, action, "acme/x.csv") == {"Deny"}
    assert "Deny" not in effects(policy, GLOBEXES, action, "globex/x.csv") | effects(policy, ETLS, action, "acme/x.csv")


@pytest.mark.parametrize("who", [ACMES, GLOBEXES, ETLS])
def test_an_uploader_neither_deletes_nor_reads_its_own(policy: list[dict[str, Any]], who: str) -> None:
    for action in (DELETE, "s3:GetObject", "s3:PutObjectAcl"):
        assert effects(policy, who, action, "shared/in/x.csv") == set()


def test_an_uploader_has_no_way_round_tls_and_the_buckets_own_key(policy: list[dict[str, Any]]) -> None:
    for more in (
        {"aws:SecureTransport": "false"},
        {"s3:TlsVersion": "1.1"},
        {"s3:x-amz-server-side-encryption": "aws:kms"},
        {"s3:x-amz-server-side-encryption-customer-algorithm": "AES256"},
    ):
        assert not may(policy, GLOBEXES, PUT, "globex/x.csv", **more)
