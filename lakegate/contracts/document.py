"""A YAML document as plain values that know their lines. It refuses what JSON could not say; it knows no ODCS."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from lakegate.errors import Fault

Path = tuple[str | int, ...]

LARGEST = 512 * 1024  # bytes; a contract of a thousand columns has a quarter of it
DEEPEST = 40
_DIGITS = 38  # of the widest decimal
_TOO_LARGE = 10**_DIGITS

_TAG = "tag:yaml.org,2002:"


def _whole_letters(text: str) -> str:
    """JSON, which is YAML, spells some letters as two halves; half a letter alone is none. U+0000 is refused: before a
    digit, SQL has no spelling for it.
    """
    if "\0" in text:
        raise ValueError
    return text.encode("utf-16", "surrogatepass").decode("utf-16") if _HALF.search(text) else text


_HALF = re.compile("[\ud800-\udfff]")
_SCALARS: dict[str, Callable[[str], Any]] = {
    "null": lambda _: None,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "int": lambda text: int(text.replace("_", ""), 0),
    "float": lambda text: float(text.replace("_", "")),
    "str": _whole_letters,
    "timestamp": str,  # a date is said in JSON as text, and each column's type knows how to read it
}
_PLAIN = {f"{_TAG}{name}" for name in (*_SCALARS, "map", "seq")}


class Broken(Exception):
    """The text is no document at all."""

    def __init__(self, line: int, message: str) -> None:
        super().__init__(message)
        self.fault = Fault(line=line, message=message)


@dataclass(kw_only=True)
class Document:
    """The values, the line of each, the faults so far, and the places closed by one: not to be read any more."""

    root: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    closed: set[Path] = field(default_factory=set)

    def fault(self, path: Path, message: str) -> None:
        self.faults.append(Fault(line=self.line(path), message=message))

    def close(self, path: Path, message: str) -> None:
        """A fault in a value that makes it unreadable: later steps pass over it and don't call it missing."""
        self.fault(path, message)
        self.closed.add(path)

    def line(self, path: Path) -> int:
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)


@dataclass(frozen=True, kw_only=True)
class Item:
    """A value in a document, with its place."""

    document: Document
    path: Path
    value: Any

    @property
    def line(self) -> int:
        return self.document.line(self.path)

    def fault(self, message: str) -> None:
        self.document.fault(self.path, message)

    def has(self, word: str) -> bool:
        """Whether the word is there, readable or not."""
        return word in self.value

    def get(self, word: str) -> "Item | None":
        path = (*self.path, word)
        if word not in self.value or path in self.document.closed:
            return None
        return Item(document=self.document, path=path, value=self.value[word])

    def plain(self, word: str, otherwise: Any = None) -> Any:
        item = self.get(word)
        return otherwise if item is None else item.value

    def each(self, word: str) -> Iterator["Item"]:
        """The readable members of a list under the word."""
        if (items := self.get(word)) is None:
            return
        for position, value in enumerate(items.value):
            path = (*items.path, position)
            if path not in self.document.closed:
                yield Item(document=self.document, path=path, value=value)


def parse(text: bytes | str) -> Document:
    """The text as a document, perhaps with faults in it. Raises Broken where there is nothing to go on with."""
    document = Document()
    document.root = _Builder(document).build(_compose(_decode(text)), (), 0)
    return document


def _decode(text: bytes | str) -> str:
    if len(text) > LARGEST:
        raise Broken(1, f"{len(text):,} bytes are too many for a contract: the limit is {LARGEST:,}")
    try:
        return text if isinstance(text, str) else text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise Broken(line, f"not UTF-8: the byte {error.object[error.start]:#x} cannot be read") from None


def _compose(text: str) -> Node:
    try:
        node: Node | None = YAML(typ="safe", pure=True).compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise Broken(line, f"not YAML: {' '.join(filter(None, (error.context, error.problem)))}") from None
    except YAMLError as error:
        raise Broken(1, f"not YAML: {str(error).splitlines()[0]}") from None
    except RecursionError:
        raise Broken(1, f"nested more than {DEEPEST} deep") from None
    if node is None:
        raise Broken(1, "there is no contract in it: the document is empty")
    return node


class _Builder:
    """Nodes to values; what it refuses becomes a fault and a None."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def build(self, node: Node, path: Path, depth: int) -> Any:
        self._document.lines.setdefault(path, node.start_mark.line + 1)
        if (refusal := _refusal(node, depth)) is not None:
            return self._document.close(path, refusal)
        if isinstance(node, MappingNode):
            return self._mapping(node, path, depth)
        if isinstance(node, SequenceNode):
            return [self.build(child, (*path, at), depth + 1) for at, child in enumerate(node.value)]
        return self._scalar(str(node.tag).removeprefix(_TAG), str(node.value), path)

    def _mapping(self, node: MappingNode, path: Path, depth: int) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, child in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode) or key.anchor or key.value == "<<" or _HALF.search(key.value):
                self._document.faults.append(Fault(line=line, message="a key must be a plain word"))
            elif key.value in values:
                first = self._document.lines[(*path, key.value)]
                self._document.faults.append(
                    Fault(line=line, message=f"{key.value!r} is given twice, first on line {first}")
                )
            else:
                self._document.lines[(*path, key.value)] = line
                values[key.value] = self.build(child, (*path, key.value), depth + 1)
        return values

    def _scalar(self, tag: str, text: str, path: Path) -> Any:
        try:
            value = _SCALARS[tag](text)
        except (ValueError, LookupError):
            return self._document.close(path, f"{text[:60]!r} cannot be read as {tag}")
        if isinstance(value, float) and not math.isfinite(value):
            return self._document.close(path, f"{text[:60]!r} is no number that can be compared with")
        if isinstance(value, int) and abs(value) >= _TOO_LARGE:
            return self._document.close(path, f"{text[:60]!r} has more than {_DIGITS} digits, and no type has so many")
        if isinstance(value, float) and Decimal(text.replace("_", "")) != Decimal(repr(value)):
            return self._document.close(path, f"{text[:60]!r} has more digits than are kept: it would become {value!r}")
        return value


def _refusal(node: Node, depth: int) -> str | None:
    if node.anchor:
        return "anchors and aliases are not supported: write the value out"
    if str(node.tag) not in _PLAIN:
        return f"the tag {node.tag} is not supported: a contract is plain words, numbers, lists and mappings"
    if depth > DEEPEST:
        return f"nested more than {DEEPEST} deep"
    return None
