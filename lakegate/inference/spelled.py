"""Types of columns of text, by the texts alone: a column has a type if the job would parse each of its values as one.

It is never more lenient than the job's own parsing; where it is in doubt, a column is text.
"""

# ruff: noqa: S608 - columns are quoted, and conditions are ours

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import duckdb

from lakegate.audit.schema.types import Atom, Type
from lakegate.counts import count
from lakegate.duckdb.dialect import duckdb_identifier, duckdb_text
from lakegate.inference.suggestions import is_personal
from lakegate.shown import shown, spelt

_CLOCK = "([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]{1,6})?)?"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_ZONE = "(Z|[+-](0[0-9]|1[0-7]):[0-5][0-9])"
_NUMBER = "[+-]?([0-9]{1,300}[.]?[0-9]{0,300}|[.][0-9]{1,300})([eE][+-]?[0-9]{1,3})?"
_WHOLE = "[+-]?[0-9]{1,30}"
_PADDED = "[+-]?0[0-9]+([.].*)?"
_NUMBERS = ("int", "bigint", "double")
_EXAMPLE = 40  # letters of a text that is shown
NULLS = ("NA", "N/A", "n/a", "NULL", "null", "None", "none", "\\N", "-", "?")
"""Texts that stand for no value where all other texts of a column are of one type."""
_SINCE = "DATE '0001-01-01'"
_A_DAY = f"coalesce(TRY_CAST(substr({{0}}, 1, 10) AS DATE) >= {_SINCE}, false)"
_TYPES: Mapping[str, tuple[str, str, str]] = {
    "boolean": ("(?i)(true|false)", "true", "BOOLEAN"),
    "int": (_WHOLE, "TRY_CAST({0} AS INTEGER) IS NOT NULL", "INTEGER"),
    "bigint": (_WHOLE, "TRY_CAST({0} AS BIGINT) IS NOT NULL", "BIGINT"),
    "double": (_NUMBER, "coalesce(isfinite(TRY_CAST({0} AS DOUBLE)), false)", "DOUBLE"),
    "date": (_DAY, f"coalesce(TRY_CAST({{0}} AS DATE) >= {_SINCE}, false)", "DATE"),
    "timestamp_ntz": (f"{_DAY}[T ]{_CLOCK}", _A_DAY, "TIMESTAMP"),
    "timestamp": (f"{_DAY}[T ]{_CLOCK}{_ZONE}", _A_DAY, "TIMESTAMPTZ"),
}
"""By type, the narrowest first: the form of its texts, the condition of one in that form, and DuckDB's own type."""
_BEYOND = "TRY_CAST({0} AS BIGINT) IS NULL"
SPELLINGS: Mapping[str, tuple[str, str]] = {
    "yyyy/MM/dd": ("[0-9]{4}/[0-9]{2}/[0-9]{2}", "%Y/%m/%d"),
    "dd.MM.yyyy": ("[0-9]{2}[.][0-9]{2}[.][0-9]{4}", "%d.%m.%Y"),
    "d.M.yyyy": ("[0-9]{1,2}[.][0-9]{1,2}[.][0-9]{4}", "%d.%m.%Y"),
    "dd/MM/yyyy": ("[0-9]{2}/[0-9]{2}/[0-9]{4}", "%d/%m/%Y"),
    "MM/dd/yyyy": ("[0-9]{2}/[0-9]{2}/[0-9]{4}", "%m/%d/%Y"),
    "d/M/yyyy": ("[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}", "%d/%m/%Y"),
    "M/d/yyyy": ("[0-9]{1,2}/[0-9]{1,2}/[0-9]{4}", "%m/%d/%Y"),
    "dd-MM-yyyy": ("[0-9]{2}-[0-9]{2}-[0-9]{4}", "%d-%m-%Y"),
    "MM-dd-yyyy": ("[0-9]{2}-[0-9]{2}-[0-9]{4}", "%m-%d-%Y"),
}
"""Spellings of dates as contracts have them, the form of their texts, and DuckDB's words for them."""


@dataclass(frozen=True, kw_only=True)
class Spelled:
    """A column's type, how its dates are spelled if not as ISO 8601 has them, the SQL of a value, and a remark."""

    type: Type
    value: str
    pattern: str = ""
    remark: str = ""


@dataclass(frozen=True, kw_only=True)
class Column:
    """A column of the relation `texts`. `nulls` are texts that stand for no value; in CSV, an empty one is no value of
    any type but text.
    """

    con: duckdb.DuckDBPyConnection
    name: str
    nulls: tuple[str, ...] = ()
    is_csv: bool = False

    @property
    def own(self) -> str:
        return duckdb_identifier(self.name)

    @property
    def text(self) -> str:
        """Text without spaces around it, which the job ignores."""
        return f"trim({self.own}, ' ')"

    @property
    def given(self) -> str:
        """Condition of a row in which there is a value of a type, if it is one."""
        none = (*self.nulls, "") if self.is_csv else self.nulls
        return f"{self.own} IS NOT NULL" + (f" AND {self.own} NOT IN ({listed(none)})" if none else "")

    def as_text(self, remark: str = "") -> Spelled:
        plain = f"CASE WHEN {self.own} NOT IN ({listed(self.nulls)}) THEN {self.own} END" if self.nulls else self.own
        return Spelled(type=Atom("string"), value=plain, remark=remark)

    def as_type(self, kind: str, value: str, pattern: str = "") -> Spelled:
        return Spelled(type=Atom(kind), value=f"CASE WHEN {self.given} THEN {value} END", pattern=pattern)

    def least(self, condition: str = "true") -> str | None:
        """Return the least of the texts for which a condition holds; None if it holds for none."""
        asked = f"SELECT min({self.own}) FROM texts WHERE {self.given} AND {condition}"
        [(text,)] = self.con.execute(asked).fetchall()
        return None if text is None else str(text)

    def fitting(self, example: str) -> list[str]:
        """Return the types and spellings of dates that all texts are of, and that the one example has the form of."""
        plain = example.strip(" ")
        asked = {
            word: f"{like(self.text, form)} AND {condition.format(self.text)}"
            for word, (form, condition) in _CONDITIONS.items()
            if re.fullmatch(form, plain)
        }
        if not asked:
            return []
        wrong = ", ".join(f"count_if(NOT ({said}))" for said in asked.values())
        [found] = self.con.execute(f"SELECT {wrong} FROM texts WHERE {self.given}").fetchall()
        return [word for word, many in zip(asked, found, strict=True) if not many]


def _of_spelling(words: str) -> str:
    return f"coalesce(CAST(try_strptime({{0}}, {duckdb_text(words)}) AS DATE) >= {_SINCE}, false)"


def listed(texts: Sequence[str]) -> str:
    """Return texts as SQL lists them."""
    return ", ".join(map(duckdb_text, texts))


def like(text: str, form: str) -> str:
    """Return the condition that a whole text has a form."""
    return f"regexp_full_match({text}, {duckdb_text(form)})"


_CONDITIONS: Mapping[str, tuple[str, str]] = {
    **{kind: (form, condition) for kind, (form, condition, _) in _TYPES.items()},
    **{said: (form, _of_spelling(words)) for said, (form, words) in SPELLINGS.items()},
}


def spelled(column: Column) -> Spelled:
    """Return the column's type."""
    if (example := column.least()) is None:
        return column.as_text("no value: the type is a guess")
    if not (fitting := column.fitting(example)):
        return column.as_text()
    kind = fitting[0]
    if kind in SPELLINGS:
        return _dates(column, fitting)
    if kind in _NUMBERS and (padded := column.least(like(column.text, _PADDED))) is not None:
        such = "" if is_personal(column.name) else f", such as {shown(padded[:_EXAMPLE], spelt)}"
        return column.as_text(f"digits with zeros in front{such}")
    if kind == "double" and column.least(f"{like(column.text, _WHOLE)} AND {_BEYOND.format(column.text)}") is not None:
        return column.as_text("whole numbers beyond 64 bits, of which a double would lose digits")
    return column.as_type(kind, f"TRY_CAST({column.text} AS {_TYPES[kind][2]})")


def _dates(column: Column, fitting: Sequence[str]) -> Spelled:
    """Return dates in their one spelling, or text if day and month could change places."""
    orders = dict[str, str]()
    for said in fitting:
        orders.setdefault(said.replace("dd", "d").replace("MM", "M"), said)
    if len(orders) > 1:
        told = " or as ".join(orders.values())
        return column.as_text(f"dates as {told}: if you know, say logicalType: date with that format")
    pattern, (_, words) = fitting[0], SPELLINGS[fitting[0]]
    return column.as_type("date", f"CAST(try_strptime({column.text}, {duckdb_text(words)}) AS DATE)", pattern)


def with_nulls(columns: Sequence[Column]) -> dict[str, int]:
    """Return the texts that stand for no value, by how often they do: without them, a column would be mere text."""
    needed = dict[str, int]()
    for column in columns:
        other = replace(column, nulls=NULLS)
        if not _has(column) or _is_typed(column) or not _is_typed(other):
            continue
        asked = f"SELECT {column.own}, count(*) FROM texts WHERE {column.own} IN ({listed(NULLS)}) GROUP BY ALL"
        for text, many in column.con.execute(asked).fetchall():
            needed[text] = needed.get(text, 0) + many
    return needed


def _has(column: Column) -> bool:
    """Return True if a text of the column is one of those that stand for no value."""
    return column.least(f"{column.own} IN ({listed(NULLS)})") is not None


def _is_typed(column: Column) -> bool:
    return spelled(column).type != Atom("string")


def remark_of_nulls(needed: Mapping[str, int]) -> str:
    """Return what the texts rest on, for a person."""
    return ", ".join(f"{count(many, 'field', 'says', 'say')} {text}" for text, many in needed.items())
