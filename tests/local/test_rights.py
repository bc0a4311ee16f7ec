"""IAM proved by use: whatever a role asks of AWS is allowed, and whatever it is allowed is asked for.

The record of the local cloud has the calls that every test of this layer has caused, and the deployed policies are
evaluated as AWS does. So these tests come last (conftest.py), and cause calls themselves only if a right is not asked
for yet, as when they run alone. Rights for a network (`-c subnets`) are not deployed here: tests/infra/test_rights.py
has them, as it has the policies that people attach to their own roles.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from lakegate_local.services import ACCOUNT, REGION

from examples.bad_files import parquet
from tests.local.grants import Excess, Grants, Right, read_grants
from tests.local.installation import REJECTED, Installation
from tests.local.kinds import Aws
from tests.local.test_whole_loop import ORDERS, created
from tests.local.things import CONTRACT, rows
from tests.support.aws_calls import Call, asked, is_known, recorded
from tests.support.aws_operations import called

pytestmark = pytest.mark.local

# The four have the same rights to open and to settle an attempt, and which of them does it first is a matter of time.
STARTERS, READ, CANARY, EXPRESS, JOB, SERVICES = "starters", "read", "canary", "express", "job", "services"
FUNCTIONS = {
    STARTERS: ("Ingest", "Settle", "Reconcile", "Act"),
    READ: ("Read",),
    CANARY: ("Canary",),
    EXPRESS: ("Express",),
}
GROUPS = [*FUNCTIONS, JOB, SERVICES]
# By PyIceberg's own S3 client, whose errors it gives its own names, and by LocalStack in a function's name.
BY_OTHERS = {
    *(("s3", name) for name in ("HeadBucket", "ListObjects")),
    *(("logs", name) for name in ("CreateLogGroup", "CreateLogStream", "PutLogEvents")),
    *(("sqs", name) for name in ("DeleteMessage", "GetQueueAttributes", "GetQueueUrl", "SendMessageBatch")),
}
LAKE, LANDING = (f"-{name}-{ACCOUNT}-{REGION}" for name in ("lake", "landing"))
UNUSED = (
    Excess(
        of=STARTERS,
        action="s3:AbortMultipartUpload",
        on=("/warehouse/*", "/staging/*"),
        why="S3's client ends an upload in parts that fails, and a copy has parts from 512 MiB on",
    ),
    Excess(of=STARTERS, action="s3:GetObject", on=("/begun/*",), why="a job has to crash", at_times=True),
    *(
        Excess(of=STARTERS, action=f"s3:{action}", on=("/closed/*",), why="a key has to be replaced often")
        for action in ("GetObject", "PutObject")
    ),
    Excess(of=STARTERS, action="s3:PutObject", on=("/receipts/*",), why="receipts leave main after two weeks"),
    Excess(of=STARTERS, action="s3:ListBucket", on=(LAKE,), why="a missing file would be told as forbidden"),
    Excess(
        of=STARTERS,
        action="sqs:SendMessage",
        on=("-reconcile-dead-letters",),
        why="a sweep has to fail, as a call of settle does here",
        at_times=True,
    ),
    Excess(
        of=READ,
        action="emr-serverless:GetJobRun",
        on=("/jobruns/*",),
        why="somebody has to ask in the moment before a job's usage is noted",
        at_times=True,
    ),
    Excess(
        of=READ,
        action="s3:ListBucket",
        on=(LANDING,),
        why="somebody has to wait for a file that is deleted",
        at_times=True,
    ),
    Excess(of=READ, action="s3:GetObject", on=("/closed/*",), why="a key has to be replaced often"),
    Excess(of=READ, action="s3:ListBucket", on=(LAKE,), why="a missing file would be told as forbidden"),
    Excess(of=CANARY, action="sqs:SendMessage", on=("-canary-dead-letters",), why="a canary has to fail"),
    Excess(of=EXPRESS, action="s3:ListBucket", on=(LAKE,), why="a missing file would be told as forbidden"),
    Excess(
        of=JOB,
        action="s3:AbortMultipartUpload",
        on=("/warehouse/*", "/logs/applications/*"),
        why="Java's clients end an upload in parts that fails, and how EMR writes logs is not documented",
    ),
    Excess(of=JOB, action="s3:GetObject", on=("/logs/applications/*",), why="how EMR writes logs is not documented"),
    Excess(of=JOB, action="s3:GetObject", on=("/begun/*",), why="EMR's older releases look before they write"),
    Excess(
        of=JOB,
        action="s3:GetObject",
        on=("/reports/*",),
        why="a batch has to be audited again because main has moved",
        at_times=True,
    ),
    Excess(of=JOB, action="s3:ListBucket", on=(LAKE,), why="a missing file would be told as forbidden"),
    Excess(
        of=SERVICES,
        action="lambda:InvokeFunction",
        on=("-canary",),
        why="the canary comes by itself once a day",
        at_times=True,
    ),
    Excess(
        of=SERVICES,
        action="s3:PutObject",
        on=("/logs/access/lake/*", "/logs/access/landing/*"),
        why="the local cloud's S3 keeps no access logs",
    ),
    *(
        Excess(of=SERVICES, action=f"sqs:{action}", on=("-ingest",), why="CDK's grant to a rule that feeds a queue")
        for action in ("GetQueueAttributes", "GetQueueUrl")
    ),
    Excess(
        of=SERVICES,
        action="sqs:SendMessage",
        on=tuple(f"-{name}-dead-letters" for name in ("ingest", "settle", "reconcile", "canary")),
        why="EventBridge has to fail to deliver",
    ),
)


@dataclass(frozen=True, kw_only=True)
class Run:
    """Calls to the local cloud so far, and the policies that are deployed there. `groups` are those who have
    rights, by what they are for.
    """

    calls: list[Call]
    granted: Grants
    groups: dict[str, frozenset[str]]

    @property
    def is_whole(self) -> bool:
        return not any(map(self.unasked, GROUPS))

    def unasked(self, group: str) -> set[Right]:
        """The rights that no call needs and no row gives a reason for."""
        rights, needed = self.granted.rights(self.groups[group]), self.granted.needed(self.groups[group], self.calls)
        return {it for it in rights - {*needed} if not reasons(group, it)}


def reasons(group: str, right: Right) -> list[Excess]:
    return [row for row in UNUSED if row.of == group and row.covers(right)]


@pytest.fixture(scope="module")
def run(
    installation: Installation, aws: Aws, tmp_path_factory: pytest.TempPathFactory, until: Callable[..., Any]
) -> Run:
    for step, seconds in ((walk_aside, 20), (walk, 120)):
        if not observed(installation, aws).is_whole:
            step(installation, aws, tmp_path_factory.mktemp("files"))
            with suppress(TimeoutError):  # what nobody has asked for by then fails a test
                until(lambda: observed(installation, aws).is_whole, seconds=seconds)
    return observed(installation, aws)


def observed(installation: Installation, aws: Aws) -> Run:
    found, job, stack = read_grants(installation), installation.outputs["JobRoleArn"], installation.settings.stack

    def role(function: str) -> str:
        name = f"{stack}-{function.lower()}"
        return str(aws("lambda").get_function_configuration(FunctionName=name)["Role"])

    return Run(
        calls=[call for call in recorded(installation.settings.calls) if is_of(found, call)],
        granted=found,
        groups={
            **{group: frozenset(map(role, functions)) for group, functions in FUNCTIONS.items()},
            JOB: frozenset({job}),
            SERVICES: frozenset(found.services),
        },
    )


def is_of(found: Grants, call: Call) -> bool:
    """True if the call is of one of the stack's roles, or of a service that calls one of the stack's own resources."""
    service = call.who.endswith(".amazonaws.com") and is_known(call)
    return call.who in found.own or (service and all(it.resource in found.resources for it in asked(call)))


def walk_aside(installation: Installation, aws: Aws, folder: Path) -> None:
    """One file is a marker, and one is gone before anybody looks at its dead letters: no other test needs them. A
    contract is pushed and deleted.
    """
    contract = folder / "gone.yaml"
    contract.write_text(CONTRACT.format(table="shop.rights_gone", prefix="shop/rights_gone", parent=""))
    installation.run("contract", "push", contract)
    installation.run("contract", "delete", "shop.rights_gone")
    marker = folder / "_SUCCESS"
    marker.touch()
    installation.run("drop", marker, "--to", "shop/rights", "--wait")
    gone = "shop/rights/gone.parquet"
    version = installation.put(gone, b"gone")
    aws("s3").delete_object(Bucket=installation.outputs["LandingBucket"], Key=gone, VersionId=version)
    for name in ("Ingest", "Settle"):
        body = json.dumps(created(installation, gone, version))
        aws("sqs").send_message(QueueUrl=installation.outputs[f"{name}DeadLetterQueueUrl"], MessageBody=body)
    installation.run("reconcile")


def walk(installation: Installation, aws: Aws, folder: Path) -> None:
    """Files are published, replaced, quarantined and rejected. One waits for what it refers to, and one is routed
    nowhere. An event is of no job. A canary lands, and a person retries.
    """
    outputs = installation.outputs
    things, orders = "shop.rights", "shop.rights_orders"
    for table, text in ((things, CONTRACT), (orders, ORDERS)):
        contract = folder / f"{table}.yaml"
        contract.write_text(text.format(table=table, prefix=table.replace(".", "/"), parent=things))
        installation.run("contract", "push", contract)
    aws("lambda").invoke(FunctionName=outputs["SettleFunction"], InvocationType="Event", Payload=b'{"detail": {}}')
    aws("lambda").invoke(FunctionName=f"{installation.settings.stack}-canary", Payload=b"{}")
    installation.put("shop/rights_orders/1.csv.gz", gzip.compress(b"id;thing;mail\n1;3;a@b.example\n100;4;\n"))
    installation.put("shop/rights/1.parquet", parquet(rows(0, 10)))
    installation.wait()
    installation.put("elsewhere/rights.parquet", parquet(rows(0, 1)))
    installation.put("shop/rights/1.parquet", parquet(rows(0, 11)))
    # Two jobs of Spark's, whose own policies differ: what else lands takes the express lane.
    installation.put("shop/rights_orders/2.csv.gz", gzip.compress(b"id;thing;mail\n3;4;\n"))
    bad = "shop/rights/bad.parquet"
    installation.put(bad, parquet(rows(20, 5).drop(["name"])))
    installation.wait(bad, "shop/rights/1.parquet", code=REJECTED)
    [batch] = [entry["batch"] for entry in installation.json("status")["rejected"] if bad in entry["files"]]
    installation.run("retry", batch)
    installation.wait(batch, code=REJECTED)


def test_every_role_of_the_stack_was_at_work_and_so_were_the_services_that_call_for_it(run: Run) -> None:
    services = {"events.amazonaws.com", "lambda.amazonaws.com", "emr-serverless.amazonaws.com"}
    assert {call.who for call in run.calls} == {*run.granted.own, *services}
    assert set().union(*run.groups.values()) >= {*run.granted.own, *services}


def test_every_call_is_allowed(run: Run) -> None:
    assert [(call, request.action) for call, request in run.granted.refused(run.calls)] == []


def test_every_operation_that_a_function_calls_is_one_whose_errors_are_mapped(run: Run) -> None:
    """tests/ports/test_aws_errors.py has them, as far as the code names them."""
    roles = set().union(*(run.groups[group] for group in FUNCTIONS))
    by_functions = {(call.service, call.operation) for call in run.calls if call.who in roles}
    assert by_functions - BY_OTHERS <= called()


@pytest.mark.parametrize("group", GROUPS)
def test_every_right_is_asked_for_but_those_that_the_table_gives_a_reason_for(run: Run, group: str) -> None:
    assert run.unasked(group) == set()


@pytest.mark.parametrize("row", UNUSED, ids=lambda row: f"{row.of} {row.action}")
def test_a_row_of_the_table_is_about_rights_that_are_granted_and_not_asked_for(run: Run, row: Excess) -> None:
    rights = {it for it in run.granted.rights(run.groups[row.of]) if row.covers(it)}
    assert len(rights) == len(row.on)
    assert row.at_times or not rights & {*run.granted.needed(run.groups[row.of], run.calls)}


@pytest.mark.parametrize("group", GROUPS)
def test_without_any_one_right_a_call_is_refused_or_a_row_is_about_nothing(run: Run, group: str) -> None:
    holders = run.groups[group]
    needed = run.granted.needed(holders, run.calls)
    assert needed
    for right in run.granted.rights(holders):
        poorer = run.granted.without(holders, right)
        assert right not in poorer.rights(holders)
        assert len(reasons(group, right)) == 1 or [*poorer.refused([needed[right]])], right


def test_a_job_may_not_do_what_another_did(run: Run) -> None:
    """So the policies of job runs are at work here, and they differ."""
    by_job: dict[str, list[Call]] = {}
    for call in run.calls:
        if call.who in run.groups[JOB]:
            by_job.setdefault(call.session, []).append(call)
    # One that was ended at once has read nothing but the code, as all may.
    by_job = {job: calls for job, calls in by_job.items() if any("/job.json" in str(call.parameters) for call in calls)}
    assert len(by_job) > 1
    for one, other in zip(by_job, [*by_job][1:], strict=False):
        for session, calls in ((other, by_job[one]), (one, by_job[other])):
            assert any(run.granted.refused(replace(call, session=session) for call in calls)), (one, other)


def test_without_any_one_statement_of_their_own_policies_job_runs_are_refused(run: Run) -> None:
    calls = [call for call in run.calls if call.who in run.groups[JOB]]
    [length] = {len(policy) for policy in run.granted.sessions.values()}
    for number in range(length):
        sessions = {it: [*policy[:number], *policy[number + 1 :]] for it, policy in run.granted.sessions.items()}
        assert any(replace(run.granted, sessions=sessions).refused(calls)), number


def test_no_bucket_or_queue_answers_a_role_without_tls(run: Run) -> None:
    plain = {"aws:SecureTransport": ["false"]}
    asking = {
        (request.resource.partition("/")[0], request.action): replace(request, context={**request.context, **plain})
        for call in run.calls
        for request in asked(call)
        if request.principal in run.granted.own and request.action.startswith(("s3:", "sqs:"))
        if "-assets-" not in request.resource  # of CDK's bootstrap
    }
    assert asking
    assert [request for request in asking.values() if run.granted.allows(request, "")] == []
