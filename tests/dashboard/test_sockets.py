"""The dashboard at a real port: what a page at another port of this machine, and a program without the key, can do."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pytest
import requests
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from lakegate.dashboard.door import FOREIGN as FOREIGN_PAGE
from tests.dashboard.launched import launched, patient
from tests.dashboard.test_door import FOREIGN

PATIENCE = 60  # seconds, which only end what hangs


@dataclass(frozen=True, kw_only=True)
class Served:
    """A dashboard's printed address, and the cookie that a browser got for it."""

    url: str
    cookie: str

    @property
    def base(self) -> str:
        return self.url.split("/?")[0]

    @property
    def host(self) -> str:
        return self.url.split("/")[2]

    def switches(self, origin: str | None, *, base: str = "", cookie: str | None = None) -> int:
        """The status with which a websocket is answered."""
        address = (base or self.base).replace("http", "ws", 1) + "/_stcore/stream"
        headers = {"Cookie": self.cookie if cookie is None else cookie} | ({"Origin": origin} if origin else {})
        try:
            with connect(address, additional_headers=headers, open_timeout=PATIENCE):
                return 101
        except InvalidStatus as refused:
            return refused.response.status_code


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    with launched() as url:
        answer = patient().get(url, timeout=PATIENCE)
        yield Served(url=url, cookie=answer.headers["set-cookie"].split(";")[0])


def test_its_own_page_drives_the_websocket(served: Served) -> None:
    assert served.switches(f"http://{served.host}") == 101


SENT = {what: origin for what, origin in FOREIGN.items() if origin == origin.strip()}  # HTTP knows no other


@pytest.mark.parametrize("origin", SENT.values(), ids=SENT)
def test_no_page_of_another_origin_drives_it(served: Served, origin: str) -> None:
    origin = origin.replace("8501", served.host.split(":")[1])
    assert served.switches(origin) == 403
    headers = {"Cookie": served.cookie} | ({"Origin": origin} if origin else {})
    posted = requests.post(f"{served.base}/_stcore/upload_file/a/b", headers=headers, timeout=PATIENCE)
    assert (posted.status_code, posted.text) == (403, FOREIGN_PAGE)


def test_neither_the_cookie_nor_the_path_alone_opens_it(served: Served) -> None:
    own, root = f"http://{served.host}", f"http://{served.host}"
    assert served.switches(own, cookie="") == 403
    assert served.switches(own, base=root) == 403
    assert requests.get(served.base, timeout=PATIENCE).status_code == 403
    assert requests.get(f"{root}/?{served.url.split('?')[1]}", timeout=PATIENCE).status_code == 403


def test_another_port_of_the_machine_is_sent_no_cookie(served: Served) -> None:
    jar = requests.Session()
    jar.get(served.url, timeout=PATIENCE)
    jar.get(f"{served.base}/_stcore/health", timeout=PATIENCE)
    elsewhere = jar.prepare_request(requests.Request("GET", "http://127.0.0.1:9999/steal"))
    assert "Cookie" not in elsewhere.headers
    assert {cookie.path for cookie in jar.cookies} == {f"/{served.base.split('/')[3]}"}


def test_no_page_of_it_may_be_framed(served: Served) -> None:
    jar = requests.Session()
    jar.get(served.url, timeout=PATIENCE)
    for path in ("", "/", "/batch", "/_stcore/health"):
        answer = jar.get(served.base + path, timeout=PATIENCE)
        assert answer.status_code == 200
        assert answer.headers["Content-Security-Policy"] == "frame-ancestors 'none'"
        assert answer.headers["X-Frame-Options"] == "DENY"
