"""What every HTTP client of ours has: a time-out on each call, retries of reads alone, and errors in our words.

It knows no vendor, and sends nothing twice that changes something, unless it cannot have been received.
"""

from http import HTTPStatus
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import NameResolutionError, NewConnectionError
from urllib3.util import Retry

from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Retryable

TIMEOUT = (5.0, 60.0)  # to connect, to answer
RETRIES = 3
PASSING = (502, 503, 504)
NEVER_SENT = (NewConnectionError, NameResolutionError)
WRONG_ADDRESS = (
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidURL,
    requests.exceptions.MissingSchema,
    requests.exceptions.SSLError,
)


class Patient(HTTPAdapter):
    """Adds the time-out to calls that name none, and retries reads."""

    def __init__(self, timeout: tuple[float, float] = TIMEOUT, retries: int = RETRIES) -> None:
        self.timeout = timeout
        reads = Retry(
            total=retries,
            backoff_factor=0.2,
            allowed_methods=("GET", "HEAD"),
            status_forcelist=PASSING,
            raise_on_status=False,
        )
        super().__init__(max_retries=reads)

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        kwargs["timeout"] = kwargs.get("timeout") or self.timeout
        return super().send(request, *args, **kwargs)

    def close(self) -> None:
        """The connections outlive the sessions that share them."""


def mount(session: requests.Session, adapter: Patient) -> requests.Session:
    """The session, making its calls through the adapter."""
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)
    return session


def network_error(what: str, exc: requests.RequestException, *, changes: bool) -> LakegateError:
    """A call that got no answer, in our words; `changes` says that the call may have changed something."""
    said = f"{what}: {type(exc).__name__}: {exc}"
    if isinstance(exc, WRONG_ADDRESS):
        return Misconfigured(said)
    return OutcomeUnknown(said) if changes and _was_sent(exc) else Retryable(said)


def _was_sent(exc: requests.RequestException) -> bool:
    """Whether the server may have received the call."""
    reason = getattr(exc.args[0], "reason", None) if exc.args else None
    return not isinstance(exc, requests.ConnectTimeout) and not isinstance(reason, NEVER_SENT)


def status_error(what: str, status: int, text: str, *, known: bool, changes: bool) -> LakegateError:
    """An answer that is an error. `known`: it is the catalog's own, so that "not found" is no wrong address."""
    said = f"{what}: {status} {text}"
    if status in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED) or (status == HTTPStatus.NOT_FOUND and known):
        return Conflict(said)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Retryable(said)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutcomeUnknown(said) if changes else Retryable(said)
    return Misconfigured(said)
