"""Tests of what an assembly holds, and when a deployment changes an application."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakegate.deployment.assembly import PROTECTION, STACK, Assembly, changes_application


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


def test_only_the_stacks_of_now_are_protected_and_what_is_wanted_in_the_end_is_known_still(tmp_path: Path) -> None:
    kind = {"type": STACK, "properties": {PROTECTION: True}}
    own = {"type": STACK, "properties": {"tags": {"a": "b"}}}
    manifest = tmp_path / "manifest.json"
    manifest.write_text(json.dumps({"artifacts": {"lake-data": kind, "lake-catalog": kind, "lake": own}}))
    assembly = Assembly(folder=tmp_path)
    assembly.protect({"lake-data"})
    artifacts = json.loads(manifest.read_text())["artifacts"]
    assert {name: it["properties"][PROTECTION] for name, it in artifacts.items()} == {
        "lake-data": True,
        "lake-catalog": False,
        "lake": False,
    }
    assert artifacts["lake"]["properties"]["tags"] == {"a": "b"}
    assert assembly.wanted_protection == {"lake-data", "lake-catalog"}


def test_a_parameter_is_given_to_the_stacks_that_have_it(tmp_path: Path) -> None:
    stacks: dict[str, dict[str, Any]] = {"lake": {}, "lake-catalog": {"P": {}}}
    for name, parameters in stacks.items():
        (tmp_path / f"{name}.template.json").write_text(json.dumps({"Parameters": parameters}))
    assembly = Assembly(folder=tmp_path)
    assert assembly.parameters("P", "false", ["lake", "lake-catalog"]) == {"lake-catalog:P": "false"}
