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
from lakegate.audit.schema import faults as told
from lakegate.audit.schema.names import REPLACEMENT, display_name, folded
from lakegate.audit.schema.partitions import IDENTITY, partition
from lakegate.audit.schema.reserved import reserved_for
from lakegate.audit.schema.types import (
    Array,
    Atom,
    Map,
    Struct,
    Type,
    holds,
    kept,
    leaves,
    parse,
    parts,
    places,
    promoted,
    strangers,
    within,
)

FILE_COLUMN = "_lakegate_file"
"""A column that every row carries: the id of the file version that it came from."""
CONTRACT_HASH = "lakegate.contract-hash"
"""A table property that holds the hash of the contract which its columns, and the last batch's rows, fit."""
NO_NEIGHBOURS: Mapping[str, Sequence[str]] = {}
NOTHING = "void"
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
    return Struct({column.name: kept(parse(column.type)) for column in plan.columns})


def agree(
    plan: Plan,
    there: Struct | None,
    files: Sequence[Sequence[FileColumn]],
    neighbours: Mapping[str, Sequence[str]] = NO_NEIGHBOURS,
) -> Agreement:
    """Fit files to the table in the order they landed. Each may make the table grow; if two disagree, the later one is
    at fault.

    `there` are the table's columns at the attempt's base, or None if there is no table. `neighbours` are the columns of
    other tables, by name: a file may be one of theirs.
    """
    contract = Struct({column.name: parse(column.type) for column in plan.columns})
    before = table = _merged(columns_of(plan), there or Struct({}))
    fits: list[Fit] = []
    for found in files:
        comparison = _Comparison(
            policy=plan.policy,
            partitions=plan.partitions,
            is_new=there is None,
            neighbours=neighbours,
            is_text=plan.files.kind.is_text,
        )
        grown = comparison.file(found, contract, table)
        alone = _Comparison(policy=plan.policy, partitions=plan.partitions).file(found, contract, before)
        table, evolves = (table, ()) if comparison.faults else (grown, tuple(_changes(before, alone)))
        fits.append(
            Fit(faults=tuple(dict.fromkeys(comparison.faults)), evolves=evolves, discards=tuple(comparison.discards))
        )
    read = [replace(fit, reads=_reads(found, table, fit.discards)) for fit, found in zip(fits, files, strict=True)]
    return Agreement(columns=_columns(plan, table), evolves=tuple(_changes(before, table)), fits=tuple(read))


def faults(plan: Plan, found: Sequence[FileColumn]) -> tuple[Fault, ...]:
    """Return the faults of one file's columns if there is no table yet; none if it fits."""
    return agree(plan, None, [found]).fits[0].faults


@dataclass(kw_only=True)
class _Comparison:
    """A comparison of one file's columns with the contract's and the table's, which has at least those. It collects
    faults and columns that are not read. `is_new` if there is no table yet: then the contract may still say anything.
    """

    policy: SchemaPolicy
    partitions: Sequence[str] = ()
    is_new: bool = True
    neighbours: Mapping[str, Sequence[str]] = field(default_factory=dict)
    says: str = "the contract says"
    is_text: bool = False
    faults: list[Fault] = field(default_factory=list)
    discards: list[str] = field(default_factory=list)

    def file(self, found: Sequence[FileColumn], contract: Struct, table: Struct) -> Struct:
        """Return the table's columns with the file in it."""
        names, types = [column.name for column in found], {column.name: _type_of(column) for column in found}
        known = [name for name in contract.fields if name in types or _alike(name, types)]
        if told.is_of_another_table([*types], len(known), len(contract.fields)) and self._lacks(known):
            self.faults.append(
                told.another_table(types, known, [*contract.fields], self.neighbours, is_text=self.is_text)
            )
            return table
        if broken := _without_letters(Struct(types), contract):
            self.faults.append(told.no_text(broken))
            return table
        self.faults += _repeated(names)
        if self.policy.reordered_columns is Stance.FREEZE:
            self.faults += _reordered([name for name in names if name in contract.fields], list(contract.fields))
        grown = self.struct("", Struct(types), contract, table)
        self.faults += [] if self.faults or grown == table else confused(table, grown)
        return grown

    def _lacks(self, known: Sequence[str]) -> bool:
        """Return True if columns of the contract that a file lacks are a fault."""
        return self.policy.missing_columns is not Stance.ALLOW or not known

    def struct(self, label: str, found: Struct, contract: Struct, table: Struct) -> Struct:
        grown = dict(table.fields)
        self.faults += self.missing(label, found, contract)
        self.faults += self.unknown(label, found, contract)
        for name, part in found.fields.items():
            if name not in contract.fields and (
                new := self.new(within(label, found, name), name, part, contract, table)
            ):
                grown[name] = new
        for name, part in found.fields.items():
            if name in contract.fields and (label or part != Atom(NOTHING)):
                inner = within(label, found, name)
                grown[name] = self.part(inner, part, contract.fields[name], table.fields[name], name)
        return Struct(grown)

    def missing(self, label: str, found: Struct, contract: Struct) -> Iterator[Fault]:
        """Yield faults of missing columns. A near match of a column's name is a fault under any policy: its values must
        not become nulls.
        """
        lacking = [name for name in contract.fields if name not in found.fields]
        near = {name: alike[0] for name in lacking if (alike := _alike(name, found.fields))}
        yield from (told.renamed(within(label, contract, name), name, other) for name, other in near.items())
        some = found.fields.keys() & contract.fields.keys()  # if there is none, Spark reads the whole struct as null
        gone = [name for name in lacking if name not in near]
        if self.policy.missing_columns is Stance.ALLOW and some:
            return
        if len(gone) > told.FEW:
            yield told.many_missing(label, gone, len(contract.fields))
        else:
            yield from (told.missing(within(label, contract, name), contract.fields[name]) for name in gone)

    def unknown(self, label: str, found: Struct, contract: Struct) -> Iterator[Fault]:
        """Yield faults of columns that the contract lacks, if it takes no new ones, or none of so like a name."""
        freezes = self.policy.new_columns is Stance.FREEZE
        lacking = {name: part for name, part in found.fields.items() if name not in contract.fields}
        asked = {name: part for name, part in lacking.items() if freezes or _alike(name, contract.fields)}
        new = {name: part for name, part in asked.items() if not _is_renamed(name, found, contract)}
        if index := [name for name in new if told.INDEX.fullmatch(name) and not label]:
            yield told.index(index)
        new = {name: part for name, part in new.items() if name not in index}
        if len(new) > told.FEW:
            yield told.many_unknown(label, new, is_text=self.is_text)
        else:
            words = {name: within(label, found, name) for name in new}
            yield from (told.unknown(words[name], name, part, is_text=self.is_text) for name, part in new.items())

    def new(self, label: str, name: str, part: Type, contract: Struct, table: Struct) -> Type | None:
        if self.policy.new_columns is Stance.FREEZE or _alike(name, contract.fields):
            return None
        in_struct = label != name
        if part == Atom(NOTHING) and not in_struct:
            self.discards.append(label)  # the column's type is unknown
            return None
        if self.policy.new_columns is Stance.DISCARD and not (in_struct and name in table.fields):
            self.discards.append(label)  # a field that the table has is read along with its struct
            return None
        if not in_struct and (whose := reserved_for(name)):
            self.faults.append(told.reserved(label, whose))
            return None
        if name in table.fields:
            policy = replace(self.policy, missing_columns=Stance.ALLOW)  # the contract requires none of it
            there = table.fields[name]
            return replace(self, policy=policy, says="the table has").part(label, part, there, there, name)
        wrong = self.why_not_new(name, part, table)
        self.faults += [told.not_new(label, wrong)] if wrong else []
        return None if wrong else kept(part)

    def why_not_new(self, name: str, part: Type, table: Struct) -> str:
        if near := _alike(name, table.fields):
            return f"differs in case or spaces alone from {display_name(near[0])}, which the table has"
        if not _is_name(name):
            return "its name cannot be a column's"
        if bad := [inner for inner, place in places(part) if not _is_name(place[-1])]:
            return f"its field {display_name(bad[0])} has a name that cannot be a column's"
        if folded(name) in _partition_names(self.partitions):
            return "the table's partitions have that name"
        if kinds := list(strangers(part)):
            return told.NANOSECONDS if _NANOSECONDS.search(kinds[0]) else f"is {kinds[0]}, which a table cannot hold"
        return ""

    def part(self, label: str, found: Type, contract: Type, table: Type, name: str = "") -> Type:
        """Compare one part of the columns; a column itself has a `name`."""
        if isinstance(found, Struct) and isinstance(contract, Struct) and isinstance(table, Struct):
            return self.struct(label, found, contract, table)
        if isinstance(found, Array) and isinstance(contract, Array) and isinstance(table, Array):
            inner = within(label, found, "element")
            return Array(self.part(inner, found.element, contract.element, table.element))
        if isinstance(found, Map) and isinstance(contract, Map) and isinstance(table, Map):
            key, value = within(label, found, "key"), within(label, found, "value")
            return Map(
                self.key().part(key, found.key, contract.key, table.key),
                self.part(value, found.value, contract.value, table.value),
            )
        if isinstance(found, Atom) and isinstance(contract, Atom) and isinstance(table, Atom):
            return self.atom(label, found, contract, table, name)
        self.faults.append(self.mistyped(label, found, contract, table, name))
        return table

    def mistyped(self, label: str, found: Type, contract: Type, table: Type, name: str) -> Fault:
        if isinstance(found, Atom) and _NANOSECONDS.search(found.name):
            return told.nanoseconds(label)
        both = isinstance(table, Atom) and isinstance(found, Atom)
        is_fixed = not (self.is_new or (both and promoted(cast(Atom, table), cast(Atom, found))))
        return told.mistyped(label, name, found, contract, self.says, is_fixed=is_fixed)

    def key(self) -> "_Comparison":
        """Return the comparison of a map's keys, which lets no key evolve: Iceberg cannot change a map's keys."""
        new = Stance.FREEZE if self.policy.new_columns is Stance.EVOLVE else self.policy.new_columns
        return replace(self, policy=replace(self.policy, new_columns=new, widened_types=Stance.FREEZE))

    def atom(self, label: str, found: Atom, contract: Atom, table: Atom, name: str) -> Atom:
        if holds(contract, found):
            if found != contract and self.policy.narrowed_types is Stance.FREEZE:
                self.faults.append(told.narrower(label, found, contract, self.says))
            return table
        wider = promoted(table, found) if self.policy.widened_types is Stance.EVOLVE else None
        if wider is None:
            self.faults.append(self.mistyped(label, found, contract, table, name))
        return wider or table


def _type_of(column: FileColumn) -> Type:
    return Atom(column.unreadable) if column.unreadable else parse(column.type)


def _merged(contract: Struct, there: Struct) -> Struct:
    """Return the contract's columns, widened to the table's types, followed by those that only the table has."""
    both = {name: _both(part, there.fields.get(name, part)) for name, part in contract.fields.items()}
    return Struct({**both, **{name: part for name, part in there.fields.items() if name not in both}})


def _both(contract: Type, there: Type) -> Type:
    if isinstance(contract, Struct) and isinstance(there, Struct):
        return _merged(contract, there)
    if isinstance(contract, Array) and isinstance(there, Array):
        return Array(_both(contract.element, there.element))
    if isinstance(contract, Map) and isinstance(there, Map):
        return Map(_both(contract.key, there.key), _both(contract.value, there.value))
    if isinstance(contract, Atom) and isinstance(there, Atom):
        return promoted(there, contract) or contract
    return contract


def _reads(found: Sequence[FileColumn], table: Struct, discards: Sequence[str]) -> tuple[FileColumn, ...]:
    there = {column.name: _type_of(column) for column in found if column.name not in discards}
    return tuple(
        FileColumn(name=name, type=str(_reading(there[name], part)))
        for name, part in table.fields.items()
        if there.get(name, Atom(NOTHING)) != Atom(NOTHING)
    )


def _reading(found: Type, table: Type) -> Type:
    """Return the type to read a part as. A cast between structs goes by position, so fields are read in the table's
    order, absent ones too.
    """
    if isinstance(found, Struct) and isinstance(table, Struct):
        mine = found.fields
        return Struct({name: _reading(mine.get(name, part), part) for name, part in table.fields.items()})
    if isinstance(found, Array) and isinstance(table, Array):
        return Array(_reading(found.element, table.element))
    if isinstance(found, Map) and isinstance(table, Map):
        return Map(_reading(found.key, table.key), _reading(found.value, table.value))
    return found


def _changes(before: Struct, after: Struct) -> list[str]:
    """Return the parts that are new in `after`, or have another type there: `"zip" string`, `"n" bigint, was int`."""
    known = dict(leaves(before))
    changed = [(label, leaf) for label, leaf in leaves(after) if known.get(label) != leaf]
    return [
        f"{display_name(label)} {leaf}" + (f", was {known[label]}" if label in known else "") for label, leaf in changed
    ]


def _columns(plan: Plan, table: Struct) -> tuple[TableColumn, ...]:
    known = {column.name: column for column in plan.columns}
    return tuple(
        replace(known.get(name) or TableColumn(name=name, type=""), type=str(part))
        for name, part in table.fields.items()
    )


def _alike(name: str, others: Iterable[str]) -> list[str]:
    """Return the other names that a person may confuse with this one."""
    return [other for other in _by_plain(tuple(others)).get(_plain(name), ()) if other != name]


@lru_cache(maxsize=64)  # each column of a file is compared with the same columns
def _by_plain(names: tuple[str, ...]) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for name in names:
        found.setdefault(_plain(name), []).append(name)
    return found


def _is_renamed(name: str, found: Struct, contract: Struct) -> bool:
    """Return True if a column of the contract is missing under this name: then one fault tells both."""
    return any(other not in found.fields for other in _alike(name, contract.fields))


def _plain(name: str) -> str:
    return folded(name.strip())


def _without_letters(found: Struct, contract: Struct) -> list[str]:
    """Return the columns and parts whose names have the sign that readers put for bytes that are no text, unless the
    contract has such a name.
    """
    known = {label for label, _ in places(contract)}
    return [label for label, place in places(found) if REPLACEMENT in place[-1] and label not in known]


def _is_name(name: str) -> bool:
    return bool(name) and name.isprintable()


_Place = tuple[str, ...]
"""A path of names to a part of a table."""


def _shortened(of: Type, at: _Place = ()) -> Iterator[_Place]:
    """Yield the places as Iceberg shortens them: it omits the level of a struct that is an array's item or a map's
    value.
    """
    for name, part in parts(of):
        is_left_out = not isinstance(of, Struct) and isinstance(part, Struct) and name != "key"
        inner = at if is_left_out else (*at, name)
        yield inner
        yield from _shortened(part, inner)


def confused(table: Struct, grown: Struct) -> Iterator[Fault]:
    """Yield the faults of new parts whose name collides with another's: Iceberg writes a place with dots, and engines
    ignore case.
    """
    known = {place for _, place in places(table)}
    taken = {folded(".".join(place)): place for place in (*_shortened(table), *known)}
    for _, place in places(grown):
        name = folded(".".join(place))
        if place not in known and name in taken:
            yield told.confused(_spelled(place), _spelled(taken[name]))
        taken[name] = place


def _spelled(place: _Place) -> str:
    return ".".join(map(display_name, place))


def _repeated(names: Sequence[str]) -> list[Fault]:
    """Return the faults of columns that cannot be told apart: the engines that read the lake ignore case."""
    same = [told.repeated(name, times) for name, times in Counter(names).items() if times > 1]
    spellings: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spellings.setdefault(folded(name), []).append(name)
    return same + [told.alike(group) for group in spellings.values() if len(group) > 1]


def _reordered(names: Sequence[str], contract: Sequence[str]) -> list[Fault]:
    wanted = [name for name in contract if name in names]
    wrong = [(name, due) for name, due in zip(names, wanted, strict=False) if name != due]
    return [told.reordered(name, due) for name, due in wrong[:1]]


def _partition_names(partitions: Iterable[str]) -> set[str]:
    """Return Iceberg's names of the partition fields that have a transform."""
    return {folded(each.field) for each in map(partition, partitions) if each.transform != IDENTITY}
