"""Strict parsing in Spark SQL: from a text to a value of the contract's type, or null. It knows no files.

Spark's casts are more lenient than a contract: they cut 1.5 to 1, round decimals, and read 2013 as a date.
"""

from lakegate.audit.schema.types import canonical
from spark_jobs.jvm.spark_sql import literal

_UNSIGNED = "([0-9]+[.]?[0-9]*|[.][0-9]+)"
_NUMBER = f"[+-]?{_UNSIGNED}([eE][+-]?[0-9]+)?"
# Java takes hours to convert a number with millions of digits, or with such an exponent.
_SHORT = "(?!.{1000})"
_SCIENTIFIC = f"{_SHORT}[+-]?{_UNSIGNED}[eE][+-]?0*[0-9]{{1,3}}"
_NO_NUMBER = "(?i)([+-]?inf(inity)?|nan)"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = _DATE + "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6}0*)?)?"
_WHOLE = "[+-]?[0-9]+"
_SPELLED = {
    "int": _WHOLE,
    "bigint": _WHOLE,
    "boolean": "(?i)(true|false)",
    "date": _DATE,
    "timestamp": _CLOCK + "(Z|[+-][0-9]{2}:[0-9]{2})?",
    "timestamp_ntz": _CLOCK,
}
_PATTERNED = {"date": "to_date", "timestamp": "to_timestamp", "timestamp_ntz": "to_timestamp_ntz"}


def value(text: str, type_name: str, pattern: str = "") -> str:
    """Return the SQL of a text (SQL itself) as a value of the type, null if it is none.

    Spaces around anything but a string are ignored. `pattern` spells dates and timestamps as Java's DateTimeFormatter
    does; without one they are ISO 8601.
    """
    kind = canonical(type_name)
    if kind == "string":
        return text
    text = f"trim({text})"
    if pattern:
        # These functions fail on a far-off year; `try_add` of nothing turns the error into null.
        return f"try_add({_PATTERNED[kind]}({text}, {literal(pattern)}), INTERVAL '0' DAY)"
    cast = f"try_cast({text} AS {kind})"
    if kind in ("float", "double"):
        return _floating(text, kind, cast)
    like = _decimal(kind) if kind.startswith("decimal") else _SPELLED.get(kind)
    return f"CASE WHEN {text} RLIKE {literal(whole(like))} THEN {cast} END" if like else cast


def scientific(text: str, type_name: str) -> str:
    """Return the same for a decimal that may have an exponent. A cast would round, so its digits must be the text's."""
    kind, text = canonical(type_name), f"trim({text})"
    cast = f"try_cast({text} AS {kind})"
    is_exact = f"{text} RLIKE {literal(whole(_SCIENTIFIC))} AND {_digits(text)} = {_digits(f'string({cast})')}"
    return f"coalesce({value(text, kind)}, CASE WHEN {is_exact} THEN {cast} END)"


def whole(pattern: str) -> str:
    """Return the pattern of a text that matches from start to end. `$` would match before a final line end, too, which
    casts ignore.
    """
    return rf"^(?:{pattern})\z"


def _floating(text: str, kind: str, cast: str) -> str:
    """Return the SQL of a floating-point number. One too large for the type is null: infinity must be spelled out."""
    finite = f"CASE WHEN abs({cast}) < {kind}('infinity') THEN {cast} END"
    spelled = f"WHEN {text} RLIKE {literal(whole(_NO_NUMBER))} THEN {cast}"
    return f"CASE WHEN {text} RLIKE {literal(whole(_NUMBER))} THEN {finite} {spelled} END"


def _decimal(kind: str) -> str:
    """Return the pattern of a decimal: at least one digit, and no more places than the type has, except zeros."""
    places = kind.rstrip(")").split(",")[1]
    return f"{_SHORT}[+-]?(?=[.]?[0-9])[0-9]*([.][0-9]{{0,{places}}}0*)?"


def _digits(number: str) -> str:
    """Return the SQL of a number's digits without sign, point, exponent and the zeros that these add."""
    return f"trim('0' FROM regexp_replace({number}, {literal('[-+.]|[eE].*')}, ''))"
