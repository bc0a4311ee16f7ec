"""ODCS's `relationships`: foreign keys to tables of the lake, named `namespace.table.column`, checked by their rows.
The table itself is one of them.

A reference that the standard allows and that names no such column is refused, because nothing would check it.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from lakegate.audit.model.plan import Reference, Severity
from lakegate.contracts.checks.check import Checked, checked, severest
from lakegate.contracts.checks.column_rules import warned
from lakegate.contracts.columns.fields import Field, Fields
from lakegate.contracts.metrics.rows import orphans
from lakegate.contracts.odcs import vocabulary
from lakegate.contracts.odcs.document import Item
from lakegate.contracts.odcs.examples import EXAMPLES
from lakegate.contracts.odcs.vocabulary import hint
from lakegate.counts import count

_TARGET = re.compile(r"(?P<table>[a-z][a-z0-9_]*\.[a-z][a-z0-9_]*)\.(?P<column>[^./]+)")


@dataclass(frozen=True, kw_only=True)
class Referring:
    """A contract's own table, which its keys refer from: `names` are those by which a `from` may call it."""

    table: str
    names: frozenset[str]
    fields: Fields
    severities: Mapping[str, Severity]  # by column; a key is as severe as the severest of its columns


def column_foreign_keys(column: Item, field: Field, of: Referring) -> list[Checked]:
    """Return the foreign keys of one column."""
    return [made for item in _relationships(column) if (made := _check(item, [field], of))]


def table_foreign_keys(table: Item, of: Referring) -> list[Checked]:
    """Return the foreign keys that are said of the whole table, of one column or several."""
    return [made for item in _relationships(table) if (made := _check(item, _from(item, of), of))]


def _relationships(owner: Item) -> list[Item]:
    found = list(owner.each("relationships"))
    for item in found:
        vocabulary.check_words(item, vocabulary.RELATIONSHIP, where="a relationship")
    return found


def _check(item: Item, fields: Sequence[Field], of: Referring) -> Checked | None:
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
    return checked(name, orphans(fields, target), item.line, severity=severity, loosened=warned(*fields))


def _from(item: Item, of: Referring) -> list[Field]:
    """Return the columns of this table that `from` names; return none, and note a fault, if one is not there."""
    said = item.get("from")
    found = [_own(said, str(name), of) for name in _listed(said)] if said else []
    known = [field for field in found if field]
    return known if len(known) == len(found) else []


def _own(said: Item, name: str, of: Referring) -> Field | None:
    table, _, label = name.rpartition(".")
    for own in of.names:  # a column's name may have dots in it
        if name.startswith(f"{own}."):
            table, label = own, name.removeprefix(f"{own}.")
    labels = of.fields.by_name
    if table not in of.names:
        said.fault(f"'from' is a column of this table, such as {of.table}.{label}, not {name!r}")
    elif label not in labels:
        said.fault(f"the table has no column {label!r}{hint(label, labels)}")
    else:
        return labels[label]
    return None


def _target(item: Item, fields: Sequence[Field], of: Referring) -> Reference | None:
    said = item.get("to")
    if said is None:
        return None
    if all(str(name).rpartition(".")[0] in of.names for name in _listed(said)):
        return _own_target(said, fields, of)
    found = [_TARGET.fullmatch(str(name)) for name in _listed(said)]
    named = [match for match in found if match]
    if len(named) < len(found):
        lake = "'to' must name columns of a table in the lake: write namespace.table.column"
        said.fault(lake, EXAMPLES["to"])
        return None
    tables = {match["table"] for match in named}
    columns = tuple(match["column"] for match in named)
    if len(tables) > 1:
        said.fault(f"a key refers to one table, and these are {' and '.join(sorted(tables))}")
    elif len(set(columns)) < len(columns):
        said.fault("a column is in the key twice")
    else:
        return Reference(table=tables.pop(), columns=columns)
    return None


def _own_target(said: Item, fields: Sequence[Field], of: Referring) -> Reference | None:
    """Return the reference to columns of this table that others of it refer to, each of a type that can be equal.
    Return None, and note a fault, if there is none.
    """
    found = [_own(said, str(name), of) for name in _listed(said)]
    theirs = [field for field in found if field]
    if len(theirs) < len(found):
        return None
    for mine, other in zip(fields, theirs, strict=False):  # the caller compares how many there are
        if mine.type.kind != other.type.kind or (mine.type.has_nan and mine.type.name != other.type.name):
            said.fault(f"{mine.label} is {mine.type.name} and {other.label} is {other.type.name}: never equal")
            return None
    columns = tuple(field.name for field in theirs)
    if columns == tuple(field.name for field in fields):
        said.fault("a key that refers to itself always holds")
    elif len(set(columns)) < len(columns):
        said.fault("a column is in the key twice")
    else:
        return Reference(table=of.table, columns=columns)
    return None


def _listed(said: Item) -> list[object]:
    return said.value if isinstance(said.value, list) else [said.value]
