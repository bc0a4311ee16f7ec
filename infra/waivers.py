"""Waivers of cdk-nag's rules. Each accepts one finding on one resource and gives the reason."""

from collections.abc import Mapping

from aws_cdk import Acknowledgment, CfnResource, Stack, Validations
from constructs import IConstruct

PACK = "AwsSolutions"


def waive(resource: IConstruct, *, rule: str, reason: str) -> None:
    """Accept one finding (`S1`, `IAM5[Resource::…]`) on one resource."""
    Validations.of(resource).acknowledge(Acknowledgment(id=f"{PACK}-{rule}", reason=reason))


def waive_below(identity: IConstruct, *, resource: IConstruct | str, suffix: str, reason: str) -> None:
    """Accept that a role or policy may use everything below a resource, `<its ARN>/prefix/*`. A bucket that is not ours
    is given by its name.
    """
    waive(identity, rule=f"IAM5[Resource::{_arn(resource, Stack.of(identity))}{suffix}]", reason=reason)


def _arn(resource: IConstruct | str, reader: Stack) -> str:
    """Return the resource's ARN as cdk-nag writes it in findings of a stack: another stack reads it by its export, and
    a bucket that is not ours is named by its own name.
    """
    if isinstance(resource, str):
        return f"arn:<AWS::Partition>:s3:::{resource}"
    owner, cfn = Stack.of(resource), resource if isinstance(resource, CfnResource) else resource.node.default_child
    if not isinstance(cfn, CfnResource):
        raise TypeError(f"{resource.node.path} has no CloudFormation resource")
    if owner.node.path == reader.node.path:
        return f"<{owner.resolve(cfn.logical_id)}.Arn>"
    value: Mapping[str, str] = reader.resolve(owner.export_value(cfn.get_att("Arn")))
    return value["Fn::ImportValue"]
