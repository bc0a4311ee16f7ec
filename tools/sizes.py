"""Count what there is to read: lines of the product by package and room, and words of the documentation.

    python tools/sizes.py [REVISION]

With a revision of git it prints the counts at that revision beside those of the working tree.
A line is any line of a Python file of the product, comments and blank lines among them. A word is a piece between white
space that has a letter or a digit. Words that `make reference` writes from the code do not count, and neither does
what is in fences: commands, contracts, programs and their output.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PRODUCT = ("lakegate", "spark_jobs", "handlers", "infra")
_WRITTEN = "`make reference` writes this page"
_WRITTEN_PART = re.compile(r"<!-- (\w+): begin -->.*?<!-- \1: end -->", re.DOTALL)
_FENCE = re.compile(r"^( *)```.*?^\1```$", re.MULTILINE | re.DOTALL)
Texts = Mapping[str, str]


def texts(revision: str = "") -> Texts:
    """Return the files that git knows, by path, of a revision or of the working tree."""
    listing = ["ls-tree", "-r", "--name-only", revision] if revision else ["ls-files"]
    names = [name for name in _git(*listing).splitlines() if name.startswith((*PRODUCT, "docs"))]
    names = [name for name in names if name.endswith((".py", ".md"))]
    if revision:
        return {name: _git("show", f"{revision}:{name}") for name in names}
    return {name: (ROOT / name).read_text(encoding="utf-8") for name in names if (ROOT / name).is_file()}


def _git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, check=True, capture_output=True, text=True).stdout  # noqa: S607


def lines(files: Texts) -> Counter[str]:
    """Return the lines of the product, by package and by its first-level rooms."""
    counts: Counter[str] = Counter()
    for name, text in files.items():
        package, *rest = name.split("/")
        if package in PRODUCT and name.endswith(".py"):
            counts[package] += text.count("\n")
            counts[f"{package}/{rest[0] if len(rest) > 1 else '*.py'}"] += text.count("\n")
            counts["product"] += text.count("\n")
    return counts


def words(files: Texts) -> Counter[str]:
    """Return the words of the documentation that people write, by folder."""
    counts: Counter[str] = Counter()
    for name, text in files.items():
        if name.startswith("docs/") and name.endswith(".md"):
            counts["/".join(name.split("/")[:-1])] += _words_of(text)
            counts["documentation"] += _words_of(text)
    return counts


def _words_of(page: str) -> int:
    text = "" if _WRITTEN in page else _FENCE.sub("", _WRITTEN_PART.sub("", page))
    return sum(any(letter.isalnum() for letter in word) for word in text.split())


def table(title: str, counts: Counter[str], before: Counter[str] | None) -> Iterable[str]:
    yield title
    for name in sorted(counts.keys() | (before or {}).keys()):
        earlier = f"{before[name]:>9,}" if before is not None else ""
        yield f"  {name:<28}{earlier}{counts[name]:>9,}"


def main(revision: str = "") -> None:
    now, before = texts(), texts(revision) if revision else None
    for title, count in (("lines of the product", lines), ("words of the documentation", words)):
        print("\n".join(table(title, count(now), None if before is None else count(before))))


if __name__ == "__main__":
    main(*sys.argv[1:2])
