"""ORC's footer, read within limits. It reads no stripe.

Spark misreads some ORC files without an error, so those are refused here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from lakegate.audit.advice import Advice, Fault
from lakegate.audit.model.files import FileKind
from lakegate.audit.model.limits import Limits, beyond_limits
from lakegate.audit.schema.fit import FileColumn
from lakegate.audit.schema.inspection import UPLOADED_WHOLE, Inspection
from lakegate.audit.schema.kinds import not_of
from lakegate.audit.schema.names import display_name
from lakegate.counts import count
from spark_jobs.formats.footer import Ends, Footer, Unreadable, columns_in
from spark_jobs.formats.format import Format
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES
from spark_jobs.jvm.gateway import jvm

TRUNCATED_FAULT = Fault("it is truncated: it begins as an ORC file and does not end as one", UPLOADED_WHOLE)
_AS_PARQUET = Advice(vendor="write the table's files as parquet, once the contract says format: parquet")
_FRACTIONS = Fault(
    "it has parts of a second before 1970, which Spark reads from ORC only as Java's writer has them", _AS_PARQUET
)
_MAGIC = b"ORC"
_LARGEST_BLOCK = 2**23  # bytes, the most that a chunk's three bytes of length can express
_QUOTED_NAME = re.compile("`(?:[^`]|``)*`")
_HIVE_NAME = re.compile("_col[0-9]+")
# 1582-10-15 as days since 1970: Spark reads earlier days by the Julian calendar, whichever the writer used.
_REFORM = -141427
_DAY = 86_400_000  # milliseconds


def read(spark: SparkSession, uri: str, ends: Ends, limits: Limits) -> Footer:
    """Return the footer; a file beyond a limit has faults and no columns."""
    if wrong := beyond_limits(limits, footer=_length(spark, ends)):
        return Footer(faults=wrong)
    factory = jvm(spark).org.apache.orc.OrcFile
    reader = factory.createReader(hadoop.path(spark, uri), factory.readerOptions(hadoop.configuration(spark)))
    try:
        return _footer(spark, reader, ends.length, limits)
    finally:
        reader.close()


def explain(message: str) -> Fault | None:
    """Return the fault that an error of ORC's reader means; None if the file may be corrupt."""
    return _FRACTIONS if message.startswith("nanos > 999999999") else None


def check_time_zone(spark: SparkSession, inspections: Sequence[Inspection]) -> list[Inspection]:
    """Return the same files, with a fault on each with timestamps if the machines are not in UTC: Spark reads ORC's
    timestamps in their time zone.
    """
    at = [
        inspection
        for inspection in inspections
        if not inspection.faults and any("timestamp" in column.type for column in inspection.columns)
    ]
    if not at or _in_utc(spark):
        return list(inspections)
    fault = Fault(
        "its timestamps would be read by another clock: Spark's machines must be in the time zone UTC for ORC",
        Advice(operator="set the time zone of Spark's machines to UTC, then run lakegate retry for its batch"),
    )
    return [replace(inspection, faults=(fault,)) if inspection in at else inspection for inspection in inspections]


def _in_utc(spark: SparkSession) -> bool:
    """Return True if the machines that read are in UTC."""
    [row] = spark.range(1).selectExpr("java_method('java.time.ZoneId', 'systemDefault')").collect()
    return row[0] in ("UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "Etc/UCT", "UCT", "Zulu", "Etc/Zulu", "Universal")


def _length(spark: SparkSession, ends: Ends) -> int:
    """Return the bytes that describe the columns, by the postscript at the file's end."""
    if not ends.first.startswith(_MAGIC):
        raise Unreadable(not_of(FileKind.ORC, ends.first))
    size = ends.last[-1]
    if not ends.last[:-1].endswith(_MAGIC) or not len(_MAGIC) < size < ends.length:
        raise Unreadable(TRUNCATED_FAULT)
    try:
        postscript = jvm(spark).org.apache.orc.OrcProto.PostScript.parseFrom(ends.last[-1 - size : -1])
    except FAILURES:
        raise Unreadable(TRUNCATED_FAULT) from None
    length, room = (
        int(postscript.getFooterLength()) + int(postscript.getMetadataLength()),
        ends.length - 1 - size - len(_MAGIC),
    )
    if not 0 < length <= room or min(postscript.getFooterLength(), postscript.getMetadataLength()) < 0:
        raise Unreadable(f"its footer says that it has {count(length, 'byte')}, and there are {room:,}")
    if not 0 <= postscript.getCompressionBlockSize() <= _LARGEST_BLOCK:
        raise Unreadable(f"its footer says that its blocks have {count(postscript.getCompressionBlockSize(), 'byte')}")
    return length


def _footer(spark: SparkSession, reader: Any, length: int, limits: Limits) -> Footer:
    schema, rows = reader.getSchema(), int(reader.getNumberOfRows())
    stripes = [(int(stripe.getNumberOfRows()), int(stripe.getOffset())) for stripe in reader.getStripes()]
    stripe_rows = sum(number for number, _ in stripes) if rows else 0
    if rows != stripe_rows:
        raise Unreadable(
            f"its footer contradicts itself: {count(rows, 'row')} in all, and {stripe_rows:,} in its stripes"
        )
    if not all(0 <= offset < length for _, offset in stripes):  # no reader would find them
        raise Unreadable("its footer contradicts itself: it has stripes where the file has no bytes")
    wrong = beyond_limits(
        limits,
        row_groups=len(stripes),
        columns=int(schema.getMaximumId()),
        nesting=_nesting(str(schema.toString())),
        rows=rows,
        uncompressed=int(reader.getRawDataSize()),
    )
    if wrong:
        return Footer(faults=wrong)
    columns = _columns(spark, schema)
    faults = (*_unreadable_faults(columns), *_reform_faults(reader, schema), *_null_key_faults(reader, schema))
    return Footer(rows=rows, columns=columns, faults=faults)


def _nesting(schema: str) -> int:
    """Return the depth of the brackets; a column without any has depth 1."""
    depth = deepest = 0
    for sign in re.findall("[<>]", _QUOTED_NAME.sub("", schema)):
        depth += 1 if sign == "<" else -1
        deepest = max(deepest, depth)
    return deepest


def _columns(spark: SparkSession, schema: Any) -> tuple[FileColumn, ...]:
    return tuple(
        _column(spark, str(name), kind) for name, kind in zip(schema.getFieldNames(), schema.getChildren(), strict=True)
    )


def _column(spark: SparkSession, name: str, kind: Any) -> FileColumn:
    single = jvm(spark).org.apache.orc.TypeDescription.createStruct().addField(name, kind.clone())
    try:
        utils = jvm(spark).org.apache.spark.sql.execution.datasources.orc.OrcUtils
        [column] = columns_in(utils.toCatalystSchema(single).json())
    except FAILURES:
        return FileColumn(name=name, unreadable=str(kind.toString()))
    return column


def _unreadable_faults(columns: tuple[FileColumn, ...]) -> tuple[Fault, ...]:
    """Return the faults of columns that Spark cannot read.

    Spark reads nothing of a file with a type that it does not know, and goes by position if columns have no names.
    """
    if columns and all(_HIVE_NAME.fullmatch(column.name) for column in columns):
        advice = Advice(vendor="write it with the columns' names, which older versions of Hive leave out")
        return (Fault("its columns have no names: they are called _col0, _col1, …", advice),)
    unknown = [column for column in columns if column.unreadable]
    return tuple(
        Fault(
            f"column {display_name(column.name)} is {column.unreadable[:60]}, which Spark does not read from ORC",
            Advice(vendor=f"write column {display_name(column.name)} as the type that the contract has for it"),
        )
        for column in unknown
    )


def _reform_faults(reader: Any, schema: Any) -> tuple[Fault, ...]:
    """Return the faults of columns with days before 1582-10-15, by the column statistics that every writer puts into
    the footer.
    """
    names = {
        int(kind.getId()): str(name) for name, kind in zip(schema.getFieldNames(), schema.getChildren(), strict=True)
    }
    early = [number for number, column in enumerate(reader.getStatistics()) if _first_day(column) < _REFORM]
    top_columns = [max((at for at in names if at <= number), default=0) for number in early]
    wrong = [display_name(names[at]) for at in dict.fromkeys(top_columns) if at in names]
    return tuple(
        Fault(f"column {name} has days before 1582-10-15, which Spark does not read from ORC as they are", _AS_PARQUET)
        for name in wrong
    )


def _null_key_faults(reader: Any, schema: Any) -> tuple[Fault, ...]:
    """Return the faults of maps with a null key, which Spark reads as another key.

    The statistics are read as they are written: where a writer left out whether there are nulls, ORC's own reader says
    that there are.
    """
    if "map<" not in str(schema.toString()):
        return ()
    columns = enumerate(reader.getOrcProtoFileStatistics())
    with_nulls = {number for number, column in columns if column.hasHasNull() and column.getHasNull()}
    pairs = zip(schema.getFieldNames(), schema.getChildren(), strict=True)
    wrong = [str(name) for name, kind in pairs if with_nulls.intersection(_keys(kind))]
    advice = Advice(vendor="write maps without null keys, which no other format has")
    return tuple(Fault(f"column {display_name(name)} has a map with a null among its keys", advice) for name in wrong)


def _keys(kind: Any) -> Iterator[int]:
    """Yield the numbers of the columns that hold keys of maps."""
    parts = list(kind.getChildren() or ())
    if kind.getCategory().getName() == "map":
        yield int(parts[0].getId())
    for part in parts:
        yield from _keys(part)


def _first_day(statistics: Any) -> int:
    """Return the first day, since 1970, in the statistics of dates or timestamps; 0 for other types."""
    kind = str(statistics.getClass().getSimpleName())
    if kind == "DateStatisticsImpl":
        return int(statistics.getMinimumDayOfEpoch())
    first = statistics.getMinimumUTC() if kind == "TimestampStatisticsImpl" else None
    return int(first.getTime()) // _DAY if first else 0


FORMAT = Format(read=read, corrupt="a stripe is corrupt", explain=explain, check_machines=check_time_zone, repeats=True)
