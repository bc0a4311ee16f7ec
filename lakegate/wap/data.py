"""Data that people have, as files in memory: of Arrow, Pandas, Polars, Spark, whatever speaks Arrow's
interface, and paths.

It imports none of their packages, because whoever gives such data has imported them.
"""

import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow.fs import FileSelector, FileSystem, FileType, LocalFileSystem

from lakegate.audit.model.files import PACKED, FileKind
from lakegate.errors import Misconfigured

_PARQUET = ".parquet"
_LISTS = (list, tuple, set, frozenset)


@dataclass(frozen=True, kw_only=True)
class Given:
    """One file, and its name for people; "" if it has none."""

    name: str
    body: bytes
    kind: FileKind = FileKind.PARQUET


def files_of(data: Any, kind: FileKind = FileKind.PARQUET) -> Iterator[Given]:
    """Yield what is given as files: of the contract's kind those at paths that do not end with `.parquet`, and else
    parquet. Raise Misconfigured if it is no data that is known here.
    """
    if isinstance(data, _LISTS):
        for each in data:
            yield from files_of(each, kind)
    elif isinstance(data, str | os.PathLike):
        yield from _read(os.fspath(data), kind)
    else:
        yield Given(name="", body=_written(_arrow(data)))


def _read(path: str, kind: FileKind) -> Iterator[Given]:
    files, place = _place(path)
    about = files.get_file_info(place)
    if about.type is FileType.NotFound:
        raise Misconfigured(f"there is no file {path}")
    if about.type is FileType.File:
        yield Given(name=path, body=_bytes(files, place), kind=_kind(path, kind))
        return
    inside = files.get_file_info(FileSelector(place, recursive=True))
    ends = (_PARQUET, *(f".{kind}{packed}" for packed in PACKED))
    found = sorted(it.path for it in inside if it.type is FileType.File and it.path.lower().endswith(ends))
    if not found:
        raise Misconfigured(f"there is no {kind} file in {path}")
    for each in found:
        yield Given(name=each, body=_bytes(files, each), kind=_kind(each, kind))


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
    package = type(data).__module__.partition(".")[0]
    if package == "pandas":
        return pa.Table.from_pandas(data, preserve_index=False)
    if package == "polars":
        data = data.collect() if hasattr(data, "collect") else data
    if package == "pyspark":
        from lakegate.wap.spark.rows import collected  # noqa: PLC0415 - of those who have Spark alone

        return collected(data)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise Misconfigured(
        f"{type(data).__qualname__} is no data: give an Arrow table, a data frame of Pandas, Polars or Spark, or paths"
        " of parquet files"
    )


def _written(rows: pa.Table) -> bytes:
    """Return the rows as a parquet file, always the same for the same rows."""
    body = io.BytesIO()
    try:
        pq.write_table(rows.replace_schema_metadata(None), body, coerce_timestamps="us", store_schema=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise Misconfigured(f"the data cannot be written as parquet: {error}") from error
    return body.getvalue()
