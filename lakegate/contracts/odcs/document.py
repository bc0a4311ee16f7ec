"""A YAML document as plain values that know their lines. It refuses what JSON could not say; it knows no ODCS."""

import math
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.composer import Composer
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode
from ruamel.yaml.scanner import Scanner

from lakegate.contracts.odcs import examples
from lakegate.errors import Fault

Path = tuple[str | int, ...]

LARGEST = 512 * 1024  # bytes; a contract of a thousand columns has a quarter of it
DEEPEST = 40
LONGEST_WORD = 500  # characters of a key
MOST_NODES = 50_000  # words, values, lists and mappings; a contract of a thousand columns has some twenty thousand
MOST_FAULTS = 100  # that are reported of one contract
LONGEST_FAULT = 500  # characters of one
_LONGEST_NUMBER = 400  # characters
_DIGITS = 38  # of the widest decimal
_TOO_LARGE = 10**_DIGITS

_TAG = "tag:yaml.org,2002:"


def _whole_letters(text: str) -> str:
    """Return the text with whole letters. JSON, which is YAML, spells some letters as two halves; half a letter alone
    is refused. So is U+0000: before a digit, SQL has no spelling for it.
    """
    if "\0" in text:
        raise ValueError
    return text.encode("utf-16", "surrogatepass").decode("utf-16") if _HALF.search(text) else text


def _number(text: str) -> str:
    if len(text) > _LONGEST_NUMBER:
        raise ValueError
    return text.replace("_", "")


_HALF = re.compile("[\ud800-\udfff]")
_SCALARS: dict[str, Callable[[str], Any]] = {
    "null": lambda _: None,
    "bool": lambda text: {"true": True, "false": False}[text.lower()],
    "int": lambda text: int(_number(text), 0),
    "float": lambda text: float(_number(text)),
    "str": _whole_letters,
    "timestamp": str,  # in JSON a date is text, and each column's type knows how to read it
}
_PLAIN = {f"{_TAG}{name}" for name in (*_SCALARS, "map", "seq")}


class BrokenDocument(Exception):
    """A text that is no document at all."""

    def __init__(self, line: int, message: str, write: str = "") -> None:
        super().__init__(message)
        self.fault = Fault(line=line, message=one_line(message), write=write)


class TooManyFaults(Exception):
    """So many faults that no more are looked for."""

    def __init__(self, line: int) -> None:
        message = f"and more: the first {MOST_FAULTS} are listed, and the rest is looked for once they are mended"
        super().__init__(message)
        self.fault = Fault(line=line, message=message)


def one_line(message: str) -> str:
    """Return a message as it is shown: words of a contract in it can neither begin a line of their own nor fill a
    screen.
    """
    return _shorten(
        "".join(
            letter if letter.isprintable() else letter.encode("unicode_escape", "surrogatepass").decode()
            for letter in _shorten(message)
        )
    )


def _shorten(text: str) -> str:
    """Return the text without its middle: it begins with the place, and ends with what is wrong there."""
    half = LONGEST_FAULT // 2 - 2
    return text if len(text) <= LONGEST_FAULT else f"{text[:half]} … {text[-half:]}"


@dataclass(kw_only=True)
class Document:
    """A document's values, the line of each, the faults so far, and the places closed by one: not to be read any more.

    `at` is the place that was read last: if the reading ends there, no nearer place is known.
    """

    root: Any = None
    lines: dict[Path, int] = field(default_factory=dict)
    faults: list[Fault] = field(default_factory=list)
    closed_paths: set[Path] = field(default_factory=set)
    at: Path = ()

    def fault(self, path: Path, message: str, write: str = "") -> None:
        self.report(self.line(path), message, write)

    def report(self, line: int, message: str, write: str = "") -> None:
        """Note a fault, with the lines to write if some are missing. Raise Enough if there are too many already."""
        if len(self.faults) >= MOST_FAULTS:
            raise TooManyFaults(line)
        self.faults.append(Fault(line=line, message=one_line(message), write=write))

    def close(self, path: Path, message: str) -> None:
        """Note a fault in a value that makes it unreadable: later steps pass over it and do not call it missing."""
        self.fault(path, message)
        self.closed_paths.add(path)

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

    def fault(self, message: str, write: str = "") -> None:
        self.document.fault(self.path, message, write)

    def has(self, word: str) -> bool:
        """Return True if the word is there, readable or not."""
        return word in self.value

    def get(self, word: str) -> "Item | None":
        path = (*self.path, word)
        if word not in self.value or path in self.document.closed_paths:
            return None
        self.document.at = path
        return Item(document=self.document, path=path, value=self.value[word])

    def plain(self, word: str, default: Any = None) -> Any:
        item = self.get(word)
        return default if item is None else item.value

    def entries(self, word: str) -> Iterator["Item"]:
        """Yield the readable members of a list under the word."""
        if (items := self.get(word)) is not None:
            yield from items.members()

    def members(self) -> Iterator["Item"]:
        """Yield the readable members of a list."""
        for position, value in enumerate(self.value):
            path = (*self.path, position)
            if path not in self.document.closed_paths:
                self.document.at = path
                yield Item(document=self.document, path=path, value=value)


def parse(text: bytes | str, document: Document) -> None:
    """Read the text into an empty document, perhaps with faults. Raise Broken if there is nothing to go on with."""
    document.root = _Builder(document).build(_compose(_decode(text)), ())
    document.at = ()


def _decode(text: bytes | str) -> str:
    if len(text) > LARGEST:
        raise BrokenDocument(1, f"{len(text):,} bytes are too many for a contract: the limit is {LARGEST:,}")
    try:
        return text if isinstance(text, str) else text.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BrokenDocument(line, f"not UTF-8: the byte {error.object[error.start]:#x} cannot be read") from None


_VERSIONS = ((1, 1), (1, 2))


class _BoundedScanner(Scanner):
    """A scanner that opens so many brackets within brackets and no more, because it looks ahead of all of them each
    time. A text that ruamel's own scanner fails on is no YAML.
    """

    def fetch_more_tokens(self) -> Any:
        try:
            return super().fetch_more_tokens()
        except (ValueError, ArithmeticError):
            raise BrokenDocument(self.reader.line + 1, "not YAML: an escape here stands for no character") from None

    def fetch_flow_collection_start(self, token: Any, to_push: str) -> None:
        if self.flow_level > DEEPEST:
            raise BrokenDocument(self.reader.get_mark().line + 1, _TOO_DEEP)
        super().fetch_flow_collection_start(token, to_push)

    def scan_yaml_directive_value(self, start_mark: Any) -> Any:
        try:
            version = super().scan_yaml_directive_value(start_mark)
        except ValueError:  # a number that is too long to be one
            version = ()
        if version not in _VERSIONS:
            raise BrokenDocument(
                start_mark.line + 1, "YAML is read in its versions 1.1 and 1.2: leave out the line that begins with %"
            )
        return version


class _BoundedComposer(Composer):
    """A composer that ends at the first node beyond a limit, and at the first anchor or alias."""

    nodes = 0

    def compose_node(self, parent: Any, index: Any) -> Any:
        event = self.parser.peek_event()
        self.nodes += 1
        if (refusal := self._refusal(event)) is not None:
            raise BrokenDocument(event.start_mark.line + 1, refusal)
        return super().compose_node(parent, index)

    def _refusal(self, event: Any) -> str | None:
        if event.anchor is not None:
            return "anchors and aliases are not supported: write the value out"
        if self.nodes > MOST_NODES:
            return f"more than {MOST_NODES:,} words and values are too many for a contract"
        return _TOO_DEEP if self.depth > DEEPEST else None


_TOO_DEEP = f"nested more than {DEEPEST} deep"


def _compose(text: str) -> Node:
    yaml = YAML(typ="safe", pure=True)
    yaml.Scanner, yaml.Composer = _BoundedScanner, _BoundedComposer
    try:
        node: Node | None = yaml.compose(text)
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        line = mark.line + 1 if mark else 1
        raise BrokenDocument(line, f"not YAML: {' '.join(filter(None, (error.context, error.problem)))}") from None
    except YAMLError as error:
        raise BrokenDocument(1, f"not YAML: {str(error).splitlines()[0]}") from None
    if node is None:
        raise BrokenDocument(1, "there is no contract in it: the document is empty", examples.WHOLE)
    return node


class _Builder:
    """Builds values from nodes; a node that it refuses becomes a fault and a None."""

    def __init__(self, document: Document) -> None:
        self._document = document

    def build(self, node: Node, path: Path) -> Any:
        self._document.at = path
        self._document.lines.setdefault(path, node.start_mark.line + 1)
        if (refusal := _refusal(node)) is not None:
            return self._document.close(path, refusal)
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.build(child, (*path, at)) for at, child in enumerate(node.value)]
        return self._scalar(str(node.tag).removeprefix(_TAG), str(node.value), path)

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for key, child in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, ScalarNode) or key.value == "<<" or _HALF.search(key.value):
                self._document.report(line, "a key must be a plain word")
            elif (letters := len(key.value)) > LONGEST_WORD:
                self._document.report(line, f"a key has {letters:,} characters, and the limit is {LONGEST_WORD:,}")
            elif key.value in values:
                first = self._document.lines[(*path, key.value)]
                self._document.report(line, f"{key.value!r} is given twice, first on line {first}")
            else:
                self._document.lines[(*path, key.value)] = line
                values[key.value] = self.build(child, (*path, key.value))
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
        if isinstance(value, float) and not _is_exact(value, text):
            return self._document.close(path, f"{text[:60]!r} has more digits than are kept: it would become {value!r}")
        return value


def _is_exact(value: float, text: str) -> bool:
    try:
        return Decimal(_number(text)) == Decimal(repr(value))
    except InvalidOperation:  # an exponent that is beyond counting
        return False


def _refusal(node: Node) -> str | None:
    if str(node.tag) not in _PLAIN:
        return f"the tag {node.tag} is not supported: a contract is plain words, numbers, lists and mappings"
    return None
