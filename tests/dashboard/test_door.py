"""The door lets in whoever has the key, from this machine's own names alone, and lets only its own pages act."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from lakegate.dashboard.door import Door

KEY, COOKIE, BASE = "the-key", "lakegate-8501", "5ec2e7"
HOST, OWN = "127.0.0.1:8501", "http://127.0.0.1:8501"
KNOWN = {"cookie": f"{COOKIE}={KEY}", "host": HOST}
Sent = list[dict[str, Any]]
FOREIGN = {
    "another port": "http://127.0.0.1:9999",
    "no port": "http://127.0.0.1",
    "a port with a zero before it": "http://127.0.0.1:08501",
    "another scheme": "https://127.0.0.1:8501",
    "a file, a sandbox, a page of data": "null",
    "nothing": "",
    "the machine's other name": "http://localhost:8501",
    "the machine by its other address": "http://[::1]:8501",
    "the address as a number": "http://2130706433:8501",
    "all addresses": "http://0.0.0.0:8501",
    "a user before it": "http://127.0.0.1:8501@evil.example",
    "a user before ours": "http://evil.example@127.0.0.1:8501",
    "a name that begins like ours": "http://127.0.0.1:8501.evil.example",
    "capitals, another port": "HTTP://127.0.0.1:9999",
    "capitals, the other name": "http://LOCALHOST:8501",
    "a path": "http://127.0.0.1:8501/",
    "two": "http://127.0.0.1:8501 http://evil.example",
    "a space": " http://127.0.0.1:8501",
    "a stranger": "https://evil.example",
}


def ask(
    query: str = "",
    kind: str = "http",
    *,
    path: str = f"/{BASE}/batch",
    method: str = "GET",
    twice: str = "",
    sets: str = "a=b; Path=/; Secure",
    **headers: str,
) -> Sent:
    """Return what is sent for a request. What is behind the door begins with "in". A header may be there `twice`."""
    sent: Sent = []

    async def behind(_scope: Any, _receive: Any, send: Any) -> None:
        await send({"type": "in"})
        if kind == "http":
            await send({"type": "http.response.start", "status": 200, "headers": [(b"set-cookie", sets.encode())]})

    async def send(message: Any) -> None:
        sent.append(message)

    async def receive() -> Any:
        return {"type": f"{kind}.disconnect"}

    given = [*headers.items(), *((name, value) for name, value in headers.items() if name == twice)]
    scheme = "ws" if kind == "websocket" else "http"
    scope = {"type": kind, "method": method, "path": path, "query_string": query.encode(), "scheme": scheme,
             "server": ("127.0.0.1", 8501), "root_path": "",
             "headers": [(name.encode(), value.encode()) for name, value in given]}  # fmt: skip
    if kind == "websocket":
        del scope["method"]
    asyncio.run(Door(behind, key=KEY, base=BASE, cookie=COOKIE)(scope, receive, send))
    return sent


def is_in(sent: Sent) -> bool:
    return bool(sent[0]["type"] == "in")


def headers_of(sent: Sent) -> dict[str, str]:
    [start] = [message for message in sent if message["type"] == "http.response.start"]
    return {name.decode(): value.decode() for name, value in start["headers"]}


@pytest.mark.parametrize("host", [HOST, "localhost:8501", "localhost:9000", "localhost"])
def test_a_browser_with_the_cookie_is_let_in(host: str) -> None:
    known = KNOWN | {"host": host}
    assert is_in(ask(**known))
    assert is_in(ask(kind="websocket", origin=f"http://{host}", **known))
    assert is_in(ask(method="POST", origin=f"http://{host}", **known))


@pytest.mark.parametrize(
    "headers",
    [
        {"host": HOST},
        {"host": HOST, "cookie": f"{COOKIE}=guess"},
        {"host": "evil.example:8501", "cookie": f"{COOKIE}={KEY}"},
        {"host": f"evil.example@{HOST}", "cookie": f"{COOKIE}={KEY}"},
        {"host": f"{HOST}.evil.example", "cookie": f"{COOKIE}={KEY}"},
        {"cookie": f"{COOKIE}={KEY}"},
    ],
)
def test_nobody_else_is(headers: dict[str, str]) -> None:
    assert ask(**headers)[0]["status"] == 403
    assert ask("key=guess", **headers)[0]["status"] == 403
    assert ask(kind="websocket", origin=OWN, **headers) == [{"type": "websocket.close"}]


@pytest.mark.parametrize("origin", FOREIGN.values(), ids=FOREIGN)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD", "TRACE"])
def test_a_page_of_another_origin_may_only_look(method: str, origin: str) -> None:
    foreign = KNOWN | ({"origin": origin} if origin else {})
    assert ask(kind="websocket", **foreign) == [{"type": "websocket.close"}]
    assert ask(method=method, **foreign)[0]["status"] == 403
    assert is_in(ask(**foreign))


@pytest.mark.parametrize("twice", ["host", "origin"])
def test_a_header_that_is_there_twice_says_nothing(twice: str) -> None:
    assert ask(kind="websocket", twice=twice, origin=OWN, **KNOWN) == [{"type": "websocket.close"}]
    assert ask(method="POST", twice=twice, origin=OWN, **KNOWN)[0]["status"] == 403


@pytest.mark.parametrize(
    "path", ["/", "/batch", f"/{BASE}x/batch", f"//{BASE}/batch", "/_stcore/stream", f"/x/{BASE}/"]
)
def test_the_dashboard_is_nowhere_but_at_its_secret_path(path: str) -> None:
    assert ask(path=path, **KNOWN)[0]["status"] == 403
    assert ask(f"key={KEY}", path=path, host=HOST)[0]["status"] == 403
    assert ask(kind="websocket", path=path, origin=OWN, **KNOWN) == [{"type": "websocket.close"}]


def test_the_key_becomes_a_cookie_of_the_path_and_leaves_the_address() -> None:
    begin, body = ask(f"batch=1&x=%22%3E&key={KEY}", host="localhost:8501")
    assert begin["status"] == 200
    assert f'content="0;url=/{BASE}/batch?batch=1&amp;x=%22%3E"' in body["body"].decode()
    assert KEY not in body["body"].decode()
    assert headers_of([begin])["set-cookie"] == f"{COOKIE}={KEY}; HttpOnly; Path=/{BASE}; SameSite=strict"


def test_no_cookie_of_an_answer_is_for_more_than_the_path() -> None:
    assert headers_of(ask(**KNOWN))["set-cookie"] == f"a=b; Path=/{BASE}; Secure"


def test_a_strange_name_gets_no_cookie_for_the_key() -> None:
    assert ask(f"key={KEY}", host="evil.example")[0]["status"] == 403


def test_the_key_in_an_address_does_nothing_but_open_a_page() -> None:
    assert ask(f"key={KEY}", method="POST", origin=OWN, host=HOST)[0]["status"] == 403
    assert ask(f"key={KEY}", kind="websocket", origin=OWN, host=HOST) == [{"type": "websocket.close"}]


@pytest.mark.parametrize("query", ["", f"key={KEY}"])
@pytest.mark.parametrize("cookie", ["", f"{COOKIE}={KEY}"])
def test_no_answer_may_be_framed(query: str, cookie: str) -> None:
    headers = headers_of(ask(query, host=HOST, cookie=cookie))
    assert headers["content-security-policy"] == "frame-ancestors 'none'"
    assert headers["x-frame-options"] == "DENY"
