"""Parquet's footer, read within limits: a length or a list that lies costs no more memory than the file has bytes.

It reads no page. Faults of pages show when they are read.
"""

import re
from typing import Any

from pyspark.sql import SparkSession

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.model.limits import Limits, beyond_limits
from lakegate.audit.schema.fit import UNKNOWN_TYPE, FileColumn
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.parquet import ENCRYPTED_FAULT, TAIL, footer_length
from lakegate.counts import count
from spark_jobs.formats.footer import Ends, Footer, Unreadable, columns_in
from spark_jobs.formats.format import Format
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES, root_cause
from spark_jobs.jvm.gateway import jvm, session_state

# Read days and instants as the format defines them. Files of Spark 2 say so in their footer, and Spark rebases them.
_OPTIONS = {"datetimeRebaseMode": "CORRECTED", "int96RebaseMode": "CORRECTED"}
_DEEPEST = 64  # levels of the footer's own structure, which has six
_ILLEGAL = re.compile(
    r"(?:Illegal Parquet type|Parquet type not yet supported|Unrecognized Parquet type): (.+?)\.?\s*(?:SQLSTATE: \w+)?$"
)


def read(spark: SparkSession, uri: str, ends: Ends, limits: Limits) -> Footer:
    """Return the footer; a file beyond a limit has faults and no columns."""
    length = _length(ends)
    if wrong := beyond_limits(limits, footer=length):
        return Footer(faults=wrong)
    about = _metadata(spark, uri, ends.length - TAIL - length, length)
    if about.isSetEncryption_algorithm():
        return Footer(faults=(ENCRYPTED_FAULT,))
    if wrong := beyond_limits(limits, row_groups=about.getRow_groupsSize(), columns=about.getSchemaSize() - 1):
        return Footer(faults=wrong)
    if about.getSchemaSize() <= 1:
        raise Unreadable("it has no columns")
    rows, uncompressed_size = _count(about)
    if not all(0 <= _middle(group) < ends.length for group in about.getRow_groups()):
        raise Unreadable("its footer contradicts itself: it has row groups where the file has no bytes")
    if wrong := beyond_limits(limits, rows=rows, uncompressed=uncompressed_size, nesting=_nesting(about)):
        return Footer(faults=wrong)
    columns, null_columns = _columns(spark, _schema(spark, about)), _without_type(about)
    columns_with_types = [
        FileColumn(name=column.name, type=UNKNOWN_TYPE) if at in null_columns else column
        for at, column in enumerate(columns)
    ]
    return Footer(rows=rows, columns=tuple(columns_with_types))


def _length(ends: Ends) -> int:
    """Return the footer's bytes, by the file's last ones."""
    length = footer_length(ends.length, ends.first, ends.last)
    if isinstance(length, Fault):
        raise Unreadable(length)
    return length


def _metadata(spark: SparkSession, uri: str, start: int, length: int) -> Any:
    """Return the footer's content. No list or text in it may claim to be longer than the footer."""
    thrift = jvm(spark).shaded.parquet.org.apache.thrift
    with hadoop.open_stream(spark, uri) as stream:
        stream.seek(start)
        content = jvm(spark).org.apache.commons.io.input.BoundedInputStream(stream, length)
        buffer = jvm(spark).java.io.BufferedInputStream(content)
        transport = thrift.transport.TIOStreamTransport(thrift.TConfiguration(length, length, _DEEPEST), buffer)
        about = jvm(spark).org.apache.parquet.format.FileMetaData()
        about.read(thrift.protocol.TCompactProtocol(transport, length, length))
    return about


def _schema(spark: SparkSession, about: Any) -> Any:
    """Return the schema as parquet's library reads it, which does not know all types of newer writers."""
    converter = jvm(spark).org.apache.parquet.format.converter.ParquetMetadataConverter(hadoop.configuration(spark))
    try:
        return converter.fromParquetMetadata(about).getFileMetaData().getSchema()
    except FAILURES:
        if strange := [element.getName() for element in about.getSchema() if _is_strange(element)]:
            name = display_name(strange[0])
            older = Advice(vendor=f"write column {name} as one of parquet's older types")
            raise Unreadable(f"column {name} is of a newer type than Spark knows", advice=older) from None
        raise


def _is_strange(element: Any) -> bool:
    return element.isSetLogicalType() and not element.getLogicalType().isSet()


def _without_type(about: Any) -> set[int]:
    """Return the positions of columns that are declared to hold only nulls, as pandas writes them: Spark reads them as
    int.
    """
    places, rest, place = set[int](), 0, -1
    for element in list(about.getSchema())[1:]:
        if not rest:  # the parts of the column before are through
            rest, place = 1, place + 1
            if element.isSetLogicalType() and element.getLogicalType().isSetUNKNOWN():
                places.add(place)
        rest += int(element.getNum_children()) - 1
    return places


def _nesting(about: Any) -> int:
    """Return the depth of the schema, which lists each group before its parts; a flat column has depth 1."""
    deepest, children = 0, list[int]()
    for element in about.getSchema():
        while children and not children[-1]:
            children.pop()
        deepest = max(deepest, len(children))
        if children:
            children[-1] -= 1
        children.append(int(element.getNum_children()))
    return deepest


def _count(about: Any) -> tuple[int, int]:
    """Return rows and uncompressed bytes, by the row groups."""
    groups = [(int(group.getNum_rows()), int(group.getTotal_byte_size())) for group in about.getRow_groups()]
    rows, rows_in_footer = sum(rows for rows, _ in groups), int(about.getNum_rows())
    if rows != rows_in_footer or any(min(group) < 0 for group in groups):
        raise Unreadable(
            f"its footer contradicts itself: {count(rows_in_footer, 'row')} in all, and {rows:,} in its row groups"
        )
    return rows, sum(size for _, size in groups)


def _middle(group: Any) -> int:
    """Return the middle of a row group: the task that reads this part of the file reads the group."""
    first, size = group.getColumns().get(0).getMeta_data(), int(group.getTotal_compressed_size())
    if first is None:
        return -1
    if not group.isSetTotal_compressed_size():
        parts = [part.getMeta_data() for part in group.getColumns()]
        size = sum(int(part.getTotal_compressed_size()) for part in parts if part is not None)
    start = int(first.getData_page_offset())
    if first.isSetDictionary_page_offset():
        start = min(start, int(first.getDictionary_page_offset()))
    return start + size // 2


def _columns(spark: SparkSession, schema: Any) -> tuple[FileColumn, ...]:
    """Return the columns as Spark would read them; if it refuses the schema, it is asked for each column."""
    package = jvm(spark).org.apache.spark.sql.execution.datasources.parquet
    converter = package.ParquetToSparkSchemaConverter(session_state(spark).conf())
    try:
        return _convert(converter, schema)
    except FAILURES:
        fields = [schema.getType(number) for number in range(schema.getFieldCount())]
        return tuple(_column(spark, converter, field) for field in fields)


def _column(spark: SparkSession, converter: Any, field: Any) -> FileColumn:
    single = jvm(spark).java.util.Collections.singletonList(field)
    try:
        [column] = _convert(converter, jvm(spark).org.apache.parquet.schema.MessageType("one", single))
    except FAILURES as error:
        match = _ILLEGAL.search(root_cause(error))
        return FileColumn(name=field.getName(), unreadable=match[1] if match else "of a type that Spark does not read")
    return column


def _convert(converter: Any, schema: Any) -> tuple[FileColumn, ...]:
    return columns_in(converter.convert(schema).json())


FORMAT = Format(read=read, options=_OPTIONS, corrupt="a page is corrupt", repeats=True)
