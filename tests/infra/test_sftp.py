"""docs/how-to/sftp.md: its role may do what it says, by its own policies as they stand there, and its setting is
right.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infra.config import Config
from infra.settings_file import SettingsFile
from tests.support import iam
from tests.support.iam import Request

TEXT = (Path(__file__).parents[2] / "docs/how-to/sftp.md").read_text()
ACCOUNT = "123456789012"
FILLED = TEXT.replace("<account>", ACCOUNT).replace("<landing>", "landing").replace("<region>", "eu-west-1")
TRUST, OWN = (iam.statements_of(text) for text in re.findall(r"```json\n(.*?)```", FILLED, re.DOTALL))
ROLE = f"arn:aws:iam::{ACCOUNT}:role/sftp-acme"


@pytest.mark.parametrize(
    ("action", "key", "allowed"),
    [
        ("s3:PutObject", "/acme/orders/january.parquet", True),
        ("s3:AbortMultipartUpload", "/acme/orders/january.parquet", True),
        ("s3:PutObject", "/acme", False),
        ("s3:PutObject", "/globex/x.csv", False),
        ("s3:GetObject", "/acme/orders/january.parquet", False),
        ("s3:DeleteObject", "/acme/orders/january.parquet", False),
    ],
)
def test_a_vendor_writes_below_its_prefix_and_neither_reads_nor_deletes(
    action: str,
    key: str,
    allowed: bool,  # noqa: FBT001
) -> None:
    request = Request(principal=ROLE, action=action, resource=f"arn:aws:s3:::landing{key}")
    assert iam.is_allowed(request, OWN) is allowed


@pytest.mark.parametrize(
    ("prefix", "allowed"), [("acme/", True), ("acme/orders/", True), ("", False), ("globex/", False)]
)
def test_it_lists_its_prefix_alone(prefix: str, allowed: bool) -> None:  # noqa: FBT001
    context = {"s3:prefix": [prefix]}
    request = Request(principal=ROLE, action="s3:ListBucket", resource="arn:aws:s3:::landing", context=context)
    assert iam.is_allowed(request, OWN) is allowed


def test_transfer_family_takes_the_role_for_a_user_of_this_account() -> None:
    def taken(**context: str) -> bool:
        said = {f"aws:{name}": [value] for name, value in context.items()}
        who = "transfer.amazonaws.com"
        request = Request(principal=who, action="sts:AssumeRole", resource=ROLE, context=said)
        return iam.effects(request, TRUST) == {"Allow"}

    user = f"arn:aws:transfer:eu-west-1:{ACCOUNT}:user/<server>/acme"
    assert taken(SourceAccount=ACCOUNT, SourceArn=user)
    assert not taken(SourceAccount="210987654321", SourceArn=user)
    assert not taken(SourceArn=user)


def test_its_uploader_is_one(tmp_path: Path) -> None:
    (setting,) = re.findall(r"```toml\n(.*?)```", FILLED, re.DOTALL)
    (tmp_path / "dev.toml").write_text(f'nessie.uri = "https://n"\nephemeral = true\n{setting}')
    config = SettingsFile.read(tmp_path / "dev.toml").config()
    assert config == Config(landing_uploaders=(f"{ROLE}=acme/",), nessie_uri="https://n", ephemeral=True)
