"""ORC's footer, read within limits. It reads no stripe.

Spark misreads some ORC files without an error, so those are refused here.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from pyspark.sql import SparkSession

from lakegate.audit.model.limits import Limits, beyond
from lakegate.audit.schema.fit import FileColumn
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.names import display_name
from lakegate.counts import count
from spark_jobs.formats.footer import Ends, Footer, Unreadable, columns_in
from spark_jobs.formats.format import Format
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES
from spark_jobs.jvm.gateway import jvm

TRUNCATED = "it is truncated: it begins as an ORC file and does not end as one"
_FRACTIONS = "it has parts of a second before 1970, which Spark reads from ORC only as Java's writer has them"
_MAGIC = b"ORC"
_LARGEST_BLOCK = 2**23  # what three bytes of a chunk's length can say
_QUOTED = re.compile("`(?:[^`]|``)*`")
_UNNAMED = re.compile("_col[0-9]+")
# 1582-10-15 as days since 1970: Spark reads the days before by the Julian calendar, whoever wrote them.
_REFORM = -141427
_DAY = 86_400_000  # milliseconds


def read(spark: SparkSession, uri: str, ends: Ends, limits: Limits) -> Footer:
    """The footer; a file that is beyond a limit has faults and no columns."""
    if wrong := beyond(limits, footer=_length(spark, ends)):
        return Footer(faults=wrong)
    factory = jvm(spark).org.apache.orc.OrcFile
    reader = factory.createReader(hadoop.path(spark, uri), factory.readerOptions(hadoop.configuration(spark)))
    try:
        return _footer(spark, reader, ends.length, limits)
    finally:
        reader.close()


def explain(said: str) -> str:
    """Return the fault that an error of ORC's reader means; "" if the file may be corrupt."""
    return _FRACTIONS if said.startswith("nanos > 999999999") else ""


def check_time_zone(spark: SparkSession, inspections: Sequence[Inspection]) -> list[Inspection]:
    """The same files; where Spark would read their timestamps by another clock, with that fault."""
    at = [
        inspection
        for inspection in inspections
        if not inspection.faults and any("timestamp" in column.type for column in inspection.columns)
    ]
    if not at or _in_utc(spark):
        return list(inspections)
    why = "its timestamps would be read by another clock: Spark's machines must be in the time zone UTC for ORC"
    return [replace(inspection, faults=(why,)) if inspection in at else inspection for inspection in inspections]


def _in_utc(spark: SparkSession) -> bool:
    """Whether the machines that read are in UTC: Spark reads ORC's timestamps in their time zone."""
    [row] = spark.range(1).selectExpr("java_method('java.time.ZoneId', 'systemDefault')").collect()
    return row[0] in ("UTC", "Etc/UTC", "Z", "GMT", "Etc/GMT", "Etc/UCT", "UCT", "Zulu", "Etc/Zulu", "Universal")


def _length(spark: SparkSession, ends: Ends) -> int:
    """How many bytes describe the columns, by the postscript: the file's last bytes."""
    if not ends.first.startswith(_MAGIC):
        raise Unreadable("it is not an ORC file")
    size = ends.last[-1]
    if not ends.last[:-1].endswith(_MAGIC) or not len(_MAGIC) < size < ends.length:
        raise Unreadable(TRUNCATED)
    try:
        said = jvm(spark).org.apache.orc.OrcProto.PostScript.parseFrom(ends.last[-1 - size : -1])
    except FAILURES:
        raise Unreadable(TRUNCATED) from None
    length, room = int(said.getFooterLength()) + int(said.getMetadataLength()), ends.length - 1 - size - len(_MAGIC)
    if not 0 < length <= room or min(said.getFooterLength(), said.getMetadataLength()) < 0:
        raise Unreadable(f"its footer says that it has {count(length, 'byte')}, and there are {room:,}")
    if not 0 <= said.getCompressionBlockSize() <= _LARGEST_BLOCK:
        raise Unreadable(f"its footer says that its blocks have {count(said.getCompressionBlockSize(), 'byte')}")
    return length


def _footer(spark: SparkSession, reader: Any, length: int, limits: Limits) -> Footer:
    schema, rows = reader.getSchema(), int(reader.getNumberOfRows())
    stripes = [(int(stripe.getNumberOfRows()), int(stripe.getOffset())) for stripe in reader.getStripes()]
    counted = sum(number for number, _ in stripes) if rows else 0
    if rows != counted:
        raise Unreadable(f"its footer contradicts itself: {count(rows, 'row')} in all, and {counted:,} in its stripes")
    if not all(0 <= offset < length for _, offset in stripes):  # nobody would read them
        raise Unreadable("its footer contradicts itself: it has stripes where the file has no bytes")
    wrong = beyond(
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
    """How deep the brackets go: a column without any is one deep."""
    depth = deepest = 0
    for sign in re.findall("[<>]", _QUOTED.sub("", schema)):
        depth += 1 if sign == "<" else -1
        deepest = max(deepest, depth)
    return deepest


def _columns(spark: SparkSession, schema: Any) -> tuple[FileColumn, ...]:
    return tuple(
        _column(spark, str(name), kind) for name, kind in zip(schema.getFieldNames(), schema.getChildren(), strict=True)
    )


def _column(spark: SparkSession, name: str, kind: Any) -> FileColumn:
    alone = jvm(spark).org.apache.orc.TypeDescription.createStruct().addField(name, kind.clone())
    try:
        utils = jvm(spark).org.apache.spark.sql.execution.datasources.orc.OrcUtils
        [column] = columns_in(utils.toCatalystSchema(alone).json())
    except FAILURES:
        return FileColumn(name=name, unreadable=str(kind.toString()))
    return column


def _unreadable_faults(columns: tuple[FileColumn, ...]) -> tuple[str, ...]:
    """Spark reads nothing of a file with a type that it does not know, and goes by place where there are no names."""
    if columns and all(_UNNAMED.fullmatch(column.name) for column in columns):
        return ("its columns have no names: they are called _col0, _col1, …",)
    unknown = [column for column in columns if column.unreadable]
    return tuple(
        f"column {display_name(it.name)} is {it.unreadable[:60]}, which Spark does not read from ORC" for it in unknown
    )


def _reform_faults(reader: Any, schema: Any) -> tuple[str, ...]:
    """By the column statistics, which every writer puts into the footer."""
    names = {
        int(kind.getId()): str(name) for name, kind in zip(schema.getFieldNames(), schema.getChildren(), strict=True)
    }
    early = [number for number, told in enumerate(reader.getStatistics()) if _first_day(told) < _REFORM]
    within = [max((at for at in names if at <= number), default=0) for number in early]
    return tuple(
        f"column {display_name(names[at])} has days before 1582-10-15, which Spark does not read from ORC as they are"
        for at in dict.fromkeys(within)
        if at in names
    )


def _null_key_faults(reader: Any, schema: Any) -> tuple[str, ...]:
    """By the column statistics, too, as they are written: where a writer left out whether there are nulls, ORC's own
    reader says that there are. Of a null that is a key, Spark makes another key.
    """
    if "map<" not in str(schema.toString()):
        return ()
    told = enumerate(reader.getOrcProtoFileStatistics())
    with_nulls = {number for number, it in told if it.hasHasNull() and it.getHasNull()}
    named = zip(schema.getFieldNames(), schema.getChildren(), strict=True)
    wrong = [str(name) for name, kind in named if with_nulls.intersection(_keys(kind))]
    return tuple(f"column {display_name(name)} has a map with a null among its keys" for name in wrong)


def _keys(kind: Any) -> Iterator[int]:
    """The numbers of the columns that hold keys of maps."""
    parts = list(kind.getChildren() or ())
    if kind.getCategory().getName() == "map":
        yield int(parts[0].getId())
    for part in parts:
        yield from _keys(part)


def _first_day(told: Any) -> int:
    """The first day that the statistics of dates or timestamps know of, since 1970."""
    kind = str(told.getClass().getSimpleName())
    if kind == "DateStatisticsImpl":
        return int(told.getMinimumDayOfEpoch())
    first = told.getMinimumUTC() if kind == "TimestampStatisticsImpl" else None
    return int(first.getTime()) // _DAY if first else 0


FORMAT = Format(read=read, corrupt="a stripe is corrupt", explain=explain, check_machines=check_time_zone, repeats=True)
