"""Functions that the SQL of a contract may call, with the kinds of their arguments and results: a table of rows."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from sqlglot import exp


class Kind(StrEnum):
    """Kinds of value that a piece of SQL gives, as far as they decide what can be done with it."""

    NUMBER = "a number"
    TEXT = "text"
    TRUTH = "a condition"
    DATE = "a date"
    INSTANT = "a timestamp"
    CLOCK = "a timestamp without a zone"
    BYTES = "bytes"
    INTERVAL = "an interval"
    NULL = "null"
    STEP = "a whole number, written out"
    PLACES = "up to 99 places, a whole number, written out"
    FRACTION = "a number from 0 to 1, written out"
    ANY = "a value"
    TIME = "a date or a timestamp"


@dataclass(frozen=True, kw_only=True)
class Signature:
    """A function's arguments, by sqlglot's names, and its result; `flags` are arguments without meaning."""

    gives: Kind
    takes: Mapping[str, Kind]
    flags: Collection[str] = ()


def _takes(gives: Kind, *flags: str, **takes: Kind) -> Signature:
    return Signature(gives=gives, takes=takes, flags=flags)


NUMBER, TEXT, TRUTH, DATE, ANY, TIME = Kind.NUMBER, Kind.TEXT, Kind.TRUTH, Kind.DATE, Kind.ANY, Kind.TIME

FUNCTIONS: Mapping[type[exp.Expr], Signature] = {
    exp.And: _takes(TRUTH, this=TRUTH, expression=TRUTH),
    exp.Or: _takes(TRUTH, this=TRUTH, expression=TRUTH),
    exp.Not: _takes(TRUTH, this=TRUTH),
    exp.Add: _takes(NUMBER, this=NUMBER, expression=NUMBER),
    exp.Sub: _takes(NUMBER, this=NUMBER, expression=NUMBER),
    exp.Mul: _takes(NUMBER, this=NUMBER, expression=NUMBER),
    exp.Div: _takes(NUMBER, "safe", "typed", this=NUMBER, expression=NUMBER),
    exp.Mod: _takes(NUMBER, this=NUMBER, expression=NUMBER),
    exp.Neg: _takes(NUMBER, this=NUMBER),
    exp.Abs: _takes(NUMBER, this=NUMBER),
    exp.Ceil: _takes(NUMBER, this=NUMBER),
    exp.Floor: _takes(NUMBER, this=NUMBER),
    exp.Round: _takes(NUMBER, this=NUMBER, decimals=Kind.PLACES),
    exp.Sqrt: _takes(NUMBER, this=NUMBER),
    exp.Pow: _takes(NUMBER, this=NUMBER, expression=NUMBER),
    exp.Exp: _takes(NUMBER, this=NUMBER),
    exp.Ln: _takes(NUMBER, this=NUMBER),
    exp.Sign: _takes(NUMBER, this=NUMBER),
    exp.IsNan: _takes(TRUTH, this=NUMBER),
    exp.Length: _takes(NUMBER, this=TEXT),
    exp.Lower: _takes(TEXT, this=TEXT),
    exp.Upper: _takes(TEXT, this=TEXT),
    exp.Trim: _takes(TEXT, "position", this=TEXT, expression=TEXT),
    exp.Substring: _takes(TEXT, this=TEXT, start=NUMBER, length=NUMBER),
    exp.Concat: _takes(TEXT, "safe", expressions=TEXT),
    exp.DPipe: _takes(TEXT, "safe", this=TEXT, expression=TEXT),
    exp.StartsWith: _takes(TRUTH, this=TEXT, expression=TEXT),
    exp.EndsWith: _takes(TRUTH, this=TEXT, expression=TEXT),
    exp.Contains: _takes(TRUTH, this=TEXT, expression=TEXT),
    exp.Replace: _takes(TEXT, this=TEXT, expression=TEXT, replacement=TEXT),
    exp.Left: _takes(TEXT, this=TEXT, expression=NUMBER),
    exp.Right: _takes(TEXT, this=TEXT, expression=NUMBER),
    exp.StrPosition: _takes(NUMBER, this=TEXT, substr=TEXT),
    exp.TsOrDsToDate: _takes(DATE, "safe", this=TIME),
    exp.Year: _takes(NUMBER, this=TIME),
    exp.Quarter: _takes(NUMBER, this=TIME),
    exp.Month: _takes(NUMBER, this=TIME),
    exp.Day: _takes(NUMBER, this=TIME),
    exp.DayOfMonth: _takes(NUMBER, this=TIME),
    exp.DayOfWeek: _takes(NUMBER, this=TIME),
    exp.DayOfYear: _takes(NUMBER, this=TIME),
    exp.WeekOfYear: _takes(NUMBER, this=TIME),
    exp.Hour: _takes(NUMBER, this=TIME),
    exp.Minute: _takes(NUMBER, this=TIME),
    exp.Second: _takes(NUMBER, this=TIME),
    exp.DateDiff: _takes(NUMBER, this=TIME, expression=TIME),
    exp.AddMonths: _takes(DATE, this=TIME, expression=Kind.STEP),
    exp.LastDay: _takes(DATE, this=TIME),
}
MAY_BE_LEFT_OUT: Mapping[type[exp.Expr], str] = {
    exp.Round: "decimals",
    exp.Trim: "expression",
    exp.Substring: "length",
    exp.Replace: "replacement",
}
AGGREGATES: Mapping[type[exp.Expr], Signature] = {
    exp.CountIf: _takes(NUMBER, this=TRUTH),
    exp.Sum: _takes(NUMBER, this=NUMBER),
    exp.Avg: _takes(NUMBER, this=NUMBER),
    exp.Stddev: _takes(NUMBER, this=NUMBER),
    exp.StddevSamp: _takes(NUMBER, this=NUMBER),
    exp.StddevPop: _takes(NUMBER, this=NUMBER),
    exp.Variance: _takes(NUMBER, this=NUMBER),
    exp.VariancePop: _takes(NUMBER, this=NUMBER),
    exp.Median: _takes(NUMBER, this=NUMBER),
    exp.Quantile: _takes(NUMBER, this=NUMBER, quantile=Kind.FRACTION),
    exp.Min: _takes(ANY, this=ANY),
    exp.Max: _takes(ANY, this=ANY),
    exp.Count: _takes(NUMBER, "big_int", this=ANY),
}
