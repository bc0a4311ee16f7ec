"""Random expressions that a contract may say, out of every function that it may call, and values at the edges of types.

Nothing here knows an engine, and nothing is judged. Everything follows from the dice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

import sqlglot
from sqlglot import exp

from lakegate.contracts.columns.fields import Field
from lakegate.contracts.columns.types import physical
from lakegate.contracts.sql.allowlist import NotAllowed, Reader, columns_of
from lakegate.contracts.sql.functions import FUNCTIONS, MAY_BE_LEFT_OUT, Kind

DAY, SECOND = 86_400_000_000, 1_000_000
WHOLE = (0, 1, -1, 2, 3, -7, 10, 100)
_INTS = (*WHOLE, 2**31 - 1, -(2**31), 2**31 - 2, 65_536, 46_341)
_BIGINTS = (*WHOLE, 2**63 - 1, -(2**63), 2**53 + 1, -(2**53), 2**31, 2**53 - 1, 3_037_000_500, 10**18)
_HALVES = (1.005, 0.285, 612.305, 2.675, 1.15, 2.5, -2.5, 0.5, 1.5, 5e-05, 0.125, 1e22 + 0.5, -1.005, 0.615, 10.075)
_DOUBLES = (
    *(0.0, -0.0, 1.0, -1.0, 0.1, 0.3, 1.7, 100.0, 0.001, 1e7, 9999999.0, 1e10, 1e-5, 123456789.125, 0.0001),
    *(1e300, -1e300, 5e-324, 2.2250738585072014e-308, 1.7976931348623157e308, 3.4028235677973366e38, 2.0**63, 2.0**31),
    *(9007199254740993.0, 1e15, 1e17, 0.1 + 0.2, 4.35, 1 / 3, math.nan, math.inf, -math.inf, 2.0**53, -(2.0**31) - 1),
)
_FLOATS = (0.0, -0.0, 1.5, -1.5, 0.25, 100.0, 1e10, 16777216.0, 1.0, math.nan, math.inf, -math.inf, 0.5)
_DECIMALS: Mapping[str, Sequence[str]] = {
    "decimal(10,2)": ("0", "0.01", "-0.01", "1.00", "1.50", "2.55", "-1.50", "10.00", "99999999.99", "-99999999.99"),
    "decimal(38,10)": ("0", "1e-10", "1.5", "-1e-10", "9" * 28 + "." + "9" * 10, "-" + "9" * 28, "3.3333333333"),
    "decimal(38,0)": ("0", "1", "-7", "9" * 38, "-" + "9" * 38, "5" + "0" * 20),
    "decimal(5,5)": ("0", "0.00001", "0.99999", "-0.5", "0.12345"),
}
_NUMBERS = (
    *("0", "1", "-1", "+7", "1.5", "-1.5", ".5", "5.", "-.5", "007", "-0", "1e2", "1E5", "1e-3", "1e400", "1e-400"),
    *("2147483647", "2147483648", "-2147483648"),
    *("-2147483649", "9223372036854775807", "9223372036854775808", "9" * 39),
    *(".", "+", "-", "", " ", "+.", "-.", "1.e2"),
    *(".e1", "e1", "1e", "1e+", "--1", "+-1", "1 2", "1-", "0." + "9" * 40),
    *("0x1p3", "0X1P3", "0x1", "-0x1.8p1", "0x", "1d", "1D"),
    *("1f", "1F", "1L", "1dd", "1_000", "1,5", "1,000", "1.2.3"),
    *("nan", "NaN", "NAN", "-nan", "+NaN", "inf"),
    *("Inf", "-inf", "+Infinity", "INFINITY", "infinit", "nan ", "Infinityd"),
    *("1\x7f", "\x7f1", "\x001", "1\x00", "1\x1f", "\x1e1\x1c"),
    *("\t1\n", " 1 ", "1\u00a0", "\u00a01", "\u20031", "1\u3000"),
    *("\u0661", "\uff11", "\u096b", "1\u0660", "\u221e"),
    *("\u2212" + "1", "\ufeff1", "1\u200b", "\U0001d7cf", "1\x85", "1\x0b"),
    *("1" * 38, "0." + "0" * 37 + "1", "123456.75", "99999.95", "99999.94"),
    *("-99999.95", "1.25", "1.35", "2.5", "1e38"),
    *("1.7976931348623159e308", "4.9e-324", "2.4e-324", "9007199254740993", "0.1d", "3.4028236e38", "1e39", "1e-46"),
)  # fmt: skip
_TRUTHS = (
    *("true", "TRUE", "tRuE", "t", "T", "yes", "y", "Y", "1", "false", "f", "no", "n", "N", "0", "on", "off", "2"),
    *("true ", " true", "\ttrue", "tru", "true\x7f", "true\u00a0", "ye\u0455", "\uff11", "\x00true", "01", "1.0"),
    *("\u212aes", "fal\u017fe", "ye\u017f", "ye\u0053"),
)  # fmt: skip
_TIMES = (
    *("2013-01-31", "2013-1-3", "2013-01", "2013"),
    *("2013-02-29", "2012-02-29", "2013-13-01", "2013-00-01", "2013-01-00"),
    *("2013-01-31 ", " 2013-01-31", "\t2013-01-31\n"),
    *("2013-01-31\x7f", "2013-01-31\u00a0", "2013-01-31T", "2013-01-31 x"),
    *("2013-01-31 24:00:00", "2013-01-31 23:59:60", "2013-01-31 23:59:59", "2013-01-31T12:30:15Z", "2013-1-3 5:00"),
    *("2013-01-31 12:30", "2013-01-31T12"),
    *("2013-01-31 12:30:15.5", "2013-01-31 12:30:15.123456789", "2013-01-31 12:30:15."),
    *("2013-01-31T12:30:15+01:00", "2013-01-31T12:30:15-08:30"),
    *("2013-01-31T12:30:15+18:00", "2013-01-31T12:30:15+18:01"),
    *("2013-01-31T12:30:15+1", "2013-01-31T12:30:15 UTC", "2013-01-31 12:30:15 Europe/Berlin", "2013-01-31T12:30:15z"),
    *("2013-01-31T12:30:15+01", "2013-01-31T12:30:15-00:00", "2013-01-31T12:30:15+0100", "2013-01-31 12:30:15 CET"),
    *("2013-01-31T12:30:15+01:60", "2013-01-31T12:30:15-23:59"),
    *("2013-01-31T12:30:15 GMT+1", "2013-01-31T12:30:15\x7f"),
    *("0000-01-01", "0001-01-01", "-0001-01-01", "-0044-03-15"),
    *("+2013-01-31", "10000-01-01", "99999-12-31", "294247-01-10"),
    *("0000-12-31 12:00:00", "9999-12-31 23:59:59.999999", "10000-01-01 00:00:00"),
    *("1582-10-10", "1582-10-04", "5881580-07-11"),
    *("12:30:15", "T12:30", "12:30", "now", "today"),
    *("epoch", "yesterday", "infinity", "-infinity", "2013/01/31", "31.12.2013"),
    *("20130131", "201301", "\u0662\u0660\u0661\u0663-01-31"),
    *("\uff12\uff10\uff11\uff13", "2013-01-31 12:30:15\u00a0", "2013-01-31t12:30:15"),
    *("2013-01-31  12:30:15", "2013-01-31 12:30:15 +01:00", "2013-01-31 12:30:15+01:00:30"),
    *("2013-001-31", "02013-01-31", "13-01-31"),
    *("2013-01-31T25:00:00", "2013-01-31T12:60:00"),
    *("2013-01-31T12:30:15 +01:00", "2013-01-31 BC", "1970-01-01T00:00:00.0000001Z"),
)  # fmt: skip
_LETTERS = (
    *("", " ", "a", "A", "Abc", "abc", " pad ", "a_b"),
    *("axb", "a\\b", "100%", "a\nb", "a\r\nb", "\x00", "\x7f", "a'b", 'a"b'),
    *("ü", "Ü", "u\u0308", "é", "Straße", "STRASSE", "ẞ", "ß", "ŉ"),
    *("İ", "\u0131", "I", "i", "i\u0307", "ΟΔΟΣ", "Σ", "σς", "ΑΣ Γ"),
    *("\U0001d11ex", "x\U0001d11e", "👍🏽", "👨\u200d👩", "e\u0301", "ǆ", "ǅ", "Ǆ"),
    *("ﬁ", "ﬃ", "ᾳ", "ᾼ", "ῼ", "ΐ", "և", "ǰ", "ẖ"),
    *("\u10d0", "\u1c90", "\u13a0", "\uab70", "\u1c80", "\ua64a"),
    *("\u0264", "\ua7cb", "\ua7dc", "\u019b", "\u1c89", "\u1c8a"),
    *("\U00010400", "\U00010428", "\U000104b0", "\U0001e900"),
    *("\U0001e922", "\U00010570", "\U00016e40", "\U00010d50", "\U00010d70"),
    *("\u2c2f", "\u2c5f", "\ua7c0", "\ua7c1", "\ua7d0", "\ua7d6"),
    *("\u2160", "\u2170", "\u24b6", "\u24d0", "\u00b5", "\u03bc", "\u017f"),
    *("\u212a", "\u212b", "\u2126", "Ÿ", "ÿ", "Ж", "ж", "Ѐ"),
    *("ԱՖ", "中文", "한글", "עברית", "\u0130stanbul", "\uff21", "\uff41", "\ufb17"),
    *("\u0345", "\u03c2", "\u1e9e", "\u01c5", "\u0149", "\u1fb7"),
    *("\u2c6f", "\u0250", "\ua7ae", "\u026a", "\u0220", "\u019e", "\u0378"),
)  # fmt: skip
_DAYS = (0, 1, -1, 15_736, 15_400, 16_070, 16_071, -719_162, -719_163, -718_000, 2_932_896, -141_428, -141_427, 11_016)
_MOMENTS = (*(day * DAY + part for day in _DAYS for part in (0, DAY - 1, 45_015_500_000)), 1, -1, SECOND - 1)
POOLS: Mapping[str, Sequence[Any]] = {
    "int": _INTS,
    "bigint": _BIGINTS,
    "double": (*_HALVES, *_DOUBLES),
    "float": _FLOATS,
    **_DECIMALS,
    "string": (*_NUMBERS, *_TRUTHS, *_TIMES, *_LETTERS),
    "boolean": (True, False),
    "date": _DAYS,
    "timestamp": _MOMENTS,
    "timestamp_ntz": _MOMENTS,
}
COLUMNS: Mapping[str, str] = {
    "a": "int", "c": "int", "b": "bigint", "h": "bigint", "x": "double", "y": "double", "f": "float",
    "d": "decimal(10,2)", "e": "decimal(10,2)", "m": "decimal(38,10)", "n": "decimal(38,0)", "p": "decimal(5,5)",
    "s": "string", "t": "string", "ok": "boolean", "day": "date", "at": "timestamp", "clock": "timestamp_ntz",
    "later": "date",
}  # fmt: skip
FIELDS = [Field(label=name, name=name, type=physical(kind)) for name, kind in COLUMNS.items()]
Row = tuple[Any, ...]


def rows(dice: Random, many: int) -> list[Row]:
    """Rows of values at the edges, a few of them null, and some that a column has in common with its neighbour."""
    return [tuple(_value(dice, kind) for kind in COLUMNS.values()) for _ in range(many)]


def _value(dice: Random, kind: str) -> Any:
    if dice.random() < 0.04:
        return None
    value = dice.choice(POOLS[kind])
    if kind == "double" and dice.random() < 0.25:
        return (dice.randint(-100_000, 100_000) * 10 + 5) / 1000  # a half of the second place, as far as doubles go
    if kind == "string" and dice.random() < 0.2:
        return edited(dice, value)
    return value


def edited(dice: Random, text: str) -> str:
    """The text with a strange character somewhere, or without one of its own."""
    at = dice.randint(0, len(text))
    more = dice.choice(
        ["", "", " ", "\t", "\x7f", "\u00a0", ".", "-", "+", "0", "9", "e", "\u0661", "Z", "x", "\U0001e943"]
    )
    return text[:at] + more + text[at + (dice.random() < 0.5) :]


def expressions(dice: Random, many: int) -> list[str]:
    """So many expressions as they reach Spark. What a contract may not say is drawn again."""
    made: dict[str, None] = {}
    while len(made) < many:
        text = _drawn(dice, dice.choice(_RESULTS), dice.choice([1, 1, 2, 3])).sql(dialect="spark")
        try:
            made[as_in_plan(text)] = None
        except (NotAllowed, ValueError, sqlglot.ParseError):
            continue
    return list(made)


def as_in_plan(text: str, *, aggregates: bool = False) -> str:
    """The expression as a plan has it."""
    holder = exp.Paren(this=sqlglot.parse_one(text, read="spark"))
    Reader(columns=columns_of(FIELDS), aggregates=aggregates).kind(holder.this)
    return str(holder.this.sql(dialect="spark"))


_RESULTS = (Kind.NUMBER, Kind.NUMBER, Kind.NUMBER, Kind.TEXT, Kind.TRUTH, Kind.DATE, Kind.INSTANT, Kind.CLOCK)
_OF_KIND: Mapping[Kind, Sequence[str]] = {
    Kind.NUMBER: ("a", "b", "x", "d", "c", "h", "y", "e", "m", "n", "p", "f"),
    Kind.TEXT: ("s", "t"),
    Kind.TRUTH: ("ok",),
    Kind.DATE: ("day", "later"),
    Kind.INSTANT: ("at",),
    Kind.CLOCK: ("clock",),
}
_TARGETS: Mapping[Kind, Sequence[str]] = {
    Kind.NUMBER: ("int", "bigint", "double", "float", *(f"decimal({of})" for of in ("10,2", "38,10", "6,1", "38,0"))),
    Kind.TEXT: ("string",),
    Kind.TRUTH: ("boolean",),
    Kind.DATE: ("date",),
    Kind.INSTANT: ("timestamp",),
    Kind.CLOCK: ("timestamp_ntz",),
}  # fmt: skip
_MOMENT_KINDS = (Kind.DATE, Kind.INSTANT, Kind.CLOCK)
_SOURCES: Mapping[Kind, Sequence[Kind]] = {
    Kind.NUMBER: (Kind.TEXT, Kind.TEXT, Kind.TEXT, Kind.NUMBER, Kind.NUMBER, Kind.TRUTH),
    Kind.TEXT: (Kind.NUMBER, Kind.NUMBER, Kind.TRUTH, *_MOMENT_KINDS),
    Kind.TRUTH: (Kind.TEXT, Kind.NUMBER),
    **dict.fromkeys(_MOMENT_KINDS, (Kind.TEXT, Kind.TEXT, *_MOMENT_KINDS)),
}
_GIVING: Mapping[Kind, Sequence[type[exp.Expr]]] = {
    kind: [function for function, signature in FUNCTIONS.items() if signature.gives is kind] for kind in Kind
}
_TEXTS = ("a", "", " ", "b", "ü", "ß", "1", "%", "_", ".", "ΑΣ")
_WRITTEN: Mapping[Kind, Callable[[Random], str]] = {
    Kind.NUMBER: lambda dice: dice.choice(
        ["0", "1", "2", "7", "0.5", "1.5", "0.01", "100", "1e2", "3000000000", "0.1"]
    ),
    Kind.TEXT: lambda dice: f"'{dice.choice(_TEXTS)}'",
    Kind.TRUTH: lambda dice: dice.choice(["true", "false"]),
    Kind.STEP: lambda dice: str(dice.choice([0, 1, -1, 12, -400, 9999])),
    Kind.PLACES: lambda dice: str(dice.choice([0, 1, 2, 2, 2, 3, -1, 10, 40])),
}


_Maker = Callable[[Random, Kind, int], exp.Expr]


def _drawn(dice: Random, kind: Kind, depth: int) -> exp.Expr:
    """An expression of that kind, of so many calls within each other."""
    if kind is Kind.TIME:
        kind = dice.choice(_MOMENT_KINDS)
    if kind is Kind.ANY:
        kind = dice.choice(list(_OF_KIND))
    if kind in (Kind.STEP, Kind.PLACES) or (kind in _WRITTEN and depth < 1 and dice.random() < 0.3):
        return _parsed(_WRITTEN[kind](dice))
    if depth < 1:
        return exp.column(dice.choice(_OF_KIND[kind]))
    made: _Maker = dice.choice([_call, _call, _cast, _choice]) if _GIVING[kind] else dice.choice([_cast, _choice])
    if kind is Kind.TRUTH:
        made = dice.choice([_call, _cast, _choice, _comparison, _comparison, _pattern])
    if kind in _MOMENT_KINDS and dice.random() < 0.3:
        made = _shift
    return exp.paren(made(dice, kind, depth), copy=False)


def _parsed(text: str) -> exp.Expr:
    return sqlglot.parse_one(text, read="spark")


def _call(dice: Random, kind: Kind, depth: int) -> exp.Expr:
    function = dice.choice(_GIVING[kind])
    given: dict[str, Any] = {}
    for name, wanted in FUNCTIONS[function].takes.items():
        if MAY_BE_LEFT_OUT.get(function) == name and dice.random() < 0.4:
            continue
        several = name == "expressions"
        given[name] = (
            [_drawn(dice, wanted, depth - 1) for _ in range(2)] if several else _drawn(dice, wanted, depth - 1)
        )
    return function(**given)


def _cast(dice: Random, kind: Kind, depth: int) -> exp.Expr:
    of = _drawn(dice, dice.choice(_SOURCES[kind]), depth - 1)
    return exp.Cast(this=of, to=exp.DataType.build(dice.choice(_TARGETS[kind]), dialect="spark"))


def _choice(dice: Random, kind: Kind, depth: int) -> exp.Expr:
    one, other = (_drawn(dice, kind, depth - 1) for _ in range(2))
    if dice.random() < 0.3:
        return exp.If(this=_drawn(dice, Kind.TRUTH, depth - 1), true=one, false=other)
    if dice.random() < 0.2:
        return exp.Nullif(this=one, expression=other)
    return dice.choice([exp.Coalesce, exp.Greatest, exp.Least])(this=one, expressions=[other])


def _comparison(dice: Random, _kind: Kind, depth: int) -> exp.Expr:
    kind = dice.choice([Kind.NUMBER, Kind.NUMBER, Kind.TEXT, *_OF_KIND])
    one, other, third = (_drawn(dice, kind, depth - 1) for _ in range(3))
    if dice.random() < 0.1:
        return exp.Between(this=one, low=other, high=third)
    if dice.random() < 0.1:
        return exp.In(this=one, expressions=[other, third])
    compare = dice.choice([exp.EQ, exp.NEQ, exp.NullSafeEQ, exp.GT, exp.GTE, exp.LT, exp.LTE])
    return compare(this=one, expression=other)


def _pattern(dice: Random, _kind: Kind, depth: int) -> exp.Expr:
    pattern = dice.choice(["a%", "%a%", "a_b", "_", "__", "%\\\\%%", "%ü", "", "%", "Σ%"])
    return exp.Like(this=_drawn(dice, Kind.TEXT, depth - 1), expression=_parsed(f"'{pattern}'"))


def _shift(dice: Random, kind: Kind, depth: int) -> exp.Expr:
    of = _drawn(dice, kind, depth - 1).sql(dialect="spark")
    unit = dice.choice(["year", "quarter", "month", "week"] + ["day", "hour", "minute"] * (kind is Kind.INSTANT))
    if kind is Kind.DATE:
        said = [f"trunc({of}, '{unit}')", f"date_add({of}, {dice.choice([1, -400, 9999])})", f"date_sub({of}, 3)"]
        said += [
            f"cast({of} {sign} interval {span} as date)" for sign in "+-" for span in ("3 days", "1 month", "5 hours")
        ]
        return _parsed(dice.choice(said))
    if kind is Kind.INSTANT and dice.random() < 0.5:
        return _parsed(f"date_trunc('{unit}', {of})")
    span = dice.choice(["3 hours", "1 day", "1 month", "100 years", "13 months"])
    return _parsed(f"{of} {dice.choice('+-')} interval {span}")
