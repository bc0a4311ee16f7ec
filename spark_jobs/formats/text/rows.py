"""Text files as rows of the contract's types: where each row stands, and what is wrong with one that does not parse.

Such a row is never appended with nulls in it: it is left out, counted, and shown with its line.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from secrets import token_hex

from pyspark.sql import Column as SparkColumn
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.model.files import FileFormat, FileKind
from lakegate.audit.model.plan import Column, Plan
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import canonical, spark_identifier
from lakegate.counts import count
from spark_jobs.formats.origin import origin
from spark_jobs.formats.text.parsing import scientific, value
from spark_jobs.jvm.spark_sql import literal

BLOCK, AT, TEXT = "block", "at", "text"
_LINE_IN_BLOCK = (1 << 33) - 1  # of Spark's monotonically increasing ids: a task reads one block of one file
# What the parser must be told and no file has; where nothing is said it takes NUL, which some files do have.
_EMPTY = "\ufdd0empty"  # what a field with nothing in it is read as
_NO_QUOTE, _NO_ESCAPE = "\ufdd1", "\ufdd2"
_UNREADABLE = "\ufffd"
_ROOM = 20_480  # fields: what Spark has room for if nothing is said
_CORRUPT = "corrupt"
_BLANK = {FileKind.CSV: f"{TEXT} = ''", FileKind.JSON: f"trim({TEXT}) = ''"}  # to CSV, a space is a letter
_ENDS = r"[}]\s*,"  # an object, and something comes after it
_HALF = r"\\u[dD][89a-fA-F]"  # of a letter that JSON spells in two
_NO_HALF = r"\\[^u]|\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_END = f"end_{token_hex(8)}"
_RAW = "from_json(wrapped, 'row map<string, string>').row"
# A number of JSON and all before it since the last one, but for strings as a whole: numbers in those are none.
_TO_NUMBER = r'\G([^"0-9-]*+(?:"[^"\\]*+(?:\\.[^"\\]*+)*+"[^"0-9-]*+)*+)(-?[0-9][0-9.eE+-]*+)'
_HEADER = f"({BLOCK} = 0 AND {AT} = 0)"


@dataclass(frozen=True, kw_only=True)
class Parsed:
    """Rows with the SQL of each column's value, and of what is wrong: with the row as a whole, and with each value."""

    rows: DataFrame
    values: dict[str, str]
    broken: dict[str, str]  # what is wrong with the row → the condition
    wrong: dict[str, str]  # what is wrong with a value → the condition
    bad: str

    def good(self) -> DataFrame:
        """The rows that parse, as the contract's columns and the file that each came from."""
        columns = [F.expr(sql).alias(name) for name, sql in self.values.items()]
        return self.rows.where(f"once >= 0 AND NOT ({self.bad})").select(*columns, FILE_COLUMN)

    def unparsed(self) -> DataFrame:
        """The rows that don't, each with its file, its place, its text and why."""
        values = ", ".join(f"CASE WHEN {sql} THEN {literal(said)} END" for said, sql in self.wrong.items())
        broken = " ".join(f"WHEN {sql} THEN {literal(said)}" for said, sql in self.broken.items())
        why = F.expr(f"CASE {broken} ELSE concat_ws('; ', {values}) END").alias("why")
        return self.rows.where(f"once >= 0 AND ({self.bad})").select(FILE_COLUMN, BLOCK, AT, TEXT, why)


def parsed(spark: SparkSession, plan: Plan, inspections: Iterable[Inspection]) -> list[Parsed]:
    """The files' rows; those of one layout are read together."""
    layouts: dict[tuple[bool, tuple[str, ...]], list[str]] = {}
    for inspection in inspections:
        reads = [column.name for column in inspection.columns]
        places = [name if name in reads else "" for name in inspection.layout]
        layout = tuple(places if plan.files.kind is FileKind.CSV else reads)
        layouts.setdefault((inspection.sound, layout), []).append(inspection.file.uri)
    return [parse(spark, plan, names, uris, sound=sound) for (sound, names), uris in layouts.items()]


def parse(spark: SparkSession, plan: Plan, names: Sequence[str], uris: Sequence[str], *, sound: bool = False) -> Parsed:
    """Files of one shape; `names` are their columns, in the files' order. The plan's that are not there are null. All
    their bytes are text of the encoding where they are known to be `sound`.
    """
    if plan.files.kind is FileKind.JSON:
        return _json(spark, plan, names, uris)
    return _csv(spark, plan, names, uris, sound=sound)


def lines(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> DataFrame:
    """Every line: whose file, where in it, the text, and whether its bytes are text of the encoding.

    The readers know compressed files by their names.
    """
    raw = F.col("value").cast("binary")
    text = F.decode(raw, form.encoding)
    read = spark.read.text(list(uris))
    return read.select(
        origin(read),
        F.col("_metadata.file_block_start").alias(BLOCK),
        _line_number(),
        text.alias(TEXT),
        (F.encode(text, form.encoding) == raw).alias("sound"),
    )


def records(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> DataFrame:
    """Rows of CSV whose fields may hold line ends, as they stand in their files. The parser gives the text of those
    alone that it cannot take, so it is asked for dates that nothing is.
    """
    read = _records(spark, form, 1, {"dateFormat": f"'{_EMPTY}'"}, f"c0 date, {_CORRUPT} string", uris)
    return read.select(origin(read), _line_number(), F.coalesce(_CORRUPT, F.col("c0").cast("string")).alias(TEXT))


def left_open(form: FileFormat) -> str:
    """The SQL of whether a quote in such a row is opened and never closed, as it can be in the last one of a file."""
    if not form.quote:
        return "false"
    quote, inner, delimiter = _quoting(form)
    field = f"(?:{quote}{inner}{quote} *+|(?!{quote})[^{delimiter}]*+)"
    cut = "" if form.escape in ("", form.quote) else f"{re.escape(form.escape)}?+"
    pattern = rf"(?s)^[\r\n]*+(?:{field}{delimiter})*+{quote}{inner}{cut}\z"
    return f"{TEXT} RLIKE {literal(pattern)}"


def header_of(form: FileFormat) -> str:
    """The SQL of whether a line is the header."""
    return _HEADER if form.kind is FileKind.CSV and form.header else "false"


def row_of(form: FileFormat) -> str:
    """The SQL of whether a line is a row: lines with nothing in them are none."""
    return f"NOT ({_BLANK[form.kind]}) AND NOT {header_of(form)}"


def _line_number() -> SparkColumn:
    return F.monotonically_increasing_id().bitwiseAND(_LINE_IN_BLOCK).alias(AT)


def _records(
    spark: SparkSession, form: FileFormat, width: int, more: dict[str, str], schema: str, uris: Sequence[str]
) -> DataFrame:
    """What the parser gives of a whole file; a broken quote is an error."""
    told = {"multiLine": "true", "header": str(form.header).lower(), "encoding": form.encoding, **more}
    options = {**_options(form, width), **told, "unescapedQuoteHandling": "RAISE_ERROR"}
    return spark.read.schema(schema).options(**options).csv(list(uris))


def _fields_of_records(
    spark: SparkSession, form: FileFormat, uris: Sequence[str], width: int, *, sound: bool
) -> DataFrame:
    """Such rows as `width` texts c0, c1, …"""
    read, fields = _records(spark, form, width, {}, _fields(width), uris), [f"c{number}" for number in range(width)]
    text = F.coalesce(_CORRUPT, F.concat_ws(form.delimiter, *fields))
    # What stands for bytes that are no text may stand in sound ones, too.
    is_sound = F.lit(sound) | ~text.contains(_UNREADABLE)
    at = F.lit(0).alias(BLOCK), _line_number()
    return read.select(origin(read), *at, text.alias(TEXT), is_sound.alias("sound"), *fields, _CORRUPT)


def _csv(spark: SparkSession, plan: Plan, names: Sequence[str], uris: Sequence[str], *, sound: bool) -> Parsed:
    form, width = plan.files, len(names)
    if form.multiline:
        read = _fields_of_records(spark, form, uris, width, sound=sound)
    else:
        body = lines(spark, form, uris).where(row_of(form))
        # The parser fails on a line with more fields than it has room for, so it is not given one.
        text = F.expr(f"CASE WHEN {_too_wide(form, width)} THEN NULL ELSE {TEXT} END")
        fields = F.from_csv(text, _fields(width), _options(form, width))
        read = body.select("*", fields.alias("f")).select(FILE_COLUMN, BLOCK, AT, TEXT, "sound", "f.*", "f")
    there = {name: at for at, name in enumerate(names)}
    texts = [_csv_text(form, column, there.get(column.name)) for column in plan.columns]
    read = read.select("*", *(F.expr(sql).alias(f"t{at}") for at, sql in enumerate(texts)))
    quotes = {} if form.multiline else {"a quote is out of place": f"NOT {TEXT} RLIKE {literal(_well_quoted(form))}"}
    missing = f"{_CORRUPT} IS NOT NULL" + ("" if form.multiline else " OR f IS NULL")
    broken = {_encoding_fault(form): "NOT sound", **quotes, f"it does not have {count(width, 'field')}": missing}
    typed = [value(f"t{at}", it.type, form.patterns.get(it.name, "")) for at, it in enumerate(plan.columns)]
    return _parsed(plan, read, typed, broken)


def _json(spark: SparkSession, plan: Plan, names: Sequence[str], uris: Sequence[str]) -> Parsed:
    """JSON knows numbers and truth values, so those are read as such; the rest is spelled in strings. Decimals are read
    as they are spelled, because Spark's reader would round them, and multiply out whatever exponent they have.

    The object is read inside another, because Spark's reader would pass over anything after it. A line that closes the
    other one itself cannot know what the other ends with.
    """
    form, there = plan.files, [column for column in plan.columns if column.name in names]
    types = ", ".join(f"{spark_identifier(column.name)}: {_json_type(column)}" for column in there)
    wrapped = F.concat(F.lit('{"row":'), TEXT, F.lit(f',"{_END}":true}}'))
    options = {"columnNameOfCorruptRecord": _CORRUPT, "allowNonNumericNumbers": "false", "allowSingleQuotes": "false"}
    read = F.from_json(wrapped, f"row struct<{types}>, {_END} boolean, {_CORRUPT} string", options)
    body = lines(spark, form, uris).where(row_of(form)).select("*", wrapped.alias("wrapped"), read.alias("f"))
    if spelled := [f"{spark_identifier(column.name)}: string" for column in there if _is_decimal(column)]:
        quotes = F.regexp_replace("wrapped", _TO_NUMBER, '$1"$2"')
        body = body.select("*", F.from_json(quotes, f"row struct<{', '.join(spelled)}>").alias("spelled"))
    texts = [_json_value(it) if it in there else F.lit(None).cast(it.type) for it in plan.columns]
    values = [text.alias(f"t{at}") for at, text in enumerate(texts)]
    rows = body.select(FILE_COLUMN, BLOCK, AT, TEXT, "sound", "wrapped", "f.*", *values)
    broken = {_encoding_fault(form): "NOT sound", **_NO_OBJECT}
    return _parsed(plan, rows, [_typed_json(plan, at) for at in range(len(plan.columns))], broken, json=True)


def _parsed(plan: Plan, rows: DataFrame, typed: Sequence[str], broken: dict[str, str], *, json: bool = False) -> Parsed:
    # Spark would parse each row anew for every condition if it might push them below; past what counts it may not.
    once = F.monotonically_increasing_id().alias("once")
    rows = rows.select("*", once, *(F.expr(sql).alias(f"v{at}") for at, sql in enumerate(typed)))
    wrong, bad = {}, [*broken.values(), *([f"{_CORRUPT} IS NOT NULL"] if json else [])]
    for at, column in enumerate(plan.columns):
        is_wrong = f"(t{at} IS NOT NULL AND v{at} IS NULL)"
        bad += [is_wrong] if is_checked(column, json=json) else []
        given = f"{_RAW}[{literal(column.name)}] IS NOT NULL" if json else f"t{at} IS NOT NULL"
        wrong[f"column {display_name(column.name)} is no {canonical(column.type)}"] = f"({given} AND v{at} IS NULL)"
    values = {column.name: f"v{at}" for at, column in enumerate(plan.columns)}
    return Parsed(rows=rows, values=values, broken=broken, wrong=wrong, bad=" OR ".join(f"({it})" for it in bad))


def is_checked(column: Column, *, json: bool) -> bool:
    """Whether a text of the column may be none of its values."""
    kind = canonical(column.type)
    return kind != "string" and not (json and kind in ("int", "bigint", "boolean"))


# What takes long is asked only of the few lines that a look at the text leaves in doubt.
_GOES_ON = f"CASE WHEN {TEXT} RLIKE {literal(_ENDS)} THEN size(json_object_keys(wrapped)) <> 2 ELSE FALSE END"
_HALVED = (
    f"CASE WHEN {TEXT} RLIKE {literal(_HALF)}"
    f" THEN regexp_replace({TEXT}, {literal(_NO_HALF)}, ' ') RLIKE {literal(_HALF)} ELSE FALSE END"
)
_NO_OBJECT = {
    "it is no JSON object": f"row IS NULL OR {_END} IS NULL OR {_GOES_ON}",
    "half of a letter stands alone in it, such as \\ud83d": _HALVED,
}


def _encoding_fault(form: FileFormat) -> str:
    return f"its bytes are not {form.encoding}"


def _fields(width: int) -> str:
    return ", ".join(f"{name} string" for name in (*(f"c{number}" for number in range(width)), _CORRUPT))


def _max_fields(width: int) -> int:
    """How many fields the parser takes of a line."""
    return max(_ROOM, width + 1)


def _too_wide(form: FileFormat, width: int) -> str:
    """The SQL of whether a line may have more fields than that: only a long one has its delimiters counted."""
    others = f"length(replace({TEXT}, {literal(form.delimiter)}, ''))"
    return f"octet_length({TEXT}) >= {_max_fields(width)} AND length({TEXT}) - {others} >= {_max_fields(width)}"


def _options(form: FileFormat, width: int) -> dict[str, str]:
    """For Spark's reader of CSV. A field with nothing in it is null, one with nothing between quotes is not."""
    return {
        "sep": form.delimiter,
        "quote": form.quote or _NO_QUOTE,
        "escape": form.escape,
        **({"charToEscapeQuoteEscaping": _NO_ESCAPE} if form.escape in ("", form.quote) else {}),
        "nullValue": _EMPTY,
        "emptyValue": "",
        "columnNameOfCorruptRecord": _CORRUPT,
        "maxColumns": str(_max_fields(width)),
    }


def _csv_text(form: FileFormat, column: Column, at: int | None) -> str:
    """A field's text, null where the contract says so. Nothing between quotes is a string, and nothing else."""
    if at is None:
        return "CAST(NULL AS string)"
    there = f"c{at}" if "" in form.nulls else f"coalesce(c{at}, '')"
    nulls = [text for text in form.nulls if text or canonical(column.type) != "string"]
    among = ", ".join(literal(text) for text in nulls)
    return f"CASE WHEN {there} IN ({among}) THEN NULL ELSE {there} END" if nulls else there


def _well_quoted(form: FileFormat) -> str:
    """A line whose quotes stand where they may: around a whole field, and within one only as the format says.

    The repetitions are possessive: Java's engine goes through them without recursion, however long the line is.
    """
    if not form.quote:
        return "^"
    quote, inner, delimiter = _quoting(form)
    field = f"(?:{quote}{inner}{quote}|(?!{quote})[^{delimiter}]*+)"
    return rf"(?s)^{field}(?:{delimiter}{field})*+\z"  # unlike `$`, which is before a last U+2028, too


def _quoting(form: FileFormat) -> tuple[str, str, str]:
    """The patterns of a quote, of what stands between two of them, and of the delimiter."""
    quote, escape, delimiter = (re.escape(it) for it in (form.quote, form.escape or form.quote, form.delimiter))
    escaped = f"{quote}{quote}" if quote == escape else f"{escape}."
    return quote, f"(?:[^{quote}{escape}]++|{escaped})*+", delimiter


def _json_value(column: Column) -> SparkColumn:
    """What JSON has in a column that may be there."""
    return F.col("spelled.row" if _is_decimal(column) else "f.row").getField(column.name)


def _is_decimal(column: Column) -> bool:
    return canonical(column.type).startswith("decimal")


def _json_type(column: Column) -> str:
    kind = canonical(column.type)
    return kind if kind in ("int", "bigint", "float", "double", "boolean") else "string"


def _typed_json(plan: Plan, at: int) -> str:
    column = plan.columns[at]
    kind = canonical(column.type)
    if _is_decimal(column):
        return scientific(f"t{at}", kind)
    if kind in ("float", "double"):
        return f"CASE WHEN abs(t{at}) < {kind}('infinity') THEN t{at} END"
    if kind in ("int", "bigint", "boolean"):
        return f"t{at}"
    return value(f"t{at}", kind, plan.files.patterns.get(column.name, ""))
