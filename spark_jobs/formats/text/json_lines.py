"""JSON lines: one object a line, its keys the columns."""

from collections.abc import Sequence
from secrets import token_hex

from pyspark.sql import Column, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import canonical, spark_identifier
from lakegate.audit.text.objects import HALF, HALF_PAIR, NO_HALF, NO_OBJECT
from lakegate.audit.text.scan import Scan, row_faults
from spark_jobs.formats.format import Format
from spark_jobs.formats.text.lines import AT, BLOCK, TEXT, is_short_sql, lines
from spark_jobs.formats.text.parsed_files import ParsedFiles, Value, parsed_rows
from spark_jobs.formats.text.parsing import scientific, value
from spark_jobs.formats.text.text_format import Layout, TextFormat
from spark_jobs.jvm.spark_sql import literal

_ROW_SQL = f"NOT (trim({TEXT}) = '')"
_REPEATS_A_KEY = "size(filter(keys, (key, at) -> at > 0 AND key = keys[at - 1])) > 0"  # of sorted keys
_CORRUPT = "corrupt"
_END = f"end_{token_hex(8)}"
_RAW = "from_json(wrapped, 'row map<string, string>').row"
_ENDS = r"[}]\s*,"  # an object's end, with something after it
# A number, behind everything since the last one. Strings are passed over as a whole, with the digits in them.
_TO_NUMBER = r'\G([^"0-9-]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"0-9-]*+)*+)(-?[0-9][0-9.eE+-]*+)'
# Each costly question is asked only of the few lines that a cheap pattern leaves in doubt.
_GOES_ON = f"CASE WHEN {TEXT} RLIKE {literal(_ENDS)} THEN size(json_object_keys(wrapped)) <> 2 ELSE FALSE END"
_HALF_PAIR = (
    f"CASE WHEN {TEXT} RLIKE {literal(HALF)}"
    f" THEN regexp_replace({TEXT}, {literal(NO_HALF)}, ' ') RLIKE {literal(HALF)} ELSE FALSE END"
)
_FAULTS = {
    NO_OBJECT: f"row IS NULL OR {_END} IS NULL OR {_GOES_ON}",
    HALF_PAIR: _HALF_PAIR,
}


def scan(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> dict[str, Scan]:
    """Return the files' objects. Lines with the same keys are examined once."""
    limit = form.limits.columns
    keys = F.expr(f"CASE WHEN {is_short_sql(form)} THEN json_object_keys({TEXT}) END").alias("keys")
    body = lines(spark, form, uris).where(_ROW_SQL).select(FILE_COLUMN, F.octet_length(TEXT).alias("long"), keys)
    sorted_keys = F.when(F.size("keys") <= limit, F.sort_array("keys")).alias("keys")
    shapes = body.select(FILE_COLUMN, "long", F.size("keys").alias("wide"), sorted_keys).groupBy(FILE_COLUMN, "keys")
    shape_counts = shapes.agg(F.count(F.lit(1)).alias("rows"), F.max("wide").alias("wide"), F.max("long").alias("long"))
    # A `select` that explodes an array computes its other columns anew for each element, so this is one before it.
    shapes_with_repeats = shape_counts.select("*", F.coalesce(F.expr(_REPEATS_A_KEY), F.lit(False)).alias("twice"))  # noqa: FBT003
    keys_of_shapes = shapes_with_repeats.select(
        FILE_COLUMN, "rows", "wide", "long", "twice", F.posexplode_outer("keys").alias("at", "key")
    )
    rows = F.sum(F.when(F.coalesce("at", F.lit(0)) == 0, F.col("rows")).otherwise(0)).alias("rows")
    greatest = [F.max(name).alias(name) for name in ("wide", "long", "twice")]
    by_key = keys_of_shapes.groupBy(FILE_COLUMN, "key").agg(rows, *greatest)
    place = F.row_number().over(Window.partitionBy(FILE_COLUMN).orderBy(F.col("key").asc_nulls_last()))
    first = F.collect_list(F.when(F.col("place") <= limit + 1, F.col("key"))).alias("keys")
    scans = by_key.withColumn("place", place).groupBy(FILE_COLUMN).agg(F.sum("rows").alias("rows"), *greatest, first)
    return {
        row[FILE_COLUMN]: Scan(
            rows=row["rows"], keys=tuple(row["keys"]), repeats=row["twice"], widest=row["wide"], longest=row["long"]
        )
        for row in scans.collect()
    }


def parse(spark: SparkSession, plan: Plan, layout: Layout, uris: Sequence[str]) -> ParsedFiles:
    """Parse files whose objects have the same keys among them.

    Numbers and truth values are read as such, and other types from strings. A decimal is read from its spelling,
    because Spark's reader would round it, and multiply out any exponent. Each object is read inside another one,
    because Spark's reader passes over anything after an object; the key that ends the outer one is random, so no line
    can spell it.
    """
    form, columns = plan.files, [column for column in plan.columns if column.name in layout.names]
    types = ", ".join(f"{spark_identifier(column.name)}: {_json_type(column)}" for column in columns)
    object_text = F.concat(F.lit('{"row":'), TEXT, F.lit(f',"{_END}":true}}'))
    options = {"columnNameOfCorruptRecord": _CORRUPT, "allowNonNumericNumbers": "false", "allowSingleQuotes": "false"}
    read = F.from_json(object_text, f"row struct<{types}>, {_END} boolean, {_CORRUPT} string", options)
    body = lines(spark, form, uris).where(_ROW_SQL).select("*", object_text.alias("wrapped"), read.alias("f"))
    if decimals := [f"{spark_identifier(column.name)}: string" for column in columns if _is_decimal(column)]:
        quotes = F.regexp_replace("wrapped", _TO_NUMBER, '$1"$2"')
        body = body.select("*", F.from_json(quotes, f"row struct<{', '.join(decimals)}>").alias("spelled"))
    texts = [_json_value(column) if column in columns else F.lit(None).cast(column.type) for column in plan.columns]
    texts_by_place = [text.alias(f"t{at}") for at, text in enumerate(texts)]
    rows = body.select(FILE_COLUMN, BLOCK, AT, TEXT, "sound", "wrapped", "f.*", *texts_by_place)
    values = [_value(form, at, column) for at, column in enumerate(plan.columns)]
    faults = {row_faults(form, 0)[0]: "NOT sound", **_FAULTS}
    return parsed_rows(plan, rows, values, faults, {NO_OBJECT: f"{_CORRUPT} IS NOT NULL"})


def _value(form: FileFormat, at: int, column: TableColumn) -> Value:
    is_checked = canonical(column.type) not in ("string", "int", "bigint", "boolean")
    return Value(
        sql=_typed_sql(form, at, column),
        given_sql=f"{_RAW}[{literal(column.name)}] IS NOT NULL",
        is_checked=is_checked,
    )


def _typed_sql(form: FileFormat, at: int, column: TableColumn) -> str:
    kind = canonical(column.type)
    if _is_decimal(column):
        return scientific(f"t{at}", kind)
    if kind in ("float", "double"):
        return f"CASE WHEN abs(t{at}) < {kind}('infinity') THEN t{at} END"
    if kind in ("int", "bigint", "boolean"):
        return f"t{at}"
    return value(f"t{at}", kind, form.patterns.get(column.name, ""))


def _json_value(column: TableColumn) -> Column:
    return F.col("spelled.row" if _is_decimal(column) else "f.row").getField(column.name)


def _is_decimal(column: TableColumn) -> bool:
    return canonical(column.type).startswith("decimal")


def _json_type(column: TableColumn) -> str:
    kind = canonical(column.type)
    return kind if kind in ("int", "bigint", "float", "double", "boolean") else "string"


FORMAT = Format(text=TextFormat(scan=scan, parse=parse))
