"""Render the dashboard's pictures in docs/pictures: each page as a headless browser shows it, of the installation that
`lakegate` leads to here. `make pictures` runs the demo first.

It needs the environment of `tools/setup.py dashboard`, and a Chromium of this machine.
"""

from __future__ import annotations

import json
import re
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from examples.slack_page import browser as browser_here

ROOT = Path(__file__).resolve().parents[1]
TO = ROOT / "docs/pictures"
LAKEGATE = ROOT / ".venv/bin/lakegate"
WIDE, HIGH, SHARP = 1280, 800, 2
DEADLINE = 120  # seconds


def main() -> None:
    found = browser_here()
    TO.mkdir(parents=True, exist_ok=True)
    with serving() as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": WIDE, "height": HIGH}, device_scale_factor=SHARP)
        page.set_default_timeout(DEADLINE * 1000)
        page.goto(address)
        page.get_by_text("Published").first.wait_for()
        for name, path, words in views():
            render(page, address.split("/?")[0] + path, words, TO / f"dashboard-{name}.png")
        browser.close()


def views() -> list[tuple[str, str, str]]:
    """Return each picture's name, the page's path, and words that it has once it is whole."""
    rejected: dict[str, Any] = answer("status")["rejected"][0]
    table = rejected["table"]
    return [
        ("overview", "/", "All decisions"),
        ("batch", f"/batch?batch={rejected['batch']}", "The same in a terminal"),
        ("rows", f"/rows?branch={rejected['branch']}", "On main"),
        ("table", f"/table?table={table}", "All decisions"),
        ("history", "/history", "Every decision"),
    ]


def answer(*words: str) -> Any:
    done = subprocess.run([str(LAKEGATE), *words, "--json"], cwd=ROOT, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


@contextmanager
def serving() -> Iterator[str]:
    """Yield the address of a dashboard, which ends afterwards."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [str(LAKEGATE), "dashboard", "--port", str(port)]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as running:
        try:
            said = running.stdout.readline() if running.stdout else ""
            address = re.search(r"http://\S+", said) or sys.exit(f"no dashboard: {said}")
            wait_for(address[0].split("/?")[0])
            yield address[0]
        finally:
            running.terminate()


def wait_for(address: str) -> None:
    deadline = time.monotonic() + DEADLINE
    while time.monotonic() < deadline:
        try:
            urllib.request.urlopen(address)  # noqa: S310 - this machine's
        except urllib.error.HTTPError:
            return  # it answers that it wants the key
        except urllib.error.URLError:
            time.sleep(0.2)
    sys.exit(f"{address} does not answer")


def render(page: Page, url: str, words: str, path: Path) -> None:
    page.goto(url)
    page.get_by_text(words).first.wait_for()
    page.wait_for_function("!document.querySelector('[data-testid=stStatusWidget], [data-testid=stSpinner]')")
    page.wait_for_load_state("networkidle")
    high = page.evaluate("document.querySelector('[data-testid=stMain] > div').scrollHeight")
    page.set_viewport_size({"width": WIDE, "height": min(max(int(high), HIGH), 2 * HIGH)})
    page.screenshot(path=path)
    page.set_viewport_size({"width": WIDE, "height": HIGH})
    print(path.relative_to(ROOT))


if __name__ == "__main__":
    main()
