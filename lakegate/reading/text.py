"""The page: a file of CSV or JSON lines, inspected and read as the Spark job does it, in bounded memory, without Spark.

`inspect` is what the job says of a staged file before it reads a row: its faults, its columns, its number of rows.
Its result goes through `lakegate.audit.schema.inspection.fit_all`, as the job's does. `parts` then yields what the job
would append, and what it would not. Both raise HandedOver, with a sentence for people, where only Spark can say what
becomes of a file; then nothing may be believed of what was yielded before.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import beyond_limits, more_than
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import EMPTY, Inspection
from lakegate.audit.text import scan
from lakegate.audit.text.first_bytes import fault_of_ends
from lakegate.audit.text.scan import Scan
from lakegate.reading.arrow import arrow_type
from lakegate.reading.rows import Row, rows_of_fields, rows_of_objects
from lakegate.reading.scan import BoundedSource, scan_file
from lakegate.reading.source import BrokenFile, Source

PART = 20_000
"""Rows of a part, at most."""
_PART_LETTERS = 16 * 1024**2


@dataclass(frozen=True, kw_only=True)
class Malformed:
    """A row that does not parse: its line, or its number among the rows of a file whose fields may hold line ends; why;
    and its text.
    """

    number: int
    reason: str
    text: str


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows in the file's order: `rows` has the plan's columns, in its order and with its types (Arrow's, timestamps in
    microseconds of UTC); `malformed` are the rows between them that are not appended.
    """

    rows: pa.RecordBatch
    malformed: tuple[Malformed, ...] = ()


def inspect(plan: Plan, file: JobFile, content: Path | bytes) -> Inspection:
    """Return what the job's inspection of a file says of it. The compression is that of the contract, or of the name in
    `file.key`. Raise HandedOver where only Spark can say it.
    """
    source = Source(content=content, suffix=_compression(plan.files, file.key))
    if wrong := beyond_limits(plan.files.limits, bytes=file.size):
        return Inspection(file=file, faults=wrong)
    if not file.size:
        return Inspection(file=file, faults=(EMPTY,))
    if fault := fault_of_ends(source.suffix, *source.ends()):
        return Inspection(file=file, faults=(fault,))
    bounded_source = BoundedSource(source=source, limit=plan.files.limits.uncompressed)
    try:
        result: Scan | str = scan_file(plan, bounded_source)
    except BrokenFile as error:
        result = str(error)
    if bounded_source.is_beyond:
        return Inspection(file=file, faults=(more_than(plan.files.limits, "uncompressed"),))
    return scan.inspect(plan, file, result)


def parts(plan: Plan, inspection: Inspection, content: Path | bytes, *, approximate: bool = False) -> Iterator[Part]:
    """Yield the rows of a file without faults, once it was inspected and its columns are known to fit. Raise HandedOver
    where only Spark can say what a value is; if `approximate`, numbers of JSON in columns of text are spelled as the
    newest Java does, and nothing is raised for them.
    """
    source = Source(content=content, suffix=_compression(plan.files, inspection.file.key))
    names = {column.name for column in inspection.columns}
    layout = [name if name in names else "" for name in inspection.layout]
    if plan.files.kind is FileKind.JSON:
        yield from _parts(plan, rows_of_objects(plan, source, names, approximate=approximate))
    else:
        yield from _parts(plan, rows_of_fields(plan, source, layout, sound=inspection.sound))


def _compression(form: FileFormat, key: str) -> str:
    return Path(form.suffix(key)).suffix.replace(f".{form.kind}", "")


def _parts(plan: Plan, rows: Iterable[Row]) -> Iterator[Part]:
    """Gather rows into parts of bounded size; there is one part at least."""
    columns: list[list[Any]] = [[] for _ in plan.columns]
    malformed, letters, count, has_parts = list[Malformed](), 0, 0, False
    for number, text, values in rows:
        if isinstance(values, str):
            malformed.append(Malformed(number=number, reason=values, text=text))
        else:
            for column, value in zip(columns, values, strict=True):
                column.append(value)
        count, letters = count + 1, letters + len(text)
        if count >= PART or letters >= _PART_LETTERS:
            yield Part(rows=_batch(plan, columns), malformed=tuple(malformed))
            columns, malformed, letters, count, has_parts = [[] for _ in plan.columns], [], 0, 0, True
    if count or not has_parts:
        yield Part(rows=_batch(plan, columns), malformed=tuple(malformed))


def _batch(plan: Plan, columns: Sequence[list[Any]]) -> pa.RecordBatch:
    kinds = [arrow_type(column.type) for column in plan.columns]
    arrays = [_array(values, kind) for values, kind in zip(columns, kinds, strict=True)]
    return pa.record_batch(arrays, schema=pa.schema([(c.name, k) for c, k in zip(plan.columns, kinds, strict=True)]))


def _array(values: list[Any], kind: pa.DataType) -> pa.Array:
    if pa.types.is_date(kind):
        return pa.array(values, pa.int32()).view(kind)
    return pa.array(values, pa.int64()).view(kind) if pa.types.is_timestamp(kind) else pa.array(values, kind)
