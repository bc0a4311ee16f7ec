"""AWS's errors in our words."""

from __future__ import annotations

import inspect

import boto3.exceptions
import botocore.exceptions
import pytest
from botocore.exceptions import BotoCoreError, ClientError
from botocore.parsers import ResponseParserError

from lakegate.adapters.aws import CONFIG, SINGLE_TRY, aws_errors
from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Retryable


def vendor_errors() -> list[type[Exception]]:
    modules = (botocore.exceptions, boto3.exceptions)
    found = [kind for module in modules for _, kind in inspect.getmembers(module, inspect.isclass)]
    return [kind for kind in found if issubclass(kind, BotoCoreError | boto3.exceptions.Boto3Error)]


def made(kind: type[Exception]) -> Exception:
    """Without its constructor: each wants other arguments."""
    error = kind.__new__(kind)
    Exception.__init__(error, "no")
    return error


@pytest.mark.parametrize("changes", [False, True])
@pytest.mark.parametrize("kind", vendor_errors())
def test_every_vendor_error_becomes_one_of_ours(kind: type[Exception], changes: bool) -> None:  # noqa: FBT001
    vendors = made(kind)
    with pytest.raises(LakegateError) as caught, aws_errors("testing", changes=changes):
        raise vendors
    assert caught.value.__cause__ is vendors


@pytest.mark.parametrize(
    ("code", "status", "changes", "ours"),
    [
        ("AccessDenied", 403, True, Misconfigured),
        ("ValidationException", 400, True, Misconfigured),
        ("ThrottlingException", 400, True, Retryable),
        ("SlowDown", 503, True, Retryable),
        ("InternalError", 500, False, Retryable),
        ("InternalError", 500, True, OutcomeUnknown),
        ("ConflictException", 409, True, Conflict),
    ],
)
def test_an_answer_says_what_to_do_now(code: str, status: int, changes: bool, ours: type[LakegateError]) -> None:  # noqa: FBT001
    answer = {"Error": {"Code": code, "Message": "no"}, "ResponseMetadata": {"HTTPStatusCode": status}}
    with pytest.raises(LakegateError) as caught, aws_errors("testing", changes=changes):
        raise ClientError(answer, "Testing")  # type: ignore[arg-type]
    assert type(caught.value) is ours


@pytest.mark.parametrize(
    ("vendors", "ours"),
    [
        (botocore.exceptions.EndpointConnectionError(endpoint_url="http://x"), Retryable),
        (botocore.exceptions.ConnectTimeoutError(endpoint_url="http://x"), Retryable),
        (botocore.exceptions.ReadTimeoutError(endpoint_url="http://x"), OutcomeUnknown),
        (botocore.exceptions.ConnectionClosedError(endpoint_url="http://x"), OutcomeUnknown),
        (ResponseParserError("no XML"), OutcomeUnknown),
        (botocore.exceptions.NoCredentialsError(), Misconfigured),
        (botocore.exceptions.NoRegionError(), Misconfigured),
    ],
)
def test_a_change_without_an_answer_may_have_happened_if_it_was_sent(
    vendors: Exception, ours: type[LakegateError]
) -> None:
    with pytest.raises(LakegateError) as caught, aws_errors("testing", changes=True):
        raise vendors
    assert type(caught.value) is ours


def test_every_call_has_a_time_out_and_few_retries() -> None:
    patient, once = vars(CONFIG), vars(SINGLE_TRY)
    assert (patient["connect_timeout"], patient["read_timeout"]) == (once["connect_timeout"], once["read_timeout"])
    assert patient["read_timeout"] == 60
    assert patient["retries"]["total_max_attempts"] == 4
    assert once["retries"]["total_max_attempts"] == 1
