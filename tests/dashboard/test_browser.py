"""The dashboard in a real browser, headless: it works by keyboard, obeys no stranger, and lets nobody else in."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TYPE_CHECKING

import pytest
import requests

from examples.slack_page import BROWSERS
from tests.cli.batch_report import BATCH
from tests.dashboard.launched import launched, patient

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

pytestmark = pytest.mark.dashboard
PATIENCE = 60_000  # milliseconds, which only end what hangs


@dataclass(kw_only=True)
class Served:
    """A dashboard at its address, and a browser. `fetched` are the hosts that its pages asked, `said` their errors."""

    url: str
    browser: Browser
    fetched: set[str] = field(default_factory=set)
    said: list[str] = field(default_factory=list)

    @property
    def at(self) -> str:
        return self.url.split("/?")[0]

    @property
    def host(self) -> str:
        return self.url.split("/")[2]

    def open(self, path: str = "/") -> Page:
        context = self.browser.new_context(viewport={"width": 1280, "height": 900})
        page = context.new_page()
        page.set_default_timeout(PATIENCE)
        page.on("request", lambda asked: self.fetched.add(asked.url.split("/")[2]))
        page.on("pageerror", lambda error: self.said.append(str(error)))
        page.goto(self.url)
        page.wait_for_selector(".lakegate h1")
        if path != "/":
            page.goto(self.at + path)
            page.wait_for_selector(".lakegate h1")
        return page


@pytest.fixture(scope="module")
def served() -> Iterator[Served]:
    from playwright.sync_api import sync_playwright

    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    assert found, f"a browser is needed, one of {', '.join(BROWSERS)}: apt install chromium"
    with launched() as url:
        _wait_for(url.split("/?")[0])
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
            yield Served(url=url, browser=browser)
            browser.close()


def _wait_for(address: str) -> None:
    assert patient().get(f"{address}/_stcore/health", timeout=60).status_code == 403


def test_whoever_has_the_key_comes_in_and_nobody_else(served: Served) -> None:
    assert requests.get(served.at, timeout=60).status_code == 403
    assert requests.get(f"{served.at}/?key=guess", timeout=60).status_code == 403
    assert requests.get(served.url, headers={"Host": "evil.example"}, timeout=60).status_code == 403
    page = served.open()
    assert "key" not in page.url


def test_a_socket_without_the_key_is_refused(served: Served) -> None:
    page = served.browser.new_page()
    page.goto(f"{served.at}/?key=guess")
    assert not opens_socket(page, served)


def test_a_page_at_another_port_gets_no_cookie_no_socket_and_no_frame(served: Served, other: Other) -> None:
    page, logged = served.browser.new_context().new_page(), list[str]()
    page.on("console", lambda message: logged.append(message.text))
    page.goto(served.url)
    page.wait_for_selector(".lakegate h1", timeout=PATIENCE)
    page.goto(other.url)
    assert "lakegate" not in other.cookies[0]
    assert not opens_socket(page, served)
    page.evaluate(f"document.body.innerHTML = '<iframe src={served.at}/></iframe>'")
    page.wait_for_load_state("networkidle")
    assert [frame.locator(".lakegate").count() for frame in page.frames] == [0, 0]
    assert any("frame-ancestors" in said for said in logged)


def test_the_printed_address_opens_from_another_sites_page(served: Served, other: Other) -> None:
    page = served.browser.new_context().new_page()
    page.goto(other.url.replace("127.0.0.1", "localhost"))
    page.evaluate(f"location.href = {json.dumps(served.url)}")
    page.wait_for_selector(".lakegate h1", timeout=PATIENCE)
    assert "key" not in page.url


def opens_socket(page: Page, served: Served) -> bool:
    address = json.dumps(served.at.replace("http", "ws") + "/_stcore/stream")
    asked = f"const it = new WebSocket({address}); it.onopen = () => done(true); it.onerror = () => done(false)"
    return bool(page.evaluate(f"new Promise(done => {{ {asked} }})"))


@dataclass(kw_only=True)
class Other:
    """A web page at another port of this machine, and the cookies that it was sent."""

    url: str
    cookies: list[str] = field(default_factory=list)


@pytest.fixture
def other() -> Iterator[Other]:
    made = Other(url="")

    class Page(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            made.cookies.append(self.headers.get("Cookie", ""))
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(b"<body></body>")

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Page) as server:
        made.url = f"http://127.0.0.1:{server.server_port}/"
        Thread(target=server.serve_forever, daemon=True).start()
        yield made
        server.shutdown()


def test_a_person_goes_from_the_overview_to_a_batch_and_its_rows(served: Served) -> None:
    page = served.open()
    page.get_by_role("link", name=BATCH).first.click()
    page.get_by_text("Timeline").wait_for()
    page.get_by_text("amount required").first.wait_for()
    page.get_by_role("link", name="Its rows beside main's").click()
    page.get_by_text("Columns that failed").wait_for()
    assert "branch=wap-shop.orders" in page.url


def test_an_act_is_done_by_keyboard_alone(served: Served) -> None:
    page = served.open()
    link = page.locator("a", has_text=re.compile("[0-9]{8}T[0-9]{4}-")).nth(1)
    link.focus()
    page.keyboard.press("Enter")
    button = page.get_by_role("button", name="Discard", exact=True)
    button.wait_for()
    button.focus()
    page.keyboard.press("Enter")
    reason = page.get_by_role("textbox", name="Reason")
    reason.wait_for()
    reason.focus()
    page.keyboard.type("sent by mistake")
    page.keyboard.press("Enter")
    page.get_by_text("discarded for good: sent by mistake").first.wait_for()


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/", "evil.example"),
        (f"/batch?batch={BATCH}", "evil.example"),
        (f"/rows?branch=wap-shop.orders-{BATCH}-a1", "<b>&</b>"),
    ],
)
def test_strangers_text_does_nothing_in_a_browser(served: Served, path: str, shown: str) -> None:
    page = served.open(path)
    page.get_by_text(shown).first.wait_for()
    foreign = ("img:not([src^='data:image/svg+xml'])", "script", "iframe", "style")
    assert page.locator(", ".join(f".lakegate {it}" for it in foreign)).count() == 0
    assert page.locator('a[href*="evil.example"], .katex').count() == 0
    assert page.title() != "1"
    assert "evil.example" not in served.fetched
    assert served.said == []


def test_pages_ask_nobody_but_this_machine(served: Served) -> None:
    page = served.open()
    page.get_by_role("link", name="Table", exact=True).first.click()
    page.get_by_role("heading", name="Table").wait_for()
    assert served.fetched == {served.host}
