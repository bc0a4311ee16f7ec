"""Log groups: each keeps its events for three months, encrypted with the installation's own key, if it has one."""

from aws_cdk import RemovalPolicy, aws_logs
from constructs import Construct

from infra.keys import Keys


def log_group(scope: Construct, construct_id: str, keys: Keys, name: str | None = None) -> aws_logs.LogGroup:
    """Create a log group; CloudFormation names it if nobody does."""
    return aws_logs.LogGroup(
        scope,
        construct_id,
        log_group_name=name,
        encryption_key=keys.key(scope),
        retention=aws_logs.RetentionDays.THREE_MONTHS,
        removal_policy=RemovalPolicy.DESTROY,
    )
