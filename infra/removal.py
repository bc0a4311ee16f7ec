"""Removal: what becomes of that which an installation keeps, once its stack goes."""

from aws_cdk import RemovalPolicy

from infra.config import Config


def removal_policy(config: Config) -> RemovalPolicy:
    """Return the policy of what outlives its stack, but for an ephemeral installation's."""
    return RemovalPolicy.DESTROY if config.ephemeral else RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
