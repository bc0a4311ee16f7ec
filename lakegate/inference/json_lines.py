"""Files of JSON lines: each key has the type that holds all of its values as they are spelled."""

import json
import math
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from lakegate.audit.errors import HandedOver
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.schema.fit import UNKNOWN_TYPE
from lakegate.audit.schema.inspection import NO_ROWS
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import MOST_DIGITS, Atom
from lakegate.inference.sample import check_names, unfit
from lakegate.inference.text import form_of, source
from lakegate.inference.text_types import TextType, of_moments
from lakegate.reading.lines import Line, lines
from lakegate.reading.objects import BrokenNumber, LineObject, Whole, found_in

MIXED_KINDS = "values of other kinds than text: kept as their JSON"
_LONG = "whole numbers beyond 64 bits, kept as their digits"
_BIGINT = range(-(2**63), 2**63)
_EXACT = 2**53  # up to which a double holds each whole number
_USUAL_DIGITS = 18
_DIFFERENT = 100_000  # different texts of a column by which it may be of dates


@dataclass
class _Values:
    """The values of one key, so far: their kinds, what their numbers need, and different texts."""

    kinds: set[str] = field(default_factory=set)
    is_exact: bool = True
    before: int = 1
    places: int = 0
    is_long: bool = False
    texts: set[str] = field(default_factory=set)

    def add(self, value: Any) -> None:
        kind = _kind(value)
        self.kinds.add(kind)
        if kind in ("whole", "broken"):
            self._add_number(value, is_whole=kind == "whole")
        elif kind == "text" and len(self.texts) < _DIFFERENT:
            self.texts.add(value)

    def _add_number(self, text: str, *, is_whole: bool) -> None:
        exact = Decimal(text)
        _, digits, exponent = exact.as_tuple()
        places = max(-int(exponent), 0)
        self.before = max(self.before, len(digits) + int(exponent))
        self.places = max(self.places, places)
        near = float(text)
        self.is_exact &= abs(exact) <= _EXACT if is_whole else math.isfinite(near) and Decimal(repr(near)) == exact
        self.is_long |= is_whole and int(text) not in _BIGINT


def _kind(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, Whole):
        return "whole"
    return "broken" if isinstance(value, BrokenNumber) else "text" if isinstance(value, str) else "nested"


def objects_of(paths: Sequence[Path]) -> tuple[list[FileFormat], dict[str, TextType]]:
    """Return the format of each file, and the types of the keys in all of them. Raise NoContract at the first line that
    is no object.
    """
    columns, forms = dict[str, _Values](), list[FileFormat]()
    for path in paths:
        forms.append(form_of(path, FileKind.JSON))
        before = sum(len(column.kinds) for column in columns.values())
        rows = 0
        for line in lines(source(path).blocks(), forms[-1]):
            if line.text.strip(" "):
                rows += 1
                for key, value in _values(path, line, forms[-1]):
                    columns.setdefault(key, _Values()).add(value)
        if not rows:
            raise unfit(path.name, NO_ROWS)
        if not before and not columns:
            raise unfit(path.name, "its objects have no keys")
    check_names(paths[0].name, list(columns))
    return forms, {key: _column_type(paths[0], key, values) for key, values in columns.items()}


def _values(path: Path, line: Line, form: FileFormat) -> Sequence[tuple[str, Any]]:
    try:
        content = found_in(line, form)
    except HandedOver as error:
        raise unfit(path.name, f"line {line.number:,} cannot be told: {error.reason}") from None
    if len(set(content.keys)) < len(content.keys):
        raise unfit(path.name, f"line {line.number:,}: it has a key twice")
    if content.reason or content.values is None:
        raise unfit(path.name, f"line {line.number:,} {_reason(content, line)}")
    return content.values


def _reason(content: LineObject, line: Line) -> str:
    if "JSON object" not in content.reason:
        return content.reason.removeprefix("it ")
    constants = list[str]()
    with suppress(ValueError, RecursionError):
        json.loads(line.text, parse_constant=constants.append)
    reason = f"JSON has no {constants[0]}" if constants else "a file of json has an object a line"
    return f"is not a JSON object: {reason}"


def _column_type(path: Path, name: str, values: _Values) -> TextType:
    kinds = values.kinds - {"null"}
    if not kinds:
        return TextType(type=Atom(UNKNOWN_TYPE))
    if kinds == {"truth"}:
        return TextType(type=Atom("boolean"))
    if kinds == {"text"}:
        moments = of_moments(sorted(values.texts)) if len(values.texts) < _DIFFERENT else None
        return moments or TextType(type=Atom("string"))
    if kinds == {"whole"}:
        return TextType(type=Atom("string"), remark=_LONG) if values.is_long else TextType(type=Atom("bigint"))
    if kinds <= {"whole", "broken"}:
        return _number(path, name, values)
    return TextType(type=Atom("string"), remark=MIXED_KINDS)


def _number(path: Path, name: str, values: _Values) -> TextType:
    if values.is_exact:
        return TextType(type=Atom("double"))
    digits = max(values.before + values.places, _USUAL_DIGITS)
    if digits <= MOST_DIGITS:
        return TextType(type=Atom(f"decimal({digits},{values.places})"), remark="a double would lose digits of it")
    message = f"column {display_name(name)} has numbers with more digits than a number of 64 bits or a decimal holds"
    raise unfit(path.name, f"{message}: have them written in quotes, as texts")
