"""A contract's rules without any engine's vocabulary, so that every engine checks the same. It checks nothing itself.

A range is one rule, and so is a length. A format is the same pattern for all engines, written as lakegate's own:
without capturing groups, and without nested repetition, which is slow in some engines.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

_OCTET = "(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])"
FORMATS = {
    "uuid": "^[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}$",
    "email": r"^[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]+@[A-Za-z0-9]+(?:[.-][A-Za-z0-9]+)*$",
    "ipv4": rf"^{_OCTET}\.{_OCTET}\.{_OCTET}\.{_OCTET}$",
    "date": "^[0-9]{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])$",
}


@dataclass(frozen=True, kw_only=True)
class Rule:
    """`kind`: required, range (low, high), one_of (values), pattern (a regular expression), length (shortest, longest),
    order (the columns), rows (more than), unique, refers (table, its column).
    """

    kind: str
    column: str = ""
    arguments: tuple[Any, ...] = ()

    @property
    def name(self) -> str:
        return f"{self.column} {self.kind}".strip()


def of(contract: Mapping[str, Any]) -> list[Rule]:
    """Return the rules of a contract's document."""
    [table] = contract["schema"]
    columns = table["properties"]
    ruled = [rule for column in columns for rule in _of_column(column)]
    return [*ruled, *_of_table(table)]


def _of_column(column: Mapping[str, Any]) -> Iterator[Rule]:
    name, options = column["name"], column.get("logicalTypeOptions", {})
    if column.get("required"):
        yield Rule(kind="required", column=name)
    if "minimum" in options:
        yield Rule(kind="range", column=name, arguments=(options["minimum"], options["maximum"]))
    if "enum" in column:
        yield Rule(kind="one_of", column=name, arguments=tuple(each["value"] for each in column["enum"]))
    if "pattern" in options or ("format" in options and column["logicalType"] == "string"):
        yield Rule(kind="pattern", column=name, arguments=(options.get("pattern") or FORMATS[options["format"]],))
    if "maxLength" in options:
        yield Rule(kind="length", column=name, arguments=(options.get("minLength", 0), options["maxLength"]))
    if column.get("unique"):
        yield Rule(kind="unique", column=name)
    for relation in column.get("relationships", ()):
        yield Rule(kind="refers", column=name, arguments=tuple(relation["to"].split(".")[-2:]))


def _of_table(table: Mapping[str, Any]) -> Iterator[Rule]:
    settings = {each["property"]: each["value"] for each in table.get("customProperties", ())}
    if settings.get("reorderedColumns") == "freeze":
        yield Rule(kind="order", arguments=tuple(column["name"] for column in table["properties"]))
    for check in table.get("quality", ()):
        yield Rule(kind="rows", arguments=(check["mustBeGreaterThan"],))
