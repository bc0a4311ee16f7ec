"""Patterns of texts that are values of a type. Spark's casts are more lenient than a contract: they cut 1.5 to 1, round
decimals, and read 2013 as a date.

They match a whole text, mean the same to Java and to Python (of ASCII), and are tried without spaces around it.
"""

from lakegate.audit.schema.types import Atom, digits

NULLS = ("NA", "N/A", "n/a", "#N/A", "NULL", "null", "None", "none", "\\N", "-", "?")
"""Texts that often mean no value."""
UNSIGNED_NUMBER = "([0-9]+[.]?[0-9]*|[.][0-9]+)"
NUMBER = f"[+-]?{UNSIGNED_NUMBER}([eE][+-]?[0-9]+)?"
# Java takes hours to convert a number with millions of digits, or with such an exponent.
SHORT = "(?!.{1000})"
SCIENTIFIC = f"{SHORT}[+-]?{UNSIGNED_NUMBER}[eE][+-]?0*[0-9]{{1,3}}"
NO_NUMBER = "(?i)([+-]?inf(inity)?|nan)"
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_CLOCK = _DATE + "[T ][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]{1,6}0*)?)?"
_WHOLE = "[+-]?[0-9]+"
_NUMBER_FORMS = {
    "int": _WHOLE,
    "bigint": _WHOLE,
    "boolean": "(?i)(true|false)",
    "date": _DATE,
    "timestamp": _CLOCK + "(Z|[+-][0-9]{2}:[0-9]{2})?",
    "timestamp_ntz": _CLOCK,
}


def spelling(kind: str) -> str:
    """Return the pattern of a type's values, by its canonical name; "" if it has none. Floating-point numbers have
    NUMBER and NO_NUMBER.
    """
    return _decimal(kind) if digits(Atom(kind)) else _NUMBER_FORMS.get(kind, "")


def _decimal(kind: str) -> str:
    """Return the pattern of a decimal: at least one digit, and no more places than the type has, except zeros."""
    places = kind.rstrip(")").split(",")[1]
    return f"{SHORT}[+-]?(?=[.]?[0-9])[0-9]*([.][0-9]{{0,{places}}}0*)?"
