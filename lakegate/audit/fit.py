"""Whether files' columns fit the plan's and what the table becomes by them, in words that a file's owner understands.
It opens no file and changes no table.

A type may be narrower than the contract's where no value can be lost; what else may differ is the plan's policy.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from lakegate.audit.names import folded
from lakegate.audit.partitions import IDENTITY, partition
from lakegate.audit.plan import Column, Plan, SchemaPolicy, Stance
from lakegate.audit.reserved import reserved_for
from lakegate.audit.types import (
    Array,
    Atom,
    Map,
    Struct,
    Type,
    holds,
    kept,
    kind,
    leaves,
    parse,
    parts,
    places,
    promoted,
    strangers,
    within,
)

FILE_COLUMN = "_lakegate_file"
"""The column that every row carries: the id of the file version that it came from."""
CONTRACT_HASH = "lakegate.contract-hash"
"""The table's property that names the contract which its columns, and the rows of the last batch, fit."""
NOTHING = "void"
"""The type of a column that has no type, because it has no values: it is read as nulls of any other."""

_NANOSECONDS = re.compile(r"TIMESTAMP\(NANOS")
_LONGEST = 60


@dataclass(frozen=True, kw_only=True)
class FileColumn:
    """A column as a file has it: its Spark SQL type, or what the file calls a type that Spark does not read."""

    name: str
    type: str = ""
    unreadable: str = ""


@dataclass(frozen=True, kw_only=True)
class Fit:
    """How one file fits: faults, one phrase each; what it asks of the table; which of its columns are not read; and the
    rest as they are to be read: of the file's own types, nested fields named and ordered as the table has them.
    """

    faults: tuple[str, ...] = ()
    evolves: tuple[str, ...] = ()
    discards: tuple[str, ...] = ()
    reads: tuple[FileColumn, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Agreement:
    """What the table will have, which of it came with these files and not with the contract, and how each fits."""

    columns: tuple[Column, ...]
    evolves: tuple[str, ...]
    fits: tuple[Fit, ...]


def columns_of(plan: Plan) -> Struct:
    """The contract's columns as a table keeps them."""
    return Struct({column.name: kept(parse(column.type)) for column in plan.columns})


def agree(plan: Plan, there: Struct | None, files: Sequence[Sequence[FileColumn]]) -> Agreement:
    """Judge files in the order they landed: each may make the table grow, and only a later one is at fault.

    `there` are the columns that the table has at the attempt's base, None where there is no table.
    """
    contract = Struct({column.name: parse(column.type) for column in plan.columns})
    before = table = _merged(columns_of(plan), there or Struct({}))
    fits: list[Fit] = []
    for found in files:
        judge = _Judge(policy=plan.policy, partitions=plan.partitions)
        grown = judge.file(found, contract, table)
        alone = _Judge(policy=plan.policy, partitions=plan.partitions).file(found, contract, before)
        table, evolves = (table, ()) if judge.faults else (grown, tuple(_changes(before, alone)))
        fits.append(Fit(faults=tuple(dict.fromkeys(judge.faults)), evolves=evolves, discards=tuple(judge.discards)))
    read = [replace(fit, reads=_reads(found, table, fit.discards)) for fit, found in zip(fits, files, strict=True)]
    return Agreement(columns=_columns(plan, table), evolves=tuple(_changes(before, table)), fits=tuple(read))


def faults(plan: Plan, found: Sequence[FileColumn]) -> tuple[str, ...]:
    """What is wrong with one file's columns where there is no table yet; none where it fits."""
    return agree(plan, None, [found]).fits[0].faults


def quoted(name: str) -> str:
    """A column's name for a message; it is a stranger's text, so it is kept to one line and short."""
    shown = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in name)
    return f'"{shown if len(shown) <= _LONGEST else shown[:_LONGEST] + "…"}"'


@dataclass(kw_only=True)
class _Judge:
    """One file's columns against the contract's and the table's, which has at least those. It gathers what is wrong and
    what is not read.
    """

    policy: SchemaPolicy
    partitions: Sequence[str] = ()
    says: str = "the contract says"
    faults: list[str] = field(default_factory=list)
    discards: list[str] = field(default_factory=list)

    def file(self, found: Sequence[FileColumn], contract: Struct, table: Struct) -> Struct:
        """The table as it will be with the file in it."""
        names = [column.name for column in found]
        self.faults += _repeated(names)
        if self.policy.reordered_columns is Stance.FREEZE:
            self.faults += _reordered([name for name in names if name in contract.fields], list(contract.fields))
        grown = self.struct("", Struct({column.name: _type_of(column) for column in found}), contract, table)
        self.faults += [] if self.faults or grown == table else confused(table, grown)
        return grown

    def struct(self, label: str, found: Struct, contract: Struct, table: Struct) -> Struct:
        grown = dict(table.fields)
        self.faults += self.missing(label, found, contract)
        for name, part in found.fields.items():
            if name not in contract.fields and (
                new := self.new(within(label, found, name), name, part, contract, table)
            ):
                grown[name] = new
        for name, part in found.fields.items():
            if name in contract.fields and (label or part != Atom(NOTHING)):
                inner = within(label, found, name)
                grown[name] = self.part(inner, part, contract.fields[name], table.fields[name])
        return Struct(grown)

    def missing(self, label: str, found: Struct, contract: Struct) -> Iterator[str]:
        """A name that is nearly a column's is a fault whatever the policy: its values must not become nulls."""
        some = found.fields.keys() & contract.fields.keys()  # without any, Spark takes the whole for null
        allowed = self.policy.missing_columns is Stance.ALLOW and some
        for name in [each for each in contract.fields if each not in found.fields]:
            near = _alike(name, found.fields)
            if near or not allowed:
                hint = f" (the file calls it {quoted(near[0])})" if near else ""
                yield f"column {quoted(within(label, contract, name))} is missing{hint}"

    def new(self, label: str, name: str, part: Type, contract: Struct, table: Struct) -> Type | None:
        if self.policy.new_columns is Stance.FREEZE or _alike(name, contract.fields):
            self.faults.append(f"column {quoted(label)} is not in the contract")
            return None
        in_struct = label != name
        if part == Atom(NOTHING) and not in_struct:
            self.discards.append(label)  # it says nothing of what the column would be
            return None
        if self.policy.new_columns is Stance.DISCARD and not (in_struct and name in table.fields):
            self.discards.append(label)  # a field that the table has is read with the struct around it
            return None
        if not in_struct and (whose := reserved_for(name)):
            self.faults.append(f"column {quoted(label)} is new and its name is reserved: it is {whose}'s own")
            return None
        if name in table.fields:
            policy = replace(self.policy, missing_columns=Stance.ALLOW)  # the contract asks for none of it
            there = table.fields[name]
            return replace(self, policy=policy, says="the table has").part(label, part, there, there)
        wrong = self.why_not_new(name, part, table)
        self.faults += [f"column {quoted(label)} is new and {wrong}"] if wrong else []
        return None if wrong else kept(part)

    def why_not_new(self, name: str, part: Type, table: Struct) -> str:
        if near := _alike(name, table.fields):
            return f"differs in case or spaces alone from {quoted(near[0])}, which the table has"
        if not _is_name(name):
            return "its name cannot be a column's"
        if bad := [inner for inner, place in places(part) if not _is_name(place[-1])]:
            return f"its field {quoted(bad[0])} has a name that cannot be a column's"
        if folded(name) in _partition_names(self.partitions):
            return "the table's partitions have that name"
        if kinds := list(strangers(part)):
            return NANOSECONDS if _NANOSECONDS.search(kinds[0]) else f"is {kinds[0]}, which a table cannot hold"
        return ""

    def part(self, label: str, found: Type, contract: Type, table: Type) -> Type:
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
            return self.atom(label, found, contract, table)
        self.faults.append(_mistyped(label, found, f"{self.says} {kind(contract)}"))
        return table

    def key(self) -> "_Judge":
        """Iceberg cannot change a map's keys."""
        new = Stance.FREEZE if self.policy.new_columns is Stance.EVOLVE else self.policy.new_columns
        return replace(self, policy=replace(self.policy, new_columns=new, widened_types=Stance.FREEZE))

    def atom(self, label: str, found: Atom, contract: Atom, table: Atom) -> Atom:
        if holds(contract, found):
            if found != contract and self.policy.narrowed_types is Stance.FREEZE:
                self.faults.append(f"column {quoted(label)} is {found}, narrower than {self.says}: {contract}")
            return table
        wider = promoted(table, found) if self.policy.widened_types is Stance.EVOLVE else None
        if wider is None:
            self.faults.append(_mistyped(label, found, f"{self.says} {contract}"))
        return wider or table


NANOSECONDS = "is a timestamp in nanoseconds: write it in microseconds"


def _type_of(column: FileColumn) -> Type:
    return Atom(column.unreadable) if column.unreadable else parse(column.type)


def _merged(contract: Struct, there: Struct) -> Struct:
    """The contract's columns, as wide as the table has them, and then those that the table alone has."""
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
    """A cast of one struct to another goes by position, so the parts are read in the table's order, absent ones too."""
    if isinstance(found, Struct) and isinstance(table, Struct):
        mine = found.fields
        return Struct({name: _reading(mine.get(name, part), part) for name, part in table.fields.items()})
    if isinstance(found, Array) and isinstance(table, Array):
        return Array(_reading(found.element, table.element))
    if isinstance(found, Map) and isinstance(table, Map):
        return Map(_reading(found.key, table.key), _reading(found.value, table.value))
    return found


def _changes(before: Struct, after: Struct) -> list[str]:
    """What the one has and the other has not, or has narrower: `"zip" string`, `"n" bigint, was int`."""
    known = dict(leaves(before))
    changed = [(label, leaf) for label, leaf in leaves(after) if known.get(label) != leaf]
    return [f"{quoted(label)} {leaf}" + (f", was {known[label]}" if label in known else "") for label, leaf in changed]


def _columns(plan: Plan, table: Struct) -> tuple[Column, ...]:
    known = {column.name: column for column in plan.columns}
    return tuple(
        replace(known.get(name) or Column(name=name, type=""), type=str(part)) for name, part in table.fields.items()
    )


def _alike(name: str, others: Iterable[str]) -> list[str]:
    """Names that a person may take for this one."""
    return [other for other in others if other != name and _plain(other) == _plain(name)]


def _plain(name: str) -> str:
    return folded(name.strip())


def _is_name(name: str) -> bool:
    return bool(name) and name.isprintable()


_Place = tuple[str, ...]
"""The names on the way to a part of a table."""


def _shortened(of: Type, at: _Place = ()) -> Iterator[_Place]:
    """The places that Iceberg knows, too: it leaves out that a struct is an item of an array, or a value of a map."""
    for name, part in parts(of):
        is_left_out = not isinstance(of, Struct) and isinstance(part, Struct) and name != "key"
        inner = at if is_left_out else (*at, name)
        yield inner
        yield from _shortened(part, inner)


def confused(table: Struct, grown: Struct) -> Iterator[str]:
    """New parts that would go by the name of another: Iceberg writes a place with dots, and engines ignore case."""
    known = {place for _, place in places(table)}
    taken = {folded(".".join(place)): place for place in (*_shortened(table), *known)}
    for _, place in places(grown):
        name = folded(".".join(place))
        if place not in known and name in taken:
            yield f"column {_spelled(place)} is new, and a table cannot tell it from {_spelled(taken[name])}"
        taken[name] = place


def _spelled(place: _Place) -> str:
    return ".".join(map(quoted, place))


def _repeated(names: Sequence[str]) -> list[str]:
    """Columns that cannot be told apart: the engines that read the lake ignore case."""
    same = [f"column {quoted(name)} is there {times} times" for name, times in Counter(names).items() if times > 1]
    spellings: dict[str, list[str]] = {}
    for name in dict.fromkeys(names):
        spellings.setdefault(folded(name), []).append(name)
    alike = [" and ".join(map(quoted, group)) for group in spellings.values() if len(group) > 1]
    return same + [f"columns {group} differ in case alone" for group in alike]


def _reordered(names: Sequence[str], contract: Sequence[str]) -> list[str]:
    wanted = [name for name in contract if name in names]
    wrong = [(name, due) for name, due in zip(names, wanted, strict=False) if name != due]
    return [f"column {quoted(name)} stands where the contract has {quoted(due)}" for name, due in wrong[:1]]


def _partition_names(partitions: Iterable[str]) -> set[str]:
    """What Iceberg calls the partition fields of transformed columns."""
    return {folded(each.field) for each in map(partition, partitions) if each.transform != IDENTITY}


def _mistyped(label: str, found: Type, wanted: str) -> str:
    if isinstance(found, Atom) and _NANOSECONDS.search(found.name):
        return f"column {quoted(label)} {NANOSECONDS}"
    return f"column {quoted(label)} is {kind(found)}, {wanted}"
