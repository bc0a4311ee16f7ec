"""docs/how-to/identities.md: people of IAM Identity Center assume a role of their own, by the trust on the page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import iam
from tests.support.iam import Request

ACCOUNT = "123456789012"
TEXT = (Path(__file__).parents[2] / "docs/how-to/identities.md").read_text()
(FENCE,) = re.findall(r"```json\n(.*?)```", TEXT, re.DOTALL)
TRUST = iam.statements_of(FENCE.replace("<account>", ACCOUNT).replace("<permission set>", "Lake"))
RESERVED = f"arn:aws:iam::{ACCOUNT}:role/aws-reserved/sso.amazonaws.com"


@pytest.mark.parametrize(
    ("principal", "effects"),
    [
        (f"{RESERVED}/eu-central-1/AWSReservedSSO_Lake_0123456789abcdef", {"Allow"}),
        (f"{RESERVED}/AWSReservedSSO_Lake_0123456789abcdef", {"Allow"}),  # of us-east-1
        (f"{RESERVED}/eu-central-1/AWSReservedSSO_LakeAdmins_0123456789abcdef", set()),
        (f"arn:aws:iam::{ACCOUNT}:role/AWSReservedSSO_Lake_0123456789abcdef", set()),  # anybody may name one so
        (f"arn:aws:iam::{ACCOUNT}:user/somebody", set()),
        ("arn:aws:iam::210987654321:role/aws-reserved/sso.amazonaws.com/AWSReservedSSO_Lake_0123456789abcdef", set()),
    ],
)
def test_one_permission_set_of_this_account_assumes_the_role(principal: str, effects: set[str]) -> None:
    context = {"aws:PrincipalArn": [principal]}
    request = Request(principal=principal, action="sts:AssumeRole", resource="*", context=context)
    assert iam.effects(request, TRUST) == effects
