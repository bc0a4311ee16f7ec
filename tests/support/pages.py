"""Pages of the documentation and the fences in them, with what the comment above a fence says of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
_FENCE = re.compile(
    r"(?:^<!-- (?P<note>[^\n]*?) -->\n)?^(?P<indent> *)```(?P<language>[^\n]*)\n(?P<text>.*?)^(?P=indent)```$",
    re.MULTILINE | re.DOTALL,
)


@dataclass(frozen=True, kw_only=True)
class Fence:
    """A block of code on a page. `not_run` is the reason why no test runs it, "" if one does."""

    page: str
    line: int
    language: str
    text: str
    note: str

    @property
    def not_run(self) -> str:
        return self.note.removeprefix("not run: ") if self.note.startswith("not run: ") else ""

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def pages() -> list[Path]:
    return [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]


def fences(page: Path) -> Iterator[Fence]:
    text = page.read_text(encoding="utf-8")
    for found in _FENCE.finditer(text):
        yield Fence(
            page=str(page.relative_to(ROOT)),
            line=text.count("\n", 0, found.start("language")) + 1,
            language=found["language"].strip(),
            text=re.sub(rf"^{found['indent']}", "", found["text"], flags=re.MULTILINE),
            note=found["note"] or "",
        )


def all_fences(language: str = "") -> list[Fence]:
    """All fences of a language, or of any."""
    return [it for page in pages() for it in fences(page) if language in ("", it.language)]


def joined(text: str) -> Iterator[str]:
    """Yield the lines, those together that a backslash or a quote holds together."""
    held = ""
    for line in re.sub(r" *\\\n *", " ", text).splitlines():
        held = f"{held}\n{line}".lstrip("\n")
        if re.sub(r"\"[^\"]*\"|'[^']*'", "", held).count("'") % 2 == 0:
            yield held
            held = ""


def commands(text: str) -> Iterator[str]:
    """Yield the commands of a shell's text, each on one line, without comments and what stands around them."""
    for line in joined(text):
        if (command := re.split(r"\s+#\s", f"{line} ")[0].strip()) and not command.startswith("#"):
            yield command
