"""ODCS's `relationships`: foreign keys to tables of the lake, named `namespace.table.column`, checked by their rows.
The table itself is one of them.

A reference that the standard allows and that names no such column is refused, because nothing would check it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakegate.audit.model.plan import Reference, Severity
from lakegate.contracts.checks.check import CheckWithMetric, check_of, severest
from lakegate.contracts.checks.column_rules import warning_lines_of
from lakegate.contracts.columns.fields import Field, Fields
from lakegate.contracts.metrics.rows import orphans
from lakegate.contracts.odcs import vocabulary
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.examples import EXAMPLES
from lakegate.contracts.odcs.vocabulary import hint
from lakegate.counts import count

_TARGET = re.compile(r"(?P<table>[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*)\.(?P<column>[^./]+)")


@dataclass(frozen=True, kw_only=True)
class KeyOwner:
    """A contract's own table, which its keys refer from: `names` are those by which a `from` may call it."""

    table: str
    names: frozenset[str]
    fields: Fields
    severities: Mapping[str, Severity]  # by column; a key is as severe as the severest of its columns


def column_foreign_keys(column: Item, field: Field, of: KeyOwner) -> list[CheckWithMetric]:
    """Return the foreign keys of one column."""
    return [check for item in _relationships(column) if (check := _check(item, [field], of))]


def table_foreign_keys(table: Item, of: KeyOwner) -> list[CheckWithMetric]:
    """Return the foreign keys that are said of the whole table, of one column or several."""
    return [check for item in _relationships(table) if (check := _check(item, _from(item, of), of))]


def _relationships(owner: Item) -> list[Item]:
    entries = list(owner.entries("relationships"))
    for item in entries:
        vocabulary.check_words(item, vocabulary.RELATIONSHIP, vocabulary="a relationship")
    return entries


def _check(item: Item, fields: Sequence[Field], of: KeyOwner) -> CheckWithMetric | None:
    target = _target(item, fields, of)
    if target is None or not fields:
        return None
    if len(fields) != len(target.columns):
        item.fault(
            f"{count(len(fields), 'column')} cannot refer to {len(target.columns)}: each needs one, in the same order"
        )
        return None
    if len({field.name for field in fields}) < len(fields):
        item.fault("a column is in the key twice")
        return None
    labels = ", ".join(field.label for field in fields)
    name = f"{labels} refers to {target.table}.{', '.join(target.columns)}"
    severity = severest(of.severities[field.name] for field in fields)
    return check_of(
        name, orphans(fields, target), item.line, severity=severity, warning_lines=warning_lines_of(*fields)
    )


def _from(item: Item, of: KeyOwner) -> list[Field]:
    """Return the columns of this table that `from` names; return none, and note a fault, if one is not there."""
    entry = item.get("from")
    columns = [_own_column(entry, str(name), of) for name in _names_of(entry)] if entry else []
    known_columns = [field for field in columns if field]
    return known_columns if len(known_columns) == len(columns) else []


def _own_column(entry: Item, name: str, of: KeyOwner) -> Field | None:
    table, _, label = name.rpartition(".")
    for table_name in of.names:  # a column's name may have dots in it
        if name.startswith(f"{table_name}."):
            table, label = table_name, name.removeprefix(f"{table_name}.")
    labels = of.fields.by_name
    if table not in of.names:
        entry.fault(f"'from' is a column of this table, such as {of.table}.{label}, not {name!r}")
    elif label not in labels:
        entry.fault(f"the table has no column {label!r}{hint(label, labels)}")
    else:
        return labels[label]
    return None


def _target(item: Item, fields: Sequence[Field], of: KeyOwner) -> Reference | None:
    entry = item.get("to")
    if entry is None:
        return None
    if all(str(name).rpartition(".")[0] in of.names for name in _names_of(entry)):
        return _own_target(entry, fields, of)
    matches = [_TARGET.fullmatch(str(name)) for name in _names_of(entry)]
    full_matches = [match for match in matches if match]
    if len(full_matches) < len(matches):
        lake = "'to' must name columns of a table in the lake: write namespace.table.column"
        entry.fault(lake, EXAMPLES["to"])
        return None
    tables = {match["table"] for match in full_matches}
    columns = tuple(match["column"] for match in full_matches)
    if len(tables) > 1:
        entry.fault(f"a key refers to one table, and these are {' and '.join(sorted(tables))}")
    elif len(set(columns)) < len(columns):
        entry.fault("a column is in the key twice")
    else:
        return Reference(table=tables.pop(), columns=columns)
    return None


def _own_target(entry: Item, fields: Sequence[Field], of: KeyOwner) -> Reference | None:
    """Return the reference to columns of this table that others of it refer to, each of a type that can be equal.
    Return None, and note a fault, if there is none.
    """
    columns_or_none = [_own_column(entry, str(name), of) for name in _names_of(entry)]
    target_columns = [field for field in columns_or_none if field]
    if len(target_columns) < len(columns_or_none):
        return None
    for own_column, other in zip(fields, target_columns, strict=False):  # the caller compares how many there are
        if own_column.type.kind != other.type.kind or (
            own_column.type.has_nan and own_column.type.name != other.type.name
        ):
            entry.fault(
                f"{own_column.label} is {own_column.type.name} and {other.label} is {other.type.name}: never equal"
            )
            return None
    columns = tuple(field.name for field in target_columns)
    if columns == tuple(field.name for field in fields):
        entry.fault("a key that refers to itself always holds")
    elif len(set(columns)) < len(columns):
        entry.fault("a column is in the key twice")
    else:
        return Reference(table=of.table, columns=columns)
    return None


def _names_of(entry: Item) -> list[object]:
    return entry.value if isinstance(entry.value, list) else [entry.value]
