"""Avro's header, read within limits. An Avro file does not say how many rows it has: one query counts them.

It reads no block; whether the file ends where a block ends is seen from its last bytes.
"""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from lakegate.audit.fit import FILE_COLUMN
from lakegate.audit.limits import Limits, beyond, more_than
from spark_jobs import hadoop
from spark_jobs.apart import each
from spark_jobs.footer import Ends, Footer, Unreadable, columns_in
from spark_jobs.java import FAILURES, jvm, root
from spark_jobs.look import THREADS, Look
from spark_jobs.origin import origin

TRUNCATED = "it is truncated: it begins as an Avro file and does not end as one"
# Dates are days of the calendar that Avro's specification means, whoever wrote them.
OPTIONS = {"datetimeRebaseMode": "CORRECTED"}
_MAGIC = b"Obj\x01"
_FIRST = 64 * 1024
_SYNC = 16
_LONGEST_NUMBER = 10  # bytes


class _Short(Exception):
    """The header goes on behind the bytes that were read."""


def read(spark: SparkSession, uri: str, ends: Ends, limits: Limits) -> Footer:
    """The header; a file that is beyond a limit has faults and no columns. Its rows are not counted yet."""
    if not ends.first.startswith(_MAGIC):
        raise Unreadable("it is not an Avro file")
    said, sync = _header(spark, uri, ends.length, limits)
    if not ends.last.endswith(sync):
        raise Unreadable(TRUNCATED)
    schema = _schema(said)
    columns, nesting = _size(schema)
    if wrong := beyond(limits, columns=columns, nesting=nesting):
        return Footer(faults=wrong)
    try:
        parsed = jvm(spark).org.apache.avro.Schema.Parser().parse(said)
        found = jvm(spark).org.apache.spark.sql.avro.SchemaConverters.toSqlType(parsed).dataType().json()
    except FAILURES as error:
        raise Unreadable(f"its schema cannot be read: {root(error)}") from None
    if not isinstance(schema, dict) or schema.get("type") != "record":
        raise Unreadable("its rows are no records")
    return Footer(columns=columns_in(found))


def counted(spark: SparkSession, looks: Sequence[Look]) -> list[Look]:
    """The same files with their rows, or with the fault that they cannot be read to the end."""
    readable = [look for look in looks if not look.faults]
    try:
        rows = _rows(spark, [look.file.uri for look in readable]) if readable else {}
        told = {look.file.id: replace(look, rows=rows.get(look.file.id, 0)) for look in readable}
    except FAILURES:
        found = each(readable, lambda look: _rows(spark, [look.file.uri]), THREADS)
        told = {look.file.id: _told(look, it) for look, it in zip(readable, found, strict=True)}
    return [told.get(look.file.id, look) for look in looks]


def _told(look: Look, found: dict[str, int] | Exception) -> Look:
    if isinstance(found, Exception):
        return replace(look, faults=(f"its rows cannot be read to the end, a block is corrupt ({root(found)})",))
    return replace(look, rows=found.get(look.file.id, 0))


def _rows(spark: SparkSession, uris: Sequence[str]) -> dict[str, int]:
    read: DataFrame = spark.read.format("avro").schema(StructType([])).options(**OPTIONS).load(list(uris))
    return dict(read.select(origin(read)).groupBy(FILE_COLUMN).count().collect())


def _header(spark: SparkSession, uri: str, length: int, limits: Limits) -> tuple[str, bytes]:
    """The schema's JSON and the marker between blocks."""
    for size in (_FIRST, limits.footer):
        try:
            return _parsed(hadoop.read_part(spark, uri, 0, min(size, length)))
        except _Short:
            if length <= size:
                raise Unreadable(TRUNCATED) from None
    raise Unreadable(more_than(limits, "footer"))


def _parsed(head: bytes) -> tuple[str, bytes]:
    found, at = dict[bytes, bytes](), len(_MAGIC)
    count, at = _number(head, at)
    while count:
        if count < 0:  # then the block's bytes are said, too
            count, (_, at) = -count, _number(head, at)
        for _ in range(count):
            name, at = _bytes(head, at)
            found[name], at = _bytes(head, at)
        count, at = _number(head, at)
    sync = _slice(head, at, _SYNC)
    try:
        return found[b"avro.schema"].decode(), sync
    except (KeyError, UnicodeDecodeError):
        raise Unreadable("it has no schema that can be read") from None


def _number(head: bytes, at: int) -> tuple[int, int]:
    """Avro's numbers: seven bits a byte, the lowest first, the sign in the last bit."""
    value = 0
    for shift in range(_LONGEST_NUMBER):
        byte = _slice(head, at + shift, 1)[0]
        value |= (byte & 0x7F) << 7 * shift
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more come
            return (value >> 1) ^ -(value & 1), at + shift + 1
    raise Unreadable("its header is broken")


def _bytes(head: bytes, at: int) -> tuple[bytes, int]:
    size, at = _number(head, at)
    if size < 0:
        raise Unreadable("its header is broken")
    return _slice(head, at, size), at + size


def _slice(head: bytes, at: int, size: int) -> bytes:
    if at + size > len(head):
        raise _Short
    return head[at : at + size]


def _schema(said: str) -> Any:
    try:
        return json.loads(said)
    except (ValueError, RecursionError):
        raise Unreadable("it has no schema that can be read") from None


def _size(schema: Any) -> tuple[int, int]:
    """How many fields the schema has, with those inside others, and how deep they are in each other."""
    columns, deepest, left = 0, 0, [(schema, 0)]
    while left:
        part, depth = left.pop()
        if isinstance(part, list):
            left += [(it, depth) for it in part]
        elif isinstance(part, dict):
            fields = part.get("fields")
            inner = [it.get("type") for it in fields if isinstance(it, dict)] if isinstance(fields, list) else []
            columns += len(inner)
            inner += [part[word] for word in ("items", "values") if word in part]
            if isinstance(part.get("type"), dict | list):
                left.append((part["type"], depth))
            left += [(it, depth + 1) for it in inner]
            deepest = max(deepest, depth + bool(inner))
    return columns, deepest
