"""Identities in the catalog: a tag that names a role's part, and the right to tokens that prove it."""

from aws_cdk import Tags, aws_iam

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
