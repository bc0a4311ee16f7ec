"""Types that Spark gives to the numbers of an expression, and arithmetic in DuckDB's SQL that keeps to them.

DuckDB would give sums, products and branches types of its own. A decimal of more than 38 digits loses places in Spark,
and a row in which those are not zero is left to Spark, with an error. A column of unknown type makes all around it
unknown, which stays as DuckDB has it.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import sqlglot
from sqlglot import exp

from lakegate.audit.schema.types import MOST_DIGITS

_LEAST_PLACES = 6  # places that a product or quotient of too many digits keeps, if it has them
_TYPE = "spark"  # the key of a node's type in what sqlglot keeps beside it


@dataclass(frozen=True, kw_only=True)
class Number:
    """A type of numbers: of a decimal, its digits and how many of them are places behind the point."""

    name: str
    digits: int = 0
    places: int = 0

    @property
    def is_decimal(self) -> bool:
        return self.name == "decimal"


Types = Mapping[str, str]
INT, BIGINT, FLOAT, DOUBLE = (Number(name=name) for name in ("int", "bigint", "float", "double"))
DATE = Number(name="date")  # no number, but a day shifted by whole days stays one
_PLAIN = {kind.name: kind for kind in (INT, BIGINT, FLOAT, DOUBLE, DATE)}
_AS_DECIMAL = {INT: 10, BIGINT: 20}


def decimal(digits: int, places: int) -> Number:
    return Number(name="decimal", digits=digits, places=places)


def number(kind: str) -> Number | None:
    """Return the type of numbers that Spark calls so; None if it is none of these."""
    if kind.startswith("decimal("):
        digits, _, places = kind[len("decimal(") : -1].partition(",")
        return decimal(int(digits), int(places or 0))
    return _PLAIN.get(kind)


def type_of(node: exp.Expr) -> Number | None:
    """Return the type that `annotate` has found."""
    kind: Number | None = node.meta.get(_TYPE)
    return kind


def keep_type(node: exp.Expr, of: exp.Expr) -> exp.Expr:
    """Return the node with the type of what it replaces."""
    node.meta[_TYPE] = type_of(of)
    return node


def annotate(tree: exp.Expr, columns: Types) -> None:
    """Note beside each node the type of its number. The columns are by their names in lower case."""
    for node in reversed(list(tree.walk())):
        _annotate_node(node, columns)


def _annotate_node(node: exp.Expr | None, columns: Types) -> Number | None:
    if node is None:
        return None
    if _TYPE not in node.meta:
        node.meta[_TYPE] = None
        node.meta[_TYPE] = _type_by_shape(node, columns)
    return type_of(node)


def _type_by_shape(node: exp.Expr, columns: Types) -> Number | None:  # noqa: PLR0911 (one line for each shape)
    if isinstance(node, exp.Column):
        return _of_column(node, columns)
    if isinstance(node, exp.Cast):
        return number(node.args["to"].sql(dialect="spark").lower().replace(" ", ""))
    if isinstance(node, exp.Literal):
        return None if node.is_string else _of_literal(node.name)
    if type(node) in _RESULT_TYPES:
        return _RESULT_TYPES[type(node)]
    if isinstance(node.args.get("expression"), exp.Interval):
        return _annotate_node(node.this, columns) if _is_of_days(node.expression) else None
    if type(node) in _ARITHMETIC:
        return _of_arithmetic(node, *(_annotate_node(part, columns) for part in (node.this, node.expression)))
    if type(node) in _TYPE_OF_OPERAND:
        return _annotate_node(node.this, columns)
    if type(node) in _OF_ONE:
        return _OF_ONE[type(node)](node, _annotate_node(node.this, columns))
    if type(node) in _BRANCHES:
        kind = common([_annotate_node(part, columns) for part in branches(node)])
        return kind and replace(
            kind, digits=min(kind.digits, MOST_DIGITS)
        )  # of more digits the branches are left to Spark
    return None


def _of_column(node: exp.Column, columns: Types) -> Number | None:
    select = node.find_ancestor(exp.Select)
    source = select.args.get("from_") if select else None
    if source is None or not isinstance(source.this, exp.Subquery):
        return number(columns.get(node.name.lower(), ""))
    inner = next(
        (item for item in source.this.this.expressions if item.alias_or_name.lower() == node.name.lower()), None
    )
    return _annotate_node(inner.unalias(), columns) if inner else None


def _of_literal(text: str) -> Number:
    if "e" in text.lower():
        return DOUBLE
    _, digits, exponent = Decimal(text).as_tuple()
    if "." in text:
        return decimal(max(len(digits), -int(exponent)), -int(exponent))
    whole = int(text)
    return INT if whole < 2**31 else BIGINT if whole < 2**63 else decimal(len(text), 0)


def _is_of_days(interval: exp.Expr) -> bool:
    unit = interval.args.get("unit")
    return unit is not None and unit.name.upper().removesuffix("S") in ("YEAR", "MONTH", "WEEK", "DAY")


def _of_arithmetic(node: exp.Expr, first: Number | None, other: Number | None) -> Number | None:
    if first is None or other is None:
        return None
    if first.is_decimal or other.is_decimal:
        if {first, other} & {FLOAT, DOUBLE}:
            return DOUBLE
        return _fit(_exactly(node, first, other))
    if isinstance(node, exp.Div) or DOUBLE in (first, other):
        return DOUBLE
    return FLOAT if FLOAT in (first, other) else BIGINT if BIGINT in (first, other) else INT


def _operand(node: exp.Expr, kind: Number) -> Number:
    """Return a number as an operand beside a decimal. A whole number that is written out has its own digits."""
    if kind.is_decimal:
        return kind
    bare = node.this if isinstance(node, exp.Neg) else node
    return decimal(len(bare.name) if isinstance(bare, exp.Literal) else _AS_DECIMAL[kind], 0)


def _exactly(node: exp.Expr, first: Number, other: Number) -> Number:
    """Return the type of the result before it is fitted in 38 digits."""
    a, b = _operand(node.this, first), _operand(node.expression, other)
    places = max(a.places, b.places)
    if isinstance(node, exp.Mul):
        return decimal(a.digits + b.digits + 1, a.places + b.places)
    if isinstance(node, exp.Div):
        places = max(_LEAST_PLACES, a.places + b.digits + 1)
        return decimal(a.digits - a.places + b.places + places, places)
    if isinstance(node, exp.Mod):
        return decimal(min(a.digits - a.places, b.digits - b.places) + places, places)
    return decimal(max(a.digits - a.places, b.digits - b.places) + places + 1, places)


def _fit(exact: Number) -> Number:
    if exact.digits <= MOST_DIGITS:
        return exact
    whole = exact.digits - exact.places
    return decimal(MOST_DIGITS, max(MOST_DIGITS - whole, min(exact.places, _LEAST_PLACES)))


def common(kinds: Iterable[Number | None]) -> Number | None:
    """Return the type in which branches meet, or numbers are compared; None if one is unknown."""
    widest: Number | None = None
    for kind in kinds:
        if kind is None:
            return None
        widest = kind if widest is None else _wider(widest, kind)
    return widest


def _wider(first: Number, other: Number) -> Number:
    if first == other:
        return first
    if first.is_decimal or other.is_decimal:
        if {first, other} & {FLOAT, DOUBLE}:
            return DOUBLE
        a, b = (kind if kind.is_decimal else decimal(_AS_DECIMAL[kind], 0) for kind in (first, other))
        places = max(a.places, b.places)
        return decimal(max(a.digits - a.places, b.digits - b.places) + places, places)
    return DOUBLE if DOUBLE in (first, other) else FLOAT if FLOAT in (first, other) else BIGINT


def branches(node: exp.Expr) -> list[exp.Expr]:
    """Return the operands that must be of one type. Nulls are of any."""
    if isinstance(node, exp.Case):
        parts = [*(branch.args["true"] for branch in node.args["ifs"]), node.args.get("default")]
    elif isinstance(node, exp.If):
        parts = [node.args["true"], node.args.get("false")]
    elif isinstance(node, exp.Between):
        parts = [node.this, node.args["low"], node.args["high"]]
    else:
        parts = [node.this, node.args.get("expression"), *node.args.get("expressions", [])]
    return [part for part in parts if part is not None and not isinstance(part, exp.Null)]


# ------------------------------------------------------------------ in DuckDB's SQL


def call_function(name: str, *values: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(values))


def cast(node: exp.Expr, kind: str) -> exp.Expr:
    return exp.Cast(this=node, to=exp.DataType.build(kind, dialect="duckdb"))


def convert(node: exp.Expr, kind: Number) -> exp.Expr:
    """Return a number in a wider type. A float stays in 64 bits, as DuckDB has the columns, with a float's value."""
    source = type_of(node)
    if source is None or source == kind or kind in (INT, BIGINT):
        return node
    if kind.is_decimal:
        return cast(node, f"decimal({kind.digits},{kind.places})")
    if kind is DOUBLE:
        return as_double(node) if source.is_decimal else cast(node, "double")
    return cast(cast(node, "float"), "double")


def arithmetic(node: exp.Expr) -> exp.Expr:
    """Return a sum, difference, product, quotient or rest as Spark computes it."""
    kind, parts = type_of(node), (node.this, node.expression)
    if kind is None or kind in (INT, BIGINT):
        return _plain(node, *parts)
    if kind is FLOAT:
        return cast(exp.Paren(this=_plain(node, *(cast(part, "float") for part in parts))), "double")
    if kind is DOUBLE:
        return _plain(node, *(convert(part, DOUBLE) for part in parts))
    kinds = [_operand(part, part_kind) for part in parts if (part_kind := type_of(part))]
    operands = [
        cast(part, f"decimal({part_kind.digits},{part_kind.places})")
        for part, part_kind in zip(parts, kinds, strict=True)
    ]
    if isinstance(node, exp.Div | exp.Mod):
        return _divide(node, kind, kinds, operands)
    exact = _exactly(node, *kinds)
    if exact.places > MOST_DIGITS:
        return _only_spark(_sql(kind))
    result = type(node)(this=operands[0], expression=operands[1])
    return cast(exp.Paren(this=result), _sql(kind)) if exact == kind else _without_loss(result, kind)


def round_number(node: exp.Expr) -> exp.Expr:
    """Return a rounded number: a double by its digits, half up, as Spark does."""
    source, kind, places = type_of(node.this), type_of(node), exp.Literal.number(round_places(node))
    if source is None or kind is None:
        return node.copy()
    if source in (FLOAT, DOUBLE):
        return call_function("spark_round", node.this, places)
    if not source.is_decimal:
        return cast(exp.Round(this=cast(node.this, "hugeint"), decimals=places), source.name)
    wider = decimal(min(source.digits + 1, MOST_DIGITS), source.places)
    return cast(exp.Round(this=cast(node.this, _sql(wider)), decimals=places), _sql(kind))


def whole(node: exp.Expr) -> exp.Expr:
    """Return CEIL or FLOOR, whose result has no places and may be large. DuckDB's own makes a double of a whole one."""
    kind = type_of(node)
    if type_of(node.this) in (INT, BIGINT):
        return cast(node.this.copy(), "bigint")
    if kind and kind.is_decimal:
        return cast(type(node)(this=node.this), _sql(kind))
    return call_function(f"spark_{node.key}", node.this)


def as_double(node: exp.Expr) -> exp.Expr:
    """Return a decimal as the double nearest to it, and any other number as it is."""
    kind = type_of(node)
    return call_function("spark_double", node) if kind and kind.is_decimal else node


def of_type(node: exp.Expr, kind: Number) -> exp.Expr:
    """Return a number in a type that holds it."""
    return cast(node, "double" if kind is FLOAT else _sql(kind))


def _sql(kind: Number) -> str:
    return f"decimal({kind.digits},{kind.places})" if kind.is_decimal else kind.name


def _plain(node: exp.Expr, first: exp.Expr, other: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Div | exp.Mod):
        other = exp.Nullif(this=exp.Paren(this=other), expression=exp.Literal.number(0))
    if isinstance(node, exp.Div):
        first, other = cast(first, "double"), cast(other, "double")
    return type(node)(this=first, expression=other)


def _divide(node: exp.Expr, kind: Number, kinds: Sequence[Number], parts: Sequence[exp.Expr]) -> exp.Expr:
    """Divide whole numbers, of which DuckDB has 128 bits: it knows no quotient of decimals, and no rest."""
    places, whole = exp.Literal.number(kind.places), [call_function("spark_unscaled", part) for part in parts]
    if isinstance(node, exp.Div):
        shift = exp.Literal.number(kind.places - kinds[0].places + kinds[1].places)
        return cast(call_function("spark_quotient", *whole, shift, places), _sql(kind))
    factors = [
        exp.Mul(this=part, expression=cast(exp.Literal.string(f"1e{kind.places - operand_kind.places}"), "hugeint"))
        for part, operand_kind in zip(whole, kinds, strict=True)
    ]
    return cast(call_function("spark_remainder", *factors, places), _sql(kind))


def _without_loss(exact: exp.Expr, kind: Number) -> exp.Expr:
    """Return a number in fewer places, or an error if they do not hold it."""
    size = f"DECIMAL({MOST_DIGITS},{kind.places})"
    fewer, fails = f"CAST(it AS {size})", f"CAST(CAST(spark_fails(it) AS VARCHAR) AS {size})"
    case = f"CASE WHEN it = {fewer} THEN {fewer} ELSE {fails} END"
    tree = sqlglot.parse_one(f"array_extract(list_transform([put_here], lambda it: {case}), 1)", read="duckdb")
    next(column for column in tree.find_all(exp.Column) if column.name == "put_here").replace(exact)
    return tree


def alike(node: exp.Expr) -> exp.Expr:
    """Return branches, or a comparison, whose numbers are all of the type in which Spark has them."""
    kind = common(type_of(part) for part in branches(node))
    if kind is None:
        return node.copy()
    if kind.digits > MOST_DIGITS:
        return _only_spark(f"decimal({MOST_DIGITS},{kind.places})" if isinstance(node, _BRANCHES) else "boolean")
    for part in branches(node):
        part.replace(convert(part.copy(), kind))
    return node.copy()


def _only_spark(kind: str) -> exp.Expr:
    return cast(cast(call_function("spark_fails", exp.Literal.number(0)), "text"), kind)


_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)
_TYPE_OF_OPERAND = (exp.Paren, exp.Neg, exp.Abs, exp.Min, exp.Max, exp.Nullif, exp.Filter, exp.Alias, exp.Distinct)
_BRANCHES = (exp.Coalesce, exp.Greatest, exp.Least, exp.Case, exp.If)
INEXACT = (exp.Exp, exp.Ln, exp.Pow)
"""Functions in whose last digit engines differ."""
_RESULT_TYPES: Mapping[type[exp.Expr], Number] = {
    **dict.fromkeys((exp.Sqrt, exp.Pow, exp.Exp, exp.Ln, exp.Sign, exp.Stddev, exp.StddevSamp, exp.StddevPop), DOUBLE),
    **dict.fromkeys((exp.Variance, exp.VariancePop, exp.Median, exp.Quantile), DOUBLE),
    **dict.fromkeys((exp.Count, exp.CountIf), BIGINT),
    **dict.fromkeys((exp.Length, exp.StrPosition, exp.DateDiff, exp.Year, exp.Quarter, exp.Month, exp.Day), INT),
    **dict.fromkeys((exp.DayOfMonth, exp.DayOfWeek, exp.DayOfYear, exp.WeekOfYear, exp.Hour, exp.Minute), INT),
    exp.Second: INT,
    **dict.fromkeys((exp.LastDay, exp.DateTrunc, exp.TsOrDsAdd, exp.TsOrDsToDate, exp.AddMonths), DATE),
}


def _of_whole(_: exp.Expr, kind: Number | None) -> Number | None:
    if kind is None or not kind.is_decimal:
        return kind and BIGINT
    return decimal(kind.digits - kind.places + 1, 0) if kind.places else kind


def _of_round(node: exp.Expr, kind: Number | None) -> Number | None:
    if kind is None or not kind.is_decimal:
        return kind
    places = round_places(node)
    whole = kind.digits - kind.places + 1
    if places < 0:
        return decimal(min(max(whole, -places + 1), MOST_DIGITS), 0)
    return decimal(min(whole + min(kind.places, places), MOST_DIGITS), min(kind.places, places))


def round_places(node: exp.Expr) -> int:
    places = node.args.get("decimals")
    return int(places.sql()) if places else 0


def _of_sum(_: exp.Expr, kind: Number | None) -> Number | None:
    if kind is None or not kind.is_decimal:
        return kind and (DOUBLE if kind in (FLOAT, DOUBLE) else BIGINT)
    return decimal(min(kind.digits + 10, MOST_DIGITS), kind.places)


def _of_mean(_: exp.Expr, kind: Number | None) -> Number | None:
    if kind is None or not kind.is_decimal:
        return kind and DOUBLE
    return _fit(decimal(kind.digits + 4, kind.places + 4))


_OF_ONE: Mapping[type[exp.Expr], Callable[[exp.Expr, Number | None], Number | None]] = {
    exp.Ceil: _of_whole,
    exp.Floor: _of_whole,
    exp.Round: _of_round,
    exp.Sum: _of_sum,
    exp.Avg: _of_mean,
}
