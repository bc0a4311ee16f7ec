"""The step by which a deployment begins, for each state in which CloudFormation may have left a stack. It is pure.

No step deletes what may hold rows: only a stack that was never made, or whose deletion somebody began, is deleted, and
CloudFormation keeps what its template says is to be kept.
"""

from collections.abc import Collection
from enum import StrEnum


class Step(StrEnum):
    """A step towards a stack that can be made or updated, in words for people."""

    CREATE = "make it"
    UPDATE = "update it"
    WAIT = "wait for its end"
    ROLL_BACK = "roll back what was left half done"
    CONTINUE = "continue its rollback"
    DELETE = "delete what is left of it"


READY = frozenset({Step.CREATE, Step.UPDATE})
_STEPS = {
    "": Step.CREATE,
    "REVIEW_IN_PROGRESS": Step.CREATE,  # a change set is there, and nothing that it would make
    "DELETE_COMPLETE": Step.CREATE,
    "CREATE_COMPLETE": Step.UPDATE,
    "UPDATE_COMPLETE": Step.UPDATE,
    "UPDATE_ROLLBACK_COMPLETE": Step.UPDATE,
    "IMPORT_COMPLETE": Step.UPDATE,
    "IMPORT_ROLLBACK_COMPLETE": Step.UPDATE,
    "CREATE_FAILED": Step.ROLL_BACK,
    "UPDATE_FAILED": Step.ROLL_BACK,
    "UPDATE_ROLLBACK_FAILED": Step.CONTINUE,
    "ROLLBACK_COMPLETE": Step.DELETE,
    "ROLLBACK_FAILED": Step.DELETE,
    "DELETE_FAILED": Step.DELETE,
}


def step(status: str) -> Step | None:
    """Return the step for a stack's status ("" where there is no stack), or None where a person has to decide."""
    return _STEPS.get(status, Step.WAIT if status.endswith("_IN_PROGRESS") else None)


def is_half_updated(status: str) -> bool:
    """Return True if an update of a stack that works was neither ended nor taken back."""
    return step(status) is Step.CONTINUE or status == "UPDATE_FAILED"


def way_out(stack: str, status: str, failures: Collection[str]) -> str:
    """Return the commands for a stack that its step has not brought on. `failures` are the logical names of resources
    that failed.
    """
    names = " ".join(failures)
    match step(status):
        case Step.CONTINUE:
            return (
                "Correct that and deploy again, or pass over these resources as they are: aws cloudformation "
                f"continue-update-rollback --stack-name {stack} --resources-to-skip {names}"
            )
        case Step.DELETE:
            return (
                "Delete by hand what nobody needs and deploy again, or leave it in the account, outside of any stack: "
                f"aws cloudformation delete-stack --stack-name {stack} --retain-resources {names}"
            )
        case _:
            return f"See what it says: aws cloudformation describe-stack-events --stack-name {stack}"
