"""Made-up rows as files that a landing bucket takes, written as their contract says."""

import bz2
import gzip
import json
from collections.abc import Callable, Iterator
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import orc, parquet

from lakegate.audit.files import FileFormat, FileKind
from lakegate.audit.plan import Plan
from lakegate.errors import Misconfigured
from lakegate.synthetic.avro import encoded
from lakegate.synthetic.spelling import holds, spelled

_REFORM, _EPOCH = (1582, 10, 15), 1970
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": gzip.compress,
    ".bz2": bz2.compress,
    ".zstd": partial(pa.Codec("zstd").compress, asbytes=True),
}


def write(rows: pa.Table, plan: Plan, out: Path, *, broken: bool = False) -> None:
    """Write them as the contract's files are: in its format, and text packed as the contract or `out` says.

    With `broken`, the last row of a text file (there must be one) does not parse.
    """
    if plan.files.kind is FileKind.PARQUET:
        parquet.write_table(rows, out)
        return
    if plan.files.kind is FileKind.ORC:
        orc.write_table(_for_orc(rows, plan), out)
        return
    if plan.files.kind is FileKind.AVRO:
        out.write_bytes(encoded(rows, plan))
        return
    lines = list(_csv(rows, plan) if plan.files.kind is FileKind.CSV else _json(rows, plan.files))
    if broken:
        lines[-1] += plan.files.delimiter * (plan.files.kind is FileKind.CSV) + "}"
    text = "".join(f"{line}\n" for line in lines).encode(plan.files.encoding)
    suffix = Path(plan.files.suffix(out.name)).suffix
    out.write_bytes(_PACKERS[suffix](text) if suffix in _PACKERS else text)


def _for_orc(rows: pa.Table, plan: Plan) -> pa.Table:
    """ORC's timestamps are in UTC and don't say so: those that do are not read, and none is a clock on a wall."""
    if wall := next((column.name for column in plan.columns if "timestamp_ntz" in column.type), None):
        raise Misconfigured(
            f"table {plan.table}: no ORC file can be made up: column {wall!r} is timestamp_ntz, which only Spark writes"
        )
    kinds = [pa.timestamp("us") if pa.types.is_timestamp(field.type) else field.type for field in rows.schema]
    return rows.cast(pa.schema(list(zip(rows.schema.names, kinds, strict=True))))


def writable(value: Any, column: str, plan: Plan) -> bool:
    """Whether a file of the plan's format can hold the column's value, and Spark reads it there."""
    form = plan.files
    if value is None:
        return not _is_alone(plan) or bool(_null(plan, column))
    if form.kind is FileKind.ORC and isinstance(value, date):
        is_old = isinstance(value, datetime) and value.year < _EPOCH and value.microsecond
        return (value.year, value.month, value.day) >= _REFORM and not is_old
    if isinstance(value, date):
        return holds(form.patterns.get(column, ""), value)
    if form.kind is FileKind.JSON and isinstance(value, float):
        return value == value and abs(value) != float("inf")  # noqa: PLR0124 - NaN is not itself
    if form.kind is FileKind.CSV and isinstance(value, str):
        return _fits_csv(value, form)
    return True


def _is_alone(plan: Plan) -> bool:
    """Whether a line holds one field, so that a line with nothing in it would be passed over."""
    return plan.files.kind is FileKind.CSV and len(plan.columns) == 1


def _null(plan: Plan, column: str) -> str:
    """How a null is written. Between quotes, nothing is null to all columns but those of texts."""
    form = plan.files
    said = form.nulls[0] if form.nulls else ""
    is_text = any(each.name == column and each.type == "string" for each in plan.columns)
    return form.quote * 2 if not said and _is_alone(plan) and not is_text else said


def _fits_csv(text: str, form: FileFormat) -> bool:
    try:
        text.encode(form.encoding)
    except UnicodeEncodeError:
        return False
    forbidden = {"\r", "\n", "\0"} | (set() if form.quote else {form.delimiter})
    bare_null = not form.quote and text in form.nulls
    return not bare_null and not any(letter in text for letter in forbidden)


def _csv(rows: pa.Table, plan: Plan) -> Iterator[str]:
    form = plan.files
    nulls = {name: _null(plan, name) for name in rows.column_names}
    if form.header:
        yield form.delimiter.join(_quoted(name, form) for name in rows.column_names)
    for row in rows.to_pylist():
        fields = (
            nulls[name] if value is None else _field(value, form.patterns.get(name, ""), form)
            for name, value in row.items()
        )
        yield form.delimiter.join(fields)


def _field(value: Any, pattern: str, form: FileFormat) -> str:
    plain = _plain(value, pattern)
    if isinstance(plain, str) and (isinstance(value, str) or form.delimiter in plain):
        return _quoted(plain, form)
    return str(plain).lower() if isinstance(value, bool) else str(plain)


def _quoted(text: str, form: FileFormat) -> str:
    if not form.quote:
        return text
    escaped = text.replace(form.escape, form.escape * 2) if form.escape != form.quote else text
    return f"{form.quote}{escaped.replace(form.quote, form.escape + form.quote)}{form.quote}"


def _json(rows: pa.Table, form: FileFormat) -> Iterator[str]:
    for row in rows.to_pylist():
        plain = {name: _plain(value, form.patterns.get(name, "")) for name, value in row.items()}
        yield json.dumps(plain, ensure_ascii=False)


def _plain(value: Any, pattern: str) -> Any:
    """A value as text files have it: dates as the contract spells them, decimals without an exponent."""
    if isinstance(value, date):
        return spelled(value, pattern)
    return format(value, "f") if isinstance(value, Decimal) else value
