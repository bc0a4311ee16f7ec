"""Slack messages, rendered for a terminal. It knows the blocks that the stand-in accepts, and sends none."""

import html
import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

Message = Mapping[str, Any]

# The part of Slack's mrkdwn that lakegate uses: ```code```, `code`, *bold*, _italic_, ~struck~, <url|text>, <url>
MARKUP = re.compile(
    r"```(?P<block>.+?)```|`(?P<code>[^`\n]+)`|(?<!\w)\*(?P<bold>[^*\n]+)\*(?!\w)|(?<!\w)_(?P<italic>[^_\n]+)_(?!\w)"
    r"|(?<!\w)~(?P<strike>[^~\n]+)~(?!\w)|<(?P<link>[^>|]+)(?:\|(?P<label>[^>]+))?>",
    re.DOTALL,
)
STYLES = {"block": "cyan", "code": "cyan", "bold": "bold", "italic": "italic", "strike": "strike"}


def read(file: Path) -> list[Message]:
    """Return all messages, oldest first, or none if there is no file."""
    if not file.exists():
        return []
    # Not splitlines(): it also splits at characters that a message may hold.
    return [json.loads(line) for line in file.read_text(encoding="utf-8").split("\n") if line]


def rendered(message: Message) -> RenderableType:
    sent = datetime.fromtimestamp(float(message["ts"])).astimezone()
    parts = [part for block in message.get("blocks") or () for part in block_parts(block)]
    title = f"{message['channel']} · {sent:%H:%M:%S}"
    return Panel(Group(*(parts or [mrkdwn(message.get("text", ""))])), title=title, title_align="left")


def block_parts(block: Mapping[str, Any]) -> Iterator[RenderableType]:
    match block["type"]:
        case "header":
            yield Text(plain(block["text"]), style="bold")
        case "section":
            yield from (
                text(part) for part in (*([block["text"]] if "text" in block else ()), *block.get("fields", ()))
            )
        case "context":
            for element in block["elements"]:
                yield Text.assemble(text(element), style="dim")
        case "actions":
            yield Text("  ").join(Text(f"[{plain(element['text'])}]") for element in block["elements"])
        case "image":
            yield Text(f"[image: {block['alt_text']}]")
        case "divider":
            yield Rule()


def text(part: Mapping[str, Any]) -> Text:
    if part["type"] == "image":
        return Text(f"[image: {part['alt_text']}]")
    return mrkdwn(part["text"]) if part["type"] == "mrkdwn" else Text(part["text"])


def plain(part: Mapping[str, Any]) -> str:
    return str(part["text"])


def mrkdwn(source: str) -> Text:
    """Return Slack's markup as styled text, with its three entities as the characters that they stand for."""
    result, end = Text(), 0
    for found in MARKUP.finditer(source):
        result.append(html.unescape(source[end : found.start()]))
        result.append_text(marked(found))
        end = found.end()
    return result.append(html.unescape(source[end:]))


def marked(found: re.Match[str]) -> Text:
    if found["link"]:
        return Text(html.unescape(found["label"] or found["link"]), style=f"link {html.unescape(found['link'])}")
    [(kind, inner)] = [(kind, found[kind]) for kind in STYLES if found[kind] is not None]
    return Text(html.unescape(inner.strip("\n")), style=STYLES[kind])
