"""Checks in a contract's words, each beside what it means told once more: in DuckDB's SQL, or in plain Python.

Nothing here knows lakegate. One more kind of check is one more function, in the lists at the end.
"""

from __future__ import annotations

import base64
import binascii
import ipaddress
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from random import Random
from typing import Any

Words = dict[str, Any]

NAMES = [
    "select",
    "a.b",
    "a b",
    "`",
    "x' OR 1=1 --",
    'a"b',
    "é",
    "order",
    " ",
    "a.`b`.c",
    "year",
    "null",
    "{x}",
    "$1",
    "ß",
    "from",
    "\\",
    "c.d",
]
NAN, INF = float("nan"), float("inf")
BIG = Decimal("9999999999999999999999999999.9999999999")
SMALL = BIG.copy_negate()  # minus would round it
INDIA = timezone(timedelta(hours=5, minutes=30))
TEXTS = [
    *("", " ", "a", "A", "ab", "é", "e\u0301", "😀", "NULL", "null", "NaN", "x' OR 1=1 --", "a\nb", "a\n", "\u2028"),
    *("\\", '"', "%", "0", "open", "paid", "2013-02-30", "2013-02-28", "a@b.example", "a@b@c", "-a.b", "1.2.3.4"),
    *("1.2.3.04", "::1", "::ffff:1.2.3.4", "1:2", "23:59:59", "24:00:00", "2013-02-28T23:59:59Z", "2013-02-28T23:59"),
    *("6f1c2d0e-1b2a-4c3d-8e9f-001122334455", "6f1c2d0e1b2a4c3d8e9f001122334455", "mailto:a", "a b:c", "a" * 70),
]
CLOCKS = [
    *(datetime(1970, 1, 1), datetime(1969, 12, 31, 23, 59, 59, 999999), datetime(2013, 3, 10, 2, 30)),  # noqa: DTZ001
    *(datetime(2013, 1, 31, 4, 5, 6, 1), datetime(2200, 1, 1), datetime(1900, 1, 1)),  # noqa: DTZ001
]
POOLS: dict[str, list[Any]] = {
    "int": [0, 1, -1, 2, 3, 7, 10, 2**31 - 1, -(2**31)],
    "bigint": [0, 1, 5, 7, -7, 2**53 + 1, 2**63 - 1, -(2**63)],
    "float": [NAN, -0.0, 0.0, INF, -INF, 0.10000000149011612, 1.5, 3.0],
    "double": [NAN, -0.0, 0.0, INF, -INF, 5e-324, 0.1, 0.30000000000000004, 1.5, 2.5, 7.0, 1e15],
    "decimal(5,2)": [*map(Decimal, ("999.99", "-999.99", "0.00", "0.01", "1.50", "100.00", "7.00"))],
    "decimal(38,10)": [BIG, SMALL, *map(Decimal, ("0", "0.1", "1E-10", "7"))],
    "string": TEXTS,
    "boolean": [True, False],
    "date": [date(1970, 1, 1), date(1, 1, 1), date(9999, 12, 31), date(2013, 1, 31), date(1969, 12, 31)],
    "timestamp": [*(each.replace(tzinfo=UTC) for each in CLOCKS), datetime(2013, 1, 1, 1, tzinfo=INDIA)],
    "timestamp_ntz": CLOCKS,
    "binary": [b"", b"\x00", b"\xff\xfe", b"a"],
}
EVERY = tuple(POOLS)
COMPARABLE = tuple(kind for kind in POOLS if kind != "binary")
ORDERED = tuple(kind for kind in COMPARABLE if kind not in ("string", "boolean"))
NUMBERS = ("int", "bigint", "float", "double", "decimal(5,2)")
FLOATS = ("float", "double")
MOMENTS = ("date", "timestamp", "timestamp_ntz")
DUCK = {"string": "VARCHAR", "timestamp": "TIMESTAMPTZ", "timestamp_ntz": "TIMESTAMP", "binary": "BLOB"}
LOGICAL = {
    "int": "integer",
    "bigint": "integer",
    "float": "number",
    "double": "number",
    "decimal(5,2)": "number",
    "decimal(38,10)": "number",
    "string": "string",
    "boolean": "boolean",
    "date": "date",
    "binary": "string",
    "timestamp": "timestamp",
    "timestamp_ntz": "timestamp",
}


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column: its name in the contract, its type, and what it is called in DuckDB."""

    name: str
    type: str
    duck: str


@dataclass(frozen=True)
class Where:
    """The number of rows that a condition in DuckDB's SQL is true for."""

    sql: str


@dataclass(frozen=True)
class Number:
    """The number that an aggregate of DuckDB gives; none if it is not finite."""

    sql: str


@dataclass(frozen=True)
class Each:
    """The number of wrong values of a column, nulls left out: in Python."""

    column: Column
    wrong: Callable[[Any], bool]


@dataclass(frozen=True)
class Repeats:
    """The number of rows that repeat the values of an earlier row, of this file or with `in_table` of a good one before
    it or of the table.
    """

    columns: Sequence[Column]
    in_table: bool = False


@dataclass(frozen=True)
class Orphans:
    """The number of rows with values that no row of the other table has in its columns."""

    columns: Sequence[Column]
    theirs: Sequence[Column]


@dataclass(frozen=True)
class Different:
    """The number of different values of a column."""

    column: Column


@dataclass(frozen=True)
class TableRows:
    """The number of the table's rows once the file is in it."""


@dataclass(frozen=True)
class Age:
    """The age of a column's newest value, in units of so many seconds."""

    column: Column
    seconds: int


@dataclass(frozen=True)
class Off:
    """The distance of a number from those of the files before, of which the last `files` are looked at."""

    of: Where | Number | Different
    how: str
    files: int
    at_least: int


Meaning = Where | Number | Each | Repeats | Orphans | Different | TableRows | Age | Off
BY_ROW = (Where, Each, Repeats, Orphans)


@dataclass(frozen=True, kw_only=True)
class Wording:
    """A check: words for one place of a contract, and their meaning. `name` is what reports call it by its words.

    `settings` are lakegate's own words there, and `relationship` and `promise` stand in the lists of that name.
    """

    column: Column | None
    name: str
    meaning: Meaning
    own: Words = field(default_factory=dict)
    options: Words = field(default_factory=dict)
    settings: Words = field(default_factory=dict)
    quality: Words = field(default_factory=dict)
    relationship: Words = field(default_factory=dict)
    promise: Words = field(default_factory=dict)
    counts: bool = True
    operator: str = "mustBe"
    threshold: Sequence[float] = (0,)
    unit: str = "rows"
    severity: str = "error"

    @property
    def counts_rows(self) -> bool:
        """Return True if it counts rows that fail, rather than being a number about all of them."""
        return self.counts and isinstance(self.meaning, BY_ROW)

    @property
    def may_quarantine(self) -> bool:
        """Return True if it can put failing rows aside, so that it holds without them."""
        return self.counts_rows and OPERATORS[self.operator](0, *self.threshold)

    def of_severity(self, severity: str) -> Wording:
        return replace(self, severity=severity, quality=self.quality and {**self.quality, "severity": severity})


def literal(column: Column, value: Any) -> str:
    """A value in DuckDB's SQL."""
    text = str(value).replace("'", "''")
    return f"CAST('{text}' AS {DUCK.get(column.type, column.type)})"


def spelled(value: Any) -> Any:
    """A value as YAML has it."""
    if isinstance(value, date):
        return value.isoformat()
    return value if not isinstance(value, Decimal) else int(value) if value == int(value) else float(value)


def sayable(dice: Random, column: Column, *, high: int = 3) -> list[Any]:
    """Different values of a column that YAML can say and lakegate has a word for: one at least, and never all."""
    pool = [value for value in POOLS[column.type] if sayable_in_yaml(value)]
    return dice.sample(pool, dice.randint(1, min(high, len(pool) - (column.type == "boolean"))))


def sayable_in_yaml(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value not in (BIG, SMALL)  # no float comes near enough
    return not isinstance(value, float) or math.isfinite(value)


# ------------------------------------------------------------------ a column's own words: no row may fail


def required(_dice: Random, column: Column) -> Wording:
    meaning = Where(f"{column.duck} IS NULL")
    return Wording(column=column, name=f"{column.name} required", own={"required": True}, meaning=meaning)


def unique(dice: Random, column: Column) -> Wording:
    in_table = dice.random() < 0.5
    return Wording(
        column=column,
        name=f"{column.name} unique{' in the table' * in_table}",
        own={"unique": True},
        settings={"scope": "table"} if in_table else {},
        meaning=Repeats([column], in_table),
    )


def primary_key(dice: Random, columns: Sequence[Column]) -> list[Wording]:
    """The key, whose columns may have positions, and the check of each column that it is there."""
    in_table, placed = dice.random() < 0.5, dice.random() < 0.5
    key = Wording(
        column=None,
        name="",  # lakegate names the columns in the key's order, which no row depends on
        settings={"scope": "table"} if in_table else {},
        meaning=Repeats(columns, in_table),
    )
    return [key, *(_key_column(column, at if placed else 0) for at, column in enumerate(columns, start=1))]


def _key_column(column: Column, position: int) -> Wording:
    return Wording(
        column=column,
        name=f"{column.name} required (primary key)",
        own={"primaryKey": True, **({"primaryKeyPosition": position} if position else {})},
        meaning=Where(f"{column.duck} IS NULL"),
    )


def foreign_key(columns: Sequence[Column], theirs: Sequence[Column], table: str) -> Wording:
    """Of a column by its own words, of several by the table's."""
    targets = [f"{table}.{column.name}" for column in theirs]
    name = f"{', '.join(column.name for column in columns)} refers to {table}.{', '.join(it.name for it in theirs)}"
    words: Words = {"from": [f"t.{column.name}" for column in columns], "to": targets}
    return Wording(
        column=None if len(columns) > 1 else columns[0],
        name=name,
        relationship=words if len(columns) > 1 else {"to": targets[0]},
        meaning=Orphans(columns, theirs),
    )


def enum(dice: Random, column: Column) -> Wording:
    values = sayable(dice, column)
    shown = ", ".join(str(spelled(value)) for value in values)
    meaning = Where(f"{column.duck} NOT IN ({', '.join(sorted(literal(column, value) for value in values))})")
    words = {"enum": [{"value": spelled(value)} for value in values]}
    return Wording(column=column, name=f"{column.name} one of {shown}", own=words, meaning=meaning)


def bound(dice: Random, column: Column) -> Wording:
    words = {
        "minimum": ("≥", "<"),
        "maximum": ("≤", ">"),
        "exclusiveMinimum": (">", "<="),
        "exclusiveMaximum": ("<", ">="),
    }
    word = dice.choice(sorted(words))
    sign, wrong = words[word]
    limit = dice.choice([value for value in POOLS[column.type] if _bounds(column, word, value)])
    nan = f" OR isnan({column.duck})" if column.type in FLOATS else ""
    meaning = Where(f"{column.duck} {wrong} {literal(column, limit)}{nan}")
    return Wording(
        column=column, name=f"{column.name} {sign} {spelled(limit)}", options={word: spelled(limit)}, meaning=meaning
    )


def _bounds(column: Column, word: str, value: Any) -> bool:
    """Return True if a bound leaves some values out, and some in: those of whole numbers and decimals end."""
    if not sayable_in_yaml(value):
        return False
    if column.type in MOMENTS or column.type in FLOATS:
        return True
    end = max if word in ("maximum", "exclusiveMinimum") else min
    return bool(value != end(POOLS[column.type]))


def multiple(dice: Random, column: Column) -> Wording:
    of = dice.choice([2, 7, 10] if column.type in ("int", "bigint") else [1, 2, 7, 10])
    name = f"{column.name} a multiple of {of}"
    if column.type not in FLOATS:
        return Wording(
            column=column, name=name, options={"multipleOf": of}, meaning=Where(f"{column.duck} % {of} <> 0")
        )

    def wrong(value: float) -> bool:
        return not math.isfinite(value) or abs(value / of - round(value / of)) > 1e-15 * max(1, abs(value / of))

    return Wording(column=column, name=name, options={"multipleOf": of}, meaning=Each(column, wrong))


def length(dice: Random, column: Column) -> Wording:
    number = dice.choice([0, 1, 2, 4, 60])
    if number and dice.random() < 0.5:
        meaning, word, says = Each(column, lambda text: len(text) < number), "minLength", "more"
    else:
        meaning, word, says = Each(column, lambda text: len(text) > number), "maxLength", "fewer"
    name = f"{column.name} of {number} characters or {says}"
    return Wording(column=column, name=name, options={word: number}, meaning=meaning)


SPACE = r"[\t\n\x0b\f\r \x{a0}\x{2028}\x{2029}\x{feff}\x{3000}]"
PATTERNS = {  # in a contract's words, and as RE2 would say it
    "^a": r"\Aa",
    "b$": r"b\z",
    r"^\d+$": r"\A[0-9]+\z",
    r"\s": SPACE,
    "^.$": r"\A[^\n\r\x{2028}\x{2029}]\z",
    "^[a-zé]+$": r"\A(?:[a-z]|é)+\z",
    r"\\|%": r"\\|%",
    "(ab|A)": "ab|A",
    r"^\w{2,4}$": r"\A[A-Za-z0-9_]{2,4}\z",
    "[^a]": "[^a]",
}


def has(column: Column, pattern: str) -> str:
    return f"regexp_matches({column.duck}, '{PATTERNS[pattern]}')"


def pattern(dice: Random, column: Column) -> Wording:
    chosen = dice.choice(sorted(PATTERNS))
    name = f"{column.name} like {chosen}"
    return Wording(column=column, name=name, options={"pattern": chosen}, meaning=Where(f"NOT {has(column, chosen)}"))


def _accepts(read: Callable[[str], object]) -> Callable[[str], bool]:
    def is_one(text: str) -> bool:
        try:
            read(text)
        except (ValueError, binascii.Error):
            return False
        return True

    return is_one


def _like(*patterns: str) -> Callable[[str], bool]:
    return lambda text: any(re.fullmatch(each, text) for each in patterns)


def _is_day(text: str) -> bool:
    return _like(r"\d{4}-\d\d-\d\d")(text) and _accepts(date.fromisoformat)(text)


FORMATS: dict[str, Callable[[str], bool]] = {
    "email": _like(r"[^@\s]+@[a-z]+\.[a-z]+"),
    "uuid": _like(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"),
    "uri": _like(r"mailto:\w+"),
    "hostname": lambda text: all(
        _like("[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?")(each) for each in text.split(".")
    ),
    "ipv4": _accepts(ipaddress.IPv4Address),
    "ipv6": _accepts(ipaddress.IPv6Address),
    "byte": _accepts(lambda text: base64.b64decode(text.encode("ascii"), validate=True)),
    "date": _is_day,
    "time": _like(r"([01]\d|2[0-3]):[0-5]\d:[0-5]\d"),
    "date-time": _like(r"2013-02-28T23:59:59Z"),
}


def form(dice: Random, column: Column) -> Wording:
    chosen = dice.choice(sorted(FORMATS))
    meaning = Each(column, lambda text: not FORMATS[chosen](text))
    return Wording(
        column=column, name=f"{column.name} of the format {chosen}", options={"format": chosen}, meaning=meaning
    )


# ------------------------------------------------------------------ entries of quality: compared with a number

OPERATORS: dict[str, Callable[..., bool]] = {
    "mustBe": lambda value, limit: value == limit,
    "mustNotBe": lambda value, limit: value != limit,
    "mustBeGreaterThan": lambda value, limit: value > limit,
    "mustBeGreaterOrEqualTo": lambda value, limit: value >= limit,
    "mustBeLessThan": lambda value, limit: value < limit,
    "mustBeLessOrEqualTo": lambda value, limit: value <= limit,
    "mustBeBetween": lambda value, low, high: low <= value <= high,
    "mustNotBeBetween": lambda value, low, high: value < low or value > high,
}
COUNTS = [0, 1, 2, 3, 5, 8]
PERCENTS = [0, 10, 25, 33.5, 50, 100]
ANY = [-1e6 - 0.1, -3.3, 0.123, 2.71, 55.5, 1e6 + 0.1]


ROWS = range(100)
SHARES = [*PERCENTS, 0.05, 9.95, 33.6, 70, 99.95]
SPREAD = [*ANY, *(each + 0.01 for each in ANY), -1e9, -5, 0, 0.125, 7, 1e9]


def compared(dice: Random, thresholds: Sequence[float], among: Sequence[float]) -> tuple[str, list[float]]:
    """An operator with its threshold, which some numbers among these meet and some do not."""
    while True:
        operator = dice.choice(sorted(OPERATORS))
        threshold = sorted(dice.choices(thresholds, k=2 if operator.endswith("Between") else 1))
        if len({OPERATORS[operator](number, *threshold) for number in among}) > 1:
            return operator, threshold


def numbers(column: Column) -> Sequence[float]:
    """Numbers that a column may have: of whole ones, whole numbers alone."""
    if column.type.startswith("decimal"):
        return [-999.99, -3.3, 0.12, 2.71, 55.5, 999.99]
    return [-(2**31), -(10**6), *range(-100, 100), 10**7, 2**31 - 1] if column.type in ("int", "bigint") else SPREAD


def counted(dice: Random, column: Column | None, meaning: Meaning, words: Words, *, percent: bool = True) -> Wording:
    """An entry that counts rows, with an operator, a unit and a severity."""
    unit = dice.choice(["rows", "percent"]) if percent else "rows"
    in_rows = unit == "rows"
    operator, threshold = compared(dice, COUNTS if in_rows else PERCENTS, ROWS if in_rows else SHARES)
    return _entry(dice, column, meaning, words, operator, threshold, unit)


def measured(
    dice: Random, column: Column | None, meaning: Meaning, words: Words, among: Sequence[float], *, unit: str = ""
) -> Wording:
    """An entry that compares a number, which is among some."""
    operator, threshold = compared(dice, PERCENTS if unit else ANY, among)
    return _entry(dice, column, meaning, words, operator, threshold, unit, counts=False)


def _entry(
    dice: Random,
    column: Column | None,
    meaning: Meaning,
    words: Words,
    operator: str,
    threshold: list[float],
    unit: str,
    *,
    counts: bool = True,
) -> Wording:
    said = {operator: threshold if len(threshold) > 1 else threshold[0]}
    severity = dice.choice(["error", "warning"])
    custom = words.get("type") == "custom"
    inside = {**words, "implementation": {**words["implementation"], **said}} if custom else {**words, **said}
    quality = {**inside, "severity": severity, **({"unit": unit} if unit == "percent" else {})}
    return Wording(
        column=column,
        name="",
        quality=quality,
        meaning=meaning,
        counts=counts,
        operator=operator,
        threshold=threshold,
        unit=unit if counts else "",
        severity=severity,
    )


def ours(**implementation: Any) -> Words:
    return {"type": "custom", "engine": "lakegate", "implementation": implementation}


def null_values(dice: Random, column: Column) -> Wording:
    return counted(dice, column, Where(f"{column.duck} IS NULL"), {"metric": "nullValues"})


def missing_values(dice: Random, column: Column) -> Wording:
    values, null = sayable(dice, column), dice.random() < 0.5
    listed = ", ".join(literal(column, value) for value in values)
    by_list = f"{column.duck} IN ({listed})" + (f" OR {column.duck} IS NULL" if null else "")
    words: Words = {"missingValues": [spelled(value) for value in values] + [None] * null}
    arguments, wrong = words, by_list
    if column.type == "string" and dice.random() < 0.5:
        pattern = {"pattern": dice.choice(sorted(PATTERNS))}
        by_pattern = has(column, pattern["pattern"])
        both = dice.random() < 0.5
        arguments, wrong = (words | pattern, f"({by_list}) OR {by_pattern}") if both else (pattern, by_pattern)
    return counted(dice, column, Where(wrong), {"metric": "missingValues", "arguments": arguments})


def invalid_values(dice: Random, column: Column) -> Wording:
    values = sayable(dice, column)
    wrong = f"{column.duck} NOT IN ({', '.join(sorted(literal(column, value) for value in values))})"
    arguments: Words = {"validValues": [spelled(value) for value in values]}
    if column.type == "string" and dice.random() < 0.5:
        arguments["pattern"] = dice.choice(sorted(PATTERNS))
        wrong = f"({wrong}) OR NOT {has(column, arguments['pattern'])}"
    return counted(dice, column, Where(wrong), {"metric": "invalidValues", "arguments": arguments})


def duplicate_values(dice: Random, column: Column) -> Wording:
    in_table = dice.random() < 0.3
    return counted(dice, column, Repeats([column], in_table), {"metric": "duplicateValues", **scope(in_table)})


def scope(in_table: bool) -> Words:  # noqa: FBT001
    return {"customProperties": [setting("scope", "table")]} if in_table else {}


def setting(name: str, value: Any) -> Words:
    return {"property": name, "vendor": "lakegate", "value": value}


def not_in_future(dice: Random, column: Column) -> Wording:
    return counted(dice, column, Where(f"{column.duck} > TIMESTAMPTZ '2100-01-01'"), ours(notInFuture=True))


def least_or_greatest(dice: Random, column: Column) -> Wording:
    word, function = dice.choice([("minimum", "min"), ("maximum", "max")])
    number = Number(without_nan(column, f"{function}({column.duck})"))
    return measured(dice, column, number, ours(**{word: True}), numbers(column))


def without_nan(column: Column, number: str) -> str:
    return f"CASE WHEN NOT bool_or(isnan({column.duck})) THEN {number} END" if column.type in FLOATS else number


def mean_or_sum(dice: Random, column: Column) -> Wording:
    """Whole numbers are added up exactly, but for the mean of 64-bit ones, which depends on their order."""
    words = {"sum": "sum", "mean": "avg", "standardDeviation": "stddev_samp"}
    word = "sum" if column.type == "bigint" else dice.choice(sorted(words))
    number = f"{words[word]}({column.duck}{'' if column.type == 'bigint' else '::DOUBLE'})"
    if column.type in FLOATS:
        finite = f"CASE WHEN isfinite({column.duck}) THEN {column.duck}::DOUBLE END"
        number = f"CASE WHEN bool_and(isfinite({column.duck})) THEN {words[word]}({finite}) END"
    if word == "mean" and column.type.startswith("decimal"):
        number = f"round({number}, 6)"  # four places more than the column has
    means = [-999.99, 0.5, 999.99] if column.type.startswith("decimal") else SPREAD
    among = {"sum": SPREAD, "mean": means, "standardDeviation": [each for each in SPREAD if each >= 0]}[word]
    return measured(dice, column, Number(number), ours(**{word: True}), among)


def quantile(dice: Random, column: Column) -> Wording:
    at = dice.choice([0, 0.25, 0.5, 0.95, 1])
    words = ours(median=True) if at == 0.5 and dice.random() < 0.5 else ours(quantile=at)
    number = Number(without_nan(column, f"quantile_cont({column.duck}::DOUBLE, {at})"))
    among = numbers(column) if column.type.startswith("decimal") else SPREAD
    return measured(dice, column, number, words, among)


def distinct_values(dice: Random, column: Column) -> Wording:
    among = range(3) if column.type == "boolean" else ROWS
    return measured(dice, column, Different(column), ours(distinctValues=True), among, unit="rows")


def share(dice: Random, column: Column) -> Wording:
    values = sayable(dice, column)
    held = f"{column.duck} IN ({', '.join(literal(column, value) for value in values)})"
    meaning = Number(f"100.0 * count(*) FILTER (WHERE {held}) / count(*)")
    return measured(dice, column, meaning, ours(share=[spelled(value) for value in values]), SHARES, unit="percent")


def query(dice: Random, column: Column) -> Wording:
    contract, duck = dice.choice(
        [
            ("SELECT COUNT(*) FROM {object} WHERE {property} > 1", "count(*) FILTER (WHERE {x} > 1)"),
            ("SELECT COUNT({property}) FROM {object}", "count({x})"),
            (
                "SELECT MAX({property}) FROM {object} WHERE {property} < 1000",
                "max({x}) FILTER (WHERE {x} < 1000)",
            ),
            (
                "SELECT COUNT(*) FILTER (WHERE {property} IS NULL) FROM {object}",
                "count(*) FILTER (WHERE {x} IS NULL)",
            ),
        ]
    )
    among = [each for each in numbers(column) if each < 1000] if "MAX" in contract else ROWS
    return measured(dice, column, Number(duck.format(x=column.duck)), {"type": "sql", "query": contract}, among)


# ------------------------------------------------------------------ entries of quality: compared with files before

HOW = ("rate", "difference", "zScore")
OFF = [-101.7, -33.3, -1.23, 0, 0.77, 12.34, 51.9, 230.1]  # no number that rounding could bring about
DRIFTING = {  # exact numbers, because what is left of two that are nearly the same is all rounding
    "nullValues": EVERY,
    "distinctValues": EVERY,
    "minimum": NUMBERS,
    "maximum": NUMBERS,
    "sum": ("int", "decimal(5,2)"),
    "mean": ("int", "decimal(5,2)"),
    "median": ("int",),
}


def drift(dice: Random, column: Column) -> Wording:
    word = dice.choice([word for word, kinds in DRIFTING.items() if column.type in kinds])
    return _drift(dice, column, word, _drifting(column, word))


def rows_drift(dice: Random, _columns: Sequence[Column]) -> Wording:
    return _drift(dice, None, "rowCount", Where("TRUE"))


def _drifting(column: Column, word: str) -> Where | Number | Different:
    match word:
        case "nullValues":
            return Where(f"{column.duck} IS NULL")
        case "distinctValues":
            return Different(column)
        case "minimum" | "maximum":
            return Number(without_nan(column, f"{word[:3]}({column.duck})"))
        case "median":
            return Number(f"quantile_cont({column.duck}::DOUBLE, 0.5)")
        case "sum":
            return Number(f"sum({column.duck})")
    return Number(f"round(avg({column.duck}::DOUBLE), 6)" if column.type != "int" else f"avg({column.duck})")


def _drift(dice: Random, column: Column | None, of: str, meaning: Where | Number | Different) -> Wording:
    files, how = dice.choice([2, 3, 30]), dice.choice(HOW)
    at_least = dice.randint(2, min(files, 4))
    never_negative = of in ("rowCount", "nullValues", "distinctValues")
    rates = [each for each in (*OFF, -100, -50, 1e6) if each >= -100]
    operator, threshold = compared(dice, OFF, rates if how == "rate" and never_negative else [*OFF, -1e6, 1e6])
    words = ours(drift={"of": of, "files": files, "atLeast": at_least, "as": how})
    return _entry(dice, column, Off(meaning, how, files, at_least), words, operator, threshold, "", counts=False)


# ------------------------------------------------------------------ of the contract


def latency(dice: Random, column: Column) -> Wording:
    """Ages that no value has, and will not have for decades."""
    word, (unit, seconds) = dice.choice(["latency", "freshness"]), dice.choice([("d", 86_400), ("h", 3_600)])
    limit = dice.choice([0, 10_000, 30_000]) * 86_400 // seconds
    return Wording(
        column=column,
        name=f"{word} of {column.name} in {unit}",
        promise={"property": word, "element": column.name, "value": limit, "unit": unit},
        meaning=Age(column, seconds),
        operator="mustBeLessOrEqualTo",
        threshold=(limit,),
        counts=False,
        unit="",
    )


# ------------------------------------------------------------------ of the table


def row_count(dice: Random, _columns: Sequence[Column]) -> Wording:
    """Their number is compared, and none of them fails."""
    in_table = dice.random() < 0.3
    meaning = TableRows() if in_table else Where("TRUE")
    said = counted(dice, None, meaning, {"metric": "rowCount", **scope(in_table)}, percent=False)
    return replace(said, counts=False)


def duplicate_rows(dice: Random, columns: Sequence[Column]) -> Wording:
    in_table = dice.random() < 0.3
    words = {"metric": "duplicateValues", "arguments": {"properties": [column.name for column in columns]}}
    return counted(dice, None, Repeats(columns, in_table), {**words, **scope(in_table)})


def at_least_one_of(dice: Random, columns: Sequence[Column]) -> Wording:
    chosen = columns[: dice.randint(2, len(columns))]
    meaning = Where(" AND ".join(f"{column.duck} IS NULL" for column in chosen))
    return counted(dice, None, meaning, ours(atLeastOneOf=[column.name for column in chosen]))


RULES = {  # by type, in a contract's words and in DuckDB's: false of a failing row
    "string": [
        "length({x}) > 1",
        "{x} like '%a%'",
        "upper({x}) = {x}",
        "{x} is not null",
        "{x} in ('a', '') or {x} is null",
    ],
    "int": ["{x} between 0 and 7", "not {x} = 3", "{x} is null or {x} > 2", "case when {x} > 2 then {x} < 9 end"],
    "double": ["{x} > 1", "{x} <> 0", "abs({x}) < 2 or {x} is null", "coalesce({x}, 5) < 4"],
    "decimal(5,2)": ["{x} * 2 <= 3", "{x} = 1.5 or {x} < 0"],
    "boolean": ["{x}", "not {x}", "{x} is true"],
    "date": ["{x} >= date '1970-01-01'", "year({x}) = 2013 or {x} is null"],
}


def row(dice: Random, columns: Sequence[Column]) -> Wording:
    able = [column for column in columns if column.type in RULES]
    if not able:
        return at_least_one_of(dice, columns)
    column = dice.choice(able)
    rule = dice.choice(RULES[column.type])
    named = "`" + column.name.replace("`", "``") + "`"
    return counted(dice, None, Where(f"NOT ({rule.format(x=column.duck)})"), ours(row=rule.format(x=named)))


OfColumn = list[Callable[[Random, Column], Wording]]
Makers = list[tuple[Callable[[Random, Column], Wording], Sequence[str]]]
OWN: Makers = [
    (required, EVERY),
    (enum, COMPARABLE),
    (bound, ORDERED),
    (multiple, ("int", "bigint", "float", "double", "decimal(5,2)", "decimal(38,10)")),
    (length, ("string",)),
    (pattern, ("string",)),
    (form, ("string",)),
    (unique, EVERY),
]
QUALITY: Makers = [
    (null_values, EVERY),
    (missing_values, COMPARABLE),
    (invalid_values, COMPARABLE),
    (duplicate_values, EVERY),
    (not_in_future, MOMENTS),
    (least_or_greatest, NUMBERS),
    (mean_or_sum, NUMBERS),
    (quantile, NUMBERS),
    (distinct_values, EVERY),
    (share, COMPARABLE),
    (query, NUMBERS),
    (drift, EVERY),
]
OF_KEYS: OfColumn = [unique, duplicate_values, distinct_values, quantile]  # what costs queries of its own
TABLE: list[Callable[[Random, Sequence[Column]], Wording]] = [row_count, rows_drift, at_least_one_of, row]
