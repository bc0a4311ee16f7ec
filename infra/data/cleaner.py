"""A policy for whoever cleans the lake. It is the only one that may delete from the lake."""

from aws_cdk import aws_iam
from constructs import Construct

from infra.data.storage import FIND, READ, Storage
from infra.keys import DECRYPT, ENCRYPT
from infra.waivers import waive_below
from lakegate.settings import WAREHOUSE

DELETE = ("s3:DeleteObject",)  # not versions: what is deleted by mistake can be had back
NOTE_ACTIONS = (*READ, "s3:PutObject")
READ_PREFIXES = (
    "contracts",
    "attempts",
    "reports",
)  # how long branches are kept, and what frozen jobs are about to reuse


class Cleaner(Construct):
    """A policy to attach to a person's role, beside the rights to look. The stack itself attaches it to none."""

    def __init__(self, scope: Construct, construct_id: str, *, storage: Storage) -> None:
        super().__init__(scope, construct_id)
        lake, service = storage.lake, storage.service
        self.clean_lake = aws_iam.ManagedPolicy(
            self,
            "CleanLake",
            description="Delete files from the lake, and keep cleaning's notes",
            statements=[
                _allow(FIND, lake.bucket_arn, service.bucket_arn),
                _allow((*READ, *DELETE), lake.arn_for_objects(f"{WAREHOUSE}/*")),
                _allow(READ, *(service.arn_for_objects(f"{prefix}/*") for prefix in READ_PREFIXES)),
                _allow(NOTE_ACTIONS, service.arn_for_objects("cleaning/*")),
                *storage.unlock(DECRYPT, lake),
                *storage.unlock(ENCRYPT, service),
            ],
        )
        reason = "Names of tables, of their files and of attempts are made at run time."
        waive_below(self.clean_lake, resource=lake, suffix=f"/{WAREHOUSE}/*", reason=reason)
        for prefix in (*READ_PREFIXES, "cleaning"):
            waive_below(self.clean_lake, resource=service, suffix=f"/{prefix}/*", reason=reason)


def _allow(actions: tuple[str, ...], *resources: str) -> aws_iam.PolicyStatement:
    return aws_iam.PolicyStatement(actions=list(actions), resources=list(resources))
