"""Keys of KMS that a queue or a secret is under: whatever cannot use its key is refused, as S3 in LocalStack does.

A function's queue is read by LocalStack itself, and such a reading is not refused: it would stop for good.
"""

from typing import Any

from localstack.aws.api import CommonServiceException
from localstack.aws.connect import connect_to
from localstack.aws.handlers import serve_custom_service_request_handlers
from localstack.services.kms.models import KmsKey
from localstack.services.sqs.models import sqs_stores
from localstack.utils.patch import patch
from moto.secretsmanager.models import secretsmanager_backends

# What SQS says of a key in each state in which nobody can use it.
STATES = {"Disabled": "KmsDisabled", "PendingDeletion": "KmsInvalidState", "PendingImport": "KmsInvalidState"}
SENDS = {"SendMessage", "SendMessageBatch"}


def apply() -> None:
    patch(KmsKey.generate_key_material_id)(_material_id)
    serve_custom_service_request_handlers.append(_refuse)


def _material_id(original: Any, key: Any, material: bytes) -> Any:
    """Return LocalStack's id of a key's material; its own way to one needs a later Python."""
    return original(key, material.hex())


def _refuse(_chain: Any, context: Any, _response: Any) -> None:
    service = context.service.service_name if context.operation else ""
    if service == "sqs" and (context.operation.name in SENDS or _is_reading(context)):
        key = _key_of_queue(context, context.service_request.get("QueueUrl", ""))
        if key and (code := _fault(context, key)):
            raise CommonServiceException(code, f"The key {key} cannot be used", 400, sender_fault=True)
    if service == "secretsmanager" and context.operation.name == "GetSecretValue":
        key = _key_of_secret(context, context.service_request["SecretId"])
        if key and _fault(context, key):
            raise CommonServiceException("DecryptionFailure", f"The key {key} cannot be used", 400, sender_fault=True)


def _is_reading(context: Any) -> bool:
    return bool(context.operation.name == "ReceiveMessage" and not context.is_internal_call)


def _key_of_queue(context: Any, url: str) -> str:
    queue = sqs_stores[context.account_id][context.region].queues.get(url.rpartition("/")[2])
    return (queue and queue.attributes.get("KmsMasterKeyId")) or ""


def _key_of_secret(context: Any, name: str) -> str:
    secrets = secretsmanager_backends[context.account_id][context.region].secrets
    secret = secrets.get(name) if name in secrets else None
    return getattr(secret, "kms_key_id", None) or ""


def _fault(context: Any, key: str) -> str:
    """Return SQS's code for a key that cannot be used, or nothing. Keys of AWS's own can always be."""
    if key.startswith("alias/aws/"):
        return ""
    kms = connect_to(aws_access_key_id=context.account_id, region_name=context.region).kms
    try:
        return STATES.get(kms.describe_key(KeyId=key)["KeyMetadata"]["KeyState"], "")
    except kms.exceptions.NotFoundException:
        return "KmsNotFound"
