"""Tests of what the pictures of the README are drawn by: a terminal is recorded whole, and text of strangers stays
text.
"""

import json
import sys
from pathlib import Path

from examples.recording import COLUMNS, record
from examples.slack_page import document, mrkdwn

PICTURES = Path(__file__).parents[1] / "docs/pictures"
SAYS = "import os, sys; print('é' * 3, os.get_terminal_size().columns, sys.stdout.isatty()); sys.exit(3)"


def test_a_recording_has_all_that_a_terminal_was_sent_in_its_order() -> None:
    events: list[str] = []
    assert record([sys.executable, "-c", SAYS], events.append) == 3
    found = [json.loads(event) for event in events]
    assert "".join(text for _, _, text in found) == f"ééé {COLUMNS} True\r\n"
    assert [at for at, _, _ in found] == sorted(at for at, _, _ in found)


def test_a_message_of_strangers_is_text_on_its_page() -> None:
    assert (
        mrkdwn("*a* `b` &lt;script&gt; <https://x|y&amp;z>") == "<b>a</b> <code>b</code> &lt;script&gt; <a>y&amp;z</a>"
    )
    blocks = [
        {"type": "header", "text": {"type": "plain_text", "text": "<img src=x>"}},
        {"type": "section", "text": {"type": "mrkdwn", "text": "`<img src=x>`"}},
        {"type": "context", "elements": [{"type": "plain_text", "text": "<img src=x>"}]},
        {"type": "actions", "elements": [{"text": {"text": "<img src=x>"}, "style": '"><img src=x>'}]},
    ]
    assert "<img" not in document({"blocks": blocks})


def test_the_pictures_are_of_this_demo_and_of_no_machine() -> None:
    drawn = (PICTURES / "demo.svg").read_text(encoding="utf-8")
    for chapter in ("The data: every flight that left", "every planted fault was found", "Slack was told once"):
        assert chapter in drawn.replace("\u00a0", " ")
    assert "<script" not in drawn
