"""Text of strangers as literals and names of other languages: each ends where it was meant to end."""

import json
import shlex

from lakegate.cli.terminal import clean
from lakegate.duckdb.dialect import duckdb_identifier, duckdb_text

shell = shlex.quote
sql_name, sql = duckdb_identifier, duckdb_text  # the standard's: a name in double quotes, a text in single ones


def python(text: str) -> str:
    """Return a string of Python's, in double quotes where that needs no escapes but those of quotes and backslashes."""
    return json.dumps(text, ensure_ascii=False) if text.isprintable() else repr(text)


def snowflake(text: str) -> str:
    """Return a text of Snowflake's SQL, in which a backslash escapes, too."""
    return sql(text.replace("\\", "\\\\"))


def java_property(text: str) -> str:
    """Return the value of a line in a file of Java's properties."""
    return "".join(char if char.isascii() and char.isprintable() and char != "\\" else _unit(char) for char in text)


def _unit(char: str) -> str:
    units = char.encode("utf-16-be", "surrogatepass")
    return "".join(f"\\u{units[at : at + 2].hex()}" for at in range(0, len(units), 2))


def comment(text: str) -> str:
    """Return a text that ends no line."""
    return clean(text)
