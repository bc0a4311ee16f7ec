"""Numbers agree with their words: "16 wait", "1 waits"."""

from __future__ import annotations

import ast
import re
from itertools import pairwise
from pathlib import Path

import pytest

from lakegate.counts import count

ROOT = Path(__file__).resolve().parent.parent
# A plural of ours behind a number: "rows", "more rows". A limit is a constant, and greater than one.
PLURAL = re.compile(
    r" (?:\w+ )?(rows|files|bytes|characters|checks|columns|fields|values|receipts|changes|steps|partitions|batches"
    r"|branches|attempts|versions|contracts|keys|data files|aggregates|decisions|times)\b"
)
CONSTANT = re.compile(r"[A-Z_.]+$")


@pytest.mark.parametrize(
    ("number", "told", "waits"),
    [(0, "0 files", "0 files wait"), (1, "1 file", "1 file waits"), (16, "16 files", "16 files wait")],
)
def test_a_noun_and_a_verb_agree_with_their_number(number: int, told: str, waits: str) -> None:
    assert (count(number, "file"), count(number, "file", "waits", "wait")) == (told, waits)


def test_thousands_are_set_apart() -> None:
    assert count(1200, "file") == "1,200 files"


def uncounted(source: str) -> list[tuple[str, str]]:
    """Return each expression of an f-string before a plural, with the words, unless `count` has put it there."""
    found = []
    for node in ast.walk(ast.parse(source)):
        parts = node.values if isinstance(node, ast.JoinedStr) else []
        for number, words in pairwise(parts):
            if not isinstance(number, ast.FormattedValue) or not isinstance(words, ast.Constant):
                continue
            name = ast.unparse(number.value)
            if PLURAL.match(str(words.value)) and not CONSTANT.match(name) and not name.startswith("count("):
                found.append((name, str(words.value)))
    return found


@pytest.mark.parametrize(("text", "is_found"), [("{n} rows", True), ("{n} old rows", True), ("{MOST} rows", False)])
def test_a_number_before_a_plural_is_seen(text: str, is_found: bool) -> None:  # noqa: FBT001
    assert bool(uncounted(f'f"{text}"')) is is_found


NO_NUMBER = {
    "branch",
    "branch.name",
    "kind",
    "inspection.file.key",
    "subject",
    "files.form.kind",
    "' and '.join(known_setting.kinds)",
    "', '.join(extra)",
}
MORE_THAN_ONE = {
    "files",
    "value.plain('files', FILES)",
    "times",
    "grown.times",
    "grown.more",
    "self.largest",
    "self._bounds.largest",
    "now.of_last",
    "len(batches)",
}
OVER_A_LIMIT = re.compile("the (limit|most) is|the limits are|may have|no key has more")


@pytest.mark.parametrize("folder", ["handlers", "lakegate", "spark_jobs"])
def test_every_number_that_may_be_one_is_told_by_count(folder: str) -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name} {words}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for name, words in uncounted(path.read_text())
        if name not in NO_NUMBER | MORE_THAN_ONE and not OVER_A_LIMIT.search(words)
    ]
    assert found == []
