"""Tests of what an assembly holds, and when a deployment changes an application."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakegate.deployment.assembly import Assembly, changes_application


def template(**applications: Any) -> dict[str, Any]:
    bucket = {"Type": "AWS::S3::Bucket"}
    found = {name: {"Type": "AWS::EMRServerless::Application", "Properties": it} for name, it in applications.items()}
    return {"Resources": {"Bucket": bucket, **found}}


@pytest.mark.parametrize(
    ("before", "after", "changes"),
    [
        ({}, {"A": {"Name": "a"}}, False),
        ({"A": {"Name": "a"}}, {"A": {"Name": "a"}}, False),
        ({"A": {"Name": "a"}}, {"A": {"Name": "b"}}, True),
        ({"A": {"Name": "a"}}, {}, True),
        ({"A": {"Name": "a"}}, {"A": {"Name": "a"}, "B": {}}, False),
    ],
)
def test_an_application_that_is_there_is_changed_or_not(
    before: dict[str, Any],
    after: dict[str, Any],
    changes: bool,  # noqa: FBT001
) -> None:
    assert changes_application(template(**before), template(**after)) is changes


def test_a_stack_that_is_not_there_yet_has_no_application() -> None:
    assert not changes_application({}, template(A={}))


def test_stacks_come_after_those_that_they_need(tmp_path: Path) -> None:
    kind = {"type": "aws:cloudformation:stack"}
    artifacts = {
        "lake": {**kind, "dependencies": ["lake-data", "lake.assets"]},
        "lake.assets": {"type": "cdk:asset-manifest"},
        "lake-data": kind,
    }
    (tmp_path / "manifest.json").write_text(json.dumps({"artifacts": artifacts}))
    assert Assembly(folder=tmp_path).stacks() == ["lake-data", "lake"]
