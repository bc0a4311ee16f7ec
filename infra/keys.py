"""Keys of KMS, and rights to use them through one service and for one thing."""

from collections.abc import Iterator
from dataclasses import dataclass

from aws_cdk import Aws, aws_iam, aws_sqs
from aws_cdk.aws_kms import IKey, Key
from constructs import Construct

DECRYPT = ("kms:Decrypt",)
ENCRYPT = ("kms:GenerateDataKey", *DECRYPT)  # S3 decrypts to put parts together, and SQS before it sends
S3, SQS, SECRETS = "s3", "sqs", "secretsmanager"
_CONTEXTS = {S3: "aws:s3:arn", SQS: "aws:sqs:arn", SECRETS: "SecretARN"}  # what each service names its thing by


@dataclass(frozen=True, kw_only=True)
class Keys:
    """ARNs of the installation's own key, "" if it has none, and of those that may encrypt uploads."""

    arn: str = ""
    of_uploads: tuple[str, ...] = ()

    def use(
        self, service: str, actions: tuple[str, ...], *things: str, uploads: bool = False
    ) -> Iterator[aws_iam.PolicyStatement]:
        """Yield a statement that allows to use the own key, or with `uploads` also the uploads' keys, through a service
        and for things of these ARNs; none without a key.
        """
        if keys := [key for key in (self.arn, *(self.of_uploads if uploads else ())) if key]:
            yield aws_iam.PolicyStatement(
                actions=list(actions), resources=keys, conditions=conditions(service, *things)
            )

    def lend(self, role: aws_iam.Role, service: str, actions: tuple[str, ...], *things: str) -> None:
        """Allow a role what `use` says."""
        for statement in self.use(service, actions, *things):
            role.add_to_policy(statement)

    def key(self, scope: Construct) -> IKey | None:
        """Return the own key for a resource. It is named by its ARN, so that nothing is added to the key's policy."""
        return Key.from_key_arn(scope, "OwnKey", self.arn) if self.arn else None

    def encrypt(self, queue: aws_sqs.Queue) -> None:
        """Put a queue under the own key, by its own property: CDK's would open the queue to every rule of events."""
        resource = queue.node.default_child
        if self.arn and isinstance(resource, aws_sqs.CfnQueue):
            resource.sqs_managed_sse_enabled = None
            resource.kms_master_key_id = self.arn


def conditions(service: str, *things: str) -> dict[str, dict[str, object]]:
    """Return the conditions of a call to KMS that a service makes for somebody, about things of these ARNs."""
    return {
        "StringEquals": {"kms:ViaService": f"{service}.{Aws.REGION}.{Aws.URL_SUFFIX}"},
        "StringLike": {f"kms:EncryptionContext:{_CONTEXTS[service]}": list(things)},
    }


def objects(*buckets: str) -> list[str]:
    """Return patterns of the ARNs by which S3 names objects of buckets: with a bucket key it names the bucket."""
    return [pattern for bucket in buckets for pattern in (bucket, f"{bucket}/*")]
