"""Shared behaviour of every AWS client: time-outs, bounded retries, and errors in our words. It knows no service.

The environment decides where a call goes (endpoint, region, credentials), through the vendor's own chain.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import boto3
from boto3.exceptions import Boto3Error
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    IncompleteReadError,
    ResponseStreamingError,
)
from botocore.exceptions import ConnectionError as NotConnected
from botocore.parsers import ResponseParserError

from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Retryable

CONFIG = Config(connect_timeout=5, read_timeout=60, retries={"mode": "standard", "total_max_attempts": 4})
ONCE = CONFIG.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
NETWORK = (NotConnected, HTTPClientError, IncompleteReadError, ResponseParserError, ResponseStreamingError)
THROTTLED = {
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "ServiceQuotaExceededException",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
}


Clients = Callable[[str], Any]
"""Makes a client of a service, by its name."""


def ambient(service: str) -> Any:
    """Return a client by AWS's own configuration."""
    return boto3.client(service, config=CONFIG)  # type: ignore[call-overload]


@contextmanager
def aws_errors(what: str, *, changes: bool = False) -> Iterator[None]:
    """Translate AWS's errors into our own. `changes` marks a call that might take effect twice if it is repeated."""
    try:
        yield
    except ClientError as exc:
        raise _by_code(what, exc, changes=changes) from exc
    except NETWORK as exc:
        unknown = changes and not isinstance(exc, NotConnected)
        raise (OutcomeUnknown if unknown else Retryable)(f"{what}: {exc}") from exc
    except Boto3Error as exc:  # a managed transfer failed; every transfer is safe to repeat
        raise Retryable(f"{what}: {exc}") from exc
    except BotoCoreError as exc:
        raise Misconfigured(f"{what}: {exc}") from exc


def _by_code(what: str, exc: ClientError, *, changes: bool) -> LakegateError:
    said = f"{what}: {exc}"
    if code(exc) in THROTTLED:
        return Retryable(said)
    if status(exc) in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED):
        return Conflict(said)
    if status(exc) >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutcomeUnknown(said) if changes else Retryable(said)
    return Misconfigured(said)


def status(exc: ClientError) -> int:
    return int(exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def code(exc: ClientError) -> str:
    return str(exc.response.get("Error", {}).get("Code", ""))
