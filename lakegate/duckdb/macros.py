r"""Functions that DuckDB lacks and translated expressions call: Spark's casts, and its words for texts and numbers.

A cast of a text has three answers: what both engines surely take, null for what both surely refuse, and an error for
all else, by which the row is left to Spark. Spark runs on several Javas, which differ in the letters that they know and
in the last digits of numbers; what they do not agree about is an error, too.
"""

import re

_SPACES = r"'^[\x00-\x20]+|[\x00-\x20]+$'"
_TRIM = f"regexp_replace(CAST(x AS VARCHAR), {_SPACES}, '', 'g')"
_NUMBER = r"[+-]?([0-9]+[.]?[0-9]*|[.][0-9]+)"
_REAL = "typeof(x) IN ('DOUBLE', 'FLOAT')"
_TEXT = "typeof(x) = 'VARCHAR'"
_DECIMAL = "typeof(x) LIKE 'DECIMAL%'"
_FAILS = "CAST('only Spark can say' || left(CAST(x AS VARCHAR), 0) AS DATE)"  # TRY turns its error into null
_OPEN = f"CAST({_FAILS} AS VARCHAR)"
_ODD_END = (
    r"regexp_matches(CAST(x AS VARCHAR), '^[\x00-\x20]*\x7f|\x7f[\x00-\x20]*$')"  # Spark trims DEL off some texts
)


def _macro(name: str, takes: str, body: str) -> str:
    """Return a macro that evaluates each argument once. Otherwise nested macros would grow exponentially."""
    for value in takes.split(", "):
        body = re.sub(rf"\b{value}\b", f"_lakegate_{value}", body)
        body = f"list_transform([{value}], lambda _lakegate_{value}: {body})[1]"
    return f"CREATE MACRO {name}({takes}) AS {body}"


# ------------------------------------------------------------------ whole numbers

_NO_WHOLE = r"[^0-9+.\x00-\x20\x7f-]|^[\x00-\x20]*$|[0-9.][\x00-\x20]*[+-]|[0-9.][\x00-\x20]+[0-9.]|[.][0-9]*[.]"


def _whole(kind: str, bits: int) -> str:
    """Return a cast to whole numbers: texts by their digits, fractions cut off, and overflow as in Java."""
    size = 2**bits
    low, high = -size // 2, size // 2 - 1
    digits = rf"TRY_CAST(regexp_replace({_TRIM}, '^([+-]?)([0-9]*).*$', '\10\2') AS HUGEINT)"
    return f"""CAST(CASE
        WHEN typeof(x) = 'BOOLEAN' THEN TRY_CAST(x AS HUGEINT)
        WHEN {_TEXT} AND regexp_full_match({_TRIM}, '{_NUMBER}')
        THEN CASE WHEN {digits} BETWEEN {low} AND {high} THEN {digits} END
        WHEN {_TEXT} AND regexp_matches(CAST(x AS VARCHAR), '{_NO_WHOLE}') THEN NULL
        WHEN {_TEXT} THEN CAST({_OPEN} AS HUGEINT)
        WHEN {_REAL} AND isnan(TRY_CAST(x AS DOUBLE)) THEN 0
        WHEN {_REAL} AND TRY_CAST(x AS DOUBLE) >= {high} THEN {high}
        WHEN {_REAL} AND TRY_CAST(x AS DOUBLE) <= {low} THEN {low}
        WHEN {_REAL} THEN CAST(trunc(TRY_CAST(x AS DOUBLE)) AS HUGEINT)
        ELSE (({digits} - {low}) % {size} + {size}) % {size} + {low}
    END AS {kind})"""


# ------------------------------------------------------------------ other numbers

_HALF = "CAST(CAST(2 * x - CAST(x AS FLOAT) AS FLOAT) AS DOUBLE) = 2 * x - CAST(x AS FLOAT) AND x <> CAST(x AS FLOAT)"
_DOUBLE = f"""CASE
    WHEN {_DECIMAL} THEN CAST(CAST(x AS VARCHAR) AS DOUBLE)
    WHEN NOT {_TEXT} THEN TRY_CAST(x AS DOUBLE)
    WHEN regexp_matches(CAST(x AS VARCHAR), '[^0-9A-Za-z+.\\x00-\\x20-]') THEN NULL
    WHEN regexp_full_match({_TRIM}, '{_NUMBER}([eE][+-]?[0-9]+)?[dDfF]?')
    THEN coalesce(TRY_CAST(rtrim({_TRIM}, 'dDfF') AS DOUBLE), CAST({_OPEN} AS DOUBLE))
    WHEN regexp_full_match(lower({_TRIM}), 'nan|[+-]?inf(inity)?') THEN TRY_CAST({_TRIM} AS DOUBLE)
    WHEN regexp_matches(lower({_TRIM}), '^[+-]?(0x|nan|inf)') THEN CAST({_OPEN} AS DOUBLE)
END"""
_SHORT = f"""CASE
    WHEN x IS NULL OR abs(x) > 3.4028235677973365e38 OR NOT isfinite(x) THEN
        CASE WHEN isnan(x) THEN x ELSE sign(x) * CAST('inf' AS DOUBLE) END
    WHEN {_HALF} THEN CAST({_OPEN} AS DOUBLE)
    ELSE CAST(CAST(x AS FLOAT) AS DOUBLE)
END"""
_FLOAT = f"""CASE
    WHEN {_TEXT} OR {_DECIMAL} THEN spark_text_float(spark_double(x))
    WHEN {_REAL} AND abs(CAST(x AS DOUBLE)) > 3.4028235677973365e38 AND isfinite(CAST(x AS DOUBLE))
    THEN sign(CAST(x AS DOUBLE)) * CAST('inf' AS DOUBLE)
    WHEN {_REAL} THEN CAST(CAST(CAST(x AS DOUBLE) AS FLOAT) AS DOUBLE)
    ELSE CAST(CAST(x AS FLOAT) AS DOUBLE)
END"""
_SURE = (  # digits of a number that every Java spells alike
    "(x = 0 OR abs(x) BETWEEN 0.001 AND 9999999 OR (abs(x) BETWEEN 1e-15 AND 1e15"
    " AND length(regexp_replace(CAST(x AS VARCHAR), 'e.*|[^0-9]', '', 'g')) <= 15))"
)
_DIGITS = f"""CASE
    WHEN typeof(x) = 'BOOLEAN' THEN CAST(TRY_CAST(x AS INTEGER) AS VARCHAR)
    WHEN {_REAL} THEN spark_real_digits(CAST(x AS DOUBLE))
    WHEN NOT {_TEXT} THEN CAST(x AS VARCHAR)
    WHEN regexp_full_match({_TRIM}, '{_NUMBER}') THEN {_TRIM}
    WHEN regexp_full_match({_TRIM}, '{_NUMBER}[eE][+-]?[0-9]+') THEN {_OPEN}
    WHEN regexp_matches(regexp_replace(CAST(x AS VARCHAR), '[0-9]', '', 'g'), '\\p{{N}}') THEN {_OPEN}
END"""
_REAL_DIGITS = f"""CASE
    WHEN NOT isfinite(x) THEN NULL
    WHEN {_SURE} THEN CAST(x AS VARCHAR) ELSE {_OPEN}
END"""
# A double is rounded by its digits, half up. Only near a half do these matter.
_ROUND = f"""CASE
    WHEN NOT isfinite(x) THEN x
    WHEN many >= 0 AND x = trunc(x) THEN x + 0.0
    WHEN abs(many) > 15 OR abs(x) * power(10e0, many) >= 1e14 THEN CAST({_OPEN} AS DOUBLE)
    WHEN abs(abs(x) * power(10e0, many) - floor(abs(x) * power(10e0, many)) - 0.5) > 0.001
    THEN sign(x) * round(abs(x) * power(10e0, many)) / power(10e0, many) + 0.0
    WHEN {_SURE}
    THEN sign(x) * CAST(floor(CAST(CAST(abs(x) AS VARCHAR) || 'e' || many AS DECIMAL(38, 20)) + 0.5) AS DOUBLE)
        / power(10e0, many) + 0.0
    ELSE CAST({_OPEN} AS DOUBLE)
END"""
# Decimals as whole numbers without their points. Beyond 128 bits DuckDB raises an error.
_ALL_DIGITS = "CAST(replace(CAST(x AS VARCHAR), '.', '') AS HUGEINT)"
_QUOTIENT = f"""CASE
    WHEN y = 0 THEN NULL
    WHEN abs(y) >= CAST('1e' || (38 - places) AS HUGEINT) THEN {_OPEN}
    ELSE CASE WHEN (x < 0) <> (y < 0) THEN '-' ELSE '' END
        || ((2 * abs(x) * CAST('1e' || shift AS HUGEINT) + abs(y)) // (2 * abs(y))) || 'e-' || places
END"""
_REMAINDER = "CASE WHEN y <> 0 THEN (x % y) || 'e-' || places END"
# The order of adding changes a number that is small beside what was added, unless each step is exact.
_SETTLE = """CASE
    WHEN x IS NULL OR NOT isfinite(x) OR exact OR many * size * 2.3e-16 <= 5e-10 * abs(x) THEN x
    ELSE spark_fails_double(x)
END"""
_SPREAD = """CASE
    WHEN x IS NULL OR NOT isfinite(x) OR alone OR many * 2.3e-16 * (1 + size / spread) <= 5e-10 THEN x
    ELSE spark_fails_double(x)
END"""
_SIGN = "CASE WHEN isnan(CAST(x AS DOUBLE)) THEN CAST(x AS DOUBLE) ELSE CAST(sign(x) AS DOUBLE) END"
# Java's and C's exponentials differ in the last digit, so they are asked with one more and one less.
_ERROR_FACTOR = "(1 + off * 4.5e-16)"
_EXP = f"CASE WHEN x = 0 OR NOT isfinite(x) THEN exp(x) ELSE exp(x) * {_ERROR_FACTOR} END"
_LN = f"CASE WHEN x = 1 THEN 0 WHEN x > 0 THEN ln(x) * {_ERROR_FACTOR} END"
_POWER = f"""CASE
    WHEN abs(x) = 1 AND NOT isfinite(y) THEN CAST('nan' AS DOUBLE)
    WHEN NOT isfinite(x) OR NOT isfinite(y) OR x = 0 OR y IN (0, 1) THEN power(x, y)
    WHEN x = trunc(x) AND y = trunc(y) AND y > 0 AND abs(power(x, y)) < 9e15 THEN power(x, y)
    ELSE power(x, y) * {_ERROR_FACTOR}
END"""
_SAME_RESULT = """CASE
    WHEN x[1] IS NOT DISTINCT FROM x[2] AND x[3] IS NOT DISTINCT FROM x[2] THEN x[2]
    WHEN spark_fails(0) IS NULL THEN x[2]
END"""
# Between two values as Spark does: each by its part, and not the difference.
_PERCENTILE = """CASE
    WHEN x[lower + 1] = x[upper + 1] THEN x[lower + 1]
    ELSE (upper - place) * x[lower + 1] + (place - lower) * x[upper + 1]
END"""
_QUANTILE = "spark_between(x, place, CAST(floor(place) AS BIGINT), CAST(ceil(place) AS BIGINT))"
_SUM = "CASE WHEN typeof(total) = 'HUGEINT' THEN total + 0 * CAST(total AS BIGINT) ELSE total END"

# ------------------------------------------------------------------ conditions, texts

_BOOLEAN = f"""CASE
    WHEN NOT {_TEXT} THEN TRY_CAST(x AS BOOLEAN)
    WHEN {_ODD_END} THEN CAST({_OPEN} AS BOOLEAN)
    WHEN lower({_TRIM}) IN ('t', 'true', 'y', 'yes', '1') THEN true
    WHEN lower({_TRIM}) IN ('f', 'false', 'n', 'no', '0') THEN false
END"""
_STRING = f"""CASE
    WHEN {_REAL} AND isnan(TRY_CAST(x AS DOUBLE)) THEN 'NaN'
    WHEN {_REAL} AND isinf(TRY_CAST(x AS DOUBLE))
    THEN CASE WHEN TRY_CAST(x AS DOUBLE) > 0 THEN 'Infinity' ELSE '-Infinity' END
    WHEN {_REAL} AND TRY_CAST(x AS DOUBLE) <> 0 AND NOT abs(TRY_CAST(x AS DOUBLE)) BETWEEN 0.001 AND 9999999
    THEN {_OPEN}
    WHEN {_DECIMAL} AND regexp_matches(CAST(x AS VARCHAR), '^-?0?[.]0000000') THEN {_OPEN}
    WHEN {_DECIMAL} THEN regexp_replace(CAST(x AS VARCHAR), '^(-?)[.]', '\\10.')
    WHEN typeof(x) = 'BLOB' THEN {_OPEN}
    WHEN (typeof(x) = 'DATE' OR typeof(x) LIKE 'TIMESTAMP%')
        AND NOT regexp_matches(CAST(x AS VARCHAR), '^[0-9]{{4}}-[^(]*$')
    THEN {_OPEN}
    WHEN typeof(x) = 'TIMESTAMP WITH TIME ZONE' THEN regexp_replace(CAST(x AS VARCHAR), '[+]00$', '')
    ELSE CAST(x AS VARCHAR)
END"""
# Letters whose other case every Java knows alike, one letter for one, and scripts that have no case.
_LETTERS_WITH_CASE = (
    "\u00c0-\u00d6\u00d8-\u00de\u00e0-\u00f6\u00f8-\u00ff\u0100-\u012f\u0134-\u0148\u014a-\u017e\u0386"
    "\u0388-\u038a\u038c\u038e\u038f\u0391-\u03a1\u03a4-\u03a9\u03ac-\u03af\u03b1-\u03c1"
    "\u03c4-\u03c9\u03cc\u03cd\u03ce\u0400-\u045f\u0490-\u04bf\u0531-\u0556\u0561-\u0586"
    "\uff21-\uff3a\uff41-\uff5a"
)
_LETTERS_WITHOUT_CASE = (
    r"\x00-\x7f"
    "\u00a0-\u00b4\u00b6-\u00bf\u00d7\u00f7\u0300-\u0344\u05d0-\u05ea\u0621-\u064a\u0660-\u0669\u0904-\u0939"
    "\u0e01-\u0e3a\u0e40-\u0e5b\u2000-\u206f\u20a0-\u20ac\u2190-\u22ff\u3000-\u30ff\u4e00-\u9fa5\uac00-\ud7a3"
    "\U0001f300-\U0001f5ff\U0001f600-\U0001f64f"
)
_SURE_LETTERS = f"[{_LETTERS_WITHOUT_CASE}{_LETTERS_WITH_CASE}]*"
_SUBSTRING_SQL = "substring(x, greatest(before, 0) + 1, greatest(before + many - greatest(before, 0), 0))"
_SUBSTRING = """CASE WHEN start IS NOT NULL AND many IS NOT NULL THEN spark_cut(
    x, CASE WHEN start > 0 THEN start - 1 WHEN start < 0 THEN length(x) + start ELSE 0 END, CAST(many AS BIGINT)
) END"""
_RIGHT = "CASE WHEN many <= 0 THEN left(x, 0) ELSE spark_substring(x, -CAST(many AS BIGINT), many) END"


def _letters(change: str, extra: str = "") -> str:
    return f"CASE WHEN regexp_full_match(x, '(?s){_SURE_LETTERS[:-2]}{extra}]*') THEN {change}(x) ELSE {_OPEN} END"


# ------------------------------------------------------------------ days and moments

_YEAR = "([0-9]{3}[1-9]|[0-9]{2}[1-9]0|[0-9][1-9]00|[1-9]000)"  # from 1 to 9999
_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]([.][0-9]{1,6})?"
_OFFSET = "(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])?"
_MAY_BE_DATE = "[+-]?[0-9]{4,7}(-[0-9]{1,2}(-[0-9]{1,2}([ T].*)?)?)?"
_MAY_BE_MOMENT = f"(?s){_MAY_BE_DATE}|[+-]?[0-9]{{1,2}}:.*|T.*"
_DATE = f"""CASE
    WHEN NOT {_TEXT} THEN TRY_CAST(x AS DATE)
    WHEN {_ODD_END} THEN {_FAILS}
    WHEN regexp_full_match({_TRIM}, '(?s){_YEAR}(-[0-9]{{1,2}}(-[0-9]{{1,2}}([ T].*)?)?)?')
    THEN TRY_CAST(regexp_extract({_TRIM} || '-01-01', '^[0-9]+-[0-9]+-[0-9]+') AS DATE)
    WHEN regexp_full_match({_TRIM}, '(?s){_MAY_BE_DATE}') THEN {_FAILS}
END"""


def _moment(kind: str, zone: str) -> str:
    return f"""CASE
        WHEN NOT {_TEXT} THEN TRY_CAST(x AS {kind})
        WHEN regexp_full_match({_TRIM}, '{_YEAR}-[0-9]{{2}}-[0-9]{{2}}([ T]{_CLOCK}{zone})?')
        THEN TRY_CAST({_TRIM} AS {kind})
        WHEN regexp_full_match({_TRIM}, '{_MAY_BE_MOMENT}') OR {_ODD_END} THEN {_FAILS}
    END"""


MACROS = (
    "CREATE MACRO unix_micros(moment) AS epoch_us(moment)",
    "CREATE MACRO unix_date(day) AS date_diff('day', DATE '1970-01-01', day)",
    _macro("spark_fails", "x", _FAILS),
    _macro("spark_int", "x", _whole("INTEGER", 32)),
    _macro("spark_bigint", "x", _whole("BIGINT", 64)),
    _macro("spark_double", "x", _DOUBLE),
    _macro("spark_text_float", "x", _SHORT),
    _macro("spark_float", "x", _FLOAT),
    _macro("spark_real_digits", "x", _REAL_DIGITS),
    _macro("spark_digits", "x", _DIGITS),
    _macro("spark_boolean", "x", _BOOLEAN),
    _macro("spark_string", "x", _STRING),
    _macro("spark_date", "x", _DATE),
    _macro("spark_timestamp", "x", _moment("TIMESTAMPTZ", _OFFSET)),
    _macro("spark_timestamp_ntz", "x", _moment("TIMESTAMP", "")),
    *(
        _macro(
            f"spark_{name}",
            "x",
            f"CASE WHEN {_REAL} THEN spark_bigint({name}(TRY_CAST(x AS DOUBLE))) ELSE CAST({name}(x) AS BIGINT) END",
        )
        for name in ("ceil", "floor")
    ),
    _macro("spark_round", "x, many", _ROUND),
    _macro("spark_fails_double", "x", f"CAST({_OPEN} AS DOUBLE)"),
    _macro("spark_settled", "x, size, many, exact", _SETTLE),
    _macro("spark_spread", "x, size, many, spread, alone", _SPREAD),
    _macro("spark_unscaled", "x", _ALL_DIGITS),
    _macro("spark_quotient", "x, y, shift, places", _QUOTIENT),
    _macro("spark_remainder", "x, y, places", _REMAINDER),
    _macro("spark_exp", "x, off", _EXP),
    _macro("spark_ln", "x, off", _LN),
    _macro("spark_sign", "x", _SIGN),
    _macro("spark_power", "x, y, off", _POWER),
    _macro("spark_same", "x", _SAME_RESULT),
    _macro("spark_between", "x, place, lower, upper", _PERCENTILE),
    _macro("spark_placed", "x, place", _QUANTILE),
    _macro("spark_percentile", "x, part", "spark_placed(list_sort(x), (len(x) - 1) * part)"),
    _macro("spark_upper", "x", _letters("upper", "ςΣσ")),
    _macro("spark_lower", "x", _letters("lower", "ςσ")),
    _macro("spark_cut", "x, before, many", _SUBSTRING_SQL),
    _macro("spark_substring", "x, start, many", _SUBSTRING),
    _macro("spark_right", "x, many", _RIGHT),
    _macro("spark_sum", "total", _SUM),
)
"""Statements that make the functions."""
