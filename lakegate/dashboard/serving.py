"""Serving: Streamlit behind the door, on this machine alone, with nothing that leaves it."""

import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from streamlit.starlette import App

from lakegate.cli.terminal import busy, print_lines
from lakegate.dashboard import session
from lakegate.dashboard.door import HOSTS, KEY, Door

LOCAL_HOST = HOSTS[0]
MAIN = Path(__file__).with_name("main.py")
INK = {"light": ("#1c2024", "#ffffff", "#f6f7f9", "#d3d8de", "#0b57d0")}
INK |= {"dark": ("#e6e9ed", "#14171a", "#1d2125", "#3a4148", "#8ab4f8")}
"""The colours of the report's page: text, paper, cards, lines, and what can be clicked."""
PARTS = ("textColor", "backgroundColor", "secondaryBackgroundColor", "borderColor", "primaryColor")
CONFIG: Mapping[str, Any] = {
    "browser.gatherUsageStats": False,
    "browser.serverAddress": LOCAL_HOST,
    "client.disableDataExport": True,  # a spreadsheet would obey the values of strangers
    "client.showErrorDetails": "none",
    "client.showErrorLinks": False,
    "client.toolbarMode": "minimal",
    "logger.hideWelcomeMessage": True,  # its address lacks the key
    "logger.level": "error",
    "server.address": LOCAL_HOST,
    "server.allowedHosts": list(HOSTS),
    "server.enableCORS": True,
    "server.enableXsrfProtection": True,
    "server.fileWatcherType": "none",
    "server.headless": True,  # a browser's command line would show the key to others
    **{f"theme.{base}.{part}": ink for base, inks in INK.items() for part, ink in zip(PARTS, inks, strict=True)},
}


def serve(port: int) -> None:
    """Serve the dashboard until it is interrupted. Raise as `connect` does, at once, if there is nothing to show."""
    with busy("connecting"):
        session.installation()
    key, base = secrets.token_urlsafe(32), secrets.token_hex(16)
    address = f"http://{LOCAL_HOST}:{port}/{base}/?{KEY}={key}"
    print_lines(f"The dashboard is at {address}", "Whoever opens it has your rights. Ctrl-C ends it.")
    door = Middleware(Door, key=key, base=base, cookie=f"lakegate-{port}")
    App(MAIN, middleware=[door]).run(config={**CONFIG, "server.port": port, "server.baseUrlPath": base})
