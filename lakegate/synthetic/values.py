"""Values that a column might hold: those that its rules name, their neighbours, and others of its type.

It does not know which of them are good: the evaluator does.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal, localcontext
from itertools import count, islice
from random import Random
from string import ascii_lowercase
from typing import Any

import sqlglot
from sqlglot import exp

from lakegate.audit.model.plan import Plan, TableColumn, Trait
from lakegate.audit.schema.types import Array, Atom, Map, Struct, Type, digits, parse
from lakegate.duckdb.dialect import backtracking
from lakegate.reading.moments import iso
from lakegate.synthetic.patterns import example, tree

_NUMBER = re.compile("[0-9]+([.][0-9]*)?([eE]-?[0-9]+)?")
_EPOCH, _USUAL = datetime(1970, 1, 1, tzinfo=UTC), Decimal(1_704_067_200 * 10**6)  # a moment that no rule names
_FUTURE = "2100-01-01"  # for rules that speak of now
_DIGITS = 60  # more than a decimal has, because numbers are added
_LONGEST = 200_000  # letters of a text
_PARTS = 60  # different values of a part of a nested type
_REACH = 1_000  # steps beyond what is named
# The end and the step of the numbers that represent a type's values, and the value of a number.
_ORDERS: Mapping[str, tuple[int, Decimal, Callable[[Decimal], Any]]] = {
    "boolean": (2, Decimal(1), bool),
    "tinyint": (2**7, Decimal(1), int),
    "smallint": (2**15, Decimal(1), int),
    "int": (2**31, Decimal(1), int),
    "bigint": (2**63, Decimal(1), int),
    "float": (2**127, Decimal("0.25"), float),
    "double": (2**1023, Decimal("0.25"), float),
    "date": (6 * 10**16, Decimal(86_400 * 10**6), lambda number: _moment(number).date()),
    "timestamp": (6 * 10**16, Decimal(10**6), lambda number: _moment(number)),  # noqa: PLW0108 - it comes later
    "timestamp_ntz": (6 * 10**16, Decimal(10**6), lambda number: _moment(number).replace(tzinfo=None)),
}


def candidates(plan: Plan, column: TableColumn, random: Random, number: int) -> list[Any]:
    """Return at most a `number` of different values of a column: null, then those that its rules name, then others."""
    rules = [m.sql for m in plan.metrics if m.has(Trait.SINGLE) and m.sql and column.name in m.columns]
    nodes = [node for rule in rules for node in sqlglot.parse_one(rule, read="spark").walk()]
    patterns = {backtracking(node.expression.name) for node in nodes if isinstance(node, exp.RegexpLike)}
    texts = {node.name for node in nodes if isinstance(node, exp.Literal) and not _is_cap(node)} - patterns
    texts |= {_FUTURE for node in nodes if isinstance(node, exp.CurrentTimestamp | exp.CurrentDate)}
    with localcontext(prec=_DIGITS):
        values = islice(_Values(sorted(texts), sorted(patterns), random).of(parse(column.type)), 4 * number)
        return list({repr(value): value for value in (None, *values)}.values())[:number]


def _is_cap(literal: exp.Literal) -> bool:
    """Return True for the length beyond which no text is compared with a pattern: no rule of the contract names it."""
    comparison = literal.parent
    return (
        isinstance(comparison, exp.GT)
        and isinstance(comparison.this, exp.Length)
        and isinstance(comparison.parent, exp.If)
    )


class _Values:
    """Draws values of any type, by the texts and patterns that a column's rules name."""

    def __init__(self, texts: Sequence[str], patterns: Sequence[str], random: Random) -> None:
        self._literals, self._patterns, self._random = texts, list(map(tree, patterns)), random
        numbers = [Decimal(text) for text in texts if _NUMBER.fullmatch(text)]
        self._numbers = sorted({Decimal(0), *numbers, *(-number for number in numbers)})
        self._moments = sorted({_USUAL, *(Decimal(micros) for text in texts if (micros := iso(text)) is not None)})

    def of(self, kind: Type) -> Iterator[Any]:
        if isinstance(kind, Atom):
            return self._texts() if kind.name in ("string", "binary") else self._numeric(kind)
        return iter(self._drawer(kind), self)  # which no value is

    def _drawer(self, kind: Type) -> Callable[[], Any]:
        """Return a function that draws a value of a nested type or of a part. A map is a list of pairs."""
        match kind:
            case Struct(fields):
                parts = {name: self._drawer(part) for name, part in fields.items()}
                return lambda: {name: draw() for name, draw in parts.items()}
            case Array(element):
                item = self._drawer(element)
                return lambda: [item() for _ in range(self._random.randint(0, 3))]
            case Map(key, value):
                name, item = self._drawer(key), self._drawer(value)
                return lambda: [(key, item()) for key in dict.fromkeys((name(), name())) if key is not None]
        values = [None, *islice(self.of(kind), _PARTS)]
        return lambda: self._random.choice(values)

    def _texts(self) -> Iterator[str]:
        yield from self._literals
        lengths = [int(number) for number in self._numbers if 0 < number <= _LONGEST] or [3, 8]
        while True:
            length = self._random.choice(lengths) + self._random.randint(-1, 1)
            for pattern in self._patterns:
                text = example(pattern, self._random, self._random.choice((3, length)))
                at = self._random.randrange(len(text) + 1)  # where it becomes another
                yield from (text, text[:at] + self._random.choice(("", "!", "x", "0")) + text[at + 1 :])
            for letters in (length, self._random.randint(lengths[0], lengths[-1])):
                yield "".join(self._random.choices(ascii_lowercase, k=letters))

    def _numeric(self, kind: Atom) -> Iterator[Any]:
        if parts := digits(kind):
            step = Decimal(1).scaleb(-parts[1])
            decimals = (number.quantize(step) for number in self._neighbours(self._numbers, step))
            return (number for number in decimals if abs(number) < 10 ** (parts[0] - parts[1]))
        end, step, of = _ORDERS[kind.name]
        numbers = self._moments if step > _REACH else self._numbers
        return (of(number) for number in self._neighbours(numbers, step) if -end <= number < end)

    def _neighbours(self, numbers: Sequence[Decimal], step: Decimal) -> Iterator[Decimal]:
        """Yield what is named and its neighbours, and then numbers between and beyond, at random and counted on."""
        for number in numbers:
            yield from (number, number + step, number - step)
        first, last = numbers[0], numbers[-1]
        for steps in count(1):
            for end in (last, last + _REACH * step):
                yield first + (end - first) * Decimal(self._random.random()) // step * step
            for end in (first, last):
                yield from (end + steps * step, end - steps * step)


def _moment(micros: Decimal) -> datetime:
    return _EPOCH + timedelta(microseconds=int(micros))
