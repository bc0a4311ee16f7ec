"""Fit of files' columns to the plan's, and the table's columns that result, in words that a file's owner understands.
It opens no file and changes no table.

A type may be narrower than the contract's if no value can be lost; the plan's policy decides on other differences.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import cast

from lakegate.audit.advice import Fault
from lakegate.audit.model.plan import Plan, SchemaPolicy, Stance, TableColumn
from lakegate.audit.schema import faults as messages
from lakegate.audit.schema.names import REPLACEMENT, display_name, fold
from lakegate.audit.schema.owners import reserved_for
from lakegate.audit.schema.partitions import IDENTITY, partition
from lakegate.audit.schema.types import (
    Array,
    Atom,
    Map,
    Struct,
    Type,
    holds,
    label_within,
    leaves,
    parse,
    parts,
    places,
    promotion,
    storage_of,
    strangers,
)

FILE_COLUMN = "_lakegate_file"
"""A column that every row carries: the id of the file version that it came from."""
CONTRACT_HASH = "lakegate.contract-hash"
"""A table property that holds the hash of the contract which its columns, and the last batch's rows, fit."""
NO_NEIGHBOURS: Mapping[str, Sequence[str]] = {}
UNKNOWN_TYPE = "void"
"""A type for a column without values, which has no type of its own: it is read as nulls of any other type."""

_NANOSECONDS = re.compile(r"TIMESTAMP\(NANOS")


@dataclass(frozen=True, kw_only=True)
class FileColumn:
    """A column of a file: its Spark SQL type, or the file's own name for a type that Spark does not read."""

    name: str
    type: str = ""
    unreadable: str = ""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """One file's fit: its faults with advice; its changes to the table; its columns that are not read; and the columns
    to read, with the file's own types, and nested fields named and ordered as in the table.
    """

    faults: tuple[Fault, ...] = ()
    evolves: tuple[str, ...] = ()
    discards: tuple[str, ...] = ()
    reads: tuple[FileColumn, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """A table's columns to be, the changes among them that come from these files and not the contract, and each file's
    fit.
    """

    columns: tuple[TableColumn, ...]
    evolves: tuple[str, ...]
    fits: tuple[Fit, ...]


def columns_of(plan: Plan) -> Struct:
    """Return the contract's columns with the types that a table stores."""
    return Struct({column.name: storage_of(parse(column.type)) for column in plan.columns})


def agree(
    plan: Plan,
    current: Struct | None,
    files: Sequence[Sequence[FileColumn]],
    neighbours: Mapping[str, Sequence[str]] = NO_NEIGHBOURS,
) -> Agreement:
    """Fit files to the table in the order they landed. Each may make the table grow; if two disagree, the later one is
    at fault.

    `current` are the table's columns at the attempt's base, or None if there is no table. `neighbours` are the columns
    of other tables, by name: a file may be one of theirs.
    """
    contract = Struct({column.name: parse(column.type) for column in plan.columns})
    before = table = _merge(columns_of(plan), current or Struct({}))
    fits: list[Fit] = []
    for columns in files:
        comparison = _Comparison(
            policy=plan.policy,
            partitions=plan.partitions,
            is_new=current is None,
            neighbours=neighbours,
            is_text=plan.files.kind.is_text,
        )
        union = comparison.file(columns, contract, table)
        by_itself = _Comparison(policy=plan.policy, partitions=plan.partitions).file(columns, contract, before)
        table, evolves = (table, ()) if comparison.faults else (union, tuple(_changes(before, by_itself)))
        fits.append(
            Fit(faults=tuple(dict.fromkeys(comparison.faults)), evolves=evolves, discards=tuple(comparison.discards))
        )
    read = [replace(fit, reads=_reads(columns, table, fit.discards)) for fit, columns in zip(fits, files, strict=True)]
    return Agreement(columns=_columns(plan, table), evolves=tuple(_changes(before, table)), fits=tuple(read))


def faults(plan: Plan, columns: Sequence[FileColumn]) -> tuple[Fault, ...]:
    """Return the faults of one file's columns if there is no table yet; none if it fits."""
    return agree(plan, None, [columns]).fits[0].faults


@dataclass(kw_only=True)
class _Comparison:
    """A comparison of one file's columns with the contract's and the table's, which has at least those. It collects
    faults and columns that are not read. `is_new` if there is no table yet: then the contract may still say anything.
    """

    policy: SchemaPolicy
    partitions: Sequence[str] = ()
    is_new: bool = True
    neighbours: Mapping[str, Sequence[str]] = field(default_factory=dict)
    phrase: str = "the contract says"
    is_text: bool = False
    faults: list[Fault] = field(default_factory=list)
    discards: list[str] = field(default_factory=list)

    def file(self, columns: Sequence[FileColumn], contract: Struct, table: Struct) -> Struct:
        """Return the table's columns with the file in it."""
        names, types = [column.name for column in columns], {column.name: _type_of(column) for column in columns}
        matches = [name for name in contract.fields if name in types or _alike(name, types)]
        if messages.is_of_another_table([*types], len(matches), len(contract.fields)) and self._lacks(matches):
            self.faults.append(
                messages.another_table(types, matches, [*contract.fields], self.neighbours, is_text=self.is_text)
            )
            return table
        if broken_names := _without_letters(Struct(types), contract):
            self.faults.append(messages.no_text(broken_names))
            return table
        self.faults += _repeat_faults(names)
        if self.policy.reordered_columns is Stance.FREEZE:
            self.faults += _order_faults([name for name in names if name in contract.fields], list(contract.fields))
        union = self.struct("", Struct(types), contract, table)
        self.faults += [] if self.faults or union == table else name_clashes(table, union)
        return union

    def _lacks(self, matches: Sequence[str]) -> bool:
        """Return True if columns of the contract that a file lacks are a fault."""
        return self.policy.missing_columns is not Stance.ALLOW or not matches

    def struct(self, label: str, actual: Struct, contract: Struct, table: Struct) -> Struct:
        union = dict(table.fields)
        self.faults += self.absent_columns(label, actual, contract)
        self.faults += self.unknown(label, actual, contract)
        for name, part in actual.fields.items():
            if name not in contract.fields and (
                new := self.new(label_within(label, actual, name), name, part, contract, table)
            ):
                union[name] = new
        for name, part in actual.fields.items():
            if name in contract.fields and (label or part != Atom(UNKNOWN_TYPE)):
                inner = label_within(label, actual, name)
                union[name] = self.part(inner, part, contract.fields[name], table.fields[name], name)
        return Struct(union)

    def absent_columns(self, label: str, actual: Struct, contract: Struct) -> Iterator[Fault]:
        """Yield faults of missing columns. A near match of a column's name is a fault under any policy: its values must
        not become nulls.
        """
        absent = [name for name in contract.fields if name not in actual.fields]
        near = {name: alike[0] for name in absent if (alike := _alike(name, actual.fields))}
        yield from (
            messages.renamed_column(label_within(label, contract, name), name, other) for name, other in near.items()
        )
        common = actual.fields.keys() & contract.fields.keys()  # if there is none, Spark reads the whole struct as null
        missing_names = [name for name in absent if name not in near]
        if self.policy.missing_columns is Stance.ALLOW and common:
            return
        if len(missing_names) > messages.MOST_NAMES:
            yield messages.many_missing(label, missing_names, len(contract.fields))
        else:
            yield from (
                messages.missing_column(label_within(label, contract, name), contract.fields[name])
                for name in missing_names
            )

    def unknown(self, label: str, actual: Struct, contract: Struct) -> Iterator[Fault]:
        """Yield faults of columns that the contract lacks, if it takes no new ones, or none of so like a name."""
        freezes = self.policy.new_columns is Stance.FREEZE
        unknown = {name: part for name, part in actual.fields.items() if name not in contract.fields}
        refusals = {name: part for name, part in unknown.items() if freezes or _alike(name, contract.fields)}
        new = {name: part for name, part in refusals.items() if not _is_renamed(name, actual, contract)}
        if index := [name for name in new if messages.INDEX.fullmatch(name) and not label]:
            yield messages.index(index)
        new = {name: part for name, part in new.items() if name not in index}
        if len(new) > messages.MOST_NAMES:
            yield messages.many_unknown(label, new, is_text=self.is_text)
        else:
            words = {name: label_within(label, actual, name) for name in new}
            yield from (messages.unknown(words[name], name, part, is_text=self.is_text) for name, part in new.items())

    def new(self, label: str, name: str, part: Type, contract: Struct, table: Struct) -> Type | None:
        if self.policy.new_columns is Stance.FREEZE or _alike(name, contract.fields):
            return None
        in_struct = label != name
        if part == Atom(UNKNOWN_TYPE) and not in_struct:
            self.discards.append(label)  # the column's type is unknown
            return None
        if self.policy.new_columns is Stance.DISCARD and not (in_struct and name in table.fields):
            self.discards.append(label)  # a field that the table has is read along with its struct
            return None
        if not in_struct and (owner := reserved_for(name)):
            self.faults.append(messages.reserved_name(label, owner))
            return None
        if name in table.fields:
            policy = replace(self.policy, missing_columns=Stance.ALLOW)  # the contract requires none of it
            kind = table.fields[name]
            return replace(self, policy=policy, phrase="the table has").part(label, part, kind, kind, name)
        wrong = self.why_not_new(name, part, table)
        self.faults += [messages.not_new(label, wrong)] if wrong else []
        return None if wrong else storage_of(part)

    def why_not_new(self, name: str, part: Type, table: Struct) -> str:
        if near := _alike(name, table.fields):
            return f"differs in case or spaces alone from {display_name(near[0])}, which the table has"
        if not _is_name(name):
            return "its name cannot be a column's"
        if bad := [inner for inner, place in places(part) if not _is_name(place[-1])]:
            return f"its field {display_name(bad[0])} has a name that cannot be a column's"
        if fold(name) in _partition_names(self.partitions):
            return "the table's partitions have that name"
        if kinds := list(strangers(part)):
            return (
                messages.NANOSECONDS if _NANOSECONDS.search(kinds[0]) else f"is {kinds[0]}, which a table cannot hold"
            )
        return ""

    def part(self, label: str, actual: Type, contract: Type, table: Type, name: str = "") -> Type:
        """Compare one part of the columns; a column itself has a `name`."""
        if isinstance(actual, Struct) and isinstance(contract, Struct) and isinstance(table, Struct):
            return self.struct(label, actual, contract, table)
        if isinstance(actual, Array) and isinstance(contract, Array) and isinstance(table, Array):
            inner = label_within(label, actual, "element")
            return Array(self.part(inner, actual.element, contract.element, table.element))
        if isinstance(actual, Map) and isinstance(contract, Map) and isinstance(table, Map):
            key, value = label_within(label, actual, "key"), label_within(label, actual, "value")
            return Map(
                self.key().part(key, actual.key, contract.key, table.key),
                self.part(value, actual.value, contract.value, table.value),
            )
        if isinstance(actual, Atom) and isinstance(contract, Atom) and isinstance(table, Atom):
            return self.atom(label, actual, contract, table, name)
        self.faults.append(self.type_fault(label, actual, contract, table, name))
        return table

    def type_fault(self, label: str, actual: Type, contract: Type, table: Type, name: str) -> Fault:
        if isinstance(actual, Atom) and _NANOSECONDS.search(actual.name):
            return messages.nanoseconds(label)
        are_atoms = isinstance(table, Atom) and isinstance(actual, Atom)
        is_fixed = not (self.is_new or (are_atoms and promotion(cast(Atom, table), cast(Atom, actual))))
        return messages.wrong_type(label, name, actual, contract, self.phrase, is_fixed=is_fixed)

    def key(self) -> "_Comparison":
        """Return the comparison of a map's keys, which lets no key evolve: Iceberg cannot change a map's keys."""
        new = Stance.FREEZE if self.policy.new_columns is Stance.EVOLVE else self.policy.new_columns
        return replace(self, policy=replace(self.policy, new_columns=new, widened_types=Stance.FREEZE))

    def atom(self, label: str, actual: Atom, contract: Atom, table: Atom, name: str) -> Atom:
        if holds(contract, actual):
            if actual != contract and self.policy.narrowed_types is Stance.FREEZE:
                self.faults.append(messages.narrower(label, actual, contract, self.phrase))
            return table
        wider = promotion(table, actual) if self.policy.widened_types is Stance.EVOLVE else None
        if wider is None:
            self.faults.append(self.type_fault(label, actual, contract, table, name))
        return wider or table


def _type_of(column: FileColumn) -> Type:
    return Atom(column.unreadable) if column.unreadable else parse(column.type)


def _merge(contract: Struct, current: Struct) -> Struct:
    """Return the contract's columns, widened to the table's types, followed by those that only the table has."""
    common = {name: _merge_types(part, current.fields.get(name, part)) for name, part in contract.fields.items()}
    return Struct({**common, **{name: part for name, part in current.fields.items() if name not in common}})


def _merge_types(contract: Type, current: Type) -> Type:
    if isinstance(contract, Struct) and isinstance(current, Struct):
        return _merge(contract, current)
    if isinstance(contract, Array) and isinstance(current, Array):
        return Array(_merge_types(contract.element, current.element))
    if isinstance(contract, Map) and isinstance(current, Map):
        return Map(_merge_types(contract.key, current.key), _merge_types(contract.value, current.value))
    if isinstance(contract, Atom) and isinstance(current, Atom):
        return promotion(current, contract) or contract
    return contract


def _reads(columns: Sequence[FileColumn], table: Struct, discards: Sequence[str]) -> tuple[FileColumn, ...]:
    types = {column.name: _type_of(column) for column in columns if column.name not in discards}
    return tuple(
        FileColumn(name=name, type=str(_reading(types[name], part)))
        for name, part in table.fields.items()
        if types.get(name, Atom(UNKNOWN_TYPE)) != Atom(UNKNOWN_TYPE)
    )


def _reading(actual: Type, table: Type) -> Type:
    """Return the type to read a part as. A cast between structs goes by position, so fields are read in the table's
    order, absent ones too.
    """
    if isinstance(actual, Struct) and isinstance(table, Struct):
        own_types = actual.fields
        return Struct({name: _reading(own_types.get(name, part), part) for name, part in table.fields.items()})
    if isinstance(actual, Array) and isinstance(table, Array):
        return Array(_reading(actual.element, table.element))
    if isinstance(actual, Map) and isinstance(table, Map):
        return Map(_reading(actual.key, table.key), _reading(actual.value, table.value))
    return actual


def _changes(before: Struct, after: Struct) -> list[str]:
    """Return the parts that are new in `after`, or have another type there: `"zip" string`, `"n" bigint, was int`."""
    leaves_before = dict(leaves(before))
    changes = [(label, leaf) for label, leaf in leaves(after) if leaves_before.get(label) != leaf]
    return [
        f"{display_name(label)} {leaf}" + (f", was {leaves_before[label]}" if label in leaves_before else "")
        for label, leaf in changes
    ]


def _columns(plan: Plan, table: Struct) -> tuple[TableColumn, ...]:
    columns_by_name = {column.name: column for column in plan.columns}
    return tuple(
        replace(columns_by_name.get(name) or TableColumn(name=name, type=""), type=str(part))
        for name, part in table.fields.items()
    )


def _alike(name: str, names: Iterable[str]) -> list[str]:
    """Return the other names that a person may confuse with this one."""
    return [other for other in _by_plain(tuple(names)).get(_plain(name), ()) if other != name]


@lru_cache(maxsize=64)  # each column of a file is compared with the same columns
def _by_plain(names: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    by_plain_name: dict[str, list[str]] = {}
    for name in names:
        by_plain_name.setdefault(_plain(name), []).append(name)
    return by_plain_name


def _is_renamed(name: str, actual: Struct, contract: Struct) -> bool:
    """Return True if a column of the contract is missing under this name: then one fault reports both."""
    return any(other not in actual.fields for other in _alike(name, contract.fields))


def _plain(name: str) -> str:
    return fold(name.strip())


def _without_letters(actual: Struct, contract: Struct) -> list[str]:
    """Return the columns and parts whose names have the sign that readers put for bytes that are no text, unless the
    contract has such a name.
    """
    known_labels = {label for label, _ in places(contract)}
    return [label for label, place in places(actual) if REPLACEMENT in place[-1] and label not in known_labels]


def _is_name(name: str) -> bool:
    return bool(name) and name.isprintable()


_Place = tuple[str, ...]
"""A path of names to a part of a table."""


def _short_places(of: Type, at: _Place = ()) -> Iterator[_Place]:
    """Yield the places as Iceberg shortens them: it omits the level of a struct that is an array's item or a map's
    value.
    """
    for name, part in parts(of):
        is_left_out = not isinstance(of, Struct) and isinstance(part, Struct) and name != "key"
        inner = at if is_left_out else (*at, name)
        yield inner
        yield from _short_places(part, inner)


def name_clashes(table: Struct, union: Struct) -> Iterator[Fault]:
    """Yield the faults of new parts whose name collides with another's: Iceberg writes a place with dots, and engines
    ignore case.
    """
    known_places = {place for _, place in places(table)}
    place_by_name = {fold(".".join(place)): place for place in (*_short_places(table), *known_places)}
    for _, place in places(union):
        name = fold(".".join(place))
        if place not in known_places and name in place_by_name:
            yield messages.name_clash(_place_text(place), _place_text(place_by_name[name]))
        place_by_name[name] = place


def _place_text(place: _Place) -> str:
    return ".".join(map(display_name, place))


def _repeat_faults(names: Sequence[str]) -> list[Fault]:
    """Return the faults of columns of one name: the engines that read the lake ignore case."""
    repeats = [messages.repeated_column(name, times) for name, times in Counter(names).items() if times > 1]
    spellings: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spellings.setdefault(fold(name), []).append(name)
    return repeats + [messages.alike(group) for group in spellings.values() if len(group) > 1]


def _order_faults(names: Sequence[str], contract: Sequence[str]) -> list[Fault]:
    due_order = [name for name in contract if name in names]
    wrong = [(name, due) for name, due in zip(names, due_order, strict=False) if name != due]
    return [messages.wrong_order(name, due) for name, due in wrong[:1]]


def _partition_names(partitions: Iterable[str]) -> set[str]:
    """Return Iceberg's names of the partition fields that have a transform."""
    return {fold(part.field) for part in map(partition, partitions) if part.transform != IDENTITY}
