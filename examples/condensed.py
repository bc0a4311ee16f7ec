"""Condense the recording of a terminal: what only turned a spinner or a clock goes, and each screen stays for as long
as its new lines take to read.

`python -m examples.condensed CAST CONDENSED` runs with the packages of tools/pictures.txt.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pyte

ROOT = str(Path(__file__).resolve().parent.parent)
MOVING = re.compile("[\u2800-\u28ff]|[0-9]+:[0-9]{2}:[0-9]{2}|[0-9]+ s\\b|[0-9.]+ ?s ago")
FIRST, EACH, LONGEST = 0.25, 0.12, 3.0  # seconds a screen is shown, by its new lines
Event = tuple[float, str, str]


def main(recorded: str, condensed: str) -> None:
    head, *lines = Path(recorded).read_text(encoding="utf-8").splitlines()
    size = json.loads(head)
    events = screens((json.loads(line) for line in lines), size["width"], size["height"])
    made = "\n".join(json.dumps(event, ensure_ascii=False) for event in events)
    Path(condensed).write_text(f"{head}\n{made}\n", encoding="utf-8")


def screens(events: Iterable[Event], columns: int, lines: int) -> Iterator[Event]:
    """Yield one event for each screen that says something new, at the time at which the one before it was read."""
    screen = pyte.Screen(columns, lines)
    stream = pyte.Stream(screen)
    seen, held, at = set[str](), "", 0.0
    for _, kind, text in events:
        stream.feed(text)
        held += text
        told = {MOVING.sub("", line).strip() for line in screen.display}
        if new := told - seen:
            yield at, kind, held.replace(ROOT, "~/lakegate")
            at += min(FIRST + EACH * len(new), LONGEST)
            seen, held = seen | new, ""
    yield at, "o", held.replace(ROOT, "~/lakegate")


if __name__ == "__main__":
    main(*sys.argv[1:])
