"""Limits on a contract before its words are looked at: columns, checks, values in a list, letters of a text.

It knows their places and none of their meanings. The first that is too many ends the reading.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

from lakegate.contracts.odcs.document import BrokenDocument, Document, Path

COLUMNS = 5_000  # with the parts of nested ones, as many as a file may have by default
CHECKS = 5_000  # entries of `quality`, `relationships` and `slaProperties`; the columns' own words are bounded by those
VALUES = 10_000  # of one list
LETTERS = 65_536  # of one text
NAME = 500  # letters of a name
_NAMES = ("name", "physicalName", "businessName", "id", "version", "physicalType", "logicalType", "element", "unit")
_CHECK_LISTS = ("quality", "relationships", "slaProperties")

_LIMITS: Mapping[str, tuple[int, str]] = {
    "columns": (COLUMNS, "columns, with the parts of nested ones: split the table"),
    "checks": (CHECKS, "entries of quality, relationships and slaProperties: leave some out"),
}


def check_size(document: Document) -> None:
    """Raise Broken, with the line, at the first place where the document is beyond a limit."""
    totals: Counter[str] = Counter()
    for path, value in _places(document.root):
        if isinstance(value, str):
            _check_text(document, path, value)
        elif isinstance(value, list) and len(value) > VALUES:
            raise BrokenDocument(
                document.line(path), f"a list of {len(value):,} values is too long: the limit is {VALUES:,}"
            )
        for kind, number in _counts(path, value):
            totals[kind] += number
            limit, unit = _LIMITS[kind]
            if totals[kind] > limit:
                raise BrokenDocument(document.line(path), f"the contract has more than {limit:,} {unit}")


def _places(root: Any) -> Iterator[tuple[Path, Any]]:
    """Yield every value with its place, in the document's order."""
    todo: list[tuple[Path, Any]] = [((), root)]
    while todo:
        path, value = todo.pop()
        yield path, value
        if isinstance(value, dict):
            todo += [((*path, word), value[word]) for word in reversed(value)]
        elif isinstance(value, list):
            todo += [((*path, at), value[at]) for at in reversed(range(len(value)))]


def _check_text(document: Document, path: Path, text: str) -> None:
    word = next((step for step in reversed(path) if isinstance(step, str)), "")
    limit = NAME if word in _NAMES else LETTERS
    if len(text) > limit:
        raise BrokenDocument(document.line(path), f"{word!r} has {len(text):,} characters, and the limit is {limit:,}")


def _counts(path: Path, value: Any) -> Iterator[tuple[str, int]]:
    """Yield the columns and checks in the value itself."""
    if not isinstance(value, dict):
        return
    for word, child in value.items():
        if word == "properties" and isinstance(child, list):
            yield "columns", sum(isinstance(entry, dict) for entry in child)
        elif word == "items" or (path[-1:] == ("map",) and word in ("key", "value")):
            yield "columns", isinstance(child, dict)
        elif word in _CHECK_LISTS and isinstance(child, list):
            yield "checks", len(child)
