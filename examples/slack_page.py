"""A Slack message as a page, and a picture of it: its blocks as a browser shows them, by Slack's own rules of markup.

It knows the blocks that lakegate sends. All text is a stranger's, and is escaped.
"""

from __future__ import annotations

import html
import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from lakegate_local.slack_messages import MARKUP

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
TAGS = {"block": "pre", "code": "code", "bold": "b", "italic": "i", "strike": "s"}
WIDTH = 760
STYLE = """
body { margin: 0; padding: 16px 20px; width: 720px; color: #1d1c1d;
  font: 15px/1.46 "Noto Sans", "DejaVu Sans", sans-serif }
.name { font-weight: 900 }
.name span { font-weight: 400; font-size: 11px; background: #ddd; padding: 1px 3px; margin-left: 4px; color: #555 }
h1 { font-size: 18px; margin: 8px 0 4px }
.section, .context, pre { margin: 6px 0; white-space: pre-wrap; overflow-wrap: anywhere }
.context { font-size: 13px; color: #616061 }
code, pre { background: #f8f8f8; border: 1px solid #ddd; border-radius: 3px; font-size: 12px }
code { padding: 1px 3px; color: #c01343 }
pre { padding: 8px }
hr { border: 0; border-top: 1px solid #ddd }
.button { display: inline-block; border: 1px solid #bbb; border-radius: 4px; padding: 4px 12px;
  margin: 4px 8px 4px 0; font-weight: 700; font-size: 13px }
.primary { background: #007a5a; color: #fff }
.danger { background: #e01e5a; color: #fff }
a { color: #1264a3 }
"""


def main(message: str, picture: str) -> None:
    found = browser()
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "slack.html"
        page.write_text(document(json.loads(Path(message).read_text(encoding="utf-8"))), encoding="utf-8")
        shoot(found, page, Path(picture))


def browser() -> str:
    """Return the path of a Chromium of this machine."""
    found = next(filter(None, map(shutil.which, BROWSERS)), None)
    if not found:
        sys.exit(f"A browser is needed, one of {', '.join(BROWSERS)}: apt install chromium")
    return found


def shoot(found: str, page: Path, picture: Path) -> None:
    """Take a picture of the whole page. The first run of the browser says how high it is."""
    headless = [found, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"]
    told = subprocess.run([*headless, "--dump-dom", page.as_uri()], check=True, capture_output=True, text=True).stdout
    height = re.search(r"<title>(\d+)</title>", told)
    if not height:
        sys.exit("The browser does not say how high the page is")
    size = f"--window-size={WIDTH},{height[1]}"
    shot = f"--screenshot={picture.resolve()}"
    subprocess.run([*headless, "--force-device-scale-factor=1.5", size, shot, page.as_uri()], check=True)


def document(message: Mapping[str, Any]) -> str:
    """Return the message as a whole page, which gives itself its height for a title."""
    parts = "\n".join(part for block in message.get("blocks", ()) for part in block_parts(block))
    name = '<div class="name">lakegate<span>APP</span></div>'
    measure = "<script>document.title = document.documentElement.scrollHeight</script>"
    head = f'<!doctype html><meta charset="utf-8"><title></title><style>{STYLE}</style>'
    return f"{head}<body>{name}\n{parts}{measure}</body>"


def block_parts(block: Mapping[str, Any]) -> Iterator[str]:
    match block["type"]:
        case "header":
            yield f"<h1>{escaped(block['text']['text'])}</h1>"
        case "section":
            for part in (*([block["text"]] if "text" in block else ()), *block.get("fields", ())):
                yield f'<div class="section">{text(part)}</div>'
        case "context":
            yield "".join(f'<div class="context">{text(part)}</div>' for part in block["elements"])
        case "actions":
            yield "".join(map(button, block["elements"]))
        case "divider":
            yield "<hr>"
        case other:
            raise ValueError(other)


def button(element: Mapping[str, Any]) -> str:
    return f'<span class="button {escaped(element.get("style", ""))}">{escaped(element["text"]["text"])}</span>'


def text(part: Mapping[str, Any]) -> str:
    return mrkdwn(part["text"]) if part["type"] == "mrkdwn" else escaped(part["text"])


def mrkdwn(source: str) -> str:
    """Return Slack's markup as HTML. Slack's own three entities stand for what HTML's stand for."""
    result, end = "", 0
    for found in MARKUP.finditer(source):
        result += escaped(html.unescape(source[end : found.start()])) + marked(found)
        end = found.end()
    return result + escaped(html.unescape(source[end:]))


def marked(found: re.Match[str]) -> str:
    if found["link"]:
        return f"<a>{escaped(html.unescape(found['label'] or found['link']))}</a>"
    [(kind, inner)] = [(kind, found[kind]) for kind in TAGS if found[kind] is not None]
    return f"<{TAGS[kind]}>{escaped(html.unescape(inner.strip(chr(10))))}</{TAGS[kind]}>"


def escaped(source: str) -> str:
    return html.escape(source)


if __name__ == "__main__":
    main(*sys.argv[1:])
