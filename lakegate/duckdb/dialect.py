"""Translation of Spark's SQL to DuckDB's, for reading rows without Spark. It knows no check, and opens no DuckDB.

DuckDB's own functions differ from Spark's at the limits of types and on unusual texts. MACROS define functions that
follow Spark by a value's type, and the caller must create them first. Where DuckDB cannot compute Spark's result, such
as a number that wraps around at its type's limit, the whole expression over the row is null, so that it is never false
by mistake. tests/spark compares both engines.
"""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import lru_cache
from typing import Any

import sqlglot
from sqlglot import exp
from sqlglot.dialects.duckdb import DuckDB

_SPACES = r"'^[\x00-\x20]+|[\x00-\x20]+$'"
_TRIMMED = f"regexp_replace(CAST(x AS VARCHAR), {_SPACES}, '', 'g')"
_NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)"
_REAL = "typeof(x) IN ('DOUBLE', 'FLOAT')"
_ISO = r"[0-9]{4}-[0-9]{2}-[0-9]{2}[ T][0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]{1,6})?"
_FAILS = "CAST('only Spark can say' || left(CAST(x AS VARCHAR), 0) AS DATE)"  # TRY turns its error into null
_OPEN = f"CAST({_FAILS} AS VARCHAR)"
_LONG_UPPER = "[ßŉǰΐΰև\u1e96-\u1e9e\u1f50-\u1fff\ufb00-\ufb17]"  # one letter in lower case, several in upper case

_RESERVED = {word.lower() for word in DuckDB.Tokenizer.KEYWORDS} | DuckDB.Generator.RESERVED_KEYWORDS


def _macro(name: str, takes: str, body: str) -> str:
    """Return a macro that evaluates each argument once. Otherwise nested macros would grow exponentially."""
    for value in takes.split(", "):
        body = re.sub(rf"\b{value}\b", f"_lakegate_{value}", body)
        body = f"list_transform([{value}], lambda _lakegate_{value}: {body})[1]"
    return f"CREATE MACRO {name}({takes}) AS {body}"


def _whole(kind: str, bits: int) -> str:
    """Return a cast to whole numbers: texts by their digits, fractions cut off, and overflow as in Java."""
    size = 2**bits
    low, high = -size // 2, size // 2 - 1
    digits = rf"TRY_CAST(regexp_replace({_TRIMMED}, '^([+-]?)([0-9]*).*$', '\10\2') AS HUGEINT)"
    return f"""CAST(CASE
        WHEN typeof(x) = 'BOOLEAN' THEN TRY_CAST(x AS HUGEINT)
        WHEN typeof(x) = 'VARCHAR' AND NOT regexp_full_match({_TRIMMED}, '{_NUMBER}') THEN NULL
        WHEN typeof(x) = 'VARCHAR' THEN CASE WHEN {digits} BETWEEN {low} AND {high} THEN {digits} END
        WHEN {_REAL} AND isnan(TRY_CAST(x AS DOUBLE)) THEN 0
        WHEN {_REAL} AND TRY_CAST(x AS DOUBLE) >= {high} THEN {high}
        WHEN {_REAL} AND TRY_CAST(x AS DOUBLE) <= {low} THEN {low}
        WHEN {_REAL} THEN CAST(trunc(TRY_CAST(x AS DOUBLE)) AS HUGEINT)
        ELSE (({digits} - {low}) % {size} + {size}) % {size} + {low}
    END AS {kind})"""


def _moment(kind: str, zone: str) -> str:
    """Return a cast to a timestamp. ISO texts are parsed, and others that Spark may accept make the row null."""
    return f"""CASE
        WHEN typeof(x) <> 'VARCHAR' THEN TRY_CAST(x AS {kind})
        WHEN regexp_full_match({_TRIMMED}, '{_ISO}{zone}') THEN TRY_CAST({_TRIMMED} AS {kind})
        WHEN regexp_matches({_TRIMMED}, '^[+-]?[0-9T]') THEN {_FAILS}
    END"""


_DOUBLE = f"""CASE
    WHEN typeof(x) <> 'VARCHAR' THEN TRY_CAST(x AS DOUBLE)
    WHEN regexp_full_match({_TRIMMED}, '{_NUMBER}([eE][+-]?[0-9]+)?[dDfF]?')
    THEN TRY_CAST(rtrim({_TRIMMED}, 'dDfF') AS DOUBLE)
    WHEN regexp_full_match(lower({_TRIMMED}), 'nan|[+-]?inf(inity)?') THEN TRY_CAST({_TRIMMED} AS DOUBLE)
END"""
_FLOAT = """CAST(CASE
    WHEN abs(spark_double(x)) > 3.4028235677973365e38 THEN sign(spark_double(x)) * CAST('inf' AS DOUBLE)
    ELSE spark_double(x)
END AS FLOAT)"""
_DIGITS = f"""CASE
    WHEN typeof(x) = 'BOOLEAN' THEN CAST(TRY_CAST(x AS INTEGER) AS VARCHAR)
    WHEN typeof(x) = 'FLOAT' THEN CAST(TRY_CAST(x AS DOUBLE) AS VARCHAR)
    WHEN typeof(x) <> 'VARCHAR' THEN CAST(x AS VARCHAR)
    WHEN regexp_full_match({_TRIMMED}, '{_NUMBER}([eE][+-]?[0-9]+)?') THEN {_TRIMMED}
END"""
_BOOLEAN = f"""CASE
    WHEN typeof(x) <> 'VARCHAR' THEN TRY_CAST(x AS BOOLEAN)
    WHEN lower({_TRIMMED}) IN ('t', 'true', 'y', 'yes', '1') THEN true
    WHEN lower({_TRIMMED}) IN ('f', 'false', 'n', 'no', '0') THEN false
END"""
_STRING = f"""CASE
    WHEN {_REAL} AND isnan(TRY_CAST(x AS DOUBLE)) THEN 'NaN'
    WHEN {_REAL} AND isinf(TRY_CAST(x AS DOUBLE))
    THEN CASE WHEN TRY_CAST(x AS DOUBLE) > 0 THEN 'Infinity' ELSE '-Infinity' END
    WHEN {_REAL} AND TRY_CAST(x AS DOUBLE) <> 0 AND NOT abs(TRY_CAST(x AS DOUBLE)) BETWEEN 0.001 AND 9999999
    THEN {_OPEN}
    WHEN typeof(x) LIKE 'DECIMAL%' AND regexp_matches(CAST(x AS VARCHAR), '^-?0[.]0000000') THEN {_OPEN}
    WHEN typeof(x) = 'BLOB' THEN {_OPEN}
    WHEN typeof(x) = 'TIMESTAMP WITH TIME ZONE' THEN regexp_replace(CAST(x AS VARCHAR), '[+]00$', '')
    ELSE CAST(x AS VARCHAR)
END"""
_DATE = f"""CASE
    WHEN typeof(x) <> 'VARCHAR' THEN TRY_CAST(x AS DATE)
    WHEN regexp_full_match({_TRIMMED}, '[0-9]{{4}}(-[0-9]{{1,2}}(-[0-9]{{1,2}}([ T].*)?)?)?')
    THEN TRY_CAST(regexp_extract({_TRIMMED} || '-01-01', '^[0-9]+-[0-9]+-[0-9]+') AS DATE)
    WHEN regexp_matches({_TRIMMED}, '^[+-]?[0-9]{{4}}') THEN {_FAILS}
END"""
# Spark's quotient of decimals is a decimal with so many places. `m` and `n` are the digits of a literal, or 0.
_DIVIDED = """CASE
    WHEN (typeof(x) LIKE 'DECIMAL%' OR typeof(y) LIKE 'DECIMAL%')
        AND typeof(x) NOT IN ('DOUBLE', 'FLOAT') AND typeof(y) NOT IN ('DOUBLE', 'FLOAT')
    THEN round(CAST(x AS DOUBLE) / CAST(NULLIF(y, 0) AS DOUBLE), spark_quotient_places(
        spark_digits_of(x, m) - spark_places_of(x) + spark_places_of(y),
        greatest(6, spark_places_of(x) + spark_digits_of(y, n) + 1)
    ))
    ELSE CAST(x AS DOUBLE) / CAST(NULLIF(y, 0) AS DOUBLE)
END"""
_DIGITS_OF = """CASE
    WHEN many > 0 THEN many
    WHEN typeof(x) LIKE 'DECIMAL%' THEN CAST(regexp_extract(typeof(x), '[0-9]+') AS INTEGER)
    WHEN typeof(x) = 'INTEGER' THEN 10 ELSE 20
END"""
_PLACES_OF = r"""CASE
    WHEN typeof(x) LIKE 'DECIMAL%' THEN CAST(regexp_extract(typeof(x), '([0-9]+)\)', 1) AS INTEGER) ELSE 0
END"""
_PLACES = "CASE WHEN before + places > 38 THEN greatest(38 - before, least(places, 6)) ELSE places END"
_SIGN = "CASE WHEN isnan(CAST(x AS DOUBLE)) THEN CAST(x AS DOUBLE) ELSE CAST(sign(x) AS DOUBLE) END"
_POWER = """CASE
    WHEN abs(CAST(x AS DOUBLE)) = 1 AND NOT isfinite(CAST(y AS DOUBLE)) THEN CAST('nan' AS DOUBLE)
    ELSE power(x, y)
END"""
_CUT = "substring(x, greatest(before, 0) + 1, greatest(before + many - greatest(before, 0), 0))"
_SUBSTRING = """CASE WHEN start IS NOT NULL AND many IS NOT NULL THEN spark_cut(
    x, CASE WHEN start > 0 THEN start - 1 WHEN start < 0 THEN length(x) + start ELSE 0 END, CAST(many AS BIGINT)
) END"""
_RIGHT = "CASE WHEN many <= 0 THEN left(x, 0) ELSE spark_substring(x, -CAST(many AS BIGINT), many) END"
_SUM = "CASE WHEN typeof(total) = 'HUGEINT' THEN total + 0 * CAST(total AS BIGINT) ELSE total END"

MACROS = (
    "CREATE MACRO unix_micros(moment) AS epoch_us(moment)",
    "CREATE MACRO unix_date(day) AS date_diff('day', DATE '1970-01-01', day)",
    _macro("spark_int", "x", _whole("INTEGER", 32)),
    _macro("spark_bigint", "x", _whole("BIGINT", 64)),
    _macro("spark_double", "x", _DOUBLE),
    _macro("spark_float", "x", _FLOAT),
    _macro("spark_digits", "x", _DIGITS),
    _macro("spark_boolean", "x", _BOOLEAN),
    _macro("spark_string", "x", _STRING),
    _macro("spark_date", "x", _DATE),
    _macro("spark_timestamp", "x", _moment("TIMESTAMPTZ", "(Z|[+-][0-9]{2}:[0-9]{2})?")),
    _macro("spark_timestamp_ntz", "x", _moment("TIMESTAMP", "")),
    *(
        _macro(
            f"spark_{name}",
            "x",
            f"CASE WHEN {_REAL} THEN spark_bigint({name}(TRY_CAST(x AS DOUBLE))) ELSE CAST({name}(x) AS BIGINT) END",
        )
        for name in ("ceil", "floor")
    ),
    _macro("spark_ln", "x", "CASE WHEN x > 0 THEN ln(x) END"),
    _macro("spark_sign", "x", _SIGN),
    _macro("spark_power", "x, y", _POWER),
    _macro("spark_digits_of", "x, many", _DIGITS_OF),
    _macro("spark_places_of", "x", _PLACES_OF),
    _macro("spark_quotient_places", "before, places", _PLACES),
    _macro("spark_divided", "x, y, m, n", _DIVIDED),
    _macro("spark_upper", "x", f"CASE WHEN regexp_matches(x, '{_LONG_UPPER}') THEN {_OPEN} ELSE upper(x) END"),
    _macro("spark_lower", "x", f"CASE WHEN regexp_matches(x, '[İΣ]') THEN {_OPEN} ELSE lower(x) END"),
    _macro("spark_cut", "x, before, many", _CUT),
    _macro("spark_substring", "x, start, many", _SUBSTRING),
    _macro("spark_right", "x, many", _RIGHT),
    _macro("spark_sum", "total", _SUM),
)
"""Functions that translated expressions call and DuckDB lacks."""

STRICTLY = "SET disabled_optimizers = 'expression_rewriter'"
"""A setting that keeps `n * 2 > 0` from becoming `n > 0` in DuckDB, which never overflows."""

_INT = exp.DataType.build("int")
_FARTHEST = exp.Literal.number(2**31 - 1)
_CASTS = {
    "INT": "spark_int",
    "BIGINT": "spark_bigint",
    "DOUBLE": "spark_double",
    "FLOAT": "spark_float",
    "BOOLEAN": "spark_boolean",
    "TEXT": "spark_string",
    "DATE": "spark_date",
    "TIMESTAMP": "spark_timestamp",
    "TIMESTAMPTZ": "spark_timestamp",
    "TIMESTAMPLTZ": "spark_timestamp",
    "TIMESTAMPNTZ": "spark_timestamp_ntz",
}


@lru_cache(maxsize=4096)
def translated(expression: str) -> str:
    """Return Spark's expression in DuckDB's SQL. Over a row it is null where only Spark knows the result."""
    holder = exp.Paren(this=sqlglot.parse_one(expression, read="spark"))  # the root, too, may be replaced
    of_a_row = not holder.find(exp.AggFunc, exp.Query)
    for node in reversed(list(holder.walk())):  # the innermost first
        if (put := _WORDS.get(type(node))) is not None:
            node.replace(put(node))
    said = str(holder.this.sql(dialect="duckdb"))
    return f"TRY({said})" if of_a_row else said


def digits_of_floats(expression: str, floats: Collection[str]) -> str:
    """Return a part of Spark's expression that depends on the decimal digits of 32-bit floats, or "" if there is none.
    An engine that reads them as 64-bit floats, as DuckDB does beside other numbers, has other digits.
    """
    for node in sqlglot.parse_one(expression, read="spark").find_all(exp.Round, exp.Cast):
        shown = isinstance(node, exp.Round) or node.is_type("text")
        if shown and not node.find(exp.Div) and any(column.name in floats for column in node.find_all(exp.Column)):
            return node.sql(dialect="spark")
    return ""


def backtracking(pattern: str) -> str:
    """Return the pattern with atomic groups made ordinary, for engines that have none."""
    return pattern.replace("(?>", "(?:")


def duckdb_identifier(column: str) -> str:
    return '"' + column.replace('"', '""') + '"'


def duckdb_text(text: str) -> str:
    """Return a text as SQL has it, which knows no escape but the doubled quote."""
    return "'" + text.replace("'", "''") + "'"


def duckdb_table(table: str) -> str:
    """Return a table's name with its namespace, which is one catalog's name to DuckDB, and its own in quotes."""
    return ".".join(map(duckdb_identifier, table.rsplit(".", 1)))


def addressed(table: str) -> str:
    """Return a table's name for SQL, with reserved words quoted, as in `"default".orders`."""
    return ".".join(duckdb_identifier(part) if part in _RESERVED else part for part in table.split("."))


def _called(name: str, *values: exp.Expr) -> exp.Expr:
    return exp.Anonymous(this=name, expressions=list(values))


def _by(name: str) -> Callable[[Any], exp.Expr]:
    return lambda node: _called(name, node.this)


def _cast(node: exp.Expr) -> exp.Expr:
    to = node.args["to"]
    if isinstance(node.this, exp.Literal) and to.this.value not in ("BOOLEAN", "TEXT"):
        return exp.Cast(this=node.this, to=to)  # the contract's reader has checked the literal
    if to.this.value == "DECIMAL":
        return exp.TryCast(this=_called("spark_digits", node.this), to=to)
    return _called(_CASTS[to.this.value], node.this) if to.this.value in _CASTS else node.copy()


def _as_int(node: exp.Expr) -> exp.Expr:
    """Cast to 32 bits a whole number that Spark has in 32 bits and DuckDB in 64."""
    return exp.Cast(this=node.copy(), to=_INT.copy())


def _place(node: exp.Expr) -> exp.Expr:
    """Return a position in a text, with any fraction cut off."""
    return node if isinstance(node, exp.Literal | exp.Neg) else _called("spark_int", node)


def _substring(node: exp.Expr) -> exp.Expr:
    length = node.args.get("length") or _FARTHEST.copy()
    return _called("spark_substring", node.this, _place(node.args["start"]), _place(length))


def _divided(node: exp.Expr) -> exp.Expr:
    one, other = node.this, node.expression
    digits = [exp.Literal.number(len(it.name) if it.is_int else 0) for it in (one, other)]
    return _called("spark_divided", one, other, *digits)


def _modulo(node: exp.Expr) -> exp.Expr:
    rest = exp.Nullif(this=exp.Paren(this=node.expression), expression=exp.Literal.number(0))
    return exp.Mod(this=node.this, expression=rest)


def _like(node: exp.Expr) -> exp.Expr:
    if isinstance(node.parent, exp.Escape):
        return node.copy()
    return exp.Escape(this=node.copy(), expression=exp.Literal.string("\\"))


def _trim(node: exp.Expr) -> exp.Expr:
    trimmed = node.copy()
    if not node.args.get("expression"):
        trimmed.set("expression", exp.Literal.string(" "))
    return trimmed


def _replaced(node: exp.Expr) -> exp.Expr:
    made = node.copy()
    if not node.args.get("replacement"):
        made.set("replacement", exp.Literal.string(""))
    return made


def _later(node: exp.Expr) -> exp.Expr:
    """Shift by months. In Spark the result is a date, for a timestamp, too."""
    made = exp.AddMonths(this=exp.Cast(this=node.this, to=exp.DataType.build("date")), expression=node.expression)
    return exp.Cast(this=made, to=exp.DataType.build("date"))


def _summed(node: exp.Expr) -> exp.Expr:
    if isinstance(node, exp.Sum) and isinstance(node.parent, exp.Filter):
        return node.copy()
    return _called("spark_sum", node.copy())


def _filtered(node: exp.Expr) -> exp.Expr:
    if isinstance(node.this, exp.CountIf):
        return _or_none(node)
    return _summed(node) if isinstance(node.this, exp.Sum) else node.copy()


def _counted(node: exp.Expr) -> exp.Expr:
    return node.copy() if isinstance(node.parent, exp.Filter) else _or_none(node)


def _or_none(node: exp.Expr) -> exp.Expr:
    """Return a count that is zero where DuckDB has none: if there is no row, or the condition is null in all."""
    return exp.Coalesce(this=node.copy(), expressions=[exp.Literal.number(0)])


def _quantile(node: exp.Expr) -> exp.Expr:
    """Return DuckDB's continuous quantile, which interpolates between two values as Spark does: in 64-bit floats, or a
    decimal's quantile would have no more places than the column.
    """
    number = exp.Cast(this=node.this, to=exp.DataType.build("double"))
    return _called("quantile_cont", number, node.args["quantile"])


def _exists(node: exp.Expr) -> exp.Expr:
    """Return the test that an array has an item for which the condition is true."""
    found = _called("list_filter", node.this, node.expression)
    return exp.GT(this=_called("len", found), expression=exp.Literal.number(0))


def _distinct(node: exp.Expr) -> exp.Expr:
    """Wrap items in lists, because DuckDB's list_distinct drops nulls."""
    of_lists = sqlglot.parse_one(f"list_transform({node.this.sql('duckdb')}, it -> [it])", read="duckdb")
    return exp.ArrayDistinct(this=of_lists)


def _pattern(node: exp.Expr) -> exp.Expr:
    return exp.RegexpLike(this=node.this, expression=exp.Literal.string(backtracking(node.expression.name)))


_PARTS: Sequence[type[exp.Expr]] = (
    *(exp.Length, exp.StrPosition, exp.DateDiff, exp.Year, exp.Quarter, exp.Month, exp.Day, exp.DayOfMonth),
    *(exp.DayOfYear, exp.WeekOfYear, exp.Hour, exp.Minute, exp.Second),
)
_WORDS: Mapping[type[exp.Expr], Callable[[Any], exp.Expr]] = {
    **dict.fromkeys(_PARTS, _as_int),
    exp.Cast: _cast,
    exp.TryCast: _cast,
    exp.Div: _divided,
    exp.Mod: _modulo,
    exp.Ceil: _by("spark_ceil"),
    exp.Floor: _by("spark_floor"),
    exp.Ln: _by("spark_ln"),
    exp.Sign: _by("spark_sign"),
    exp.IsNan: lambda node: exp.Coalesce(this=node.copy(), expressions=[exp.false()]),
    exp.Pow: lambda node: _called("spark_power", node.this, node.expression),
    exp.Lower: _by("spark_lower"),
    exp.Upper: _by("spark_upper"),
    exp.Trim: _trim,
    exp.Replace: _replaced,
    exp.Substring: _substring,
    exp.Left: lambda node: _called("spark_substring", node.this, exp.Literal.number(1), _place(node.expression)),
    exp.Right: lambda node: _called("spark_right", node.this, _place(node.expression)),
    exp.Like: _like,
    exp.DayOfWeek: lambda node: exp.Paren(this=exp.Add(this=node.copy(), expression=exp.Literal.number(1))),
    exp.AddMonths: _later,
    exp.Sum: _summed,
    exp.Filter: _filtered,
    exp.CountIf: _counted,
    exp.Quantile: _quantile,
    exp.Exists: _exists,
    exp.ArrayDistinct: _distinct,
    exp.RegexpLike: _pattern,
}
