"""The installation's own key: one of its own making, whose policy is here, or one that is given by its ARN."""

from collections.abc import Iterable, Mapping

from aws_cdk import Aws, aws_iam
from aws_cdk.aws_kms import IKey, Key
from constructs import Construct

from infra.config import Config
from infra.keys import ENCRYPT, S3, SECRETS, SQS, conditions, objects
from infra.removal import removal_policy

ADMINISTER = (
    *("CreateAlias", "Describe*", "Enable*", "List*", "Put*", "Update*", "Revoke*", "Disable*", "Get*", "Delete*"),
    *("TagResource", "UntagResource", "ScheduleKeyDeletion", "CancelKeyDeletion", "RotateKeyOnDemand"),
)
LOG = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey")


def own_key(scope: Construct, config: Config) -> IKey | None:
    """Return the installation's key, if it is to have one. One that is made here outlives the stack, as the buckets do:
    without it nobody reads them.
    """
    if not config.kms_key:
        return None
    if config.kms_key != "create":
        return Key.from_key_arn(scope, "Key", config.kms_key)
    return Key(
        scope,
        "Key",
        description=f"lakegate: buckets, queues and logs of {config.name}",
        enable_key_rotation=True,
        policy=aws_iam.PolicyDocument(statements=[*policy(config)]),
        removal_policy=removal_policy(config),
    )


def policy(config: Config) -> Iterable[aws_iam.PolicyStatement]:
    """Yield the statements of the key's policy. The account's own policies say who administers the key, and which role
    uses it through which service; here are the services that act for nobody, and uploaders of other accounts.
    """
    account = aws_iam.AccountRootPrincipal()
    yield _allow("Administer", account, [f"kms:{action}" for action in ADMINISTER])
    through = [f"{service}.{Aws.REGION}.{Aws.URL_SUFFIX}" for service in (S3, SQS, SECRETS)]
    yield _allow("UseThroughServices", account, ENCRYPT, {"StringEquals": {"kms:ViaService": through}})
    logs = [f"/aws/lambda/{config.name}-*", *((f"{config.name}-catalog-*",) if config.catalog_image else ())]
    names = f"arn:{Aws.PARTITION}:logs:{Aws.REGION}:{Aws.ACCOUNT_ID}:log-group:"
    of_logs = {"ArnLike": {"kms:EncryptionContext:aws:logs:arn": [names + log for log in logs]}}
    yield _allow("WriteLogs", aws_iam.ServicePrincipal(f"logs.{Aws.REGION}.amazonaws.com"), LOG, of_logs)
    own_account = {"StringEquals": {"aws:SourceAccount": Aws.ACCOUNT_ID}}
    yield _allow("SendEvents", aws_iam.ServicePrincipal("events.amazonaws.com"), ENCRYPT, own_account)
    landing = f"arn:{Aws.PARTITION}:s3:::{config.name}-landing-{Aws.ACCOUNT_ID}-{Aws.REGION}"
    for number, arn in enumerate(config.prefixes, 1):
        uploads = conditions(S3, *objects(landing))
        yield _allow(f"Upload{number}", aws_iam.ArnPrincipal(arn), ENCRYPT, uploads)


def _allow(
    sid: str,
    principal: aws_iam.IPrincipal,
    actions: Iterable[str],
    conditions: Mapping[str, Mapping[str, object]] | None = None,
) -> aws_iam.PolicyStatement:
    return aws_iam.PolicyStatement(
        sid=sid, principals=[principal], actions=[*actions], resources=["*"], conditions=conditions
    )
