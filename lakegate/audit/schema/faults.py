"""Faults of a file's columns: each kind in a person's words, with what is to be written next.

A type is called by Spark's name where it is found, and described where somebody is asked to write it.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from lakegate.audit.advice import Advice, Fault, setting
from lakegate.audit.schema import lines
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Atom, Type, digits, kind
from lakegate.counts import count

INDEX = re.compile("__index_level_[0-9]+__")
"""Names of columns that Pandas gives to an index without a name."""
FEW = 3
"""So many names are listed one by one; of more, as many are named and the rest is counted."""
_STRING = re.compile("(?m)^( +logicalType: string)$")
_MOST_LINES = 20  # columns whose lines an advice has
_BELONGS = 4  # a file with fewer than one in so many of the contract's columns is of another table
_ALIKE = 0.75  # a file has at least this share of the columns of its table, and the table of the file's
_WORDS = {
    "boolean": "true or false",
    "tinyint": "whole numbers of 8 bits",
    "smallint": "whole numbers of 16 bits",
    "int": "whole numbers of 32 bits",
    "bigint": "whole numbers of 64 bits",
    "float": "numbers of 32 bits",
    "double": "numbers of 64 bits",
    "string": "text",
    "binary": "bytes",
    "date": "dates without a time",
    "timestamp": "timestamps with a time zone (UTC)",
    "timestamp_ntz": "timestamps without a time zone",
}
_NESTED = {"struct": "objects with fields", "array": "lists", "map": "maps of keys to values"}
NANOSECONDS = "is a timestamp in nanoseconds: write it in microseconds"


def named(names: Sequence[str]) -> str:
    """Return the names as a list, of which the end is counted: `"a", "b", "c" and 10 more`."""
    shown = ", ".join(map(display_name, names[:FEW]))
    return f"{shown} and {len(names) - FEW:,} more" if len(names) > FEW else shown


def described(of: Type) -> str:
    """Return what values of a type are, for whoever writes them."""
    if size := digits(of) if isinstance(of, Atom) else None:
        return f"decimals of {count(size[0], 'digit')}, {size[1]} of them after the point"
    return _WORDS.get(str(of)) or _NESTED.get(kind(of)) or kind(of)


def is_of_another_table(names: Sequence[str], known: int, wanted: int) -> bool:
    """Return True if a file with these columns, of which so many are known, is hardly one of a table that has as many
    as are `wanted`.
    """
    return wanted > 1 and known < len(names) and _BELONGS * known < wanted


def another_table(
    found: Mapping[str, Type],
    known: Sequence[str],
    wanted: Sequence[str],
    neighbours: Mapping[str, Sequence[str]],
    *,
    is_text: bool = False,
) -> Fault:
    """Return the fault of a file that is hardly one of the table, which says whose it is if it is a neighbour's."""
    has = f"it has {f'{len(known)}' if known else 'none'} of the contract's {count(len(wanted), 'column')}"
    said = f"this file is of another table: {has}"
    if whose := _whose(found, neighbours):
        advice = Advice(vendor=f"upload it to the place of {whose}'s files, and files with the contract's columns here")
        return Fault(f"{said}; its columns are those of {whose}", advice)
    own = [name for name in found if name not in known]
    there = _lines({name: found[name] for name in [*found][:_MOST_LINES]}, is_text=is_text)
    there += f"\n# and {len(found) - _MOST_LINES:,} more" if there and len(found) > _MOST_LINES else ""
    advice = Advice(
        vendor=f"send files with the contract's columns ({named(wanted)}) here, and these to their own table's place",
        contract="give it a table of its own: a contract with another location, and these properties",
        lines=there,
    )
    return Fault(f"{said}, and {named(own)} beside", advice)


def _whose(found: Collection[str], neighbours: Mapping[str, Sequence[str]]) -> str:
    """Return the table that a file has most columns of, or nothing if it lacks more than a few of any."""
    shares = {table: _share(found, columns) for table, columns in neighbours.items()}
    whose = max(shares, key=shares.__getitem__, default="")
    return whose if shares.get(whose, 0) >= _ALIKE else ""


def _share(found: Collection[str], columns: Sequence[str]) -> float:
    """Return how many of a table's columns a file has, and of a file's a table, as the smaller share."""
    both = sum(name in found for name in columns)
    return both / max(len(columns), len(found), 1)


def missing(label: str, wanted: Type) -> Fault:
    return Fault(
        f"column {display_name(label)} is missing",
        _missing(f"send column {display_name(label)} ({described(wanted)}), with nulls where there is no value"),
    )


def many_missing(label: str, names: Sequence[str], wanted: int) -> Fault:
    of = (
        f"the {count(wanted, 'field')} of {display_name(label)}"
        if label
        else f"the contract's {count(wanted, 'column')}"
    )
    said = f"{len(names):,} of {of} are missing: {named(names)}"
    return Fault(said, _missing("send them, with nulls where there is no value"))


def _missing(vendor: str) -> Advice:
    freed = "let files lack columns, whose values are then null, at the table of the contract"
    return Advice(vendor=vendor, contract=freed, lines=setting("missingColumns", "allow"))


def renamed(label: str, name: str, near: str) -> Fault:
    there = lines.renamed(name, near)
    return Fault(
        f"column {display_name(label)} is missing (the file calls it {display_name(near)})",
        Advice(
            vendor=f"call column {display_name(near)} {display_name(label)}",
            contract="write its name as the file has it" if there else "",
            lines=there,
        ),
    )


def _lines(found: Mapping[str, Type], *, is_text: bool) -> str:
    """Return the lines of columns. Text has no types: each column is called a string, for a person to correct."""
    said = lines.columns(found.items())
    return _STRING.sub(r"\1  # or the type of its values: text says none", said) if is_text else said


def index(names: Sequence[str]) -> Fault:
    """Return the fault of a frame's index that Pandas has written as columns."""
    said = f"{'column' if len(names) == 1 else 'columns'} {named(names)} {'is' if len(names) == 1 else 'are'} an index"
    vendor = "write the frame with index=False, or to name its index and write frame.reset_index(), if it has values"
    return Fault(f"{said} of Pandas, which the contract has not", Advice(vendor=vendor))


def unknown(label: str, name: str, found: Type, *, is_text: bool = False) -> Fault:
    return Fault(
        f"column {display_name(label)} is not in the contract",
        _unknown([label], _lines({name: found}, is_text=is_text), is_nested=label != name),
    )


def many_unknown(label: str, found: Mapping[str, Type], *, is_text: bool = False) -> Fault:
    what = f"fields of {display_name(label)}" if label else "columns"
    there = _lines(found, is_text=is_text) if len(found) <= _MOST_LINES else ""
    said = f"{len(found):,} {what} are not in the contract: {named([*found])}"
    return Fault(said, _unknown([*found], there, is_nested=bool(label)))


def _unknown(names: Sequence[str], there: str, *, is_nested: bool) -> Advice:
    them = "it" if len(names) == 1 else "them"
    vendor = f"leave out {named(names)}"
    if not there:
        let = f"let such {'a column' if len(names) == 1 else 'columns'} go unread, at the table of the contract"
        return Advice(vendor=vendor, contract=let, lines=setting("newColumns", "discard"))
    where = "that column's own properties" if is_nested else "the contract's properties"
    return Advice(vendor=vendor, contract=f"add {them} to {where}", lines=there)


def broken_text(rows: Mapping[str, int]) -> tuple[Fault, ...]:
    """Return the faults of columns, and parts of them, with text that is not UTF-8, in so many rows each."""
    advice = Advice(vendor="write its text as UTF-8, or to convert it from the encoding that it came in")
    said = "has text that is not UTF-8, in"
    if len(rows) > FEW:
        of = f"{count(len(rows), 'column')} with text that is not UTF-8: {named([*rows])}"
        return (Fault(of, advice),)
    return tuple(
        Fault(f"column {display_name(label)} {said} {count(number, 'row')}", advice) for label, number in rows.items()
    )


def no_text(labels: Sequence[str]) -> Fault:
    """Return the fault of names with bytes that are no text, in place of which the labels have a sign."""
    what = "the name of column" if len(labels) == 1 else "the names of columns"
    said = f"{what} {named(labels)} {'is' if len(labels) == 1 else 'are'} not UTF-8"
    return Fault(said, Advice(vendor="write the names of its columns as UTF-8"))


def reserved(label: str, owner: str) -> Fault:
    said = f"column {display_name(label)} is new and its name is reserved: it is {owner}'s own"
    return Fault(said, _not_new(label))


def not_new(label: str, why: str) -> Fault:
    """Return the fault of a new column that the table cannot get."""
    return Fault(f"column {display_name(label)} is new and {why}", _not_new(label))


def _not_new(label: str) -> Advice:
    return Advice(
        vendor=f"leave out {display_name(label)}, or to write it under another name, of a type that tables have",
        contract="let new columns go unread, at the table of the contract",
        lines=setting("newColumns", "discard"),
    )


def mistyped(label: str, name: str, found: Type, wanted: Type, says: str, *, is_fixed: bool) -> Fault:
    """Return the fault of a column of another type. `is_fixed` if there is a table that cannot take on the file's."""
    said = wanted if isinstance(wanted, Atom) else kind(wanted)
    return Fault(
        f"column {display_name(label)} is {kind(found)}, {says} {said}",
        Advice(
            vendor=f"write column {display_name(label)} as {described(wanted)}",
            **_retyped(label, name, found, is_fixed=is_fixed),
        ),
    )


def narrower(label: str, found: Atom, wanted: Atom, says: str) -> Fault:
    return Fault(
        f"column {display_name(label)} is {found}, narrower than {says}: {wanted}",
        Advice(
            vendor=f"write column {display_name(label)} as {described(wanted)}",
            contract="let files have narrower types, which lose no value, at the table of the contract",
            lines=setting("narrowedTypes", "allow"),
        ),
    )


def nanoseconds(label: str) -> Fault:
    advice = Advice(vendor=f"write the timestamps of column {display_name(label)} in microseconds")
    return Fault(f"column {display_name(label)} {NANOSECONDS}", advice)


def _retyped(label: str, name: str, found: Type, *, is_fixed: bool) -> dict[str, str]:
    """Return what the contract's owner changes for another type, and the lines."""
    there = lines.column(name, found) if label == name else lines.type_of(found)
    if not there:
        return {}
    if is_fixed:
        own = "the table has the other type already, and a column's type can only widen"
        return {"contract": f"give such files a table of their own, for {own}; there, write", "lines": there}
    return {"contract": f"write the type of {display_name(label)} as the file has it", "lines": there}


def repeated(name: str, times: int) -> Fault:
    said = f"column {display_name(name)} is there {times} times"
    return Fault(said, Advice(vendor=f"write column {display_name(name)} once"))


def alike(names: Sequence[str]) -> Fault:
    said = f"columns {' and '.join(map(display_name, names))} differ in case alone"
    vendor = f"give them names that differ in more than case, or write {display_name(names[0])} alone"
    return Fault(said, Advice(vendor=vendor))


def reordered(name: str, due: str) -> Fault:
    return Fault(
        f"column {display_name(name)} stands where the contract has {display_name(due)}",
        Advice(
            vendor="write the columns in the contract's order",
            contract="let files have their columns in any order, at the table of the contract",
            lines=setting("reorderedColumns", "allow"),
        ),
    )


def confused(new: str, taken: str) -> Fault:
    """Return the fault of a new part that goes by another's name; both names are quoted."""
    said = f"column {new} is new, and a table cannot tell it from {taken}"
    return Fault(said, Advice(vendor=f"give {new} another name, without dots and not in other case"))
