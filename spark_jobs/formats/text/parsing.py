"""Strict parsing in Spark SQL: from a text to a value of the contract's type, or null. It knows no files.

The patterns are `lakegate.audit.text.values`.
"""

from lakegate.audit.schema.types import canonical
from lakegate.audit.text.values import NO_NUMBER, NUMBER, SCIENTIFIC, spelling
from spark_jobs.jvm.spark_sql import literal

_PATTERN_FUNCTIONS = {"date": "to_date", "timestamp": "to_timestamp", "timestamp_ntz": "to_timestamp_ntz"}


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
        return f"try_add({_PATTERN_FUNCTIONS[kind]}({text}, {literal(pattern)}), INTERVAL '0' DAY)"
    cast = f"try_cast({text} AS {kind})"
    if kind in ("float", "double"):
        return _floating(text, kind, cast)
    like = spelling(kind)
    return f"CASE WHEN {text} RLIKE {literal(whole(like))} THEN {cast} END" if like else cast


def scientific(text: str, type_name: str) -> str:
    """Return the same for a decimal that may have an exponent. A cast would round, so its digits must be the text's."""
    kind, text = canonical(type_name), f"trim({text})"
    cast = f"try_cast({text} AS {kind})"
    is_exact = f"{text} RLIKE {literal(whole(SCIENTIFIC))} AND {_digits(text)} = {_digits(f'string({cast})')}"
    return f"coalesce({value(text, kind)}, CASE WHEN {is_exact} THEN {cast} END)"


def whole(pattern: str) -> str:
    """Return the pattern of a text that matches from start to end. `$` would match before a final line end, too, which
    casts ignore.
    """
    return rf"^(?:{pattern})\z"


def _floating(text: str, kind: str, cast: str) -> str:
    """Return the SQL of a floating-point number. One too large for the type is null: infinity must be spelled out."""
    finite = f"CASE WHEN abs({cast}) < {kind}('infinity') THEN {cast} END"
    no_number = f"WHEN {text} RLIKE {literal(whole(NO_NUMBER))} THEN {cast}"
    return f"CASE WHEN {text} RLIKE {literal(whole(NUMBER))} THEN {finite} {no_number} END"


def _digits(number: str) -> str:
    """Return the SQL of a number's digits without sign, point, exponent and the zeros that these add."""
    return f"trim('0' FROM regexp_replace({number}, {literal('[-+.]|[eE].*')}, ''))"
