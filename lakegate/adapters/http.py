"""Shared behaviour of every HTTP client: a deadline for each call, retries of reads alone, and errors in our words.

It knows no vendor, and repeats no changing request unless the server cannot have received it. It follows no redirect,
because a request is meant for one place.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from http import HTTPStatus
from ssl import SSLContext
from types import TracebackType
from typing import Any, Self

import requests
from requests.adapters import HTTPAdapter
from urllib3 import BaseHTTPResponse, HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import ConnectionPool
from urllib3.exceptions import MaxRetryError, NameResolutionError, NewConnectionError
from urllib3.util import Retry

from lakegate.audit.bounded_http import BOUNDS, LARGEST, SECONDS, Bounds, bounded, place, redirected, trusting
from lakegate.errors import Conflict, LakegateError, Misconfigured, OutcomeUnknown, Retryable
from lakegate.ports import Tokens

TIMEOUT = (5.0, 60.0)  # seconds to connect, and between two pieces of an answer
CHUNK = 64 * 1024
RETRIES = 3
PASSING = (502, 503, 504)
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


class _Retry(Retry):
    def is_retry(self, *given: Any, **more: Any) -> bool:
        """Return True if the call may be retried: never once its total time is over."""
        return _has_time() and super().is_retry(*given, **more)

    def increment(
        self,
        method: str | None = None,
        url: str | None = None,
        response: BaseHTTPResponse | None = None,
        error: Exception | None = None,
        _pool: ConnectionPool | None = None,
        _stacktrace: TracebackType | None = None,
    ) -> Self:
        if error and _pool and not _has_time():
            raise MaxRetryError(_pool, url or "", error)
        return super().increment(method, url, response, error, _pool, _stacktrace)


def _has_time() -> bool:
    bounds = BOUNDS.get()
    return bounds is None or bounds.left > 0


class _Connection(HTTPConnection):
    response_class = staticmethod(bounded)  # type: ignore[assignment]


class _Secure(HTTPSConnection):
    response_class = staticmethod(bounded)  # type: ignore[assignment]


class _Pool(HTTPConnectionPool):
    ConnectionCls = _Connection


class _SecurePool(HTTPSConnectionPool):
    ConnectionCls = _Secure


class TimeoutAdapter(HTTPAdapter):
    """An adapter that adds a time-out to calls without one, retries reads, and gives up unbounded answers. An answer
    fails if it is not complete after `seconds`, retries included, or if it exceeds `largest` bytes. Servers may have
    certificates of `authorities` (PEM text) beside the usual ones.
    """

    def __init__(
        self,
        timeout: tuple[float, float] = TIMEOUT,
        retries: int = RETRIES,
        *,
        seconds: float = SECONDS,
        largest: int = LARGEST,
        authorities: str = "",
    ) -> None:
        context = _trusting(authorities)
        self._trust: Any = {"ssl_context": context} if context else {}
        self.timeout, self.seconds, self.largest = timeout, seconds, largest
        reads = _Retry(
            total=retries,
            backoff_factor=0.2,
            allowed_methods=("GET", "HEAD"),
            status_forcelist=PASSING,
            raise_on_status=False,
        )
        super().__init__(max_retries=reads)

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        super().init_poolmanager(*args, **{**self._trust, **kwargs})
        self.poolmanager.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}

    def proxy_manager_for(self, *args: Any, **kwargs: Any) -> Any:
        found = super().proxy_manager_for(*args, **{**self._trust, **kwargs})
        found.pool_classes_by_scheme = {"http": _Pool, "https": _SecurePool}
        return found

    def send(self, request: requests.PreparedRequest, *args: Any, **kwargs: Any) -> requests.Response:
        kwargs["timeout"] = kwargs.get("timeout") or self.timeout
        with self._bounds(request):
            answer = super().send(request, *args, **kwargs)
            self._refuse_redirect(answer)
            self._read(answer)
            return answer

    @contextmanager
    def _bounds(self, request: requests.PreparedRequest) -> Iterator[None]:
        """Set this call's bounds, and raise an error that names them if they ended the call."""
        bounds = Bounds.of(self.seconds, self.largest)
        token = BOUNDS.set(bounds)
        try:
            yield
        except requests.RequestException as exc:
            exc.request = request  # so that the error message can name the address
            if bounds.left > 0 or not _is_timeout(exc):
                raise
            why = f"{place(request.url or '')} has not answered in full after {self.seconds:g} s"
            raise requests.ReadTimeout(why, request=request) from exc
        finally:
            BOUNDS.reset(token)

    def _refuse_redirect(self, answer: requests.Response) -> None:
        if HTTPStatus.MULTIPLE_CHOICES <= answer.status_code < HTTPStatus.BAD_REQUEST:
            answer.close()
            told = answer.headers.get("Location", "")
            raise RedirectedError(redirected(answer.url, told), request=answer.request, response=answer)

    def _read(self, answer: requests.Response) -> None:
        """Read and decompress the whole body within the bounds, so that no later read is unbounded."""
        body = bytearray()
        for piece in answer.iter_content(CHUNK):
            body += piece
            if len(body) > self.largest:
                answer.close()
                why = f"{place(answer.url)} answers with more than {self.largest:,} bytes"
                raise EndlessAnswerError(why, request=answer.request)
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


def _trusting(authorities: str) -> SSLContext | None:
    try:
        return trusting(authorities)
    except OSError as error:
        raise Misconfigured(f"nessie_ca has no certificate in PEM: {error}") from error


def mount(session: requests.Session, adapter: TimeoutAdapter) -> requests.Session:
    """Return the session, with its calls going through the adapter."""
    for scheme in ("http://", "https://"):
        session.mount(scheme, adapter)
    return session


def network_error(what: str, exc: requests.RequestException, *, changes: bool) -> LakegateError:
    """Return our error for a call that got no answer. `changes` marks a call that may have changed something."""
    said = f"{what}: {type(exc).__name__}: {exc}"
    if exc.request is not None and exc.request.url and (where := place(exc.request.url)) not in said:
        said += f" (asked at {where})"
    if isinstance(exc, WRONG_ADDRESS):
        return Misconfigured(said)
    return OutcomeUnknown(said) if changes and _was_sent(exc) else Retryable(said)


def may_quote(exc: requests.RequestException) -> bool:
    """Return True if the error's text may have words of an answer."""
    ours = (*WRONG_ADDRESS, EndlessAnswerError, requests.Timeout)
    return _was_sent(exc) and not isinstance(exc, ours)


def _is_timeout(exc: requests.RequestException) -> bool:
    """Return True if more time might have helped: the call was sent, and neither address nor answer is at fault."""
    return _was_sent(exc) and not isinstance(exc, (*WRONG_ADDRESS, EndlessAnswerError))


def _was_sent(exc: requests.RequestException) -> bool:
    """Return True if the server may have received the call."""
    reason = getattr(exc.args[0], "reason", None) if exc.args else None
    return not isinstance(exc, requests.ConnectTimeout) and not isinstance(reason, NEVER_SENT)


def status_error(what: str, status: int, text: str, *, known: bool, changes: bool) -> LakegateError:
    """Return our error for an error status. `known` marks an answer by the catalog itself, for which "not found" is no
    wrong address.
    """
    said = f"{what}: {status} {text}"
    if status in (HTTPStatus.CONFLICT, HTTPStatus.PRECONDITION_FAILED) or (status == HTTPStatus.NOT_FOUND and known):
        return Conflict(said)
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return Retryable(said)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return OutcomeUnknown(said) if changes else Retryable(said)
    return Misconfigured(said)
