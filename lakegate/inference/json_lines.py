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
from lakegate.inference.spelled import Spelled, of_moments
from lakegate.inference.text import form_of, source
from lakegate.reading.lines import Line, lines
from lakegate.reading.objects import BrokenNumber, LineObject, Whole, found_in

MIXED = "values of other kinds than text: kept as their JSON"
_LONG = "whole numbers beyond 64 bits, kept as their digits"
_BIGINT = range(-(2**63), 2**63)
_EXACT = 2**53  # up to which a double holds each whole number
_USUAL_DIGITS = 18
_DIFFERENT = 100_000  # different texts of a column by which it may be of dates


@dataclass
class _Seen:
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


def objects_of(paths: Sequence[Path]) -> tuple[list[FileFormat], dict[str, Spelled]]:
    """Return the format of each file, and the types of the keys in all of them. Raise NoContract at the first line that
    is no object.
    """
    seen, forms = dict[str, _Seen](), list[FileFormat]()
    for path in paths:
        forms.append(form_of(path, FileKind.JSON))
        before = sum(len(each.kinds) for each in seen.values())
        rows = 0
        for line in lines(source(path).blocks(), forms[-1]):
            if line.text.strip(" "):
                rows += 1
                for key, value in _values(path, line, forms[-1]):
                    seen.setdefault(key, _Seen()).add(value)
        if not rows:
            raise unfit(path.name, NO_ROWS)
        if not before and not seen:
            raise unfit(path.name, "its objects have no keys")
    check_names(paths[0].name, list(seen))
    return forms, {key: _spelled(paths[0], key, values) for key, values in seen.items()}


def _values(path: Path, line: Line, form: FileFormat) -> Sequence[tuple[str, Any]]:
    try:
        found = found_in(line, form)
    except HandedOver as error:
        raise unfit(path.name, f"line {line.number:,} cannot be told: {error.reason}") from None
    if len(set(found.keys)) < len(found.keys):
        raise unfit(path.name, f"line {line.number:,}: it has a key twice")
    if found.reason or found.values is None:
        raise unfit(path.name, f"line {line.number:,} {_said(found, line)}")
    return found.values


def _said(found: LineObject, line: Line) -> str:
    if "JSON object" not in found.reason:
        return found.reason.removeprefix("it ")
    constants = list[str]()
    with suppress(ValueError, RecursionError):
        json.loads(line.text, parse_constant=constants.append)
    reason = f"JSON has no {constants[0]}" if constants else "a file of json has an object a line"
    return f"is not a JSON object: {reason}"


def _spelled(path: Path, name: str, seen: _Seen) -> Spelled:
    kinds = seen.kinds - {"null"}
    if not kinds:
        return Spelled(type=Atom(UNKNOWN_TYPE))
    if kinds == {"truth"}:
        return Spelled(type=Atom("boolean"))
    if kinds == {"text"}:
        found = of_moments(sorted(seen.texts)) if len(seen.texts) < _DIFFERENT else None
        return found or Spelled(type=Atom("string"))
    if kinds == {"whole"}:
        return Spelled(type=Atom("string"), remark=_LONG) if seen.is_long else Spelled(type=Atom("bigint"))
    if kinds <= {"whole", "broken"}:
        return _number(path, name, seen)
    return Spelled(type=Atom("string"), remark=MIXED)


def _number(path: Path, name: str, seen: _Seen) -> Spelled:
    if seen.is_exact:
        return Spelled(type=Atom("double"))
    digits = max(seen.before + seen.places, _USUAL_DIGITS)
    if digits <= MOST_DIGITS:
        return Spelled(type=Atom(f"decimal({digits},{seen.places})"), remark="a double would lose digits of it")
    said = f"column {display_name(name)} has numbers with more digits than a number of 64 bits or a decimal holds"
    raise unfit(path.name, f"{said}: have them written in quotes, as texts")
