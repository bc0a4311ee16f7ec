"""The door: only a request with the dashboard's key passes. The dashboard acts with the rights of whoever started it,
and other people and other programs may reach a port of this machine.

The key is in the address that was printed. A browser that opens it gets a cookie instead, so that the key is in no
address that is kept or sent on.
"""

from hmac import compare_digest

from starlette.datastructures import URL
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

HOSTS = ("127.0.0.1", "localhost")
"""Names of this machine. A web page that leads its own name here is refused."""
KEY = "key"
CLOSED = "Open the address that lakegate dashboard printed."


class Door:
    """ASGI middleware before all else. The `cookie` is named for the port: cookies are those of a host."""

    def __init__(self, app: ASGIApp, *, key: str, cookie: str) -> None:
        self._app, self._key, self._cookie = app, key, cookie

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or self._knows(HTTPConnection(scope)):
            await self._app(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close"})
        else:
            await self._answer(HTTPConnection(scope))(scope, receive, send)

    def _knows(self, asked: HTTPConnection) -> bool:
        return asked.url.hostname in HOSTS and self._is_key(asked.cookies.get(self._cookie, ""))

    def _answer(self, asked: HTTPConnection) -> Response:
        if asked.url.hostname not in HOSTS or not self._is_key(asked.query_params.get(KEY, "")):
            return PlainTextResponse(CLOSED, status_code=403)
        without = URL(scope=asked.scope).remove_query_params(KEY)
        answer = RedirectResponse(f"{without.path}?{without.query}" if without.query else without.path, status_code=303)
        answer.set_cookie(self._cookie, self._key, httponly=True, samesite="lax")
        return answer

    def _is_key(self, given: str) -> bool:
        return compare_digest(given.encode(), self._key.encode())
