"""Every state in which CloudFormation may leave a stack has the step by which a deployment begins, or its commands."""

from __future__ import annotations

from typing import get_args

import pytest
from mypy_boto3_cloudformation.literals import StackStatusType

from lakegate.deployment.states import READY, Step, is_half_updated, step, way_out

STATUSES: tuple[str, ...] = get_args(StackStatusType)
FOR_A_PERSON = {"IMPORT_ROLLBACK_FAILED"}  # lakegate imports into no stack that is there


@pytest.mark.parametrize("status", STATUSES)
def test_every_state_that_the_model_names_has_a_step(status: str) -> None:
    assert (step(status) is None) == (status in FOR_A_PERSON)


@pytest.mark.parametrize("status", [status for status in STATUSES if status.endswith("_COMPLETE")])
def test_a_stack_that_works_is_updated_and_only_one_that_was_never_made_is_deleted(status: str) -> None:
    wanted = {"ROLLBACK_COMPLETE": Step.DELETE, "DELETE_COMPLETE": Step.CREATE}
    assert step(status) is wanted.get(status, Step.UPDATE)


def test_no_stack_that_worked_once_is_deleted() -> None:
    deleted = {status for status in STATUSES if step(status) is Step.DELETE}
    assert deleted == {"ROLLBACK_COMPLETE", "ROLLBACK_FAILED", "DELETE_FAILED"}


def test_an_operation_of_somebody_else_s_is_waited_for() -> None:
    waiting = {status for status in STATUSES if step(status) is Step.WAIT}
    assert waiting == {status for status in STATUSES if status.endswith("_IN_PROGRESS")} - {"REVIEW_IN_PROGRESS"}


def test_only_a_half_done_update_stands_still_for_its_recovery() -> None:
    assert {status for status in STATUSES if is_half_updated(status)} == {"UPDATE_FAILED", "UPDATE_ROLLBACK_FAILED"}


def test_no_stack_is_made_and_one_that_is_ready_needs_nothing_more() -> None:
    assert step("") in READY
    assert {Step.CREATE, Step.UPDATE} == READY


@pytest.mark.parametrize(
    ("status", "command"),
    [
        ("UPDATE_ROLLBACK_FAILED", "continue-update-rollback --stack-name lake --resources-to-skip A B"),
        ("DELETE_FAILED", "delete-stack --stack-name lake --retain-resources A B"),
        ("IMPORT_ROLLBACK_FAILED", "describe-stack-events --stack-name lake"),
    ],
)
def test_what_no_step_mends_is_said_with_its_command(status: str, command: str) -> None:
    assert way_out("lake", status, ["A", "B"]).endswith(f"aws cloudformation {command}")
