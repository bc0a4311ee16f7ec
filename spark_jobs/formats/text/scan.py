"""A inspection at staged text files: do they open, what columns have they, how many rows? One query reads all of them.

It counts lines and parses no value: what the append leaves out shows against this count.
"""

import csv
import re
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from typing import Any

from pyspark.sql import Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.evaluation.mask import masked, raw
from lakegate.audit.model.files import SUFFIXES, FileFormat, FileKind
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import Limits, beyond, more_than
from lakegate.audit.model.plan import Plan, Stance
from lakegate.audit.schema.fit import FILE_COLUMN, FileColumn
from lakegate.audit.schema.inspection import EMPTY, GONE, Inspection
from lakegate.audit.schema.names import display_name, folded
from spark_jobs.formats.text.rows import AT, TEXT, header_of, left_open, lines, records, row_of
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES, class_names, root_cause
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.isolate import THREADS, per_file

_FIRST = 64  # bytes
_NO_NAMES = {
    FileKind.CSV: "its first line names none of the contract's columns",
    FileKind.JSON: "its objects have none of the contract's columns",
}
_UNSAID = "compressed by {}, and neither its name nor the contract says so"
_UNREAD = "compressed by {}, which is not read: gzip, bzip2 and zstd are"
_OTHER_FORMATS = {
    b"PAR1": "a parquet file",
    b"ORC": "an ORC file",
    b"Obj\x01": "an Avro file",
    b"PK\x03\x04": "a zip file",
    b"\xff\xfe": "UTF-16",
    b"\xfe\xff": "UTF-16",
    b"\x1f\x8b": _UNSAID.format("gzip"),
    b"BZh": _UNSAID.format("bzip2"),
    b"\x28\xb5\x2f\xfd": _UNSAID.format("zstd"),
    b"\xfd7zX": _UNREAD.format("xz"),
    b"\x04\x22\x4d\x18": _UNREAD.format("lz4"),
}
# A header may begin with letters that other formats begin with; but what follows on them is no text.
_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
# How many bytes may come out of one, at most: what deflate can do, and blocks of bzip2 and zstd that hold one letter.
_MOST_RATIO = {SUFFIXES["gzip"]: 1032, SUFFIXES["bzip2"]: 1_100_000, SUFFIXES["zstd"]: 32_768}
_BEGINS = {
    SUFFIXES["gzip"]: re.compile(rb"\x1f\x8b"),
    SUFFIXES["bzip2"]: re.compile(rb"BZh"),
    SUFFIXES["zstd"]: re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),  # a frame, or one to be passed over
}
# Before the end of bzip2 stands this, then a checksum, and bits to make a byte whole. Hadoop does without: it tells of
# nothing where a file is cut off just there.
_BZIP2_END, _BZIP2_BITS = 0x177245385090, 48
_CHECKSUM_BITS, _BYTE_BITS = 32, 8
_MOST_SIGNS = 10  # delimiters of a header for each column that there may be: some stand between quotes
# Of an object's keys, which are sorted.
_TWICE = "size(filter(keys, (key, at) -> at > 0 AND key = keys[at - 1])) > 0"
_TAIL = (_BZIP2_BITS + _CHECKSUM_BITS) // _BYTE_BITS + 1


@dataclass(frozen=True, kw_only=True)
class Scan:
    """What the lines of one file tell: the bytes of the `longest`; of JSON's objects the `keys`, at most one more than
    there may be, and how many the `widest` has. Where fields may hold line ends: whether a quote is `left_open`, and
    whether all bytes are `sound`, text of the encoding.
    """

    rows: int = 0
    header: str = ""
    keys: tuple[str, ...] = ()
    twice: bool = False
    left_open: bool = False
    sound: bool = False
    widest: int = 0
    longest: int = 0


def inspect_text(spark: SparkSession, plan: Plan, files: Sequence[JobFile]) -> list[Inspection]:
    """A look at every file, in their order."""
    with ThreadPoolExecutor(THREADS) as pool:
        wrong = dict(
            zip(
                [file.id for file in files],
                pool.map(lambda file: _fault_of_bytes(spark, file, plan.files.limits), files),
                strict=True,
            )
        )
    readable = [file for file in files if not wrong[file.id]]
    seen = _scan_all(spark, plan.files, readable) if readable else {}
    return [_inspect(plan, file, seen.get(file.id, Scan()), wrong[file.id]) for file in files]


def _inspect(plan: Plan, file: JobFile, seen: Scan | str, wrong: str) -> Inspection:
    large = () if wrong or isinstance(seen, str) else _limit_faults(plan.files, seen)
    reason = wrong or _fault_of_lines(plan, seen)
    if large or reason or isinstance(seen, str):
        return Inspection(file=file, faults=large or (reason,))
    try:
        layout = _layout(plan, seen)
    except csv.Error:
        return Inspection(
            file=file, faults=("its first line is no header: a name in it is too long, or broken in two",)
        )
    if wide := beyond(plan.files.limits, columns=len(layout)):
        return Inspection(file=file, faults=wide)
    if _may_be_values(plan, layout):
        return Inspection(file=file, faults=(_NO_NAMES[plan.files.kind],))
    if untold := _hidden_header_fault(plan, layout):
        return Inspection(file=file, faults=(untold,))
    types = {column.name: column.type for column in plan.columns}
    is_json = plan.files.kind is FileKind.JSON
    there = dict.fromkeys([*types, *layout]) if is_json else layout  # an object's keys have no order
    columns = tuple(FileColumn(name=name, type=types.get(name, "string")) for name in there)
    twice = ("an object has a key twice",) if seen.twice else ()
    return Inspection(file=file, rows=seen.rows, columns=columns, layout=tuple(layout), sound=seen.sound, faults=twice)


def _limit_faults(form: FileFormat, seen: Scan) -> tuple[str, ...]:
    """Which limits a file is beyond, by its lines: asked before these are taken apart."""
    limits, signs = form.limits, seen.header.count(form.delimiter) if form.kind is FileKind.CSV and form.header else 0
    columns = signs + 1 if signs > _MOST_SIGNS * limits.columns else seen.widest
    if wrong := beyond(limits, rows=seen.rows, line=seen.longest, columns=columns):
        return wrong
    return (more_than(limits, "columns"),) if len(seen.keys) > limits.columns else ()


def _fault_of_lines(plan: Plan, seen: Scan | str) -> str:
    """Why a file cannot be taken, told from its lines; nothing if it can."""
    if isinstance(seen, str):
        return f"it cannot be read to its end ({raw(plan.columns, seen)})"
    if not seen.header and not seen.rows:
        return "it has no rows"
    if plan.files.kind is FileKind.CSV and plan.files.header and not seen.header.strip():
        return "its first line is blank: the names of its columns should stand there"
    return "its quotes don't pair: one is opened and never closed" if seen.left_open else ""


def _may_be_values(plan: Plan, layout: Sequence[str]) -> bool:
    """Whether what stands in the place of names may be values, which must not be told as names of columns."""
    named = bool(masked(plan.columns) and layout)
    return named and not {*map(folded, layout)} & {folded(column.name) for column in plan.columns}


def _hidden_header_fault(plan: Plan, layout: Sequence[str]) -> str:
    """The fault of a header that lacks a masked column and has names of its own: they may be that column's values."""
    is_named = plan.files.kind is FileKind.CSV and plan.files.header
    if not is_named or plan.policy.missing_columns is not Stance.FREEZE:
        return ""
    there, known = set(map(folded, layout)), {folded(column.name) for column in plan.columns}
    missing = [display_name(name) for name in masked(plan.columns) if folded(name) not in there]
    if not missing or there <= known:
        return ""
    return f"its first line lacks {', '.join(missing)}, and has other names, which are not told: they may be values"


def _layout(plan: Plan, seen: Scan) -> list[str]:
    """The columns in the file's order: by its header, by its objects' keys, or else the contract's."""
    if plan.files.kind is FileKind.JSON:
        return list(seen.keys)
    return _header_names(plan.files, seen.header) if plan.files.header else [column.name for column in plan.columns]


def _header_names(form: FileFormat, header: str) -> list[str]:
    told = {"quotechar": form.quote} if form.quote else {"quoting": csv.QUOTE_NONE}
    escaped = {"escapechar": form.escape, "doublequote": False} if form.escape not in ("", form.quote) else {}
    options: dict[str, Any] = {"delimiter": form.delimiter, **told, **escaped}
    if form.multiline:
        _refuse_open(header, options)
    return next(csv.reader([header], **options))


def _refuse_open(header: str, options: Mapping[str, Any]) -> None:
    """csv.Error where a quote is open at the end of the line: it goes on in the next one."""
    try:
        next(csv.reader([header], strict=True, **options))
    except csv.Error as error:
        if "end of data" in str(error):
            raise


def _scan_all(spark: SparkSession, form: FileFormat, files: Sequence[JobFile]) -> dict[str, Scan | str]:
    """By file; where they cannot be read together, each by itself, so that one file's trouble is its own."""
    try:
        return dict(_scan(spark, form, [file.uri for file in files]))
    except FAILURES:
        found = per_file(files, lambda file: _scan(spark, form, [file.uri]).get(file.id, Scan()), THREADS)
        return {
            file.id: _reason_of_error(it) if isinstance(it, Exception) else it
            for file, it in zip(files, found, strict=True)
        }


def _reason_of_error(error: Exception) -> str:
    """The parser's array of fields is as long as a row may have fields."""
    said = root_cause(error)
    return "a row has more fields than any may have" if "out of bounds for length" in said else said


def _scan(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> dict[str, Scan]:
    if form.kind is FileKind.JSON:
        return _scan_objects(spark, form, uris)
    found = _scan_csv(spark, form, uris)
    if form.multiline:
        last = F.max_by(F.expr(f"{_is_short(form)} AND {left_open(form)}"), F.col(AT))
        told = [F.count(TEXT).alias("rows"), last.alias("left_open"), F.max(F.octet_length(TEXT)).alias("longest")]
        counted = records(spark, form, uris).groupBy(FILE_COLUMN).agg(*told).collect()
        none = {file: replace(seen, rows=0) for file, seen in found.items()}
        return none | {row[FILE_COLUMN]: _with_records(found[row[FILE_COLUMN]], row) for row in counted}
    return found


def _with_records(of_lines: Scan, row: Row) -> Scan:
    longest = max(of_lines.longest, row["longest"] or 0)
    return replace(of_lines, rows=row["rows"], left_open=row["left_open"], longest=longest)


def _scan_csv(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> dict[str, Scan]:
    header = F.max(F.expr(f"CASE WHEN {header_of(form)} AND {_is_short(form)} THEN {TEXT} END"))
    sound = F.min("sound") if form.multiline else F.lit(False)  # noqa: FBT003
    counted, longest = F.count_if(F.expr(row_of(form))), F.max(F.octet_length(TEXT))
    found = lines(spark, form, uris).groupBy(FILE_COLUMN).agg(counted, header, sound, longest).collect()
    return {
        file: Scan(rows=rows, header=first or "", sound=sound, longest=longest)
        for file, rows, first, sound, longest in found
    }


def _scan_objects(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> dict[str, Scan]:
    """Lines with the same keys are looked at once, and no more keys are told than there may be columns."""
    most = form.limits.columns
    keys = F.expr(f"CASE WHEN {_is_short(form)} THEN json_object_keys({TEXT}) END").alias("keys")
    body = lines(spark, form, uris).where(row_of(form)).select(FILE_COLUMN, F.octet_length(TEXT).alias("long"), keys)
    sorted_keys = F.when(F.size("keys") <= most, F.sort_array("keys")).alias("keys")
    shapes = body.select(FILE_COLUMN, "long", F.size("keys").alias("wide"), sorted_keys).groupBy(FILE_COLUMN, "keys")
    counted = shapes.agg(F.count(F.lit(1)).alias("rows"), F.max("wide").alias("wide"), F.max("long").alias("long"))
    # For each row that comes out of an array, Spark would work out anew what stands beside it in the same `select`.
    told = counted.select("*", F.coalesce(F.expr(_TWICE), F.lit(False)).alias("twice"))  # noqa: FBT003
    each = told.select(FILE_COLUMN, "rows", "wide", "long", "twice", F.posexplode_outer("keys").alias("at", "key"))
    rows = F.sum(F.when(F.coalesce("at", F.lit(0)) == 0, F.col("rows")).otherwise(0)).alias("rows")
    greatest = [F.max(name).alias(name) for name in ("wide", "long", "twice")]
    by_key = each.groupBy(FILE_COLUMN, "key").agg(rows, *greatest)
    place = F.row_number().over(Window.partitionBy(FILE_COLUMN).orderBy(F.col("key").asc_nulls_last()))
    first = F.collect_list(F.when(F.col("place") <= most + 1, F.col("key"))).alias("keys")
    found = by_key.withColumn("place", place).groupBy(FILE_COLUMN).agg(F.sum("rows").alias("rows"), *greatest, first)
    return {
        it[FILE_COLUMN]: Scan(
            rows=it["rows"], keys=tuple(it["keys"]), twice=it["twice"], widest=it["wide"], longest=it["long"]
        )
        for it in found.collect()
    }


def _is_short(form: FileFormat) -> str:
    """The SQL of whether a line is no longer than one may be: nothing else is asked of a longer one."""
    return f"octet_length({TEXT}) <= {form.limits.line}"


def _fault_of_bytes(spark: SparkSession, file: JobFile, limits: Limits) -> str:
    """Why a file cannot be text as its name says, told from its first and last bytes."""
    if file.size == 0:
        return EMPTY
    suffix = next((suffix for suffix in _BEGINS if file.uri.endswith(suffix)), "")
    try:
        _, start, end = hadoop.ends(spark, file.uri, _FIRST, _TAIL if suffix == SUFFIXES["bzip2"] else 0)
    except FAILURES as error:
        if any(name.endswith("FileNotFoundException") for name in class_names(error)):
            return GONE
        raise
    if suffix and not _BEGINS[suffix].match(start):
        return "it is not compressed as its name or the contract says"
    if suffix == SUFFIXES["bzip2"] and not _ends_as_bzip2(end):
        return "it does not end as bzip2 does: it is cut off, or something stands behind its end"
    if suffix:
        return _uncompressed_fault(spark, file, limits)
    found = next((said for magic, said in _OTHER_FORMATS.items() if _begins(start, magic)), "")
    return f"it is {found}" if found else ""


def _begins(start: bytes, magic: bytes) -> bool:
    return start.startswith(magic) and bool(not magic.isalnum() or _NO_TEXT.search(start))


def _ends_as_bzip2(end: bytes) -> bool:
    """The marker begins at any bit."""
    bits = int.from_bytes(end) >> _CHECKSUM_BITS
    return any(bits >> pad & (1 << _BZIP2_BITS) - 1 == _BZIP2_END for pad in range(_BYTE_BITS))


def _uncompressed_fault(spark: SparkSession, file: JobFile, limits: Limits) -> str:
    """Whether more comes out of a compressed file than is taken: counted where so few bytes could hold as much."""
    ratio = next(ratio for suffix, ratio in _MOST_RATIO.items() if file.uri.endswith(suffix))
    if file.size * ratio <= limits.uncompressed:
        return ""
    try:
        found = _count_uncompressed(spark, file.uri, limits.uncompressed + 1)
    except FAILURES:
        return ""  # what is wrong with it is told when its lines are read
    return more_than(limits, "uncompressed") if found > limits.uncompressed else ""


def _count_uncompressed(spark: SparkSession, uri: str, most: int) -> int:
    """How many bytes come out; no more than so many are looked at, and none is kept."""
    path, java = hadoop.path(spark, uri), jvm(spark).org.apache
    codec = java.hadoop.io.compress.CompressionCodecFactory(hadoop.configuration(spark)).getCodec(path)
    nowhere = java.commons.io.output.NullOutputStream()
    with hadoop.opened(spark, uri) as stream, closing(codec.createInputStream(stream)) as unpacked:
        return int(java.commons.io.IOUtils.copyLarge(unpacked, nowhere, 0, most))
