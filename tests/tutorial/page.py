"""The tutorial's page as what a reader does: files to make, commands to give, and what they print."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!-- (.*?) -->\s*\Z")  # right above a fence
FILE, ENDS_WITH, NOT_RUN = "file: ", "ends with ", "not run: "


@dataclass(frozen=True, kw_only=True)
class Step:
    """A file, if `name` says which, or commands, with their exit code and what they print of all."""

    text: str
    name: str = ""
    code: int = 0
    prints: str = ""


def steps(page: Path) -> list[Step]:
    """Return a page's steps in their order."""
    made: list[Step] = []
    for language, text, comment in _fences(page.read_text()):
        if comment.startswith(NOT_RUN):
            continue
        if comment.startswith(FILE):
            made.append(Step(name=comment.removeprefix(FILE), text=text))
        elif language == "bash":
            code = int(comment.removeprefix(ENDS_WITH)) if comment.startswith(ENDS_WITH) else 0
            made.append(Step(text=text, code=code))
        elif language == "text":
            last = made.pop()
            made.append(Step(text=last.text, code=last.code, prints=text))
    return made


def _fences(text: str) -> Iterator[tuple[str, str, str]]:
    """Yield each fence: its language, its text, and the comment right above it."""
    for found in FENCE.finditer(text):
        comment = COMMENT.search(text[: found.start()])
        yield found[1], found[2], comment[1] if comment else ""


def prints(output: str, said: str) -> bool:
    """Return True if the output has what the page says, in which … stands for anything and spaces for any spaces."""
    pieces = [r"\s+".join(map(re.escape, piece.split())) for piece in said.split("…")]
    return re.search(r"\s*.*?\s*".join(pieces), output, re.DOTALL) is not None
