"""The door lets in whoever has the key, from this machine's own names alone."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lakegate.dashboard.door import Door

KEY, COOKIE = "the-key", "lakegate-8501"
KNOWN = {"cookie": f"{COOKIE}={KEY}", "host": "127.0.0.1:8501"}
Sent = list[dict[str, Any]]


def ask(query: str = "", kind: str = "http", **headers: str) -> Sent:
    """What is sent for a request. What is behind the door says "in"."""
    sent: Sent = []

    async def behind(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "in"})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": f"{kind}.disconnect"}

    scope = {"type": kind, "method": "GET", "path": "/batch", "query_string": query.encode(), "scheme": "http",
             "server": ("127.0.0.1", 8501), "root_path": "",
             "headers": [(name.encode(), value.encode()) for name, value in headers.items()]}  # fmt: skip
    asyncio.run(Door(behind, key=KEY, cookie=COOKIE)(scope, receive, send))
    return sent


@pytest.mark.parametrize("kind", ["http", "websocket"])
def test_a_browser_with_the_cookie_is_let_in(kind: str) -> None:
    assert ask(kind=kind, **KNOWN) == [{"type": "in"}]


@pytest.mark.parametrize(
    "headers",
    [
        {"host": "127.0.0.1:8501"},
        {"host": "127.0.0.1:8501", "cookie": f"{COOKIE}=guess"},
        {"host": "evil.example:8501", "cookie": f"{COOKIE}={KEY}"},
    ],
)
def test_nobody_else_is(headers: dict[str, str]) -> None:
    assert ask(**headers)[0]["status"] == 403
    assert ask("key=guess", **headers)[0]["status"] == 403
    assert ask(kind="websocket", **headers) == [{"type": "websocket.close"}]


def test_the_key_becomes_a_cookie_and_leaves_the_address() -> None:
    begin = ask(f"batch=1&key={KEY}", host="localhost:8501")[0]
    headers = {name.decode(): value.decode() for name, value in begin["headers"]}
    assert (begin["status"], headers["location"]) == (303, "/batch?batch=1")
    assert headers["set-cookie"].startswith(f"{COOKIE}={KEY}; HttpOnly; Path=/; SameSite=lax")


def test_a_strange_name_gets_no_cookie_for_the_key() -> None:
    assert ask(f"key={KEY}", host="evil.example")[0]["status"] == 403
