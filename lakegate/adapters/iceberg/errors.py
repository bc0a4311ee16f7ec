"""Errors of PyIceberg, its network and its storage in our words."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import requests
from pydantic import ValidationError as MalformedAnswer
from pyiceberg import exceptions as iceberg

from lakegate.adapters.http import network_error
from lakegate.audit.errors import ListedTwice
from lakegate.audit.issuer import CODES
from lakegate.errors import Conflict, Misconfigured, OutcomeUnknown, Refused, Retryable

NOT_ALLOWED = (
    iceberg.AuthorizationExpiredError,
    iceberg.ForbiddenError,
    iceberg.UnauthorizedError,
    PermissionError,
)
ABSENT = (iceberg.NoSuchTableError, iceberg.NoSuchNamespaceError, iceberg.NoSuchIdentifierError)
DAMAGE_ERRORS = (iceberg.ValidationError, iceberg.ValidationException, FileNotFoundError, ListedTwice)
BUSY = (iceberg.TooManyRequestsError, iceberg.WaitingForLockException)
ALL_ERRORS = tuple(kind for kind in vars(iceberg).values() if isinstance(kind, type) and issubclass(kind, Exception))
UNABLE = (ImportError, NotImplementedError, ValueError)
REFUSAL = "AccessCheckException: "  # what Nessie's Iceberg REST answers, as a server error, where a rule forbids a call
NO_WAREHOUSE = re.compile(r"IllegalStateException: Warehouse '.*' is not known")  # a server error, too
SERVICE_ERRORS = (iceberg.ServerError, iceberg.ServiceUnavailableError, MalformedAnswer, OSError)


@contextmanager
def iceberg_errors(action: str, *, changes: bool = False) -> Iterator[None]:
    """Translate the errors of PyIceberg, its network and its storage into our own."""
    action = f"Iceberg: {action}"
    try:
        with _aws_errors(action, changes=changes), _refusals(action):
            yield
    except iceberg.CommitFailedException as exc:
        raise Conflict(f"{action}: {exc}") from exc
    except iceberg.CommitStateUnknownException as exc:
        raise OutcomeUnknown(f"{action}: {exc}") from exc
    except requests.RequestException as exc:
        raise network_error(action, exc, changes=changes) from exc
    except NOT_ALLOWED as exc:
        raise Misconfigured(f"{action}: {exc}") from exc
    except (*ABSENT, *DAMAGE_ERRORS, iceberg.TableAlreadyExistsError) as exc:
        raise Refused(f"{action}: {exc}") from exc
    except BUSY as exc:
        raise Retryable(f"{action}: {exc}") from exc
    except SERVICE_ERRORS as exc:
        raise (OutcomeUnknown if changes else Retryable)(f"{action}: {exc}") from exc
    except ALL_ERRORS as exc:
        is_gone = "NoSuchReference" in str(exc)  # the service reports it as a bad request
        raise (Conflict if is_gone else Misconfigured)(f"{action}: {exc}") from exc
    except UNABLE as exc:
        hint = "PyIceberg is not able to; look at the table's properties (write.avro.compression-codec)"
        raise Misconfigured(f"{action}: {hint}: {exc}") from exc


@contextmanager
def _aws_errors(action: str, *, changes: bool) -> Iterator[None]:
    """Translate errors as `aws_errors`. AWS's client takes long to import, and is nothing to who has no error of it."""
    try:
        yield
    except Exception:
        from lakegate.adapters.aws import aws_errors  # noqa: PLC0415

        with aws_errors(action, changes=changes):
            raise


@contextmanager
def _refusals(action: str) -> Iterator[None]:
    """Raise Misconfigured for a call that the catalog's rules forbid, or of a warehouse that it has not, which is no
    outage. Nothing has happened.
    """
    try:
        yield
    except iceberg.OAuthError as exc:  # of a person's own catalog, whose issuer may echo the client's secret
        code = str(exc).partition(":")[0]
        raise Misconfigured(
            f"{action}: its issuer gives no token ({code if code in CODES else 'no known code'})"
        ) from None
    except ALL_ERRORS as exc:
        if str(exc).startswith(REFUSAL):
            raise Misconfigured(f"{action}: this process's role in the catalog does not allow it: {exc}") from exc
        if NO_WAREHOUSE.match(str(exc)):
            raise Misconfigured(f"{action}: {exc}") from exc
        raise
