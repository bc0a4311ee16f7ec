"""Identities in the catalog: a tag that names a role's part and the right to tokens that prove it, or the right to read
a client's secret.
"""

from aws_cdk import Tags, aws_iam, aws_secretsmanager
from constructs import Construct

from infra.keys import DECRYPT, SECRETS, Keys
from infra.waivers import waive
from lakegate.access import TAG, Role


def identify(role: aws_iam.Role, part: Role, audience: str) -> None:
    """Let the role ask for tokens for this audience alone, which say by its tag who it is to the catalog."""
    Tags.of(role).add(TAG, part)
    role.add_to_policy(
        aws_iam.PolicyStatement(
            actions=["sts:GetWebIdentityToken"],
            resources=["*"],
            conditions={"ForAllValues:StringEquals": {"sts:IdentityTokenAudience": [audience]}},
        )
    )
    waive(
        role,
        rule="IAM5[Resource::*]",
        reason="The action takes no resource: a role asks for a token of itself, and the condition names the audience.",
    )


def read_secret(scope: Construct, construct_id: str, *, role: aws_iam.Role, name: str, keys: Keys) -> None:
    """Allow a role to read a secret's value, whose ARN ends with six characters that AWS adds to its name."""
    secret = aws_secretsmanager.Secret.from_secret_name_v2(scope, construct_id, name)
    resources = [f"{secret.secret_arn}-??????"]
    role.add_to_policy(aws_iam.PolicyStatement(actions=["secretsmanager:GetSecretValue"], resources=resources))
    keys.lend(role, SECRETS, DECRYPT, *resources)
