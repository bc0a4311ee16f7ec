"""Values that a column might hold: those that its checks name, their neighbours, and ordinary ones.

It does not know which of them are good: the evaluator does.
"""

import re
import string
import struct
import sys
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import MAXYEAR, UTC, date, datetime, time, timedelta
from decimal import Decimal, localcontext
from functools import cache
from itertools import chain, islice
from random import Random
from typing import Any
from uuid import UUID

import rstr
import sqlglot
from rstr.xeger import sre_parse  # type: ignore[attr-defined]
from sqlglot import exp

from lakegate.audit.evaluation.drift import Past
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.types import Array, Map, Struct, Type, parse
from lakegate.duckdb.dialect import backtracking
from tests.support.synthetic.aims import aims_of_values

EPOCH = datetime(2024, 1, 1, tzinfo=UTC)
_END = re.compile(r"(?<!\\)(?:\\\\)*\\z")  # Python spells the end of a text differently
_MOST_ITEMS = 50  # of an array
_ATOMS, _FIRST = 60, 8  # different values in arrays, maps and objects; and those drawn half the time, which checks name
_LOOSE = (0.0, 0.0, 0.1, 0.5)
_LONGEST, _USUAL, _OFTEN = 200_000, 10_000, 300  # lengths of texts: for one that a check names, for others, for many
_DIGITS = 60  # more than a decimal has, because numbers are added and halved
_LARGEST, _LARGEST_DOUBLE = Decimal("3.4028234e38"), Decimal(sys.float_info.max)  # of a `float`, and of a `double`
_RANGES = {"int": 2**31, "bigint": 2**63, "tinyint": 2**7, "smallint": 2**15}

Likely = Callable[[list[Any]], list[bool]]


@dataclass(kw_only=True)
class Hints:
    """Texts, numbers and patterns that the checks of one column name."""

    texts: set[str] = field(default_factory=set)
    numbers: set[Decimal] = field(default_factory=set)
    patterns: set[str] = field(default_factory=set)
    now: datetime = EPOCH

    def read(self, sql: str) -> None:
        for node in sqlglot.parse_one(sql, read="spark").walk():
            if isinstance(node, exp.RegexpLike) and isinstance(node.expression, exp.Literal):
                self.patterns.add(backtracking(node.expression.name))
            elif isinstance(node, exp.CurrentTimestamp | exp.CurrentDate):
                self.now = datetime.now(UTC).replace(microsecond=0)
            elif isinstance(node, exp.Literal):
                self._read_literal(node)

    def read_age(self, microseconds: float) -> None:
        """Note a moment that is older by a day: one that is just as old will not be so for long."""
        with suppress(OverflowError):
            self.texts.add((self.now - timedelta(days=1, microseconds=microseconds)).isoformat())

    def _read_literal(self, literal: exp.Literal) -> None:
        if literal.is_string:
            self.texts.add(literal.name)
        try:
            number = Decimal(literal.name)
        except ArithmeticError:
            return
        if number.is_finite():
            self.numbers |= {number, -number}


def hints(plan: Plan, column: TableColumn, past: Past, many: int) -> Hints:
    """Return what the checks name, for a column that is to have `many` values."""
    found = Hints()
    with localcontext(prec=_DIGITS):
        for metric in plan.metrics:
            if column.name in metric.columns and metric.sql:
                found.read(metric.sql)
        for sql, aim in aims_of_values(plan, column.name, past, many):
            if _maker(column.type) in (_integers, _decimals, _floats):
                found.numbers.add(Decimal(str(aim)))
            elif unit := _unit_of_age(sql):
                found.read_age(aim * unit)
    return found


def _unit_of_age(sql: str) -> float:
    """Return how many microseconds the number of a metric stands for, if it is an age; else 0."""
    tree = sqlglot.parse_one(sql, read="spark")
    units = [float(div.expression.name) for div in tree.find_all(exp.Div) if div.expression.is_number]
    return units[0] if units and tree.find(exp.CurrentTimestamp) else 0.0


def candidates(kind: str, found: Hints, random: Random, many: int, likely: Likely) -> list[Any]:
    """Return about `many` distinct values of a Spark SQL type; the ones at the edges come first, null before all.

    `likely` tells which values of a nested column fail the least.
    """
    made = _nested(kind, found, random, likely) if "<" in kind else _simple(kind, found, random)
    with localcontext(prec=_DIGITS):
        return _distinct((None, *islice(made, 4 * many)))[:many]


def _distinct(values: Iterable[Any]) -> list[Any]:
    return list({repr(it) if isinstance(it, list | dict) else it: it for it in values}.values())


def _simple(kind: str, found: Hints, random: Random) -> Iterator[Any]:
    return _maker(kind)(kind, found, random)


def _maker(kind: str) -> Callable[[str, Hints, Random], Iterator[Any]]:
    return _MAKERS.get(kind.partition("(")[0], _none)


def _nested(kind: str, found: Hints, random: Random, likely: Likely) -> Iterator[Any]:
    """Yield values of a nested type: arrays and maps of the lengths that checks name, pieced together at random. Some
    are of likely parts alone, others have an exception here and there, or are of anything.
    """
    sizes = {int(number) + more for number in found.numbers if 0 <= number <= _MOST_ITEMS for more in (-1, 0, 1)}
    lengths = sorted({0, 1, 2, 3} | {size for size in sizes if size > 0})
    pieces = _Pieces(found=found, random=random, lengths=lengths, likely=likely)
    draw = pieces.drawer(parse(kind), lambda part: part)
    while True:
        yield draw(random.choice(_LOOSE))


@dataclass(frozen=True, kw_only=True)
class _Pieces:
    """Draws the parts of nested values. `looseness` is how often a part is drawn from anything, or left out."""

    found: Hints
    random: Random
    lengths: Sequence[int]
    likely: Likely

    def drawer(self, kind: Type, around: Callable[[Any], Any]) -> Callable[[float], Any]:
        """Return a function that draws a value. `around` puts a value into the rest of the column, as little as there
        can be. A map is a list of pairs, as arrow has it, with no key twice.
        """
        match kind:
            case Struct(fields):
                return self._of_struct(fields, around)
            case Array(element):
                item = self.drawer(element, lambda part: around([part]))
                return lambda looseness: [self._maybe(item, looseness) for _ in range(self._many())]
            case Map(key, value):
                return self._of_map(key, value, around)
        return self._of_atom(str(kind), around)

    def _of_struct(self, fields: Mapping[str, Type], around: Callable[[Any], Any]) -> Callable[[float], Any]:
        draws = {name: self.drawer(each, _in_struct(name, fields, around)) for name, each in fields.items()}
        return lambda looseness: {name: self._maybe(draw, looseness) for name, draw in draws.items()}

    def _of_map(self, key: Type, value: Type, around: Callable[[Any], Any]) -> Callable[[float], Any]:
        names = self.drawer(key, lambda part: around([(part, None)]))
        values = self.drawer(value, lambda part: around([(names(0.0), part)]))
        return lambda looseness: [
            (name, self._maybe(values, looseness))
            for name in _distinct(names(looseness) for _ in range(self._many()))
            if name is not None
        ]

    def _of_atom(self, kind: str, around: Callable[[Any], Any]) -> Callable[[float], Any]:
        values = _distinct(islice(_simple(kind, self.found, self.random), 4 * _ATOMS))[:_ATOMS] or [None]
        best = self.likely([around(value) for value in values])
        good = [value for value, is_best in zip(values, best, strict=True) if is_best]
        return lambda looseness: self.random.choice(self._either(values, looseness) or good)

    def _either(self, values: Sequence[Any], looseness: float) -> Sequence[Any]:
        """Return anything, the edges half the time; as a rule return nothing."""
        return self.random.choice((values, values[:_FIRST])) if self.random.random() < looseness else ()

    def _maybe(self, draw: Callable[[float], Any], looseness: float) -> Any:
        return None if self.random.random() < looseness / 4 else draw(looseness)

    def _many(self) -> int:
        return self.random.choice(self.lengths)


def _in_struct(name: str, fields: Collection[str], around: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda part: around({**dict.fromkeys(fields), name: part})


def _none(_kind: str, _found: Hints, _random: Random) -> Iterator[Any]:
    return iter(())


def _booleans(_kind: str, _found: Hints, _random: Random) -> Iterator[bool]:
    yield from (True, False)


def _numbers(found: Hints, random: Random, step: Decimal, low: Decimal, high: Decimal) -> Iterator[Decimal]:
    """Yield numbers from `low` to `high`, the ends of the type. A rule over several columns may name numbers that only
    another column holds.
    """
    known = sorted(number for number in found.numbers | {Decimal(0), Decimal(1)} if low <= number <= high)
    return (number for number in _around(known, random, step, low, high) if low <= number <= high)


def _around(known: list[Decimal], random: Random, step: Decimal, low: Decimal, high: Decimal) -> Iterator[Decimal]:
    """Yield edges, numbers between them and a little beyond, multiples, and then numbers counted on to both ends."""
    for number in known:
        yield from (number, number + step, number - step)
    first, last = known[0], min(known[-1] + 1000, high)
    for count in range(1, 2000):
        yield _rounded(first + (last - first) * Decimal(random.random()), step)
        yield from (abs(number) * count for number in known[-4:] if number)
    up, down = known[0] + step, known[-1] - step
    while up <= high or down >= low:
        yield from (up, down)
        up, down = up + step, down - step


def _rounded(number: Decimal, step: Decimal) -> Decimal:
    return (number / step).to_integral_value() * step


def _integers(kind: str, found: Hints, random: Random) -> Iterator[int]:
    limit = Decimal(_RANGES[kind])
    return map(int, _numbers(found, random, Decimal(1), -limit, limit - 1))


def _decimals(kind: str, found: Hints, random: Random) -> Iterator[Decimal]:
    precision, scale = (int(part) for part in kind[kind.index("(") + 1 : -1].split(","))
    step, limit = Decimal(1).scaleb(-scale), Decimal(10) ** (precision - scale)
    rounded = (_rounded(number, step) for number in _numbers(found, random, step, step - limit, limit - step))
    return (number for number in rounded if abs(number) < limit)


def _floats(kind: str, found: Hints, random: Random) -> Iterator[float]:
    yield float("nan")
    limit = _LARGEST if kind == "float" else _LARGEST_DOUBLE
    for number in _numbers(found, random, Decimal("0.25"), -limit, limit):
        yield _single(float(number)) if kind == "float" else float(number)


def _single(number: float) -> float:
    """Return the nearest number that a `float` can hold."""
    return float(struct.unpack("<f", struct.pack("<f", number))[0])


def _texts(_kind: str, found: Hints, random: Random) -> Iterator[str]:
    yield from sorted(found.texts)
    for number in sorted(found.numbers):
        if 0 <= number <= _LONGEST:
            yield from (_word(random, int(number) + more) for more in (-1, 0, 1) if number + more >= 0)
    yield from ("", " ", "ü", "0", "-1", "NaN")
    for text in islice(_formatted(random), 20):
        yield text
    lengths = sorted({int(number) for number in found.numbers if 0 < number <= _USUAL} | {3, 8})
    matching = [_matching(pattern, random, lengths) for pattern in sorted(found.patterns)]
    formatted = _formatted(random)
    while True:
        for texts in matching:
            for text in islice(texts, 3):
                yield from (text, _spoiled(text, random))
        yield _word(random, random.choice(lengths))
        yield _word(random, random.randint(lengths[0], lengths[-1]))
        yield next(formatted)


def _matching(pattern: str, random: Random, lengths: Sequence[int]) -> Iterator[str]:
    """Yield texts with the pattern: of the lengths that checks name and those beside them, and short ones."""
    generator, spelled = _Short(random), _END.sub(lambda found: found[0][:-1] + "Z", pattern)
    near = [length + more for length in lengths for more in (-1, 0, 1)]
    for length in near * 4:  # not every text gets there: what one repetition leaves may be too much for the next
        yield generator.of_length(spelled, length)
    often = [length for length in near if length <= _OFTEN]
    while True:
        yield generator.text(spelled)
        yield generator.of_length(spelled, random.choice(often))


class _Short(rstr.Rstr):
    """Generates texts that seldom repeat more often than a pattern asks for: the library's own are thousands of letters
    long.
    """

    more: int | None = None
    """Letters that repetitions may still add to the least that the pattern asks for; None for a few."""

    def __init__(self, random: Random) -> None:
        super().__init__(random)
        self._letters = dict[int, list[str]]()

    def text(self, pattern: str) -> str:
        """Return a text with the pattern, which is parsed once. `xeger` parses it for each text: half of the time."""
        text = str(self._build_string(_parsed(pattern)))
        self._cache.clear()
        return text

    def of_length(self, pattern: str, length: int) -> str:
        """Return a text of about this length, if the pattern has any: its repetitions add what the shortest lacks."""
        self.more = 0
        self.more = max(length - len(self.text(pattern)), 0)
        text = self.text(pattern)
        self.more = None
        return text

    def _handle_in(self, value: Any) -> str:
        """Choose a letter of a class. The library would list the class anew for each letter, and in no fixed order."""
        letters = self._letters.get(id(value))  # of a pattern that `_parsed` keeps
        if letters is None:
            first, *others = ([*self._handle_state(state)] for state in value)
            listed = {*chain(first, *others)} - {False}
            letters = sorted({*string.printable} - listed if first == [False] else listed)
            self._letters[id(value)] = letters
        return self._random.choice(letters)

    def _handle_repeat(self, start_range: int, end_range: int, value: Any) -> str:
        if self.more is None:
            most = min(end_range, start_range + self._random.choice((0, 0, 1, 2, 5)))
            return self._repeated(self._random.randint(start_range, most), value)
        least = self._repeated(start_range, value)
        share = self._random.choice((self.more, self._random.randint(0, self.more)))
        kept, self.more = self.more - share, 0  # what is repeated is as short as it can be
        piece = len(self._repeated(1, value)) or 1
        added = self._repeated(min(end_range - start_range, share // piece), value)
        self.more = max(kept + share - len(added), 0)
        return least + added

    def _repeated(self, times: int, value: Any) -> str:
        return "".join(self._handle_state(state) for _ in range(times) for state in value)


@cache
def _parsed(pattern: str) -> Any:
    return sre_parse.parse(pattern)


def _spoiled(text: str, random: Random) -> str:
    """Return the text with one letter changed, lost or added."""
    at = random.randrange(len(text) + 1)
    letter = random.choice(string.ascii_letters + string.digits + " !@")
    return random.choice(
        (text[:at] + letter + text[at:], text[:at] + text[at + 1 :], text[:at] + letter + text[at + 1 :])
    )


def _word(random: Random, length: int) -> str:
    return "".join(random.choices(string.ascii_lowercase, k=length))


def _formatted(random: Random) -> Iterator[str]:
    """Yield texts of the usual formats."""
    while True:
        number, name = random.getrandbits(32), _word(random, 8)
        moment = EPOCH + timedelta(seconds=number % 10**8)
        yield from (f"{name}@example.com", f"https://{name}.example.com/{number}", f"{name}.example.com")
        yield from (str(UUID(int=random.getrandbits(128), version=4)), moment.date().isoformat())
        yield ".".join(str(number >> shift & 255) for shift in (24, 16, 8, 0))
        yield ":".join(f"{random.getrandbits(16):x}" for _ in range(8))
        yield from (moment.isoformat(), moment.strftime("%Y-%m-%dT%H:%M:%SZ"), moment.strftime("%H:%M:%S"))


def _binaries(_kind: str, found: Hints, random: Random) -> Iterator[bytes]:
    return (text.encode() for text in _texts("string", found, random))


def _moments(_kind: str, found: Hints, random: Random) -> Iterator[datetime]:
    known = sorted({moment for text in found.texts if (moment := _moment(text))} | {found.now})
    step = timedelta(seconds=1)
    for moment in known:
        yield from _within(moment, (timedelta(0), step, -step, timedelta(days=1), timedelta(days=-1)))
        yield from _within(moment, (timedelta(days=400), timedelta(days=-400)))
    first, last = known[0], known[-1]
    width = int((last - first).total_seconds()) or 86_400
    for _ in range(2000):
        yield from _within(first, (timedelta(seconds=random.randrange(width)),))
    count = 0
    while count < 10**6:
        count += 1
        yield from _within(first, (count * step,))
        yield from _within(last, (-count * step,))


def _lasting(kind: str, found: Hints, random: Random) -> Iterator[datetime]:
    return (moment for moment in _moments(kind, found, random) if not _passes_soon(moment, found))


def _passes_soon(moment: datetime, found: Hints) -> bool:
    """Return True if a check speaks of now and the moment is in the future, but not for long."""
    return found.now != EPOCH and found.now < moment < found.now + timedelta(days=300)


def _within(moment: datetime, steps: tuple[timedelta, ...]) -> Iterator[datetime]:
    for step in steps:
        try:
            yield moment + step
        except OverflowError:
            continue


def _moment(text: str) -> datetime | None:
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        return None
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _clocks(kind: str, found: Hints, random: Random) -> Iterator[datetime]:
    return (moment.replace(tzinfo=None) for moment in _lasting(kind, found, random))


def _dates(kind: str, found: Hints, random: Random) -> Iterator[date]:
    seen: dict[date, None] = {}
    for moment in islice(_lasting(kind, found, random), 4000):
        seen.setdefault(moment.date())
    yield from seen
    day = datetime.combine(min(seen), time(), UTC)
    while day.year < MAXYEAR:
        day += timedelta(days=1)
        if not _passes_soon(day, found):
            yield day.date()


_MAKERS: dict[str, Callable[[str, Hints, Random], Iterator[Any]]] = {
    "boolean": _booleans,
    "int": _integers,
    "bigint": _integers,
    "tinyint": _integers,
    "smallint": _integers,
    "float": _floats,
    "double": _floats,
    "decimal": _decimals,
    "string": _texts,
    "binary": _binaries,
    "date": _dates,
    "timestamp": _lasting,
    "timestamp_ntz": _clocks,
}
