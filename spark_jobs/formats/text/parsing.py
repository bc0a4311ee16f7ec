"""From a text to a value of the contract's type, in Spark SQL: strictly, or null. It knows no files.

Spark's own casts are kinder than a contract: they cut 1.5 to 1, round decimals, and take 2013 for a date.
"""

from lakegate.audit.schema.types import canonical
from spark_jobs.jvm.spark_sql import literal

_UNSIGNED = "([0-9]+[.]?[0-9]*|[.][0-9]+)"
_NUMBER = f"[+-]?{_UNSIGNED}([eE][+-]?[0-9]+)?"
# Java takes hours to make a number of millions of digits, or of such an exponent.
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
    """The SQL of a text (a column of ours) as a value of the type, null where it is none.

    Spaces around anything but a string don't matter. `pattern` spells dates and timestamps as Java's DateTimeFormatter
    does; without one they are ISO 8601.
    """
    kind = canonical(type_name)
    if kind == "string":
        return text
    text = f"trim({text})"
    if pattern:
        # A year that is far out is an error to these; what tries to add nothing to what they give makes it null.
        return f"try_add({_PATTERNED[kind]}({text}, {literal(pattern)}), INTERVAL '0' DAY)"
    cast = f"try_cast({text} AS {kind})"
    if kind in ("float", "double"):
        return _floating(text, kind, cast)
    like = _decimal(kind) if kind.startswith("decimal") else _SPELLED.get(kind)
    return f"CASE WHEN {text} RLIKE {literal(whole(like))} THEN {cast} END" if like else cast


def scientific(text: str, type_name: str) -> str:
    """The same for a decimal that may have an exponent. A cast would round it: its digits must be those of the text."""
    kind, text = canonical(type_name), f"trim({text})"
    cast = f"try_cast({text} AS {kind})"
    is_exact = f"{text} RLIKE {literal(whole(_SCIENTIFIC))} AND {_digits(text)} = {_digits(f'string({cast})')}"
    return f"coalesce({value(text, kind)}, CASE WHEN {is_exact} THEN {cast} END)"


def whole(pattern: str) -> str:
    r"""The pattern of a text that is nothing else. `$` would let a line end stand behind it, which casts pass over."""
    return rf"^(?:{pattern})\z"


def _floating(text: str, kind: str, cast: str) -> str:
    """A number too large for the type would become infinite: that is said in words, or it is none."""
    finite = f"CASE WHEN abs({cast}) < {kind}('infinity') THEN {cast} END"
    said = f"WHEN {text} RLIKE {literal(whole(_NO_NUMBER))} THEN {cast}"
    return f"CASE WHEN {text} RLIKE {literal(whole(_NUMBER))} THEN {finite} {said} END"


def _decimal(kind: str) -> str:
    """Digits, and no more places than the type has, but for zeros; after the point or before it there are some."""
    places = kind.rstrip(")").split(",")[1]
    return f"{_SHORT}[+-]?(?=[.]?[0-9])[0-9]*([.][0-9]{{0,{places}}}0*)?"


def _digits(number: str) -> str:
    """A number without its sign, point and exponent, and the zeros that these add."""
    return f"trim('0' FROM regexp_replace({number}, {literal('[-+.]|[eE].*')}, ''))"
