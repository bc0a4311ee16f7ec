"""A policy for whoever verifies the installation: it reads what the catalog is compared with, and changes nothing."""

from aws_cdk import aws_iam
from constructs import Construct

from infra.data.storage import FIND, READ, Storage
from infra.keys import DECRYPT
from infra.waivers import waive_below
from lakegate.settings import WAREHOUSE

READ_PREFIXES = ("attempts", "reports", "receipts", "closed", "notes")  # jobs, reports, the archive, and unrouted files


class Verifier(Construct):
    """A policy to attach to a person's role, beside the rights to look. The stack itself attaches it to none."""

    def __init__(self, scope: Construct, construct_id: str, *, storage: Storage) -> None:
        super().__init__(scope, construct_id)
        read = {storage.lake: (WAREHOUSE,), storage.service: READ_PREFIXES}
        things = [bucket.arn_for_objects(f"{prefix}/*") for bucket, prefixes in read.items() for prefix in prefixes]
        find = [bucket.bucket_arn for bucket in read]
        self.verify = aws_iam.ManagedPolicy(
            self,
            "Verify",
            description="Read what the catalog is compared with",
            statements=[
                aws_iam.PolicyStatement(actions=list(FIND), resources=find),
                aws_iam.PolicyStatement(actions=list(READ), resources=things),
                storage.list_landing(),
                *storage.unlock(DECRYPT, *read),
            ],
        )
        reason = "Names of tables, of their files, of attempts and of landing keys are made at run time."
        for bucket, prefixes in read.items():
            for prefix in prefixes:
                waive_below(self.verify, resource=bucket, suffix=f"/{prefix}/*", reason=reason)
