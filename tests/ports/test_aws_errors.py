"""Every error that AWS's models name for an operation that the product calls, as one of ours.

A row is a decision: what a caller does next. An adapter may know more of an error, and then its own test says so.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from botocore.exceptions import ClientError
from botocore.retries.standard import ThrottledRetryableChecker, TransientRetryableChecker

from lakegate.adapters.aws import ITEM_RETRY_CODES, aws_errors
from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Retryable
from tests.support.aws_operations import ModelError, called, errors_of

CALLED: Mapping[str, str] = {
    "acm": "DescribeCertificate ImportCertificate",
    "cloudformation": "ContinueUpdateRollback CreateChangeSet DeleteStack DescribeStacks ExecuteChangeSet GetTemplate"
    " ListStackResources RollbackStack UpdateTerminationProtection",
    "ec2": "DescribeAddresses DescribeAvailabilityZones DescribeRouteTables DescribeSubnets DescribeVpcEndpoints"
    " DescribeVpcs",
    "ecr": "BatchGetImage",
    "emr-serverless": "GetApplication GetJobRun ListJobRuns StartJobRun StopApplication UpdateApplication",
    "events": "DescribeEventBus DescribeRule DisableRule EnableRule ListTargetsByRule PutEvents",
    "iam": "CreateServiceLinkedRole EnableOutboundWebIdentityFederation GetOutboundWebIdentityFederationInfo GetRole"
    " SimulatePrincipalPolicy",
    "lambda": "GetAccountSettings GetEventSourceMapping Invoke UpdateEventSourceMapping",
    "route53": "GetHostedZone",
    "s3": "AbortMultipartUpload CompleteMultipartUpload CopyObject CreateMultipartUpload DeleteObject DeleteObjects"
    " GetBucketEncryption GetBucketLocation GetBucketNotificationConfiguration GetBucketVersioning GetObject"
    " HeadObject ListBuckets ListObjectVersions ListObjectsV2 PutObject UploadPart UploadPartCopy",
    "secretsmanager": "CreateSecret GetSecretValue PutSecretValue",
    "service-quotas": "ListAWSDefaultServiceQuotas ListServiceQuotas",
    "sns": "GetTopicAttributes",
    "sqs": "DeleteMessageBatch ReceiveMessage SendMessage",
    "ssm": "GetParameter",
    "sts": "GetCallerIdentity GetWebIdentityToken",
}

# By service: what a person must change, what may be done again, and what must be read again.
MISTAKES: Mapping[str, str] = {
    "acm": "InvalidArnException InvalidParameterException InvalidTagException ResourceNotFoundException"
    " TagPolicyException TooManyTagsException",
    "cloudformation": "AlreadyExistsException ChangeSetNotFound InsufficientCapabilitiesException"
    " InvalidChangeSetStatus TokenAlreadyExistsException",
    "ecr": "InvalidParameterException RepositoryNotFoundException UnableToGetUpstreamImageException",
    "emr-serverless": "ResourceNotFoundException ValidationException",
    "events": "ManagedRuleException ResourceNotFoundException",
    "iam": "FeatureDisabled InvalidInput NoSuchEntity",
    "lambda": "EC2AccessDeniedException EFSIOException EFSMountFailureException InvalidParameterValueException"
    " InvalidRequestContentException InvalidRuntimeException InvalidSecurityGroupIDException InvalidSubnetIDException"
    " InvalidZipFileException KMSAccessDeniedException KMSDisabledException KMSInvalidStateException"
    " KMSNotFoundException NoPublishedVersionException RecursiveInvocationException RequestTooLargeException"
    " ResourceNotFoundException SerializedRequestEntityTooLargeException SnapStartException"
    " UnsupportedMediaTypeException",
    "route53": "InvalidInput NoSuchHostedZone",
    "s3": "EncryptionTypeMismatch InvalidObjectState InvalidRequest InvalidWriteOffset NoSuchBucket NoSuchKey"
    " NoSuchUpload ObjectNotInActiveTierError TooManyParts",
    "secretsmanager": "DecryptionFailure EncryptionFailure InvalidParameterException InvalidRequestException"
    " MalformedPolicyDocumentException PreconditionNotMetException ResourceExistsException ResourceNotFoundException",
    "service-quotas": "AccessDeniedException IllegalArgumentException InvalidPaginationTokenException"
    " NoSuchResourceException",
    "sns": "AuthorizationError InvalidParameter InvalidSecurity NotFound",
    "sqs": "BatchEntryIdsNotDistinct EmptyBatchRequest InvalidAddress InvalidBatchEntryId InvalidMessageContents"
    " InvalidSecurity KmsAccessDenied KmsDisabled KmsInvalidKeyUsage KmsInvalidState KmsNotFound KmsOptInRequired"
    " QueueDoesNotExist TooManyEntriesInBatchRequest UnsupportedOperation",
    "ssm": "InvalidKeyId ParameterNotFound ParameterVersionNotFound",
    "sts": "JWTPayloadSizeExceededException OutboundWebIdentityFederationDisabledException"
    " SessionDurationEscalationException",
}
BUSY: Mapping[str, str] = {
    "acm": "LimitExceededException",
    "cloudformation": "LimitExceededException",
    "ecr": "LimitExceededException",
    "iam": "LimitExceeded",
    "lambda": "EC2ThrottledException EFSMountConnectivityException EFSMountTimeoutException SnapStartTimeoutException"
    " TooManyRequestsException",
    "secretsmanager": "LimitExceededException",
    "service-quotas": "TooManyRequestsException",
    "sqs": "KmsThrottled OverLimit RequestThrottled",
}
FAILURES: Mapping[str, str] = {
    "ecr": "ServerException",
    "emr-serverless": "InternalServerException",
    "events": "InternalException",
    "iam": "PolicyEvaluation ServiceFailure",
    "lambda": "EC2UnexpectedException ENILimitReachedException ResourceNotReadyException ServiceException"
    " SubnetIPAddressLimitReachedException",
    "secretsmanager": "InternalServiceError",
    "service-quotas": "ServiceException",
    "sns": "InternalError",
    "ssm": "InternalServerError",
}
RACES: Mapping[str, str] = {
    "emr-serverless": "ConflictException",
    "events": "ConcurrentModificationException",
    "iam": "FeatureEnabled",
    "lambda": "DurableExecutionAlreadyStartedException ResourceConflictException ResourceInUseException"
    " SnapStartNotReadyException",
}

Kinds = tuple[type[LakegateError], type[LakegateError]]
"""Of a question, and of a change that may take effect twice."""
ROWS: Mapping[Kinds, Mapping[str, str]] = {
    (Misconfigured, Misconfigured): MISTAKES,
    (Retryable, Retryable): BUSY,
    (Retryable, OutcomeUnknown): FAILURES,
    (Conflict, Conflict): RACES,
}
OURS = {
    (service, code): kinds for kinds, rows in ROWS.items() for service, codes in rows.items() for code in codes.split()
}
ERRORS = sorted({error for service, operation in called() for error in errors_of(service, operation)})


def test_the_operations_of_the_table_are_those_that_the_product_calls() -> None:
    assert called() == {(service, name) for service, names in CALLED.items() for name in names.split()}


def test_the_errors_of_the_table_are_those_that_the_models_name() -> None:
    assert {(error.service, error.code) for error in ERRORS} == {*OURS}


@pytest.mark.parametrize("error", ERRORS, ids=lambda error: f"{error.service}:{error.code}")
def test_an_error_of_a_model_becomes_the_one_that_the_table_says(error: ModelError) -> None:
    assert (kind_of(error.code, error.status), kind_of(error.code, error.status, changes=True)) == OURS[
        error.service, error.code
    ]


def kind_of(code: str, status: int, *, changes: bool = False) -> type[LakegateError]:
    with pytest.raises(LakegateError) as caught, aws_errors("testing", changes=changes):
        raise ClientError({"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}, "Testing")  # type: ignore[typeddict-item]
    return type(caught.value)


@pytest.mark.parametrize(
    "code",
    sorted(
        {*ThrottledRetryableChecker._THROTTLED_ERROR_CODES, *TransientRetryableChecker._TRANSIENT_ERROR_CODES}  # type: ignore[attr-defined]
    ),
)
def test_what_the_vendor_s_client_tries_again_is_tried_again_later_too(code: str) -> None:
    assert kind_of(code, 400) is Retryable
    assert kind_of(code, 400, changes=True) is Retryable


@pytest.mark.parametrize("code", ["InternalError", "InternalFailure", "ServiceUnavailable", "ThrottlingException"])
def test_one_item_of_a_request_that_fails_by_chance_is_tried_again(code: str) -> None:
    assert ITEM_RETRY_CODES.search(code)
    assert not ITEM_RETRY_CODES.search("AccessDenied")
