"""Shared behaviour of every AWS client: time-outs, bounded retries, and errors in our words. It knows no service.

The environment decides where a call goes (endpoint, region, credentials), through the vendor's own chain.
"""

import re
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
SINGLE_TRY = CONFIG.merge(Config(retries={"mode": "standard", "total_max_attempts": 1}))
NETWORK = (NotConnected, HTTPClientError, IncompleteReadError, ResponseParserError, ResponseStreamingError)
RETRY_CODES = re.compile(
    "Throttl|TooManyRequests|SlowDown|(Limit|Quota|Throughput)Exceeded|OverLimit|RequestTimeout|NotComplete|InProgress"
)
ITEM_RETRY_CODES = re.compile(f"{RETRY_CODES.pattern}|Internal|ServiceUnavailable")
"""Codes of one item of a request whose answer is that the others succeeded."""
RETRY_STATUSES = (HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS)
CONFLICT_STATUSES = (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED)
CONFLICT_CODES = {"ConcurrentModificationException", "ResourceInUseException"}  # which are answered with 400
PERSON_CODES = re.compile("AccessDenied|Disabled|Invalid|NotFound")  # of Lambda's 502 for a key, a zip or a subnet
DENIAL_CODES = {"AccessDenied", "AccessDeniedException", "AuthorizationError", "UnauthorizedOperation"}

Clients = Callable[[str], Any]
"""Makes a client of a service, by its name."""


def ambient(service: str) -> Any:
    """Return a client by AWS's own configuration."""
    return boto3.client(service, config=CONFIG)  # type: ignore[call-overload]


@contextmanager
def aws_errors(action: str, *, changes: bool = False) -> Iterator[None]:
    """Translate AWS's errors into our own. `changes` marks a call that might take effect twice if it is repeated."""
    try:
        yield
    except ClientError as exc:
        raise _by_code(action, exc, changes=changes) from exc
    except NETWORK as exc:
        unknown = changes and not isinstance(exc, NotConnected)
        raise (OutcomeUnknown if unknown else Retryable)(f"{action}: {exc}") from exc
    except Boto3Error as exc:  # a managed transfer failed; every transfer is safe to repeat
        raise Retryable(f"{action}: {exc}") from exc
    except BotoCoreError as exc:
        raise Misconfigured(f"{action}: {exc}") from exc


def _by_code(action: str, exc: ClientError, *, changes: bool) -> LakegateError:
    message = f"{action}: {exc}"
    if RETRY_CODES.search(code(exc)) or status(exc) in RETRY_STATUSES:
        return Retryable(message)
    if code(exc) in CONFLICT_CODES or status(exc) in CONFLICT_STATUSES:
        return Conflict(message)
    if status(exc) >= HTTPStatus.INTERNAL_SERVER_ERROR and not PERSON_CODES.search(code(exc)):
        return OutcomeUnknown(message) if changes else Retryable(message)
    return Misconfigured(message)


def is_denied(error: LakegateError) -> bool:
    """Return True if AWS has said that the caller lacks a right."""
    cause = error.__cause__
    return isinstance(cause, ClientError) and code(cause) in DENIAL_CODES


def status(exc: ClientError) -> int:
    return int(exc.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0))


def code(exc: ClientError) -> str:
    return str(exc.response.get("Error", {}).get("Code", ""))
