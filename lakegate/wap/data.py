"""Data that people have, as parquet files in memory: of Arrow, Pandas, Polars, Spark, whatever speaks Arrow's
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

from lakegate.errors import Misconfigured

_LISTS = (list, tuple, set, frozenset)


@dataclass(frozen=True, kw_only=True)
class Given:
    """One parquet file, and its name for people; "" if it has none."""

    name: str
    body: bytes


def files_of(data: Any) -> Iterator[Given]:
    """Yield what is given as parquet files. Raise Misconfigured if it is no data that is known here."""
    if isinstance(data, _LISTS):
        for each in data:
            yield from files_of(each)
    elif isinstance(data, str | os.PathLike):
        yield from _read(os.fspath(data))
    else:
        yield Given(name="", body=_written(_arrow(data)))


def _read(path: str) -> Iterator[Given]:
    files, place = _place(path)
    about = files.get_file_info(place)
    if about.type is FileType.NotFound:
        raise Misconfigured(f"there is no file {path}")
    if about.type is FileType.File:
        yield Given(name=path, body=_bytes(files, place))
        return
    inside = files.get_file_info(FileSelector(place, recursive=True))
    found = sorted(it.path for it in inside if it.type is FileType.File and it.path.endswith(".parquet"))
    if not found:
        raise Misconfigured(f"there is no parquet file in {path}")
    for each in found:
        yield Given(name=each, body=_bytes(files, each))


def _place(path: str) -> tuple[FileSystem, str]:
    return FileSystem.from_uri(path) if "://" in path else (LocalFileSystem(), str(Path(path).absolute()))


def _bytes(files: FileSystem, path: str) -> bytes:
    with files.open_input_stream(path) as stream:
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
        return _collected(data)
    if hasattr(data, "__arrow_c_stream__"):
        return pa.table(data)
    raise Misconfigured(
        f"{type(data).__qualname__} is no data: give an Arrow table, a data frame of Pandas, Polars or Spark, or paths"
        " of parquet files"
    )


def _collected(data: Any) -> pa.Table:
    """Return the rows of a Spark data frame, all in this process, as Spark itself makes Pandas of them."""
    batches = data.toArrow().to_batches() if hasattr(data, "toArrow") else data._collect_as_arrow()  # noqa: SLF001
    if not any(batch.num_rows for batch in batches):  # before Spark 4 there is no schema then either
        raise Misconfigured("the Spark data frame has no rows")
    return pa.Table.from_batches(batches)


def _written(rows: pa.Table) -> bytes:
    """Return the rows as a parquet file, always the same for the same rows."""
    body = io.BytesIO()
    try:
        pq.write_table(rows.replace_schema_metadata(None), body, coerce_timestamps="us", store_schema=False)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise Misconfigured(f"the data cannot be written as parquet: {error}") from error
    return body.getvalue()
