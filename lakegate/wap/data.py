"""Data that people have, as files in memory: of Arrow, Pandas, Polars, Spark, whatever speaks Arrow's
interface, and paths.

It imports none of their packages, because whoever gives such data has imported them.
"""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

from lakegate.audit.model.files import SUFFIX_CHOICES, FileKind
from lakegate.audit.model.plan import TableColumn
from lakegate.audit.schema.names import display_name
from lakegate.errors import Misconfigured
from lakegate.wap.narrowing import narrow

_PARQUET = ".parquet"
_LISTS = (list, tuple, set, frozenset)
_STRANGE = (pa.types.is_duration, pa.types.is_time, pa.types.is_interval, pa.types.is_union, pa.types.is_float16)


@dataclass(frozen=True, kw_only=True)
class Input:
    """One file, and its name for people; "" if it has none. `package` is that of the data frame that it was made of,
    and `frame` the frame's schema; neither for a file at a path.
    """

    name: str
    body: bytes
    kind: FileKind = FileKind.PARQUET
    package: str = ""
    frame: pa.Schema | None = None


def files_of(data: Any, kind: FileKind = FileKind.PARQUET, columns: Sequence[TableColumn] = ()) -> Iterator[Input]:
    """Yield what is given as files: of the contract's kind those at paths that do not end with `.parquet`, and else
    parquet. Values of a data frame are narrowed to the types of these columns where nothing is lost. Raise
    Misconfigured if it is no data that is known here.
    """
    if isinstance(data, _LISTS):
        for part in data:
            yield from files_of(part, kind, columns)
    elif isinstance(data, str | os.PathLike):
        yield from _read(os.fspath(data), kind)
    else:
        rows = narrow(_arrow(data), columns)
        for field in rows.schema:
            _check_type(field.name, field.type)
        yield Input(name="", body=_parquet(rows), package=_package(data), frame=rows.schema)


def _package(data: Any) -> str:
    return type(data).__module__.partition(".")[0]


def _read(path: str, kind: FileKind) -> Iterator[Input]:
    files, place = _place(path)
    about = files.get_file_info(place)
    if about.type is FileType.NotFound:
        raise Misconfigured(f"there is no file {path}")
    if about.type is FileType.File:
        yield Input(name=path, body=_bytes(files, place), kind=_kind(path, kind))
        return
    entries = files.get_file_info(FileSelector(place, recursive=True))
    ends = (_PARQUET, *(f".{kind}{suffix}" for suffix in SUFFIX_CHOICES))
    paths = sorted(entry.path for entry in entries if entry.type is FileType.File and entry.path.lower().endswith(ends))
    if not paths:
        raise Misconfigured(f"there is no {kind} file in {path}")
    for file in paths:
        yield Input(name=file, body=_bytes(files, file), kind=_kind(file, kind))


def _kind(path: str, kind: FileKind) -> FileKind:
    return FileKind.PARQUET if path.lower().endswith(_PARQUET) else kind


def _place(path: str) -> tuple[FileSystem, str]:
    if "://" not in path:
        return LocalFileSystem(), str(Path(path).absolute())
    try:
        files, place = FileSystem.from_uri(path)
    except pa.ArrowInvalid as error:
        raise Misconfigured(f"{path} is no address (a blank is %20 in one): {error}") from error
    return files, place


def _bytes(files: FileSystem, path: str) -> bytes:
    with files.open_input_stream(path, compression=None) as stream:  # else a name that ends so is unpacked
        return bytes(stream.read())


def _arrow(data: Any) -> pa.Table:
    """Return a data frame as Arrow has it. Indexes of Pandas are no columns."""
    if isinstance(data, pa.Table):
        return data
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    package = _package(data)
    if package == "pandas":
        return _of_pandas(data)
    if package == "polars":
        data = data.collect() if hasattr(data, "collect") else data
    if package == "pyspark":
        from lakegate.wap.spark.rows import collect_rows  # noqa: PLC0415 - of those who have Spark alone

        return collect_rows(data)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise Misconfigured(
        f"{type(data).__qualname__} is no data: give an Arrow table, a data frame of Pandas, Polars or Spark, or paths"
        " of parquet files"
    )


def _of_pandas(frame: Any) -> pa.Table:
    """Return a frame's rows. Raise Misconfigured for a column of several kinds of values: Arrow would cut the time off
    a moment among days.
    """
    try:
        rows = pa.Table.from_pandas(frame, preserve_index=False)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        text = " ".join(map(str, error.args))
        raise Misconfigured(
            f"the data frame cannot become Arrow ({text}): give columns different names, and values of one type"
        ) from error
    for name in frame.columns:
        days = frame[name].dtype == object and pa.types.is_date(rows.schema.field(str(name)).type)
        if days and any(isinstance(value, datetime) and value == value for value in frame[name]):  # noqa: PLR0124 - NaT
            raise Misconfigured(
                f"column {name!r} has days and moments: write frame[{name!r}] = pd.to_datetime(frame[{name!r}])"
            )
    return rows


def _check_type(name: str, kind: pa.DataType) -> None:
    """Raise Misconfigured for a type that parquet would keep as a bare number, or not at all."""
    if pa.types.is_nested(kind) and not pa.types.is_union(kind):
        parts = (
            [kind.key_type, kind.item_type]
            if pa.types.is_map(kind)
            else [kind.field(at) for at in range(kind.num_fields)]
        )
        for part in parts:
            _check_type(name, part.type if isinstance(part, pa.Field) else part)
    elif any(is_so(kind) for is_so in _STRANGE):
        raise Misconfigured(
            f"column {display_name(name)} is {kind}, and a table has no such type: give it as a number, or as text"
        )


def _parquet(rows: pa.Table) -> bytes:
    """Return the rows as a parquet file, always the same for the same rows."""
    body = io.BytesIO()
    try:
        pq.write_table(rows.replace_schema_metadata(None), body, coerce_timestamps="us", store_schema=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        nanoseconds = [field.name for field in rows.schema if getattr(field.type, "unit", "") == "ns"]
        hint = (
            f'. {", ".join(map(display_name, nanoseconds))}: drop the nanoseconds, .dt.floor("us") in Pandas'
            if nanoseconds
            else ""
        )
        raise Misconfigured(f"the data cannot be written as parquet: {error}{hint}") from error
    return body.getvalue()
