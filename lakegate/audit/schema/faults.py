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
MOST_NAMES = 3
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
_NESTED_WORDS = {"struct": "objects with fields", "array": "lists", "map": "maps of keys to values"}
NANOSECONDS = "is a timestamp in nanoseconds: write it in microseconds"


def listing(names: Sequence[str]) -> str:
    """Return the names as a list, of which the end is counted: `"a", "b", "c" and 10 more`."""
    first_names = ", ".join(map(display_name, names[:MOST_NAMES]))
    return f"{first_names} and {len(names) - MOST_NAMES:,} more" if len(names) > MOST_NAMES else first_names


def type_text(of: Type) -> str:
    """Return what values of a type are, for whoever writes them."""
    if size := digits(of) if isinstance(of, Atom) else None:
        return f"decimals of {count(size[0], 'digit')}, {size[1]} of them after the point"
    return _WORDS.get(str(of)) or _NESTED_WORDS.get(kind(of)) or kind(of)


def is_of_another_table(names: Sequence[str], matches: int, columns: int) -> bool:
    """Return True if a file with these columns, of which `matches` are known, is hardly one of a table with so many
    `columns`.
    """
    return columns > 1 and matches < len(names) and _BELONGS * matches < columns


def another_table(
    types: Mapping[str, Type],
    matches: Sequence[str],
    columns: Sequence[str],
    neighbours: Mapping[str, Sequence[str]],
    *,
    is_text: bool = False,
) -> Fault:
    """Return the fault of a file that is hardly one of the table, which says whose it is if it is a neighbour's."""
    has = f"it has {f'{len(matches)}' if matches else 'none'} of the contract's {count(len(columns), 'column')}"
    message = f"this file is of another table: {has}"
    if owner := _likely_table(types, neighbours):
        advice = Advice(vendor=f"upload it to the place of {owner}'s files, and files with the contract's columns here")
        return Fault(f"{message}; its columns are those of {owner}", advice)
    other_names = [name for name in types if name not in matches]
    new_lines = _lines({name: types[name] for name in [*types][:_MOST_LINES]}, is_text=is_text)
    new_lines += f"\n# and {len(types) - _MOST_LINES:,} more" if new_lines and len(types) > _MOST_LINES else ""
    advice = Advice(
        vendor=f"send files with the contract's columns ({listing(columns)}) here, "
        "and these to their own table's place",
        contract="give it a table of its own: a contract with another location, and these properties",
        lines=new_lines,
    )
    return Fault(f"{message}, and {listing(other_names)} beside", advice)


def _likely_table(names: Collection[str], neighbours: Mapping[str, Sequence[str]]) -> str:
    """Return the table that a file has most columns of, or nothing if it lacks more than a few of any."""
    shares = {table: _share(names, columns) for table, columns in neighbours.items()}
    owner = max(shares, key=shares.__getitem__, default="")
    return owner if shares.get(owner, 0) >= _ALIKE else ""


def _share(names: Collection[str], columns: Sequence[str]) -> float:
    """Return how many of a table's columns a file has, and of a file's a table, as the smaller share."""
    common = sum(name in names for name in columns)
    return common / max(len(columns), len(names), 1)


def missing_column(label: str, kind: Type) -> Fault:
    return Fault(
        f"column {display_name(label)} is missing",
        _missing_advice(f"send column {display_name(label)} ({type_text(kind)}), with nulls where there is no value"),
    )


def many_missing(label: str, names: Sequence[str], total: int) -> Fault:
    of = (
        f"the {count(total, 'field')} of {display_name(label)}" if label else f"the contract's {count(total, 'column')}"
    )
    message = f"{len(names):,} of {of} are missing: {listing(names)}"
    return Fault(message, _missing_advice("send them, with nulls where there is no value"))


def _missing_advice(vendor: str) -> Advice:
    way = "let files lack columns, whose values are then null, at the table of the contract"
    return Advice(vendor=vendor, contract=way, lines=setting("missingColumns", "allow"))


def renamed_column(label: str, name: str, near: str) -> Fault:
    line = lines.renamed_line(name, near)
    return Fault(
        f"column {display_name(label)} is missing (the file calls it {display_name(near)})",
        Advice(
            vendor=f"call column {display_name(near)} {display_name(label)}",
            contract="write its name as the file has it" if line else "",
            lines=line,
        ),
    )


def _lines(types: Mapping[str, Type], *, is_text: bool) -> str:
    """Return the lines of columns. Text has no types: each column is called a string, for a person to correct."""
    text = lines.columns(types.items())
    return _STRING.sub(r"\1  # or the type of its values: text says none", text) if is_text else text


def index(names: Sequence[str]) -> Fault:
    """Return the fault of a frame's index that Pandas has written as columns."""
    subject = f"column {listing(names)} is" if len(names) == 1 else f"columns {listing(names)} are"
    message = f"{subject} an index"
    vendor = "write the frame with index=False, or to name its index and write frame.reset_index(), if it has values"
    return Fault(f"{message} of Pandas, which the contract has not", Advice(vendor=vendor))


def unknown(label: str, name: str, kind: Type, *, is_text: bool = False) -> Fault:
    return Fault(
        f"column {display_name(label)} is not in the contract",
        _unknown([label], _lines({name: kind}, is_text=is_text), is_nested=label != name),
    )


def many_unknown(label: str, types: Mapping[str, Type], *, is_text: bool = False) -> Fault:
    parts = f"fields of {display_name(label)}" if label else "columns"
    new_lines = _lines(types, is_text=is_text) if len(types) <= _MOST_LINES else ""
    message = f"{len(types):,} {parts} are not in the contract: {listing([*types])}"
    return Fault(message, _unknown([*types], new_lines, is_nested=bool(label)))


def _unknown(names: Sequence[str], new_lines: str, *, is_nested: bool) -> Advice:
    pronoun = "it" if len(names) == 1 else "them"
    vendor = f"leave out {listing(names)}"
    if not new_lines:
        let = f"let such {'a column' if len(names) == 1 else 'columns'} go unread, at the table of the contract"
        return Advice(vendor=vendor, contract=let, lines=setting("newColumns", "discard"))
    place = "that column's own properties" if is_nested else "the contract's properties"
    return Advice(vendor=vendor, contract=f"add {pronoun} to {place}", lines=new_lines)


def broken_text(rows: Mapping[str, int]) -> tuple[Fault, ...]:
    """Return the faults of columns, and parts of them, with text that is not UTF-8, in so many rows each."""
    advice = Advice(vendor="write its text as UTF-8, or to convert it from the encoding that it came in")
    message = "has text that is not UTF-8, in"
    if len(rows) > MOST_NAMES:
        of = f"{count(len(rows), 'column')} with text that is not UTF-8: {listing([*rows])}"
        return (Fault(of, advice),)
    return tuple(
        Fault(f"column {display_name(label)} {message} {count(number, 'row')}", advice)
        for label, number in rows.items()
    )


def no_text(labels: Sequence[str]) -> Fault:
    """Return the fault of names with bytes that are no text, in place of which the labels have a sign."""
    subject = "the name of column" if len(labels) == 1 else "the names of columns"
    message = f"{subject} {listing(labels)} {'is' if len(labels) == 1 else 'are'} not UTF-8"
    return Fault(message, Advice(vendor="write the names of its columns as UTF-8"))


def reserved_name(label: str, owner: str) -> Fault:
    message = f"column {display_name(label)} is new and its name is reserved: it is {owner}'s own"
    return Fault(message, _not_new(label))


def not_new(label: str, reason: str) -> Fault:
    """Return the fault of a new column that the table cannot get."""
    return Fault(f"column {display_name(label)} is new and {reason}", _not_new(label))


def _not_new(label: str) -> Advice:
    return Advice(
        vendor=f"leave out {display_name(label)}, or to write it under another name, of a type that tables have",
        contract="let new columns go unread, at the table of the contract",
        lines=setting("newColumns", "discard"),
    )


def wrong_type(label: str, name: str, actual: Type, target: Type, source: str, *, is_fixed: bool) -> Fault:
    """Return the fault of a column of another type. `is_fixed` if there is a table that cannot take on the file's."""
    target_text = target if isinstance(target, Atom) else kind(target)
    return Fault(
        f"column {display_name(label)} is {kind(actual)}, {source} {target_text}",
        Advice(
            vendor=f"write column {display_name(label)} as {type_text(target)}",
            **_retype_advice(label, name, actual, is_fixed=is_fixed),
        ),
    )


def narrower(label: str, actual: Atom, target: Atom, source: str) -> Fault:
    return Fault(
        f"column {display_name(label)} is {actual}, narrower than {source}: {target}",
        Advice(
            vendor=f"write column {display_name(label)} as {type_text(target)}",
            contract="let files have narrower types, which lose no value, at the table of the contract",
            lines=setting("narrowedTypes", "allow"),
        ),
    )


def nanoseconds(label: str) -> Fault:
    advice = Advice(vendor=f"write the timestamps of column {display_name(label)} in microseconds")
    return Fault(f"column {display_name(label)} {NANOSECONDS}", advice)


def _retype_advice(label: str, name: str, actual: Type, *, is_fixed: bool) -> dict[str, str]:
    """Return what the contract's owner changes for another type, and the lines."""
    new_lines = lines.column(name, actual) if label == name else lines.type_of(actual)
    if not new_lines:
        return {}
    if is_fixed:
        reason = "the table has the other type already, and a column's type can only widen"
        return {"contract": f"give such files a table of their own, for {reason}; there, write", "lines": new_lines}
    return {"contract": f"write the type of {display_name(label)} as the file has it", "lines": new_lines}


def repeated_column(name: str, times: int) -> Fault:
    message = f"column {display_name(name)} is there {times} times"
    return Fault(message, Advice(vendor=f"write column {display_name(name)} once"))


def alike(names: Sequence[str]) -> Fault:
    message = f"columns {' and '.join(map(display_name, names))} differ in case alone"
    vendor = f"give them names that differ in more than case, or write {display_name(names[0])} alone"
    return Fault(message, Advice(vendor=vendor))


def wrong_order(name: str, due: str) -> Fault:
    return Fault(
        f"column {display_name(name)} stands where the contract has {display_name(due)}",
        Advice(
            vendor="write the columns in the contract's order",
            contract="let files have their columns in any order, at the table of the contract",
            lines=setting("reorderedColumns", "allow"),
        ),
    )


def name_clash(new: str, other_name: str) -> Fault:
    """Return the fault of a new part that goes by another's name; both names are quoted."""
    message = f"column {new} is new, and a table cannot tell it from {other_name}"
    return Fault(message, Advice(vendor=f"give {new} another name, without dots and not in other case"))
