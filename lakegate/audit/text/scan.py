"""Inspection of a text file by what its lines show: its limits, its columns and its rows. It parses no value.

Rows that do not parse are among its rows; the append leaves them out.
"""

import csv
from collections.abc import Sequence
from dataclasses import dataclass

from lakegate.audit.advice import Advice, Fault, setting
from lakegate.audit.evaluation.mask import masked_columns, raw
from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import beyond_limits, more_than
from lakegate.audit.model.plan import Plan, Stance
from lakegate.audit.schema.faults import listing
from lakegate.audit.schema.fit import FileColumn
from lakegate.audit.schema.inspection import NO_ROWS, WRITTEN_ANEW, Inspection
from lakegate.audit.schema.names import display_name, fold
from lakegate.audit.text.dialect import dialect_fault
from lakegate.audit.text.fields import header_names
from lakegate.counts import count

_HEADER = Advice(
    vendor="write the columns' names in its first line",
    contract="say that files have no header, at the contract's landing server",
    lines=setting("header", "false"),
)
_NO_HEADER = Fault("its first line is no header: a name in it is too long, or broken in two", _HEADER)
_BLANK = Fault("its first line is blank: the names of its columns should stand there", _HEADER)
_OPEN = Fault(
    "its quotes don't pair: one is opened and never closed",
    Advice(
        vendor="close each quote that it opens, and to double the quotes within a value",
        contract="take quotes as signs of the values, at the contract's landing server",
        lines=setting("quote", '""'),
    ),
)
_REPEATED_KEY = Fault("an object has a key twice", Advice(vendor="write each key of an object once"))
_NO_NAMES = {
    FileKind.CSV: "its first line names none of the contract's columns",
    FileKind.JSON: "its objects have none of the contract's columns",
}
_MOST_SIGNS = 10  # delimiters in a header for each column that it may have: quotes may hold some


@dataclass(frozen=True, kw_only=True)
class Scan:
    """One file as its lines show it, without parsing a value.

    `longest` is in bytes. `keys` are those of JSON objects, at most one more than the limit of columns; `widest` is the
    most keys that one object has, and `repeats` is true if an object repeats a key. Of CSV whose fields may hold line
    ends, `left_open` is true if a quote is never closed, and `sound` if all bytes are text of the encoding.
    """

    rows: int = 0
    header: str = ""
    keys: tuple[str, ...] = ()
    repeats: bool = False
    left_open: bool = False
    sound: bool = False
    widest: int = 0
    longest: int = 0


def is_positional(form: FileFormat) -> bool:
    """Return True if a value's place names its column."""
    return form.kind is FileKind.CSV


def inspect(plan: Plan, file: JobFile, scan: Scan | str) -> Inspection:
    """Inspect a file by its scan, or by the reason that there is none."""
    if isinstance(scan, str):
        fault = Fault(f"it cannot be read to its end ({raw(plan.columns, scan)})", WRITTEN_ANEW)
        return Inspection(file=file, faults=(fault,))
    if wrong := _limit_faults(plan.files, scan) or _line_faults(plan.files, scan):
        return Inspection(file=file, faults=wrong)
    if is_positional(plan.files) and (other := dialect_fault(plan, scan.header)):
        return Inspection(file=file, faults=(other,))
    try:
        layout = names_of(plan, scan)
    except csv.Error:
        return Inspection(file=file, faults=(_NO_HEADER,))
    if wrong := beyond_limits(plan.files.limits, columns=len(layout)) or _name_faults(plan, layout):
        return Inspection(file=file, faults=wrong)
    return _sound(plan, file, scan, layout)


def names_of(plan: Plan, scan: Scan) -> list[str]:
    """Return a file's columns: the names in its header or its objects, else the contract's."""
    if plan.files.kind is FileKind.JSON:
        return list(scan.keys)
    return header_names(plan.files, scan.header) if plan.files.header else [column.name for column in plan.columns]


def _sound(plan: Plan, file: JobFile, scan: Scan, layout: Sequence[str]) -> Inspection:
    types = {column.name: column.type for column in plan.columns}
    names = layout if is_positional(plan.files) else dict.fromkeys([*types, *layout])
    columns = tuple(FileColumn(name=name, type=types.get(name, "string")) for name in names)
    repeated_key = (_REPEATED_KEY,) if scan.repeats else ()
    return Inspection(
        file=file, rows=scan.rows, columns=columns, layout=tuple(layout), sound=scan.sound, faults=repeated_key
    )


def _limit_faults(form: FileFormat, scan: Scan) -> tuple[Fault, ...]:
    """Return the limits that a file's lines exceed, before any is taken apart."""
    limits, signs = form.limits, scan.header.count(form.delimiter)
    columns = signs + 1 if signs > _MOST_SIGNS * limits.columns else scan.widest
    if wrong := beyond_limits(limits, rows=scan.rows, line=scan.longest, columns=columns):
        return wrong
    return (more_than(limits, "columns"),) if len(scan.keys) > limits.columns else ()


def _has_header(form: FileFormat) -> bool:
    return form.kind is FileKind.CSV and form.header


def _line_faults(form: FileFormat, scan: Scan) -> tuple[Fault, ...]:
    if not scan.header and not scan.rows:
        return (NO_ROWS,)
    if _has_header(form) and not scan.header.strip():
        return (_BLANK,)
    return (_OPEN,) if scan.left_open else ()


def _name_faults(plan: Plan, layout: Sequence[str]) -> tuple[Fault, ...]:
    """Return the fault of a file with masked columns whose names may be values, which must not be shown as names."""
    hidden_names, folded_names = masked_columns(plan.columns), set(map(fold, layout))
    contract_names = {fold(column.name) for column in plan.columns}
    if hidden_names and layout and not folded_names & contract_names:
        return (Fault(_NO_NAMES[plan.files.kind], _names(plan)),)
    missing_names = [display_name(name) for name in hidden_names if fold(name) not in folded_names]
    is_asked = _has_header(plan.files) and plan.policy.missing_columns is Stance.FREEZE
    if not is_asked or not missing_names or folded_names <= contract_names:
        return ()
    message = (
        f"its first line lacks {', '.join(missing_names)}, and has other names, which are not shown: they may be values"
    )
    return (Fault(message, _names(plan)),)


def _names(plan: Plan) -> Advice:
    """Return the advice for a file without the contract's names. The file's own may be values, so none is shown."""
    return Advice(vendor=f"name its columns as the contract does: {listing([column.name for column in plan.columns])}")


def row_faults(form: FileFormat, width: int) -> tuple[str, str, str]:
    """Return the words for a row of CSV with bytes that are no text, with a stray quote, and with other fields than
    `width`.
    """
    return f"its bytes are not {form.encoding}", "a quote is out of place", f"it does not have {count(width, 'field')}"


def value_fault(name: str, kind: str) -> str:
    """Return the words for a value that is none of its column's type."""
    return f"column {display_name(name)} is not a valid {kind}"
