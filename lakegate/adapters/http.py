"""Shared behaviour of every HTTP client: a deadline for each call, retries of reads alone, and errors in our words.

It knows no vendor, and repeats no changing request unless the server cannot have received it. It follows no redirect,
because a request is meant for one place.
"""

import logging
import time
from http import HTTPStatus
from ssl import SSLContext
from typing import Any

import requests
from requests.adapters import HTTPAdapter
from urllib3.exceptions import NameResolutionError, NewConnectionError
from urllib3.util import Retry, Timeout

from lakegate.audit.bounded_http import place, redirect_message, trust
from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Retryable
from lakegate.ports import Tokens

SECONDS = 90.0  # for a call as a whole, retries included
TIMEOUT = (5.0, 60.0)  # seconds to connect, and between two pieces of an answer
CHUNK = 64 * 1024
RETRIES = 3
RETRYABLE_STATUSES = (502, 503, 504)
NEVER_SENT = (NewConnectionError, NameResolutionError)
# urllib3 logs headers that it cannot read as they came, and an issuer's may have the secret that it was sent.
logging.getLogger("urllib3.connection").setLevel(logging.ERROR)


class RedirectedError(requests.RequestException):
    """An answer that redirects elsewhere."""


class EndlessAnswerError(requests.RequestException):
    """An answer longer than the limit."""


WRONG_ADDRESS = (
    RedirectedError,
    requests.exceptions.InvalidSchema,
    requests.exceptions.InvalidURL,
    requests.exceptions.MissingSchema,
    requests.exceptions.SSLError,
)


class _Waits(Timeout):
    """The time-outs of a call's tries, none of which waits beyond the deadline of all."""

    def __init__(self, connect: float, read: float, seconds: float) -> None:
        super().__init__(connect=connect, read=read)
        self.longest, self.seconds, self.deadline = (connect, read), seconds, time.monotonic() + seconds

    def clone(self) -> Timeout:
        """Return the time-outs of the next try, as urllib3 asks for them. Raise TimeoutError if no time is left."""
        remaining = self.deadline - time.monotonic()
        if remaining <= 0:
            raise TimeoutError(f"no whole answer came in {self.seconds:g} s")
        connect, read = (min(wait, remaining) for wait in self.longest)
        return Timeout(connect=connect, read=read)


class TimeoutAdapter(HTTPAdapter):
    """An adapter that gives each call its time-outs, and retries reads. A call fails if it has no whole answer after
    `seconds`, retries included, or, if it has a `largest` size, an answer of more bytes. Servers may have certificates
    of `authorities` (PEM text) beside the usual ones.
    """

    def __init__(
        self,
        timeout: tuple[float, float] = TIMEOUT,
        retries: int = RETRIES,
        *,
        seconds: float = SECONDS,
        largest: int | None = None,
        authorities: str = "",
    ) -> None:
        context = _trust(authorities)
        self._trust: Any = {"ssl_context": context} if context else {}
        self.timeout, self.seconds, self.largest = timeout, seconds, largest
        reads = Retry(
            total=retries,
            other=0,  # such as a certificate that is not trusted
            backoff_factor=0.2,
            allowed_methods=("GET", "HEAD"),
            status_forcelist=RETRYABLE_STATUSES,
            raise_on_status=False,
        )
        super().__init__(max_retries=reads)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **{**self._trust, **kwargs})

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        return super().proxy_manager_for(*args, **{**self._trust, **kwargs})

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        waits = _Waits(*self.timeout, self.seconds)
        try:
            answer = super().send(request, *args, **{**kwargs, "timeout": waits})
            _refuse_redirect(answer)
            self._read(answer, waits.deadline)
        except requests.RequestException as exc:
            exc.request = request  # so that the error message can name the address
            raise
        return answer

    def _read(self, answer: requests.Response, deadline: float) -> None:
        """Read the whole body in the time that is left."""
        body = bytearray()
        for piece in answer.iter_content(CHUNK):
            body += piece
            if self.largest and len(body) > self.largest:
                answer.close()
                raise EndlessAnswerError(f"{place(answer.url)} answers with more than {self.largest:,} bytes")
            if time.monotonic() > deadline:
                answer.close()
                raise requests.ReadTimeout(f"{place(answer.url)} has not answered in full after {self.seconds:g} s")
        answer._content = bytes(body)  # noqa: SLF001 (where Requests itself stores a fully read body)

    def close(self) -> None:
        """Keep the connections open: they outlive the sessions that share them."""


class IdentifiedAdapter(TimeoutAdapter):
    """A TimeoutAdapter that sends a token with every call to the server at `uri`, and to no other server."""

    def __init__(self, uri: str, tokens: Tokens, authorities: str = "") -> None:
        super().__init__(authorities=authorities)
        self._place, self._tokens = place(uri), tokens

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        if place(request.url or "") == self._place:
            request.headers["Authorization"] = f"Bearer {self._tokens.token()}"
        return super().send(request, *args, **kwargs)


def door(uri: str, tokens: Tokens | None, authorities: str = "") -> TimeoutAdapter:
    """Return the adapter by which all clients call the server at `uri`. Without tokens it sends no identity."""
    return IdentifiedAdapter(uri, tokens, authorities) if tokens else TimeoutAdapter(authorities=authorities)


def _refuse_redirect(answer: requests.Response) -> None:
    if HTTPStatus.MULTIPLE_CHOICES <= answer.status_code < HTTPStatus.BAD_REQUEST:
        answer.close()
        raise RedirectedError(redirect_message(answer.url, answer.headers.get("Location", "")))


def _trust(authorities: str) -> SSLContext | None:
    try:
        return trust(authorities)
    except OSError as error:
        raise Misconfigured(f"nessie.ca has no certificate in PEM: {error}") from error


def mount(session: requests.Session, adapter: TimeoutAdapter) -> requests.Session:
    """Return the session, with its calls going through the adapter."""
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)
    return session


def network_error(action: str, exc: requests.RequestException, *, changes: bool) -> LakegateError:
    """Return our error for a call that got no answer. `changes` marks a call that may have changed something."""
    message = f"{action}: {type(exc).__name__}: {exc}"
    if exc.request is not None and exc.request.url and (address := place(exc.request.url)) not in message:
        message += f" (asked at {address})"
    if isinstance(exc, WRONG_ADDRESS):
        return Misconfigured(message)
    return OutcomeUnknown(message) if changes and _was_sent(exc) else Retryable(message)


def may_quote(exc: requests.RequestException) -> bool:
    """Return True if the error's text may have words of an answer."""
    own_errors = (*WRONG_ADDRESS, EndlessAnswerError, requests.Timeout)
    return _was_sent(exc) and not isinstance(exc, own_errors)


def _was_sent(exc: requests.RequestException) -> bool:
    """Return True if the server may have received the call."""
    reason = getattr(exc.args[0], "reason", None) if exc.args else None
    return not isinstance(exc, requests.ConnectTimeout) and not isinstance(reason, NEVER_SENT)


def status_error(action: str, status: int, text: str, *, is_catalog: bool, changes: bool) -> LakegateError:
    """Return our error for an error status. `is_catalog` marks an answer by the catalog itself, for which "not found"
    is no wrong address.
    """
    message = f"{action}: {status} {text}"
    if status in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED) or (
        status == HTTPStatus.NOT_FOUND and is_catalog
    ):
        return Conflict(message)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Retryable(message)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutcomeUnknown(message) if changes else Retryable(message)
    return Misconfigured(message)
