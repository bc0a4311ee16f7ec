"""Avro's header, read within limits, and the row counts of its blocks: the file states its rows nowhere else.

It reads no row.
"""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import SparkSession

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.model.files import FileKind
from lakegate.audit.model.limits import Limits, beyond_limits, more_than
from lakegate.audit.schema.inspection import UPLOADED_WHOLE
from lakegate.audit.schema.kinds import not_of
from spark_jobs.formats.avro import schema as avro_schema
from spark_jobs.formats.avro.blocks import SYNC, Read, Short, number, piece
from spark_jobs.formats.avro.claims import Blocks, rows_in
from spark_jobs.formats.footer import Ends, Footer, Unreadable, columns_in
from spark_jobs.formats.format import Format
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES, root_cause
from spark_jobs.jvm.gateway import jvm

TRUNCATED_FAULT = Fault("it is truncated: it begins as an Avro file and does not end as one", UPLOADED_WHOLE)
# Dates are days of the calendar that Avro's specification names, whoever wrote them.
_OPTIONS = {"datetimeRebaseMode": "CORRECTED"}
_MAGIC = b"Obj\x01"
_FIRST = 64 * 1024


@dataclass(frozen=True, kw_only=True)
class _Header:
    """The schema's JSON, the blocks' codec, the marker behind each block, and the offset of the first."""

    schema: str
    codec: str
    sync: bytes
    end: int


def read(spark: SparkSession, uri: str, ends: Ends, limits: Limits) -> Footer:
    """Return the columns and the rows; a file beyond a limit has faults and no columns."""
    if not ends.first.startswith(_MAGIC):
        raise Unreadable(not_of(FileKind.AVRO, ends.first))
    with hadoop.open_stream(spark, uri) as stream:
        header = _header(partial(hadoop.part, spark, stream), ends.length, limits)
        if not ends.last.endswith(header.sync):
            raise Unreadable(TRUNCATED_FAULT)
        document = _schema_document(header.schema)
        if wrong := _schema_faults(limits, *_size(document)):
            return Footer(faults=wrong)
        schema_tree = _parse_schema(spark, header.schema)
        canonical = jvm(spark).org.apache.avro.SchemaNormalization.toParsingForm(schema_tree)
        size = avro_schema.size(json.loads(canonical))
        if wrong := _schema_faults(limits, size.columns, size.nesting):
            return Footer(faults=wrong)
        columns = _spark_schema(spark, schema_tree)
        if not isinstance(document, dict) or document.get("type") != "record":
            raise Unreadable("its rows are not records", advice=Advice(vendor="write its rows as records"))
        blocks = Blocks(
            spark=spark, uri=uri, stream=stream, start=header.end, length=ends.length, sync=header.sync,
            codec=header.codec,
        )  # fmt: skip
        rows, wrong = rows_in(blocks, size.least, limits)
    return Footer(faults=wrong) if wrong else Footer(rows=rows, columns=columns_in(columns))


def _schema_faults(limits: Limits, columns: int, nesting: int) -> tuple[Fault, ...]:
    return beyond_limits(limits, columns=columns, nesting=nesting)


def _parse_schema(spark: SparkSession, text: str) -> Any:
    try:
        return jvm(spark).org.apache.avro.Schema.Parser().parse(text)
    except FAILURES as error:
        raise _unreadable_schema(error) from None


def _spark_schema(spark: SparkSession, schema: Any) -> str:
    """Return the columns as Spark would read them, in its JSON."""
    try:
        return str(jvm(spark).org.apache.spark.sql.avro.SchemaConverters.toSqlType(schema).dataType().json())
    except FAILURES as error:
        raise _unreadable_schema(error) from None


def _unreadable_schema(error: Exception) -> Unreadable:
    return Unreadable("its schema cannot be read", root_cause(error))


def _header(read: Read, length: int, limits: Limits) -> _Header:
    for size in (_FIRST, limits.footer):
        try:
            return _parse_header(read(0, min(size, length)))
        except Short:
            if length <= size:
                raise Unreadable(TRUNCATED_FAULT) from None
    raise Unreadable(more_than(limits, "footer"))


def _parse_header(head: bytes) -> _Header:
    entries, at = dict[bytes, bytes](), len(_MAGIC)
    count, at = number(head, at)
    while count:
        if count < 0:  # the size of the block follows
            count, (_, at) = -count, number(head, at)
        for _ in range(count):
            name, at = _bytes_at(head, at)
            entries[name], at = _bytes_at(head, at)
        count, at = number(head, at)
    sync = piece(head, at, SYNC)
    try:
        schema, codec = entries[b"avro.schema"].decode(), entries.get(b"avro.codec", b"null").decode()
    except (KeyError, UnicodeDecodeError):
        raise Unreadable("it has no schema that can be read") from None
    return _Header(schema=schema, codec=codec, sync=sync, end=at + SYNC)


def _bytes_at(head: bytes, at: int) -> tuple[bytes, int]:
    size, at = number(head, at)
    if size < 0:
        raise Unreadable("its header is broken")
    return piece(head, at, size), at + size


def _schema_document(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise Unreadable("it has no schema that can be read") from None


def _size(schema: Any) -> tuple[int, int]:
    """Return the number of fields in the schema, nested ones included, and how deep they are nested."""
    columns, deepest, todo = 0, 0, [(schema, 0)]
    while todo:
        part, depth = todo.pop()
        if isinstance(part, list):
            todo += [(branch, depth) for branch in part]
        elif isinstance(part, dict):
            fields = part.get("fields")
            inner = (
                [field.get("type") for field in fields if isinstance(field, dict)] if isinstance(fields, list) else []
            )
            columns += len(inner)
            inner += [part[word] for word in ("items", "values") if word in part]
            if isinstance(part.get("type"), dict | list):
                todo.append((part["type"], depth))
            todo += [(kind, depth + 1) for kind in inner]
            deepest = max(deepest, depth + bool(inner))
    return columns, deepest


FORMAT = Format(read=read, options=_OPTIONS, corrupt="a block is corrupt")
