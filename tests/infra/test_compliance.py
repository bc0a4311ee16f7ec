"""docs/reference/compliance.md has what cdk-nag's packs find, no less and no more, and a reason for each."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.infra.conftest import Reviewed

pytestmark = pytest.mark.synth
PAGE = (Path(__file__).parents[2] / "docs/reference/compliance.md").read_text()
PACKS = {"HIPAA.Security": "HIPAA", "NIST.800.53.R5": "NIST"}


def told() -> dict[str, tuple[str, str, str]]:
    """By rule: the packs that have it, the resources, and the reason."""
    rows = re.findall(r"^\| `(\S+)` \| ([^|]+) \| ([^|]+) \| ([^|]+) \|$", PAGE, re.MULTILINE)
    return {rule: (packs, resources, reason) for rule, packs, resources, reason in rows}


def test_the_page_has_each_rule_that_a_pack_finds_broken_and_where(reviewed: Reviewed) -> None:
    found = {
        rule: (
            ", ".join(
                short for pack, short in PACKS.items() if any(it[:2] == (pack, rule) for it in reviewed.findings)
            ),
            ", ".join(sorted({path.removesuffix("/Resource") for _, name, path in reviewed.findings if name == rule})),
        )
        for rule in {rule for _, rule, _ in reviewed.findings}
    }
    assert {rule: (packs, where.replace("`", "")) for rule, (packs, where, _) in told().items()} == found


def test_each_finding_has_a_reason_that_is_a_sentence() -> None:
    assert all(reason.endswith(".") and len(reason.split()) > 5 for _, _, reason in told().values())


def test_aws_s_own_pack_finds_nothing(reviewed: Reviewed) -> None:
    """It stops every synth, so its findings are accepted one by one where the resource is made."""
    assert {pack for pack, _, _ in reviewed.findings} == PACKS.keys()
