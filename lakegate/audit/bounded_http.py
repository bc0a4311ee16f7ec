"""Bounded HTTP answers, of strangers as well: each ends by a deadline for the whole, at a maximal size, or at the first
redirect.

It starts no request of its own accord. It is beside the audit because Spark's job asks Nessie and OIDC issuers, and
imports no other package of ours.
"""

import time
from functools import partial
from http.client import HTTPConnection, HTTPResponse, HTTPSConnection
from io import BufferedReader, RawIOBase
from socket import socket
from ssl import VERIFY_X509_STRICT, SSLContext, create_default_context
from typing import IO, Any, cast
from urllib.error import URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    ProxyHandler,
    Request,
    build_opener,
)

PORTS = {"http": 80, "https": 443}
LARGEST = 1024**2  # bytes of an answer


class EndlessError(OSError):
    """An answer longer than the limit."""


class _LimitedStream(RawIOBase):
    """A socket's stream that waits, at each read, no longer than the time left for the whole answer."""

    def __init__(self, sock: socket, raw: RawIOBase, seconds: float, deadline: float) -> None:
        self._sock, self._raw, self._seconds, self._deadline, self._size = sock, raw, seconds, deadline, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        late = TimeoutError(f"no whole answer came in {self._seconds:g} s")
        if (remaining := self._deadline - time.monotonic()) <= 0:
            raise late
        self._sock.settimeout(remaining)
        try:
            came = self._raw.readinto(buffer)
        except TimeoutError:
            raise late from None
        self._size += came or 0
        if self._size > LARGEST:
            raise EndlessError(f"the answer has more than {LARGEST:,} bytes")
        return came

    def close(self) -> None:
        self._raw.close()
        super().close()


class _BoundedHandler(HTTPHandler, HTTPSHandler):
    """A handler whose answers end within so many seconds from now, at their largest."""

    def __init__(self, seconds: float, context: SSLContext | None) -> None:
        HTTPSHandler.__init__(self, context=context)
        self._context, self._bounds = context, (seconds, time.monotonic() + seconds)

    def http_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(self._connection, HTTPConnection), req)

    def https_open(self, req: Request) -> HTTPResponse:
        return self.do_open(partial(self._connection, HTTPSConnection), req, context=self._context)

    def _connection(self, kind: type[HTTPConnection], *address: Any, **options: Any) -> HTTPConnection:
        connection: Any = kind(*address, **options)
        connection.response_class = self._response
        return cast(HTTPConnection, connection)

    def _response(self, sock: socket, *arguments: Any, **options: Any) -> HTTPResponse:
        response = HTTPResponse(sock, *arguments, **options)
        buffer: Any = response.fp
        response.fp = BufferedReader(_LimitedStream(sock, buffer.detach(), *self._bounds))
        return response


class RedirectedError(URLError):
    """An answer that redirects elsewhere."""


class _NoRedirect(HTTPRedirectHandler):
    """A redirect handler that follows nothing: a request, with its token, is meant for one place."""

    def redirect_request(self, req: Request, fp: IO[bytes], *arguments: Any) -> None:
        fp.close()
        raise RedirectedError(redirect_message(req.full_url, arguments[-1]))


def redirect_message(url: str, target: str) -> str:
    """Return the message for a redirect."""
    return (
        f"{place(url)} redirects to {place(target) if urlsplit(target).netloc else 'another path'}, and no redirect is"
        " followed: set the address at which the service itself answers"
    )


def place(url: str) -> str:
    """Return the scheme, host and port of an address, without any part that could be a secret."""
    try:
        parts = urlsplit(url)
        port = parts.port or PORTS.get(parts.scheme, 0)
    except ValueError:
        return "an address that is none"
    return f"{parts.scheme}://{parts.hostname}:{port}"


def open_url(
    request: Request | str, seconds: float, *, context: SSLContext | None = None, proxy: str = ""
) -> tuple[HTTPResponse, bytes]:
    """Return the answer to a request with its body, using the standard library. Raise OSError (URLError is one) if no
    answer comes within the bounds.
    """
    through: list[Any] = [ProxyHandler({"http": proxy, "https": proxy})] if proxy else []
    opener = build_opener(_BoundedHandler(seconds, context), _NoRedirect, *through)
    with opener.open(request, timeout=seconds) as answer:
        return answer, answer.read()


def trust(authorities: str) -> SSLContext | None:
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
