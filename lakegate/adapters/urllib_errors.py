"""Errors of a request that urllib sends, in our words."""

from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPException
from socket import gaierror
from urllib.error import URLError

from lakegate.audit.bounded_http import RedirectedError
from lakegate.errors import Misconfigured, OutcomeUnknown, Retryable


@contextmanager
def urllib_errors(action: str) -> Iterator[None]:
    """Translate the network's errors into our own; an answer's status is the caller's to translate."""
    try:
        yield
    except RedirectedError as error:
        raise Misconfigured(f"{action}: {error.reason}") from error
    except URLError as error:
        never_sent = isinstance(error.reason, ConnectionRefusedError | gaierror)
        raise (Retryable if never_sent else OutcomeUnknown)(f"{action}: {error.reason}") from error
    except (OSError, HTTPException) as error:
        raise OutcomeUnknown(f"{action}: {type(error).__name__}: {error}") from error
