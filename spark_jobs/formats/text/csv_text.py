"""CSV: fields between delimiters, a header if the contract says so, and quotes that may hold line ends."""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.plan import Plan, TableColumn
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import canonical
from lakegate.audit.text.fields import left_open, most_fields, well_quoted
from lakegate.audit.text.scan import Scan, row_faults
from spark_jobs.formats.format import Format
from spark_jobs.formats.origin import origin
from spark_jobs.formats.text.lines import AT, BLOCK, TEXT, is_short_sql, lines, number_in_block
from spark_jobs.formats.text.parsed_files import ParsedFiles, Value, parsed_rows
from spark_jobs.formats.text.parsing import value, whole
from spark_jobs.formats.text.text_format import Layout, TextFormat
from spark_jobs.jvm.spark_sql import literal

# Options that Spark's parser needs and no file has: unset, they are NUL, which some files do have.
_EMPTY = "\ufdd0empty"  # a field with nothing in it is read as this
_NO_QUOTE, _NO_ESCAPE = "\ufdd1", "\ufdd2"
_REPLACEMENT = "\ufffd"  # in the place of bytes that cannot be decoded
_CORRUPT = "corrupt"


def scan(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> dict[str, Scan]:
    """Return the files' lines; if fields may hold line ends, their records."""
    scans = _scan_lines(spark, form, uris)
    if not form.multiline:
        return scans
    last = F.max_by(F.expr(f"{is_short_sql(form)} AND {_left_open_sql(form)}"), F.col(AT))
    counts = [F.count(TEXT).alias("rows"), last.alias("left_open"), F.max(F.octet_length(TEXT)).alias("longest")]
    records_per_file = _records(spark, form, uris).groupBy(FILE_COLUMN).agg(*counts).collect()
    empty_scans = {file: replace(lines_of, rows=0) for file, lines_of in scans.items()}
    return empty_scans | {row[FILE_COLUMN]: _with_records(scans[row[FILE_COLUMN]], row) for row in records_per_file}


def parse(spark: SparkSession, plan: Plan, layout: Layout, uris: Sequence[str]) -> ParsedFiles:
    """Parse files whose fields are in one order."""
    form, width = plan.files, len(layout.names)
    read = (
        _fields_of_records(spark, form, uris, layout) if form.multiline else _fields_of_lines(spark, form, uris, width)
    )
    places = {name: at for at, name in enumerate(layout.names)}
    texts = [_text_sql(form, column, places.get(column.name)) for column in plan.columns]
    read = read.select("*", *(F.expr(sql).alias(f"t{at}") for at, sql in enumerate(texts)))
    strange, bad_quotes, unequal = row_faults(form, width)
    quotes = {} if form.multiline or not form.quote else {bad_quotes: f"NOT {_well_quoted_sql(form)}"}
    is_missing = f"{_CORRUPT} IS NOT NULL" + ("" if form.multiline else " OR f IS NULL")
    faults = {strange: "NOT sound", **quotes, unequal: is_missing}
    return parsed_rows(plan, read, [_value(form, at, column) for at, column in enumerate(plan.columns)], faults)


def _value(form: FileFormat, at: int, column: TableColumn) -> Value:
    sql = value(f"t{at}", column.type, form.patterns.get(column.name, ""))
    return Value(sql=sql, given_sql=f"t{at} IS NOT NULL", is_checked=canonical(column.type) != "string")


def _header_sql(form: FileFormat) -> str:
    return f"({BLOCK} = 0 AND {AT} = 0)" if form.header else "false"


def _row_sql(form: FileFormat) -> str:
    """Return the SQL that is true of a row. An empty line is none; a space is a field."""
    return f"NOT ({TEXT} = '') AND NOT {_header_sql(form)}"


def _scan_lines(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> dict[str, Scan]:
    header = F.max(F.expr(f"CASE WHEN {_header_sql(form)} AND {is_short_sql(form)} THEN {TEXT} END"))
    sound = F.min("sound") if form.multiline else F.lit(False)  # noqa: FBT003
    row_count, longest = F.count_if(F.expr(_row_sql(form))), F.max(F.octet_length(TEXT))
    scans = lines(spark, form, uris).groupBy(FILE_COLUMN).agg(row_count, header, sound, longest).collect()
    return {
        file: Scan(rows=rows, header=first or "", sound=is_sound, longest=longest_line)
        for file, rows, first, is_sound, longest_line in scans
    }


def _with_records(of_lines: Scan, row: Row) -> Scan:
    longest = max(of_lines.longest, row["longest"] or 0)
    return replace(of_lines, rows=row["rows"], left_open=row["left_open"], longest=longest)


def _records(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> DataFrame:
    """Return the raw text of each record, whose fields may hold line ends.

    Spark's parser returns the raw text only of a record that it cannot parse, so it is asked for a date in a format
    that nothing matches.
    """
    read = _read_records(spark, form, 1, {"dateFormat": f"'{_EMPTY}'"}, f"c0 date, {_CORRUPT} string", uris)
    text = F.coalesce(_CORRUPT, F.col("c0").cast("string"))
    return read.select(origin(read), number_in_block(), text.alias(TEXT))


def _read_records(
    spark: SparkSession, form: FileFormat, width: int, further_options: dict[str, str], schema: str, uris: Sequence[str]
) -> DataFrame:
    """Return Spark's own records of whole files. A broken quote ends the reading."""
    whole = {"multiLine": "true", "header": str(form.header).lower(), "encoding": form.encoding, **further_options}
    options = {**_options(form, width), **whole, "unescapedQuoteHandling": "RAISE_ERROR"}
    return spark.read.schema(schema).options(**options).csv(list(uris))


def _fields_of_records(spark: SparkSession, form: FileFormat, uris: Sequence[str], layout: Layout) -> DataFrame:
    """Return records with their fields as texts c0, c1, …"""
    width = len(layout.names)
    read, fields = _read_records(spark, form, width, {}, _schema(width), uris), [f"c{at}" for at in range(width)]
    text = F.coalesce(_CORRUPT, F.concat_ws(form.delimiter, *fields))
    # A file whose bytes are all text may hold the replacement character itself.
    is_sound = F.lit(layout.sound) | ~text.contains(_REPLACEMENT)
    place = F.lit(0).alias(BLOCK), number_in_block()
    return read.select(origin(read), *place, text.alias(TEXT), is_sound.alias("sound"), *fields, _CORRUPT)


def _fields_of_lines(spark: SparkSession, form: FileFormat, uris: Sequence[str], width: int) -> DataFrame:
    """Return lines with their fields as texts c0, c1, …"""
    body = lines(spark, form, uris).where(_row_sql(form))
    # The parser fails on a line with more fields than its limit, so it gets a null instead.
    text = F.expr(f"CASE WHEN {_too_wide_sql(form, width)} THEN NULL ELSE {TEXT} END")
    fields = F.from_csv(text, _schema(width), _options(form, width))
    return body.select("*", fields.alias("f")).select(FILE_COLUMN, BLOCK, AT, TEXT, "sound", "f.*", "f")


def _schema(width: int) -> str:
    return ", ".join(f"{name} string" for name in (*(f"c{at}" for at in range(width)), _CORRUPT))


def _too_wide_sql(form: FileFormat, width: int) -> str:
    """Return the SQL that is true of a line with too many fields for the parser; only a long line has them counted."""
    without_delimiters, limit = f"length(replace({TEXT}, {literal(form.delimiter)}, ''))", most_fields(width)
    return f"octet_length({TEXT}) >= {limit} AND length({TEXT}) - {without_delimiters} >= {limit}"


def _options(form: FileFormat, width: int) -> dict[str, str]:
    """Return the options of Spark's parser: an empty field is null, and an empty text between quotes is not."""
    return {
        "sep": form.delimiter,
        "quote": form.quote or _NO_QUOTE,
        "escape": form.escape,
        **({"charToEscapeQuoteEscaping": _NO_ESCAPE} if form.escape in ("", form.quote) else {}),
        "nullValue": _EMPTY,
        "emptyValue": "",
        "columnNameOfCorruptRecord": _CORRUPT,
        "maxColumns": str(most_fields(width)),
    }


def _text_sql(form: FileFormat, column: TableColumn, at: int | None) -> str:
    """Return the SQL of a field's text, null if the contract says so. An empty text between quotes is null unless the
    column is a string.
    """
    if at is None:
        return "CAST(NULL AS string)"
    null_texts = form.nulls_of(column.name)
    text = f"c{at}" if "" in null_texts else f"coalesce(c{at}, '')"
    nulls = [text for text in null_texts if text or canonical(column.type) != "string"]
    among = ", ".join(literal(text) for text in nulls)
    return f"CASE WHEN {text} IN ({among}) THEN NULL ELSE {text} END" if nulls else text


def _well_quoted_sql(form: FileFormat) -> str:
    return f"{TEXT} RLIKE {literal(whole(well_quoted(form)))}"


def _left_open_sql(form: FileFormat) -> str:
    """Return the SQL that is true of a record with a quote that is never closed."""
    return f"{TEXT} RLIKE {literal(whole(left_open(form)))}" if form.quote else "false"


FORMAT = Format(text=TextFormat(scan=scan, parse=parse))
