"""The door: only a request with the dashboard's key passes. The dashboard acts with the rights of whoever started it,
and other people and other programs may reach a port of this machine.

The key is in the address that was printed. A browser that opens it gets a cookie instead, so that the key is in no
address that is kept or sent on. Browsers send a cookie to every port of its host, and let pages of other ports send
requests; so the cookie belongs to a secret path, and only the dashboard's own pages may do more than look.
"""

import re
from hmac import compare_digest
from html import escape

from starlette.datastructures import URL, MutableHeaders
from starlette.requests import HTTPConnection
from starlette.responses import HTMLResponse, PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
"""Names of this machine. A web page that leads its own name here is refused."""
_HOST = re.compile(rf"({'|'.join(map(re.escape, HOSTS))})(:[0-9]+)?")
KEY = "key"
NO_KEY = "Open the address that lakegate dashboard printed."
FOREIGN = "This request comes from another page than the dashboard's own."
ISOLATION_HEADERS = {
    "Content-Security-Policy": "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "same-origin",
    "X-Frame-Options": "DENY",
}
"""Headers that keep other pages from framing and including the dashboard's, and from learning their addresses."""


class Door:
    """ASGI middleware before all else. Everything is under the path `base`, which nobody guesses."""

    def __init__(self, app: ASGIApp, *, key: str, base: str, cookie: str) -> None:
        self._app, self._key, self._base, self._cookie = app, key, f"/{base}", cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
        elif (refusal := self._refusal(HTTPConnection(scope))) is None:
            await self._app(scope, receive, self._with_isolation(send))
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await refusal(scope, receive, self._with_isolation(send))

    def _refusal(self, request: HTTPConnection) -> Response | None:
        """Return the answer to a request that does not pass."""
        path = request.scope["path"]
        if not _HOST.fullmatch(_single_header(request, "host")) or not f"{path}/".startswith(f"{self._base}/"):
            return PlainTextResponse(NO_KEY, status_code=403)
        is_read = request.scope["type"] == "http" and request.scope["method"] == "GET"
        if self._is_key(request.cookies.get(self._cookie, "")):
            return None if is_read or _is_own(request) else PlainTextResponse(FOREIGN, status_code=403)
        if is_read and self._is_key(request.query_params.get(KEY, "")):
            return self._entry(URL(scope=request.scope).remove_query_params(KEY))
        return PlainTextResponse(NO_KEY, status_code=403)

    def _entry(self, to: URL) -> Response:
        """Return a page that sets the cookie and leads on. A redirect would keep a strict cookie from a person who
        opens the address on another site's page, such as a terminal in a browser.
        """
        address = escape(f"{to.path}?{to.query}" if to.query else to.path)
        answer = HTMLResponse(f'<!doctype html><meta http-equiv="refresh" content="0;url={address}">')
        answer.set_cookie(self._cookie, self._key, path=self._base, httponly=True, samesite="strict")
        return answer

    def _with_isolation(self, send: Send) -> Send:
        """Return a sender whose answers no other page may frame or include, and whose cookies no other port gets."""
        cookie_path = f"Path={self._base};".encode()

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] = [
                    (name, value.replace(b"Path=/;", cookie_path) if name == b"set-cookie" else value)
                    for name, value in message["headers"]
                ]
                MutableHeaders(scope=message).update(ISOLATION_HEADERS)
            await send(message)

        return send_with_headers

    def _is_key(self, key: str) -> bool:
        return compare_digest(key.encode(), self._key.encode())


def _single_header(request: HTTPConnection, header: str) -> str:
    """Return the value of a header that is there once, or ""."""
    values = request.headers.getlist(header)
    return values[0] if len(values) == 1 else ""


def _is_own(request: HTTPConnection) -> bool:
    """Return True if a page of the same scheme, host and port asks, as browsers spell it."""
    scheme = {"ws": "http", "wss": "https"}.get(request.url.scheme, request.url.scheme)
    return _single_header(request, "origin") == f"{scheme}://{_single_header(request, 'host')}"
