"""A sample file as values: its columns as the job would read them, and its rows. It opens no file."""

import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from lakegate.audit.model.files import FileFormat
from lakegate.audit.schema.names import display_name, fold
from lakegate.audit.schema.types import Type
from lakegate.errors import Refused


@dataclass(frozen=True, kw_only=True)
class Sample:
    """A sample of a table. `rows` have the file's own types or, of text, texts. `remarks` tell by column what a person
    should know of its type, and `nulls` how often its own texts mean no value.
    """

    name: str
    form: FileFormat
    columns: dict[str, Type]
    rows: pa.Table
    size: int
    remarks: Mapping[str, str] = field(default_factory=dict)
    nulls: Mapping[str, str] = field(default_factory=dict)


class NoContract(Refused):
    """No contract can be made that a sample passes: the message says why."""


def unfit(name: str, reason: str) -> NoContract:
    """Return the error for a file that no contract takes."""
    return NoContract(f"no contract takes {name}: {reason}")


def check_names(name: str, columns: Sequence[str]) -> None:
    """Raise NoContract if a file's columns have names that no table has."""
    for at, column in enumerate(columns, 1):
        if not column:
            raise unfit(name, f"column {at:,} has no name")
        if any(unicodedata.category(letter) in ("Cc", "Cs") for letter in column):
            raise unfit(name, f"the name of column {display_name(column)} has control characters")
    names: dict[str, str] = {}
    for column in columns:
        other = names.setdefault(fold(column), column)
        if other is not column:
            raise unfit(name, f"columns {display_name(other)} and {display_name(column)} are the same in any case")
