"""Made-up rows as files that a landing bucket takes, written as their contract says."""

import bz2
import gzip
import json
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from datetime import date, datetime
from decimal import Decimal
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import quote_plus

import pyarrow as pa
from pyarrow import orc, parquet

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.limits import beyond_limits
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.partitions import IDENTITY, partition
from lakegate.errors import Misconfigured
from tests.support.synthetic.avro import encoded
from tests.support.synthetic.spelling import holds, spelled

_REFORM, _EPOCH = (1582, 10, 15), 1970
_ROOM = 700  # bytes that a row's partition values may take in a data file's path: the job rejects a file with more
_PACKERS: dict[str, Callable[[bytes], bytes]] = {
    ".gz": partial(gzip.compress, mtime=0),  # the same bytes for the same rows
    ".bz2": bz2.compress,
    ".zstd": partial(pa.Codec("zstd").compress, asbytes=True),
}


def write(rows: pa.Table, plan: Plan, out: Path, *, broken: bool = False) -> None:
    """Write the rows as the contract's files are: in its format, and text packed as the contract or `out` says. Nothing
    is at `out` before all of it is written. Raise Misconfigured for a file that is larger than the contract takes.

    With `broken`, the last row of a text file (there must be one) does not parse.
    """
    if out.exists() and not out.is_file():  # a pipe, or a terminal
        _put(rows, plan, out, plan.files.suffix(out.name), broken=broken)
        return
    target = out.resolve()  # the target of a link
    if not target.parent.is_dir():
        raise Misconfigured(f"{out}: there is no folder {target.parent}")
    with TemporaryDirectory(dir=target.parent, prefix=".lakegate-") as folder:  # beside it, so that it can be moved
        part = Path(folder) / target.name
        _put(rows, plan, part, plan.files.suffix(out.name), broken=broken)
        if said := beyond_limits(plan.files.limits, rows=rows.num_rows - broken, bytes=part.stat().st_size):
            raise Misconfigured(f"table {plan.table}: such a file is rejected: {said[0]}; or ask for fewer with --rows")
        part.replace(target)


def _put(rows: pa.Table, plan: Plan, out: Path, suffix: str, *, broken: bool) -> None:
    if plan.files.kind.is_text:
        text = _text(rows, plan, broken=broken)
        out.write_bytes(_PACKERS.get(Path(suffix).suffix, bytes)(text))
    else:
        WRITERS[plan.files.kind](rows, plan, out)


def _text(rows: pa.Table, plan: Plan, *, broken: bool) -> bytes:
    lines = list(_csv(rows, plan) if plan.files.kind is FileKind.CSV else _json(rows, plan.files))
    if broken:
        lines[-1] += plan.files.delimiter * (plan.files.kind is FileKind.CSV) + "}"
    return "".join(f"{line}\n" for line in lines).encode(plan.files.encoding)


def _for_orc(rows: pa.Table, plan: Plan) -> pa.Table:
    """Return the rows with timestamps that name no zone. ORC's timestamps are in UTC and do not say so: those that do
    are not read, and none is a wall-clock time.
    """
    if wall := next((column.name for column in plan.columns if "timestamp_ntz" in column.type), None):
        raise Misconfigured(
            f"table {plan.table}: no ORC file can be made up: column {wall!r} is timestamp_ntz, which only Spark writes"
        )
    kinds = [_without_zone(field.type) for field in rows.schema]
    return rows.cast(pa.schema(list(zip(rows.schema.names, kinds, strict=True))))


def _without_zone(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_struct(kind):
        return pa.struct([field.with_type(_without_zone(field.type)) for field in kind])
    if pa.types.is_list(kind):
        return pa.list_(_without_zone(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(_without_zone(kind.key_type), _without_zone(kind.item_type))
    return pa.timestamp("us") if pa.types.is_timestamp(kind) else kind


def writable(value: Any, column: str, plan: Plan) -> bool:
    """Return True if a file of the plan's format can hold the column's value, Spark reads it there, and the table takes
    it.
    """
    form = plan.files
    if value is None:  # if no text stands for it, an empty field is an empty text
        is_spelled = bool(form.nulls_of(column)) and bool(_null(plan, column) or not _is_alone(plan))
        return form.kind is not FileKind.CSV or is_spelled
    if isinstance(value, str | bytes) and not _has_room(value, column, plan):
        return False
    if form.kind is FileKind.ORC:
        return all(_fits_orc(part) for part in _parts(value))
    if isinstance(value, date) and not holds(form.patterns.get(column, ""), value):
        return False
    if form.kind is FileKind.JSON and isinstance(value, float):
        return value == value and abs(value) != float("inf")  # noqa: PLR0124 - NaN is not itself
    return form.kind is not FileKind.CSV or _fits_csv(value, column, plan)


def _parts(value: Any) -> Iterator[Any]:
    """Yield the parts of a nested value, or the value itself."""
    if isinstance(value, list | tuple | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _parts(part)
    else:
        yield value


def _fits_orc(value: Any) -> bool:
    if not isinstance(value, date):
        return True
    is_old = isinstance(value, datetime) and value.year < _EPOCH and value.microsecond
    return (value.year, value.month, value.day) >= _REFORM and not is_old


def _has_room(value: str | bytes, column: str, plan: Plan) -> bool:
    """Return True if a path has room for the value, and for others as long beside it, if the table is partitioned by
    it.
    """
    for each in map(partition, plan.partitions):
        if each.column == column and each.transform in (IDENTITY, "truncate"):
            written = value[: each.width]
            text = written if isinstance(written, str) else b64encode(written)
            return len(quote_plus(text)) <= _ROOM // len(plan.partitions)
    return True


def _is_alone(plan: Plan) -> bool:
    """Return True if a line holds one field, so that an empty line would be passed over."""
    return plan.files.kind is FileKind.CSV and len(plan.columns) == 1


def _null(plan: Plan, column: str) -> str:
    """Return the text of a null. An empty text between quotes is null to all columns but those of texts."""
    form = plan.files
    said = next(iter(form.nulls_of(column)), "")
    is_text = any(each.name == column and each.type == "string" for each in plan.columns)
    return form.quote * 2 if not said and _is_alone(plan) and not is_text else said


def _fits_csv(value: Any, column: str, plan: Plan) -> bool:
    form = plan.files
    text = _spelled(value, form.patterns.get(column, ""))
    try:
        text.encode(form.encoding)
    except UnicodeEncodeError:
        return False
    forbidden = {"\r", "\n", "\0"} | (set() if form.quote else {form.delimiter})
    # The spelling of a null is a null between quotes, too; but an empty text between quotes is a text.
    is_null = text in form.nulls_of(column) and bool(text or not form.quote)
    is_line = bool(text or form.quote) or not _is_alone(plan)
    return is_line and not is_null and not any(letter in text for letter in forbidden)


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
    text = _spelled(value, pattern)
    return _quoted(text, form) if isinstance(value, str) or form.delimiter in text else text


def _spelled(value: Any, pattern: str) -> str:
    text = str(_plain(value, pattern))
    return text.lower() if isinstance(value, bool) else text


def _quoted(text: str, form: FileFormat) -> str:
    if not form.quote:
        return text
    escaped = text.replace(form.escape, form.escape * 2) if form.escape != form.quote else text
    return f"{form.quote}{escaped.replace(form.quote, form.escape + form.quote)}{form.quote}"


def _json(rows: pa.Table, form: FileFormat) -> Iterator[str]:
    for row in rows.to_pylist():
        plain = {name: _plain(value, form.patterns.get(name, "")) for name, value in row.items()}
        yield json.dumps(plain)  # in ASCII, which every encoding has


def _plain(value: Any, pattern: str) -> Any:
    """Return a value as text files have it: dates as the contract spells them, decimals without an exponent."""
    if isinstance(value, date):
        return spelled(value, pattern)
    return format(value, "f") if isinstance(value, Decimal) else value


WRITERS: Mapping[FileKind, Callable[[pa.Table, Plan, Path], object]] = {
    FileKind.PARQUET: lambda rows, _, out: parquet.write_table(rows, out),
    FileKind.ORC: lambda rows, plan, out: orc.write_table(_for_orc(rows, plan), out),
    FileKind.AVRO: lambda rows, plan, out: out.write_bytes(encoded(rows, plan)),
}
"""Writers of files of typed formats."""
