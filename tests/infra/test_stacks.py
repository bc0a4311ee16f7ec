"""Tests of the stacks' walls: what is in which stack, in which order they are deployed, and what protects them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.infra.conftest import EPHEMERAL, built

pytestmark = pytest.mark.synth


def kinds(template: dict[str, Any]) -> set[str]:
    return {body["Type"] for body in template["Resources"].values()}


def test_the_data_is_in_a_stack_of_its_own(app: Any) -> None:
    assert kinds(app.get_stack_by_name("lakegate-data").template) == {
        "AWS::S3::Bucket",
        "AWS::S3::BucketPolicy",
        "AWS::IAM::ManagedPolicy",
    }
    assert not kinds(app.get_stack_by_name("lakegate").template) & {"AWS::S3::Bucket", "AWS::S3::BucketPolicy"}


def test_the_data_comes_first_and_needs_no_other_stack(app: Any) -> None:
    needed = {stack.id: {other.id for other in stack.dependencies} for stack in app.stacks}
    assert needed == {"lakegate-data": {"lakegate-data.assets"}, "lakegate": {"lakegate.assets", "lakegate-data"}}


def test_the_data_is_protected_from_deletion_unless_it_is_ephemeral(app: Any, tmp_path: Path) -> None:
    protected = {stack.id: stack.termination_protection for stack in app.stacks}
    assert protected == {"lakegate-data": True, "lakegate": False}
    ephemeral = built(tmp_path, **EPHEMERAL).synth()
    assert not any(stack.termination_protection for stack in ephemeral.stacks)


def test_the_command_line_reads_the_outputs_of_one_stack(app: Any) -> None:
    said = {
        stack.id: [name for name, output in stack.template.get("Outputs", {}).items() if "Export" not in output]
        for stack in app.stacks
    }
    assert said["lakegate-data"] == []
    assert {"LandingBucket", "LakeBucket", "ServiceBucket", "ReadLakePolicy", "NessieUri"} <= set(said["lakegate"])
