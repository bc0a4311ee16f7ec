"""Bounded HTTP answers: each ends by a deadline for the whole, at a maximal size, or at the first redirect.

It starts no request of its own accord. It lies beside the audit because Spark's job calls Nessie too, and imports no
other package of ours.
"""

import time
from contextvars import ContextVar
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from socket import socket
from ssl import VERIFY_X509_STRICT, SSLContext, create_default_context
from typing import IO, Any
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
    build_opener,
)

SECONDS = 90.0  # from the first byte sent to the last byte received, retries included
PORTS = {"http": 80, "https": 443}
LARGEST = 256 * 1024**2  # bytes of an answer: a listing has thousands of receipts, of half a kilobyte each


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """A call's bounds: a deadline on the monotonic clock and a maximal size. `seconds` and `largest` are the original
    allowance.
    """

    until: float
    seconds: float
    largest: int

    @classmethod
    def of(cls, seconds: float, largest: int) -> "Bounds":
        return cls(until=time.monotonic() + seconds, seconds=seconds, largest=largest)

    @property
    def left(self) -> float:
        return self.until - time.monotonic()


BOUNDS: ContextVar[Bounds | None] = ContextVar("bounds", default=None)
"""Bounds of the call that this thread makes."""


class EndlessError(OSError):
    """An answer longer than the limit."""


class _Limited(RawIOBase):
    """A socket's stream that waits, at each read, no longer than the time left for the whole answer."""

    def __init__(self, sock: socket, raw: RawIOBase, bounds: Bounds) -> None:
        self._sock, self._raw, self._bounds, self._seen = sock, raw, bounds, 0
        self._patience = sock.gettimeout()

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        came = self._came(buffer)
        self._seen += came or 0
        if self._seen > self._bounds.largest:
            raise EndlessError(f"the answer has more than {self._bounds.largest:,} bytes")
        return came

    def _came(self, buffer: Any) -> int | None:
        try:
            if (left := self._bounds.left) > 0:
                self._sock.settimeout(left if self._patience is None else min(left, self._patience))
                return self._raw.readinto(buffer)
        except TimeoutError:
            if self._bounds.left > 0:
                raise
        raise TimeoutError(f"no whole answer came in {self._bounds.seconds:g} s")

    def close(self) -> None:
        self._raw.close()
        super().close()


def bounded(sock: socket, *given: Any, **more: Any) -> HTTPResponse:
    """Return an answer on this socket, within the bounds of the call. It serves as a connection's `response_class`."""
    response, bounds = HTTPResponse(sock, *given, **more), BOUNDS.get()
    if bounds:
        buffered: Any = response.fp
        response.fp = BufferedReader(_Limited(sock, buffered.detach(), bounds))
    return response


class _Connection(HTTPConnection):
    response_class = staticmethod(bounded)  # type: ignore[assignment]


class _Secure(HTTPSConnection):
    response_class = staticmethod(bounded)  # type: ignore[assignment]


class _Plain(HTTPHandler):
    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Connection, req)


class _Encrypted(HTTPSHandler):
    def __init__(self, context: SSLContext | None) -> None:
        super().__init__(context=context)
        self._its = context

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(_Secure, req, context=self._its)


class RedirectedError(URLError):
    """An answer that redirects elsewhere."""


class _Here(HTTPRedirectHandler):
    """A redirect handler that follows nothing: a request, with its token, is meant for one place."""

    def redirect_request(self, req: Request, fp: IO[bytes], *told: Any) -> None:
        fp.close()
        raise RedirectedError(redirected(req.full_url, told[-1]))


def redirected(asked: str, told: str) -> str:
    """Return the message for a redirect."""
    return (
        f"{place(asked)} redirects to {place(told) if urlsplit(told).netloc else 'another path'}, and no redirect is"
        " followed: set the address at which the service itself answers"
    )


def place(url: str) -> str:
    """Return the scheme, host and port of an address, without any part that could be a secret."""
    try:
        found = urlsplit(url)
        port = found.port or PORTS.get(found.scheme, 0)
    except ValueError:
        return "an address that is none"
    return f"{found.scheme}://{found.hostname}:{port}"


def asked(
    request: Request | str,
    seconds: float,
    *,
    largest: int = LARGEST,
    context: SSLContext | None = None,
    proxy: str = "",
) -> tuple[HTTPResponse, bytes]:
    """Return the answer to a request with its body, using the standard library. Raise OSError (URLError is one) if no
    answer comes within the bounds.
    """
    token = BOUNDS.set(Bounds.of(seconds, largest))
    try:
        with opener(context, proxy).open(request, timeout=seconds) as answer:
            return answer, answer.read()
    finally:
        BOUNDS.reset(token)


def trusting(authorities: str) -> SSLContext | None:
    """Return a context that trusts these authorities, certificates as PEM text, beside the usual ones; None for none.
    Raise OSError (SSLError is one) if the text has no certificate.
    """
    if not authorities:
        return None
    context = create_default_context()
    # Python 3.13 by itself refuses certificates without their authority's key identifier, which 3.11 and Java take.
    context.verify_flags &= ~VERIFY_X509_STRICT
    context.load_verify_locations(cadata=authorities)
    return context


def opener(context: SSLContext | None = None, proxy: str = "") -> OpenerDirector:
    """Return an opener that follows no redirect and bounds its answers."""
    through: list[Any] = [ProxyHandler({"http": proxy, "https": proxy})] if proxy else []
    return build_opener(_Plain, _Encrypted(context), _Here, *through)
