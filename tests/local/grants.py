"""The policies of a deployed installation, as the services of the local cloud hold them, and what they allow."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from botocore.exceptions import ClientError

from lakegate.adapters.stacks import Stacks
from tests.local.installation import Installation
from tests.support.aws_calls import Call, arn, asked, bucket
from tests.support.iam import Request, Statement, concerns, is_allowed, listed, matches, statements_of

Right = tuple[str, str]  # an action, and what it is on
Holders = Collection[str]  # roles, by their ARNs, and services, by their names


@dataclass(frozen=True, kw_only=True)
class Grants:
    """`own` has each role's statements; `resources` the policies of buckets, queues and functions, and the trusts of
    roles, by ARN; `sessions` the policies of job runs, by their ids. A statement of `own` or `resources` that allows
    something has one action and one resource.

    A role has the rights of its own policies, and a service those that the policy of a resource gives it.
    """

    own: Mapping[str, Sequence[Statement]]
    resources: Mapping[str, Sequence[Statement]]
    sessions: Mapping[str, Sequence[Statement]]

    def refused(self, calls: Iterable[Call]) -> Iterator[tuple[Call, Request]]:
        """Yield what the calls ask for and do not get."""
        for call in calls:
            for request in asked(call):
                if not self.allows(request, call.session):
                    yield call, request

    def allows(self, request: Request, session: str) -> bool:
        return is_allowed(
            request,
            self.own.get(request.principal, ()),
            session=self.sessions.get(session),
            resource=self._policy_of(request.resource),
        )

    def _policy_of(self, resource: str) -> Sequence[Statement]:
        """The policy of a resource; an object has its bucket's."""
        whole = resource.partition("/")[0] if resource.startswith("arn:aws:s3:::") else resource
        return self.resources.get(whole, ())

    @property
    def services(self) -> set[str]:
        """The services that a policy of a resource names."""
        return {name for policy in self.resources.values() for each in policy for name in services_of(each)}

    def rights(self, holders: Holders) -> set[Right]:
        """Every action and resource that these are allowed."""
        of_roles = (each for holder in holders for each in self.own.get(holder, ()))
        of_services = (each for policy in self.resources.values() for each in policy if is_for(each, holders))
        return {right(each) for each in (*of_roles, *of_services) if each["Effect"] == "Allow"}

    def needed(self, holders: Holders, calls: Iterable[Call]) -> dict[Right, Call]:
        """The rights of these without any one of which a call is refused, each with such a call."""
        found: dict[Right, Call] = {}
        for call in calls:
            for request in asked(call) if call.who in holders else ():
                own, resource = self.own.get(call.who, ()), self._policy_of(request.resource)
                giving = {right(it) for it in (*own, *resource) if it["Effect"] == "Allow" and concerns(it, request)}
                if len(giving) == 1:
                    found.setdefault(giving.pop(), call)
        return found

    def without(self, holders: Holders, taken: Right) -> Grants:
        """The same after somebody has taken a right from the holders."""
        own = {
            who: [it for it in policy if who not in holders or right(it) != taken] for who, policy in self.own.items()
        }
        resources = {
            name: [it for it in policy if not is_for(it, holders) or right(it) != taken]
            for name, policy in self.resources.items()
        }
        return replace(self, own=own, resources=resources)


@dataclass(frozen=True, kw_only=True)
class Excess:
    """Rights that no call of the local cloud needs, and why they are granted all the same. Each of `on` is the end of
    one right's resource. `at_times` some test's call needs one of them, and another run has no such call.
    """

    of: str
    action: str
    on: tuple[str, ...]
    why: str
    at_times: bool = False

    def covers(self, right: Right) -> bool:
        return self.action == right[0] and any(matches(f"*{end}", right[1]) for end in self.on)


def right(statement: Statement) -> Right:
    return str(statement["Action"]), str(statement["Resource"])


def services_of(statement: Statement) -> list[str]:
    """The services that the statement of a resource's policy is for."""
    named = statement["Principal"]
    return listed(named.get("Service", [])) if isinstance(named, dict) else []


def is_for(statement: Statement, holders: Holders) -> bool:
    return any(service in holders for service in services_of(statement))


def one_by_one(statements: Iterable[Statement], of: str = "") -> list[Statement]:
    """The same, with statements of one action on one resource where something is allowed. A trust is of a role, and its
    statements name no resource.
    """
    made = list[Statement]()
    for each in statements:
        if each["Effect"] == "Deny":
            made.append(each)
            continue
        made += [
            {**each, "Action": action, "Resource": resource}
            for action in listed(each["Action"])
            for resource in listed(each.get("Resource", of))
        ]
    return made


def read_grants(installation: Installation) -> Grants:
    """Read the policies of the installation's stack as they are deployed."""
    aws, outputs, ids = installation.aws, installation.outputs, defaultdict[str, list[str]](list)
    for resource in Stacks(aws).resources(installation.settings.stack):
        ids[resource.kind].append(resource.id)
    roles = {name: aws("iam").get_role(RoleName=name)["Role"] for name in ids["AWS::IAM::Role"]}
    trusts = {role["Arn"]: statements_of(role["AssumeRolePolicyDocument"]) for role in roles.values()}
    queues = {
        url.rpartition("/")[2]: aws("sqs").get_queue_attributes(QueueUrl=url, AttributeNames=["Policy"])
        for url in ids["AWS::SQS::Queue"]
    }
    buckets = [outputs[f"{name}Bucket"] for name in ("Landing", "Service", "Lake")]
    policies = {
        **trusts,
        **{bucket(name): statements_of(aws("s3").get_bucket_policy(Bucket=name)["Policy"]) for name in buckets},
        **{arn("sqs", name): statements_of(found["Attributes"]["Policy"]) for name, found in queues.items()},
        **{
            arn("lambda", f"function:{name}"): _policy(aws("lambda").get_policy, FunctionName=name)
            for name in ids["AWS::Lambda::Function"]
        },
    }
    return Grants(
        own={role["Arn"]: one_by_one(_own(aws("iam"), name)) for name, role in roles.items()},
        resources={of: one_by_one(policy, of) for of, policy in policies.items()},
        sessions=dict(_sessions(aws("emr-serverless"), outputs["ApplicationId"])),
    )


def _own(iam: Any, role: str) -> Iterator[Statement]:
    """The statements of a role's own policies. None of ours has a managed one."""
    assert not iam.list_attached_role_policies(RoleName=role)["AttachedPolicies"]
    for name in iam.list_role_policies(RoleName=role)["PolicyNames"]:
        yield from statements_of(iam.get_role_policy(RoleName=role, PolicyName=name)["PolicyDocument"])


def _policy(ask: Callable[..., Any], **of: str) -> list[Statement]:
    """A function's policy; one that nobody else may call has none."""
    try:
        return statements_of(ask(**of)["Policy"])
    except ClientError as error:
        if error.response["Error"]["Code"] != "ResourceNotFoundException":
            raise
        return []


def _sessions(emr: Any, application: str) -> Iterator[tuple[str, list[Statement]]]:
    for page in emr.get_paginator("list_job_runs").paginate(applicationId=application):
        for run in page["jobRuns"]:
            whole = emr.get_job_run(applicationId=application, jobRunId=run["id"])["jobRun"]
            yield run["id"], statements_of(whole["executionIamPolicy"]["policy"])
