"""Three buckets, landing, lake and service, and the rights on each that a role can be granted, by prefix.

A role can be granted neither writing to the landing bucket (that is for `uploaders`), nor deleting from the landing or
the lake bucket (the latter is for people with the policy in `cleaner`).
"""

from collections.abc import Iterable

from aws_cdk import Aws, Duration, RemovalPolicy, aws_iam, aws_s3
from constructs import Construct

from infra.config import INCOMPLETE_UPLOAD_DAYS, Config
from infra.waivers import waive, waive_below
from lakegate.landing import canary
from lakegate.settings import WAREHOUSE

STAGING_DAYS, LOG_DAYS = 14, 90
REPLACED_DAYS = 30  # for which overwritten or deleted objects in the lake and service buckets can be restored
EXPIRED_DAYS = 1  # for which S3 keeps expired versions; a day is its minimum
JOB_LOGS = "logs/applications"  # EMR Serverless's folder below the job's log URI, `logs/`
# Without it S3 answers "forbidden" for a missing object; a prefix condition would not match that request.
FIND = ("s3:ListBucket",)
READ = ("s3:GetObject",)
WRITE = ("s3:PutObject",)
WRITE_PARTS = (*WRITE, "s3:AbortMultipartUpload")  # for large objects, whose upload in parts is ended if it fails
CHANGE = (*WRITE_PARTS, "s3:DeleteObject", "s3:DeleteObjectVersion")


class Storage(Construct):
    """All storage of lakegate's outside the catalog."""

    def __init__(self, scope: Construct, construct_id: str, *, config: Config) -> None:
        super().__init__(scope, construct_id)
        self._config = config
        self.service = self._bucket("service", lifecycle_rules=[*_expiries(), _replaced(), _incomplete_uploads()])
        waive(
            self.service,
            rule="S1",
            reason="It receives the other buckets' access logs. Logging its own access would never end.",
        )
        self.lake = self._bucket("lake", lifecycle_rules=[_replaced(), _incomplete_uploads()], **self._logged("lake"))
        self.landing = self._bucket(
            "landing", lifecycle_rules=[*_landed(config), _incomplete_uploads()], **self._logged("landing")
        )
        _send_events(self.landing)
        self._refuse_other_keys()
        self._let_upload()

    def _bucket(self, what: str, **properties: object) -> aws_s3.Bucket:
        keep = RemovalPolicy.DESTROY if self._config.ephemeral else RemovalPolicy.RETAIN_ON_UPDATE_OR_DELETE
        return aws_s3.Bucket(
            self,
            what.capitalize(),
            bucket_name=f"{self._config.name}-{what}-{Aws.ACCOUNT_ID}-{Aws.REGION}",
            block_public_access=aws_s3.BlockPublicAccess.BLOCK_ALL,
            encryption=aws_s3.BucketEncryption.S3_MANAGED,
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=aws_s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=keep,
            versioned=True,
            **properties,
        )

    def _refuse_other_keys(self) -> None:
        """Refuse uploads under encryption that no function could read, so that the uploader sees the error."""
        name = "s3:x-amz-server-side-encryption"
        for condition in (
            {"StringEquals": {name: ["aws:kms", "aws:kms:dsse"]}},
            {"Null": {f"{name}-customer-algorithm": "false"}},
        ):
            denied = aws_iam.PolicyStatement(
                effect=aws_iam.Effect.DENY,
                principals=[aws_iam.AnyPrincipal()],
                actions=["s3:PutObject"],
                resources=[self.landing.arn_for_objects("*")],
                conditions=condition,
            )
            self.landing.add_to_resource_policy(denied)

    def _let_upload(self) -> None:
        """Allow the uploaders in the bucket's policy, which another account's role needs beside its own permission. One
        with prefixes is denied all other keys, whatever its own account allows.
        """
        for arn, prefixes in self._config.prefixes.items():
            who = [aws_iam.ArnPrincipal(arn)]
            keys = [self.landing.arn_for_objects(f"{prefix}*") for prefix in sorted(prefixes)]
            self.landing.add_to_resource_policy(
                aws_iam.PolicyStatement(principals=who, actions=list(WRITE_PARTS), resources=keys)
            )
            if "" not in prefixes:
                self.landing.add_to_resource_policy(
                    aws_iam.PolicyStatement(
                        effect=aws_iam.Effect.DENY, principals=who, actions=list(CHANGE), not_resources=keys
                    )
                )

    def _logged(self, what: str) -> dict[str, object]:
        return {"server_access_logs_bucket": self.service, "server_access_logs_prefix": f"logs/access/{what}/"}

    def read_landing(self, role: aws_iam.Role) -> None:
        """Allow a role to look up and read any version of a landed object. It never asks for the latest one."""
        _allow(role, ("s3:ListBucket", "s3:ListBucketVersions"), self.landing.bucket_arn)
        _allow(role, ("s3:GetObjectVersion",), self.landing.arn_for_objects("*"))
        waive_below(role, resource=self.landing, suffix="/*", reason="Files land under any key.")

    def observe_service(self, role: aws_iam.Role) -> None:
        """Allow a role to read contracts, frozen jobs, reports, notes and archived receipts."""
        _allow(role, FIND, self.service.bucket_arn)
        self._below(
            role,
            self.service,
            READ,
            ("contracts", "attempts", "begun", "reports", "notes", "receipts", "closed"),
        )

    def push_contracts(self, role: aws_iam.Role) -> None:
        """Allow a role to write contracts."""
        self._below(role, self.service, ("s3:PutObject",), ("contracts",))

    def drop_canary(self, role: aws_iam.Role) -> None:
        """Allow a role to land the canary, and to push its contract beside the others."""
        _allow(role, (*WRITE, "s3:GetObjectVersion"), self.landing.arn_for_objects(canary.KEY))
        _allow(role, FIND, self.service.bucket_arn)
        self._below(role, self.service, READ, ("contracts",))
        _allow(role, WRITE, self.service.arn_for_objects(f"contracts/{canary.TABLE}.yaml"))

    def use_service(self, role: aws_iam.Role) -> None:
        """Allow a role to read contracts and reports, freeze jobs, stage files, archive receipts, and note who was told
        what.
        """
        self.observe_service(role)
        self._below(role, self.service, READ, ("staging",))
        self._below(role, self.service, WRITE_PARTS, ("staging",))
        self._below(role, self.service, WRITE, ("attempts", "notes", "receipts", "closed"))
        self._below(role, self.service, ("s3:DeleteObject",), ("notes",))

    def run_job(self, role: aws_iam.Role) -> None:
        """Allow a role to read an attempt's frozen and staged objects, note that it begins, and write its report and
        logs (not access logs).
        """
        _allow(role, FIND, self.service.bucket_arn)
        self._below(role, self.service, READ, ("attempts", "begun", "staging", "reports", JOB_LOGS))
        self._below(role, self.service, WRITE, ("begun", "reports"))
        self._below(role, self.service, WRITE_PARTS, (JOB_LOGS,))

    def write_warehouse(self, role: aws_iam.Role) -> None:
        """Allow a role to read and add data and metadata files. No role may delete them."""
        _allow(role, FIND, self.lake.bucket_arn)
        self._below(role, self.lake, (*READ, *WRITE_PARTS), (WAREHOUSE,))

    def _below(
        self, role: aws_iam.Role, bucket: aws_s3.Bucket, actions: Iterable[str], prefixes: Iterable[str]
    ) -> None:
        prefixes = tuple(prefixes)
        _allow(role, actions, *(bucket.arn_for_objects(f"{prefix}/*") for prefix in prefixes))
        for prefix in prefixes:
            reason = f"Object names below {prefix}/ are made at run time. The grant covers this prefix only."
            waive_below(role, resource=bucket, suffix=f"/{prefix}/*", reason=reason)


def _allow(role: aws_iam.Role, actions: Iterable[str], *resources: str) -> None:
    role.add_to_policy(aws_iam.PolicyStatement(actions=list(actions), resources=list(resources)))


def _expiries() -> list[aws_s3.LifecycleRule]:
    days = {"staging": STAGING_DAYS, "logs": LOG_DAYS}
    return [
        aws_s3.LifecycleRule(
            id=f"expire-{prefix}",
            prefix=f"{prefix}/",
            expiration=Duration.days(count),
            noncurrent_version_expiration=Duration.days(EXPIRED_DAYS),
        )
        for prefix, count in days.items()
    ]


def _replaced() -> aws_s3.LifecycleRule:
    """Return the rule for replaced versions. S3 applies the shorter rule if several match."""
    return aws_s3.LifecycleRule(
        id="expire-replaced",
        noncurrent_version_expiration=Duration.days(REPLACED_DAYS),
        expired_object_delete_marker=True,
    )


def _landed(config: Config) -> list[aws_s3.LifecycleRule]:
    """Return the expiry of landed objects. It covers noncurrent versions and delete markers, because every sweep lists
    them, too.
    """
    rules = [_canaries(config)] if config.canary_hours else []
    if not config.landing_days:
        return rules
    days = Duration.days(config.landing_days)
    return [*rules, aws_s3.LifecycleRule(id="expire-landed", expiration=days, noncurrent_version_expiration=days)]


def _canaries(config: Config) -> aws_s3.LifecycleRule:
    """Return the expiry of canaries that a later one has replaced."""
    return aws_s3.LifecycleRule(
        id="expire-canaries",
        prefix=canary.KEY,
        noncurrent_version_expiration=Duration.days(config.needed_days),
    )


def _incomplete_uploads() -> aws_s3.LifecycleRule:
    return aws_s3.LifecycleRule(
        id="abort-incomplete-uploads", abort_incomplete_multipart_upload_after=Duration.days(INCOMPLETE_UPLOAD_DAYS)
    )


def _send_events(bucket: aws_s3.Bucket) -> None:
    """Enable events by the bucket's own property, because `event_bridge_enabled` adds a custom resource."""
    resource = bucket.node.default_child
    if not isinstance(resource, aws_s3.CfnBucket):
        raise TypeError(f"{bucket.node.path} has no CloudFormation bucket")
    resource.notification_configuration = aws_s3.CfnBucket.NotificationConfigurationProperty(
        event_bridge_configuration=aws_s3.CfnBucket.EventBridgeConfigurationProperty(event_bridge_enabled=True)
    )
