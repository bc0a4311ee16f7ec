"""Checks in a contract's words, each beside what it means told once more: in DuckDB's SQL, or in plain Python.

Nothing here knows lakegate. One more kind of check is one more function in KINDS.
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
from typing import Any

from hypothesis import strategies as st

Draw = Callable[[st.SearchStrategy[Any]], Any]
Words = dict[str, Any]

NAMES = ["select", "a.b", "a b", "`", "x' OR 1=1 --", 'a"b', "é", "order", " ", "a.`b`.c", "year", "null", "{x}", "$1"]
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
NUMBERS = ("int", "bigint", "float", "double", "decimal(5,2)")
FLOATS = ("float", "double")
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
    """How many rows a condition in DuckDB's SQL is true for."""

    sql: str


@dataclass(frozen=True)
class Number:
    """The number that an aggregate of DuckDB gives; none if it is not finite."""

    sql: str


@dataclass(frozen=True)
class Each:
    """How many values of a column, not null, are wrong: in Python."""

    column: Column
    wrong: Callable[[Any], bool]


@dataclass(frozen=True)
class Repeats:
    """How many rows repeat the values of an earlier row, of this file or of a good one before it."""

    columns: Sequence[Column]


@dataclass(frozen=True)
class Different:
    """How many different values a column has."""

    column: Column


Meaning = Where | Number | Each | Repeats | Different


@dataclass(frozen=True, kw_only=True)
class Said:
    """A check: words for one place of a contract, and their meaning. `name` is what reports call it by its words."""

    column: Column | None
    name: str
    meaning: Meaning
    own: Words = field(default_factory=dict)
    options: Words = field(default_factory=dict)
    quality: Words = field(default_factory=dict)
    counts: bool = True
    operator: str = "mustBe"
    threshold: Sequence[float] = (0,)
    unit: str = "rows"
    severity: str = "error"


def literal(column: Column, value: Any) -> str:
    """A value in DuckDB's SQL."""
    text = str(value).replace("'", "''")
    return f"CAST('{text}' AS {DUCK.get(column.type, column.type)})"


def spelled(value: Any) -> Any:
    """A value as YAML has it."""
    if isinstance(value, date):
        return value.isoformat()
    return value if not isinstance(value, Decimal) else int(value) if value == int(value) else float(value)


def sayable(column: Column, *, low: int = 1, high: int = 3) -> st.SearchStrategy[list[Any]]:
    """Different values of a column that YAML can say and lakegate has a word for."""
    pool = [value for value in POOLS[column.type] if sayable_in_yaml(value)]
    return st.lists(st.sampled_from(pool), min_size=low, max_size=min(high, len(pool)), unique=True)


def sayable_in_yaml(value: Any) -> bool:
    if isinstance(value, Decimal):
        return value not in (BIG, SMALL)  # no float comes near enough
    return not isinstance(value, float) or math.isfinite(value)


# ------------------------------------------------------------------ a column's own words: no row may fail


def required(_draw: Draw, column: Column) -> Said:
    meaning = Where(f"{column.duck} IS NULL")
    return Said(column=column, name=f"{column.name} required", own={"required": True}, meaning=meaning)


def unique(_draw: Draw, column: Column) -> Said:
    return Said(column=column, name=f"{column.name} unique", own={"unique": True}, meaning=Repeats([column]))


def enum(draw: Draw, column: Column) -> Said:
    values = draw(sayable(column))
    shown = ", ".join(str(spelled(value)) for value in values)
    meaning = Where(f"{column.duck} NOT IN ({', '.join(literal(column, value) for value in values)})")
    words = {"enum": [{"value": spelled(value)} for value in values]}
    return Said(column=column, name=f"{column.name} one of {shown}", own=words, meaning=meaning)


def bound(draw: Draw, column: Column) -> Said:
    words = {
        "minimum": ("≥", "<"),
        "maximum": ("≤", ">"),
        "exclusiveMinimum": (">", "<="),
        "exclusiveMaximum": ("<", ">="),
    }
    word = draw(st.sampled_from(sorted(words)))
    sign, wrong = words[word]
    (limit,) = draw(sayable(column, high=1))
    nan = f" OR isnan({column.duck})" if column.type in FLOATS else ""
    meaning = Where(f"{column.duck} {wrong} {literal(column, limit)}{nan}")
    return Said(
        column=column, name=f"{column.name} {sign} {spelled(limit)}", options={word: spelled(limit)}, meaning=meaning
    )


def multiple(draw: Draw, column: Column) -> Said:
    of = draw(st.sampled_from([1, 2, 7, 10]))
    name = f"{column.name} a multiple of {of}"
    if column.type not in FLOATS:
        return Said(column=column, name=name, options={"multipleOf": of}, meaning=Where(f"{column.duck} % {of} <> 0"))

    def wrong(value: float) -> bool:
        return not math.isfinite(value) or abs(value / of - round(value / of)) > 1e-15 * max(1, abs(value / of))

    return Said(column=column, name=name, options={"multipleOf": of}, meaning=Each(column, wrong))


def length(draw: Draw, column: Column) -> Said:
    number = draw(st.sampled_from([0, 1, 2, 4, 60]))
    if draw(st.booleans()):
        meaning, word, says = Each(column, lambda text: len(text) < number), "minLength", "more"
    else:
        meaning, word, says = Each(column, lambda text: len(text) > number), "maxLength", "fewer"
    name = f"{column.name} of {number} characters or {says}"
    return Said(column=column, name=name, options={word: number}, meaning=meaning)


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


def unlike(column: Column, pattern: str) -> str:
    return f"NOT regexp_matches({column.duck}, '{PATTERNS[pattern]}')"


def pattern(draw: Draw, column: Column) -> Said:
    chosen = draw(st.sampled_from(sorted(PATTERNS)))
    name = f"{column.name} like {chosen}"
    return Said(column=column, name=name, options={"pattern": chosen}, meaning=Where(unlike(column, chosen)))


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


def form(draw: Draw, column: Column) -> Said:
    chosen = draw(st.sampled_from(sorted(FORMATS)))
    meaning = Each(column, lambda text: not FORMATS[chosen](text))
    return Said(
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
COUNTS = st.sampled_from([0, 1, 2, 3, 5, 8])
PERCENTS = st.sampled_from([0, 10, 25, 33.5, 50, 100])
ANY = st.sampled_from([-1e6 - 0.1, -3.3, 0.123, 2.71, 55.5, 1e6 + 0.1])


def compared(draw: Draw, thresholds: st.SearchStrategy[float], operator: str = "") -> tuple[str, list[float]]:
    chosen = operator or draw(st.sampled_from(sorted(OPERATORS)))
    size = 2 if chosen.endswith("Between") else 1
    return chosen, sorted(draw(st.lists(thresholds, min_size=size, max_size=size)))


def counted(draw: Draw, column: Column | None, meaning: Meaning, words: Words, *, percent: bool = True) -> Said:
    """An entry that counts rows, with an operator, a unit and a severity."""
    unit = draw(st.sampled_from(["rows", "percent"])) if percent else "rows"
    operator, threshold = compared(draw, COUNTS if unit == "rows" else PERCENTS)
    return _entry(draw, column, meaning, words, operator, threshold, unit)


def measured(draw: Draw, column: Column | None, meaning: Meaning, words: Words, *, unit: str = "") -> Said:
    """An entry that compares a number."""
    operator, threshold = compared(draw, PERCENTS if unit else ANY)
    return _entry(draw, column, meaning, words, operator, threshold, unit, counts=False)


def _entry(
    draw: Draw,
    column: Column | None,
    meaning: Meaning,
    words: Words,
    operator: str,
    threshold: list[float],
    unit: str,
    *,
    counts: bool = True,
) -> Said:
    said = {operator: threshold if len(threshold) > 1 else threshold[0]}
    severity = draw(st.sampled_from(["error", "warning"]))
    custom = words.get("type") == "custom"
    inside = {**words, "implementation": {**words["implementation"], **said}} if custom else {**words, **said}
    quality = {**inside, "severity": severity, **({"unit": unit} if unit == "percent" else {})}
    return Said(
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


def null_values(draw: Draw, column: Column) -> Said:
    return counted(draw, column, Where(f"{column.duck} IS NULL"), {"metric": "nullValues"})


def missing_values(draw: Draw, column: Column) -> Said:
    values, null = draw(sayable(column)), draw(st.booleans())
    listed = ", ".join(literal(column, value) for value in values)
    meaning = Where(f"{column.duck} IN ({listed})" + (f" OR {column.duck} IS NULL" if null else ""))
    said = [spelled(value) for value in values] + [None] * null
    return counted(draw, column, meaning, {"metric": "missingValues", "arguments": {"missingValues": said}})


def invalid_values(draw: Draw, column: Column) -> Said:
    values = draw(sayable(column))
    wrong = f"{column.duck} NOT IN ({', '.join(literal(column, value) for value in values)})"
    arguments: Words = {"validValues": [spelled(value) for value in values]}
    if column.type == "string" and draw(st.booleans()):
        arguments["pattern"] = draw(st.sampled_from(sorted(PATTERNS)))
        wrong = f"({wrong}) OR {unlike(column, arguments['pattern'])}"
    return counted(draw, column, Where(wrong), {"metric": "invalidValues", "arguments": arguments})


def duplicate_values(draw: Draw, column: Column) -> Said:
    return counted(draw, column, Repeats([column]), {"metric": "duplicateValues"})


def not_in_future(draw: Draw, column: Column) -> Said:
    return counted(draw, column, Where(f"{column.duck} > TIMESTAMPTZ '2100-01-01'"), ours(notInFuture=True))


def least_or_greatest(draw: Draw, column: Column) -> Said:
    word, function = draw(st.sampled_from([("minimum", "min"), ("maximum", "max")]))
    return measured(draw, column, Number(without_nan(column, f"{function}({column.duck})")), ours(**{word: True}))


def without_nan(column: Column, number: str) -> str:
    return f"CASE WHEN NOT bool_or(isnan({column.duck})) THEN {number} END" if column.type in FLOATS else number


def mean_or_sum(draw: Draw, column: Column) -> Said:
    """Whole numbers are added up exactly, but for the mean of 64-bit ones, which depends on their order."""
    words = {"sum": "sum", "mean": "avg", "standardDeviation": "stddev_samp"}
    word = "sum" if column.type == "bigint" else draw(st.sampled_from(sorted(words)))
    number = f"{words[word]}({column.duck}{'' if column.type == 'bigint' else '::DOUBLE'})"
    if column.type in FLOATS:
        finite = f"CASE WHEN isfinite({column.duck}) THEN {column.duck}::DOUBLE END"
        number = f"CASE WHEN bool_and(isfinite({column.duck})) THEN {words[word]}({finite}) END"
    if word == "mean" and column.type.startswith("decimal"):
        number = f"round({number}, 6)"  # four places more than the column has
    return measured(draw, column, Number(number), ours(**{word: True}))


def quantile(draw: Draw, column: Column) -> Said:
    at = draw(st.sampled_from([0, 0.25, 0.5, 0.95, 1]))
    words = ours(median=True) if at == 0.5 and draw(st.booleans()) else ours(quantile=at)
    return measured(draw, column, Number(without_nan(column, f"quantile_cont({column.duck}::DOUBLE, {at})")), words)


def distinct_values(draw: Draw, column: Column) -> Said:
    return measured(draw, column, Different(column), ours(distinctValues=True), unit="rows")


def share(draw: Draw, column: Column) -> Said:
    values = draw(sayable(column))
    held = f"{column.duck} IN ({', '.join(literal(column, value) for value in values)})"
    meaning = Number(f"100.0 * count(*) FILTER (WHERE {held}) / count(*)")
    return measured(draw, column, meaning, ours(share=[spelled(value) for value in values]), unit="percent")


def query(draw: Draw, column: Column) -> Said:
    contract, duck = draw(
        st.sampled_from(
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
    )
    return measured(draw, column, Number(duck.format(x=column.duck)), {"type": "sql", "query": contract})


# ------------------------------------------------------------------ of the table


def row_count(draw: Draw, _columns: Sequence[Column]) -> Said:
    """Their number is compared, and none of them fails."""
    said = counted(draw, None, Where("TRUE"), {"metric": "rowCount"}, percent=False)
    return replace(said, counts=False)


def duplicate_rows(draw: Draw, columns: Sequence[Column]) -> Said:
    chosen = list(columns[:2])
    words = {"metric": "duplicateValues", "arguments": {"properties": [column.name for column in chosen]}}
    return counted(draw, None, Repeats(chosen), words)


def at_least_one_of(draw: Draw, columns: Sequence[Column]) -> Said:
    chosen = columns[: draw(st.integers(2, len(columns)))]
    meaning = Where(" AND ".join(f"{column.duck} IS NULL" for column in chosen))
    return counted(draw, None, meaning, ours(atLeastOneOf=[column.name for column in chosen]))


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


def row(draw: Draw, columns: Sequence[Column]) -> Said:
    able = [column for column in columns if column.type in RULES]
    if not able:
        return at_least_one_of(draw, columns)
    column = draw(st.sampled_from(able))
    rule = draw(st.sampled_from(RULES[column.type]))
    named = "`" + column.name.replace("`", "``") + "`"
    return counted(draw, None, Where(f"NOT ({rule.format(x=column.duck)})"), ours(row=rule.format(x=named)))


EVERY = tuple(POOLS)
COMPARABLE = tuple(kind for kind in POOLS if kind != "binary")
ORDERED = tuple(kind for kind in COMPARABLE if kind not in ("string", "boolean"))
OWN: list[tuple[Callable[[Draw, Column], Said], Sequence[str]]] = [
    (required, EVERY),
    (enum, COMPARABLE),
    (bound, ORDERED),
    (multiple, ("int", "bigint", "float", "double", "decimal(5,2)", "decimal(38,10)")),
    (length, ("string",)),
    (pattern, ("string",)),
    (form, ("string",)),
    (unique, EVERY),
]
QUALITY: list[tuple[Callable[[Draw, Column], Said], Sequence[str]]] = [
    (null_values, EVERY),
    (missing_values, COMPARABLE),
    (invalid_values, COMPARABLE),
    (duplicate_values, EVERY),
    (not_in_future, ("date", "timestamp", "timestamp_ntz")),
    (least_or_greatest, NUMBERS),
    (mean_or_sum, NUMBERS),
    (quantile, NUMBERS),
    (distinct_values, EVERY),
    (share, COMPARABLE),
    (query, NUMBERS),
]
TABLE: list[Callable[[Draw, Sequence[Column]], Said]] = [row_count, duplicate_rows, at_least_one_of, row]
