"""Places of the stacks' assets: CDK's own bucket, or a package's, which its stack is told as a parameter."""

from aws_cdk import CfnParameter, CliCredentialsStackSynthesizer, DefaultStackSynthesizer, Stack
from constructs import Construct

PACKAGE = "package"  # given to the cdk command, it makes templates that need no bootstrap
BUCKET = "AssetsBucket"  # the parameter


def synthesizer(scope: Construct, name: str) -> DefaultStackSynthesizer | CliCredentialsStackSynthesizer:
    """Return what puts an installation's assets below its name: an account's stacks share a bucket, and jobs may read
    below this prefix alone.
    """
    prefix = f"{name}/"
    if scope.node.try_get_context(PACKAGE):
        return CliCredentialsStackSynthesizer(bucket_prefix=prefix, file_assets_bucket_name=f"${{{BUCKET}}}")
    return DefaultStackSynthesizer(bucket_prefix=prefix)


def ask_bucket(stack: Stack) -> None:
    """Have a package's stack take the name of the bucket that has its assets."""
    if stack.node.try_get_context(PACKAGE):
        CfnParameter(stack, BUCKET, description="The bucket that has the package's assets, in the stack's region")
