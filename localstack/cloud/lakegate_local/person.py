"""The person at the command line, as on AWS: a role of IAM that is tagged for its part in the catalog."""

import contextlib
import json

from lakegate.access import TAG, Role
from lakegate_local.services import ACCOUNT, client
from lakegate_local.settings import LocalSettings

SESSION, SECONDS = "command-line", 12 * 60 * 60
TRUST = {
    "Version": "2012-10-17",
    "Statement": [
        {"Effect": "Allow", "Principal": {"AWS": f"arn:aws:iam::{ACCOUNT}:root"}, "Action": "sts:AssumeRole"}
    ],
}


def credentials(settings: LocalSettings, who: str = "person", role: Role = Role.OBSERVER) -> dict[str, str]:
    """Return credentials by their variables: a new session of a role of IAM, which is made once and tagged with its
    part in the catalog.
    """
    name, iam = f"{settings.stack}-{who}", client(settings, "iam")
    with contextlib.suppress(iam.exceptions.EntityAlreadyExistsException):
        part = {"Key": TAG, "Value": str(role)}
        iam.create_role(RoleName=name, AssumeRolePolicyDocument=json.dumps(TRUST), Tags=[part])
    found = client(settings, "sts").assume_role(
        RoleArn=f"arn:aws:iam::{ACCOUNT}:role/{name}", RoleSessionName=SESSION, DurationSeconds=SECONDS
    )["Credentials"]
    return {
        "AWS_ACCESS_KEY_ID": found["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": found["SecretAccessKey"],
        "AWS_SESSION_TOKEN": found["SessionToken"],
    }
