"""The right to put events on a bus, which an account has made for itself or has from another."""

from aws_cdk import ArnFormat, Stack, aws_iam
from constructs import Construct


def allow_bus_events(scope: Construct, *, role: aws_iam.Role, bus: str) -> None:
    """Allow a role to put events on one bus, by its name or its ARN."""
    resource = bus if bus.startswith("arn:") else _arn(scope, bus)
    role.add_to_policy(aws_iam.PolicyStatement(actions=["events:PutEvents"], resources=[resource]))


def _arn(scope: Construct, name: str) -> str:
    arn: str = Stack.of(scope).format_arn(
        service="events", resource="event-bus", resource_name=name, arn_format=ArnFormat.SLASH_RESOURCE_NAME
    )
    return arn
