"""Three buckets, landing, lake and service, and the rights on each that a role can be granted, by prefix.

A role can be granted neither writing to the landing bucket (that is for `uploaders`), nor deleting from the landing or
the lake bucket (the latter is for people with the policy in `cleaner`). The landing bucket may be somebody else's, of
which nothing is made or changed here. With a key of the installation's own all three are under it, and the logs of
access to them are in a fourth bucket, because S3 writes such logs to none that is under a key.
"""

from collections.abc import Iterable, Iterator, Mapping

from aws_cdk import Aws, Duration, aws_iam, aws_s3
from constructs import Construct

from infra.config import INCOMPLETE_UPLOAD_DAYS, NEEDED_DAYS, Config
from infra.data.key import own_key
from infra.keys import DECRYPT, ENCRYPT, S3, Keys, objects
from infra.removal import removal_policy
from infra.waivers import waive, waive_below
from lakegate.landing import canary
from lakegate.settings import WAREHOUSE

DAYS = {"staging": 14, "logs": 90}  # after which what is below a prefix of the service's bucket expires
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
        self._config, self._key = config, own_key(self, config)
        self.keys = Keys(arn=self._key.key_arn if self._key else "", of_uploads=config.kms_upload_keys)
        self._logs: aws_s3.Bucket | None = None
        if self._key:
            self._logs = self._log_to(self._bucket("access", is_locked=False, lifecycle_rules=[_expiry("logs")]))
        self.service = self._bucket(
            "service", lifecycle_rules=[*_expiries(), _old_versions_rule(), _incomplete_uploads()]
        )
        self._logs = self._logs or self._log_to(self.service)
        self.lake = self._bucket("lake", lifecycle_rules=[_old_versions_rule(), _incomplete_uploads()])
        self.landing = self._landing()

    def _landing(self) -> aws_s3.IBucket:
        config = self._config
        if config.landing_bucket:
            return aws_s3.Bucket.from_bucket_name(self, "Landing", config.landing_bucket)
        landing = self._bucket("landing", lifecycle_rules=[*_landing_rules(config), _incomplete_uploads()])
        _send_events(landing)
        self._refuse_other_keys(landing)
        self._let_upload(landing)
        return landing

    def _bucket(self, name: str, *, is_locked: bool = True, **properties: object) -> aws_s3.Bucket:
        """Return a bucket under the installation's key, if it has one, unless it is not to be locked with it."""
        key = self._key if is_locked else None
        encryption = aws_s3.BucketEncryption.KMS if key else aws_s3.BucketEncryption.S3_MANAGED
        return aws_s3.Bucket(
            self,
            name.capitalize(),
            bucket_name=f"{self._config.name}-{name}-{Aws.ACCOUNT_ID}-{Aws.REGION}",
            block_public_access=aws_s3.BlockPublicAccess.BLOCK_ALL,
            encryption=encryption,
            encryption_key=key,
            bucket_key_enabled=True if key else None,  # one call to KMS for many objects
            enforce_ssl=True,
            minimum_tls_version=1.2,
            object_ownership=aws_s3.ObjectOwnership.BUCKET_OWNER_ENFORCED,
            removal_policy=removal_policy(self._config),
            versioned=True,
            **self._log_options(name),
            **properties,
        )

    def _refuse_other_keys(self, landing: aws_s3.Bucket) -> None:
        """Refuse uploads under encryption that no function could read, so that the uploader sees the error. With a key
        of the installation's own, refuse those under none, too.
        """
        name = "s3:x-amz-server-side-encryption"
        keys = [key for key in (self.keys.arn, *self.keys.of_uploads) if key]
        further_conditions = {"StringNotEquals": {f"{name}-aws-kms-key-id": keys}} if keys else {}
        under_none = [{"StringEquals": {name: "AES256"}}] if self.keys.arn else []
        for condition in (
            {"StringEquals": {name: ["aws:kms", "aws:kms:dsse"]}, **further_conditions},
            {"Null": {f"{name}-customer-algorithm": "false"}},
            *under_none,
        ):
            statement = aws_iam.PolicyStatement(
                effect=aws_iam.Effect.DENY,
                principals=[aws_iam.AnyPrincipal()],
                actions=["s3:PutObject"],
                resources=[landing.arn_for_objects("*")],
                conditions=condition,
            )
            landing.add_to_resource_policy(statement)

    def _let_upload(self, landing: aws_s3.Bucket) -> None:
        """Allow the uploaders in the bucket's policy, which another account's role needs beside its own permission. One
        with prefixes is denied all other keys, whatever its own account allows.
        """
        for arn, prefixes in self._config.prefixes.items():
            principals = [aws_iam.ArnPrincipal(arn)]
            keys = [landing.arn_for_objects(f"{prefix}*") for prefix in sorted(prefixes)]
            landing.add_to_resource_policy(
                aws_iam.PolicyStatement(principals=principals, actions=list(WRITE_PARTS), resources=keys)
            )
            if "" not in prefixes:
                landing.add_to_resource_policy(
                    aws_iam.PolicyStatement(
                        effect=aws_iam.Effect.DENY, principals=principals, actions=list(CHANGE), not_resources=keys
                    )
                )

    def _log_to(self, bucket: aws_s3.Bucket) -> aws_s3.Bucket:
        reason = "It receives the other buckets' access logs. Logging its own access would never end."
        waive(bucket, rule="S1", reason=reason)
        return bucket

    def _log_options(self, name: str) -> dict[str, object]:
        """Return where access to a bucket is logged, for every bucket but that of the logs."""
        logs = {"server_access_logs_bucket": self._logs, "server_access_logs_prefix": f"logs/access/{name}/"}
        return logs if self._logs else {}

    def unlock(
        self, actions: tuple[str, ...], *buckets: aws_s3.IBucket, uploads: bool = False
    ) -> Iterator[aws_iam.PolicyStatement]:
        """Yield what the key's part of a right on objects of buckets is; nothing without a key."""
        things = objects(*(bucket.bucket_arn for bucket in buckets))
        return self.keys.use(S3, actions, *things, uploads=uploads)

    def read_landing(self, role: aws_iam.Role) -> None:
        """Allow a role to look up and read any version of a landed object. It never asks for the latest one. In a
        bucket of somebody else's it may only do so, and list, below the prefixes.
        """
        _add(role, self.unlock(DECRYPT, self.landing, uploads=True))
        _add(role, [self.list_landing()])
        prefixes = self._config.landing_prefixes
        if not prefixes:
            _allow(role, FIND, self.landing.bucket_arn)
        for prefix in prefixes or ("",):
            _allow(role, ("s3:GetObjectVersion",), self.landing.arn_for_objects(f"{prefix}*"))
            landing = self._config.landing_bucket or self.landing
            waive_below(role, resource=landing, suffix=f"/{prefix}*", reason="Files land under any key.")

    def list_landing(self) -> aws_iam.PolicyStatement:
        """Return the right to list the landing bucket's versions, below the prefixes alone if there are some."""
        prefixes = [f"{prefix}*" for prefix in self._config.landing_prefixes]
        conditions = {"StringLike": {"s3:prefix": prefixes}} if prefixes else None
        bucket = self.landing.bucket_arn
        return aws_iam.PolicyStatement(actions=["s3:ListBucketVersions"], resources=[bucket], conditions=conditions)

    def observe_service(self, role: aws_iam.Role) -> None:
        """Allow a role to read contracts, frozen jobs, reports, notes and archived receipts."""
        _allow(role, FIND, self.service.bucket_arn)
        _add(role, self.unlock(DECRYPT, self.service))
        self._prefix_statement(
            role,
            self.service,
            READ,
            ("contracts", "attempts", "begun", "reports", "handovers", "notes", "receipts", "closed"),
        )

    def change_contracts(self, role: aws_iam.Role) -> None:
        """Allow a role to write and delete contracts."""
        self._prefix_statement(role, self.service, ("s3:DeleteObject", "s3:PutObject"), ("contracts",))
        _add(role, self.unlock(ENCRYPT, self.service))

    def drop_canary(self, role: aws_iam.Role) -> None:
        """Allow a role to land the canary, and to push its contract beside the others."""
        _allow(role, (*WRITE, "s3:GetObjectVersion"), self.landing.arn_for_objects(canary.KEY))
        _allow(role, FIND, self.service.bucket_arn)
        self._prefix_statement(role, self.service, READ, ("contracts",))
        _allow(role, WRITE, self.service.arn_for_objects(f"contracts/{canary.TABLE}.yaml"))
        _add(role, self.unlock(ENCRYPT, self.landing, self.service))

    def use_service(self, role: aws_iam.Role) -> None:
        """Allow a role to read contracts and reports, freeze jobs, stage files, archive receipts, and note who was told
        what.
        """
        self.observe_service(role)
        self._prefix_statement(role, self.service, READ, ("staging",))
        self._prefix_statement(role, self.service, WRITE_PARTS, ("staging",))
        self._prefix_statement(role, self.service, WRITE, ("attempts", "notes", "receipts", "closed"))
        self._prefix_statement(role, self.service, ("s3:DeleteObject",), ("notes",))
        _add(role, self.unlock(ENCRYPT, self.service))

    def run_job(self, role: aws_iam.Role) -> None:
        """Allow a role to read an attempt's frozen and staged objects, note that it begins, and write its report and
        logs (not access logs).
        """
        _allow(role, FIND, self.service.bucket_arn)
        self._prefix_statement(role, self.service, READ, ("attempts", "begun", "staging", "reports", JOB_LOGS))
        self._prefix_statement(role, self.service, WRITE, ("begun", "reports"))
        self._prefix_statement(role, self.service, WRITE_PARTS, (JOB_LOGS,))
        _add(role, self.unlock(ENCRYPT, self.service))

    def run_express_job(self, role: aws_iam.Role) -> None:
        """Allow a role to read an attempt's frozen and staged objects, note that it begins, and write its report, or
        why Spark has to do the job.
        """
        self._prefix_statement(role, self.service, READ, ("attempts", "staging"))
        self._prefix_statement(role, self.service, WRITE, ("begun", "reports", "handovers"))
        _add(role, self.unlock(ENCRYPT, self.service))

    def write_warehouse(self, role: aws_iam.Role, *, in_parts: bool = True) -> None:
        """Allow a role to read and add data and metadata files, each in one request if not `in_parts`. No role may
        delete them.
        """
        _allow(role, FIND, self.lake.bucket_arn)
        self._prefix_statement(role, self.lake, (*READ, *(WRITE_PARTS if in_parts else WRITE)), (WAREHOUSE,))
        _add(role, self.unlock(ENCRYPT, self.lake))

    def read_warehouse(self, role: aws_iam.Role) -> None:
        """Allow a role to read data and metadata files."""
        _allow(role, FIND, self.lake.bucket_arn)
        self._prefix_statement(role, self.lake, READ, (WAREHOUSE,))
        _add(role, self.unlock(DECRYPT, self.lake))

    def _prefix_statement(
        self, role: aws_iam.Role, bucket: aws_s3.Bucket, actions: Iterable[str], prefixes: Iterable[str]
    ) -> None:
        prefixes = tuple(prefixes)
        _allow(role, actions, *(bucket.arn_for_objects(f"{prefix}/*") for prefix in prefixes))
        for prefix in prefixes:
            reason = f"Object names below {prefix}/ are made at run time. The grant covers this prefix only."
            waive_below(role, resource=bucket, suffix=f"/{prefix}/*", reason=reason)


def _allow(
    role: aws_iam.Role,
    actions: Iterable[str],
    *resources: str,
    conditions: Mapping[str, Mapping[str, object]] | None = None,
) -> None:
    _add(role, [aws_iam.PolicyStatement(actions=[*actions], resources=[*resources], conditions=conditions)])


def _add(role: aws_iam.Role, statements: Iterable[aws_iam.PolicyStatement]) -> None:
    for statement in statements:
        role.add_to_policy(statement)


def _expiries() -> list[aws_s3.LifecycleRule]:
    return [_expiry(prefix) for prefix in DAYS]


def _expiry(prefix: str) -> aws_s3.LifecycleRule:
    return aws_s3.LifecycleRule(
        id=f"expire-{prefix}",
        prefix=f"{prefix}/",
        expiration=Duration.days(DAYS[prefix]),
        noncurrent_version_expiration=Duration.days(EXPIRED_DAYS),
    )


def _old_versions_rule() -> aws_s3.LifecycleRule:
    """Return the rule for replaced versions. S3 applies the shorter rule if several match."""
    return aws_s3.LifecycleRule(
        id="expire-replaced",
        noncurrent_version_expiration=Duration.days(REPLACED_DAYS),
        expired_object_delete_marker=True,
    )


def _landing_rules(config: Config) -> list[aws_s3.LifecycleRule]:
    """Return the expiry of landed objects. It covers noncurrent versions and delete markers, because every sweep lists
    them, too.
    """
    rules = [_canaries()] if config.alarm_canary_hours else []
    if not config.landing_keep_days:
        return rules
    days = Duration.days(config.landing_keep_days)
    return [*rules, aws_s3.LifecycleRule(id="expire-landed", expiration=days, noncurrent_version_expiration=days)]


def _canaries() -> aws_s3.LifecycleRule:
    """Return the expiry of canaries that a later one has replaced."""
    return aws_s3.LifecycleRule(
        id="expire-canaries",
        prefix=canary.KEY,
        noncurrent_version_expiration=Duration.days(NEEDED_DAYS),
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
