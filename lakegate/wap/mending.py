"""Lines of Pandas and Polars by which a data frame comes to fit a contract.

They are for what `narrowing` leaves alone, because a value would change: a person decides that, and a line that changes
values says so. A type for which there is no line is the contract's to change.
"""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from lakegate.audit.model.plan import Plan, Stance, TableColumn, Trait
from lakegate.audit.schema.names import fold
from lakegate.audit.schema.types import Atom, digits, parse
from lakegate.wap.narrowing import plain_type

PANDAS, POLARS = "pandas", "polars"
_LOSES_ZEROS = "zeros in front are lost by now: rather read it as text, "
_FORMAT = "  # the format that its texts have: a guessed one takes 2/11 for 11 February"
_DECIMAL = "decimal.Decimal"
_KINDS = {
    "tinyint": "integer",
    "smallint": "integer",
    "int": "integer",
    "bigint": "integer",
    "float": "double",
}
_PANDAS: Mapping[tuple[str, str], str] = {
    ("text", "integer"): 'frame[{c}] = pd.to_numeric(frame[{c}]).astype("Int64")',
    ("text", "double"): "frame[{c}] = pd.to_numeric(frame[{c}])",
    ("text", "decimal"): 'frame[{c}] = frame[{c}].map(decimal.Decimal, na_action="ignore")',
    ("text", "date"): 'frame[{c}] = pd.to_datetime(frame[{c}], format="%Y-%m-%d").dt.date' + _FORMAT,
    ("text", "timestamp"): 'frame[{c}] = pd.to_datetime(frame[{c}], format="%Y-%m-%d %H:%M:%S", utc=True)' + _FORMAT,
    ("text", "timestamp_ntz"): 'frame[{c}] = pd.to_datetime(frame[{c}], format="%Y-%m-%d %H:%M:%S")' + _FORMAT,
    ("text", "boolean"): 'frame[{c}] = frame[{c}].map({{"true": True, "false": False}})',
    ("number", "string"): 'frame[{c}] = frame[{c}].astype("string")  # '
    + _LOSES_ZEROS
    + 'pd.read_csv(…, dtype={{{c}: "string"}})',
    ("number", "boolean"): 'frame[{c}] = frame[{c}].astype("boolean")',
    ("number", "decimal"): "frame[{c}] = frame[{c}].round({scale})  # rounds",
    ("boolean", "integer"): 'frame[{c}] = frame[{c}].astype("Int64")',
    ("boolean", "string"): 'frame[{c}] = frame[{c}].astype("string")',
    ("naive", "date"): "frame[{c}] = frame[{c}].dt.date  # drops the time of day",
    ("zoned", "date"): "frame[{c}] = frame[{c}].dt.date  # drops the time of day",
    ("naive", "timestamp"): 'frame[{c}] = frame[{c}].dt.tz_localize("UTC")',
    ("zoned", "timestamp_ntz"): 'frame[{c}] = frame[{c}].dt.tz_convert("UTC").dt.tz_localize(None)',
    ("day", "timestamp"): "frame[{c}] = pd.to_datetime(frame[{c}], utc=True)",
    ("day", "timestamp_ntz"): "frame[{c}] = pd.to_datetime(frame[{c}])",
    ("missing", ""): "frame[{c}] = None",
    ("renamed", ""): "frame = frame.rename(columns={{{other}: {c}}})",
    ("unknown", ""): "frame = frame.drop(columns=[{c}])",
}
_POLARS: Mapping[tuple[str, str], str] = {
    ("text", "integer"): "frame = frame.with_columns(pl.col({c}).cast(pl.Int64))",
    ("text", "double"): "frame = frame.with_columns(pl.col({c}).cast(pl.Float64))",
    ("text", "decimal"): "frame = frame.with_columns(pl.col({c}).cast(pl.Decimal({precision}, {scale})))",
    ("text", "date"): 'frame = frame.with_columns(pl.col({c}).str.to_date("%Y-%m-%d"))' + _FORMAT,
    (
        "text",
        "timestamp",
    ): 'frame = frame.with_columns(pl.col({c}).str.to_datetime("%Y-%m-%d %H:%M:%S", time_zone="UTC"))' + _FORMAT,
    ("text", "timestamp_ntz"): 'frame = frame.with_columns(pl.col({c}).str.to_datetime("%Y-%m-%d %H:%M:%S"))' + _FORMAT,
    ("text", "boolean"): 'frame = frame.with_columns(pl.col({c}).replace_strict({{"true": True, "false": False}}))',
    ("number", "string"): "frame = frame.with_columns(pl.col({c}).cast(pl.String))  # "
    + _LOSES_ZEROS
    + "pl.read_csv(…, schema_overrides={{{c}: pl.String}})",
    ("number", "boolean"): "frame = frame.with_columns(pl.col({c}).cast(pl.Boolean))",
    ("number", "decimal"): "frame = frame.with_columns(pl.col({c}).round({scale}))  # rounds",
    ("boolean", "integer"): "frame = frame.with_columns(pl.col({c}).cast(pl.Int64))",
    ("boolean", "string"): "frame = frame.with_columns(pl.col({c}).cast(pl.String))",
    ("naive", "date"): "frame = frame.with_columns(pl.col({c}).dt.date())  # drops the time of day",
    ("zoned", "date"): "frame = frame.with_columns(pl.col({c}).dt.date())  # drops the time of day",
    ("naive", "timestamp"): 'frame = frame.with_columns(pl.col({c}).dt.replace_time_zone("UTC"))',
    ("zoned", "timestamp_ntz"): 'frame = frame.with_columns(pl.col({c}).dt.convert_time_zone("UTC")'
    ".dt.replace_time_zone(None))",
    ("day", "timestamp"): 'frame = frame.with_columns(pl.col({c}).cast(pl.Datetime("us", "UTC")))',
    ("day", "timestamp_ntz"): 'frame = frame.with_columns(pl.col({c}).cast(pl.Datetime("us")))',
    ("missing", ""): "frame = frame.with_columns(pl.lit(None).alias({c}))",
    ("renamed", ""): "frame = frame.rename({{{other}: {c}}})",
    ("unknown", ""): "frame = frame.drop({c})",
}
_LINES = {PANDAS: _PANDAS, POLARS: _POLARS}


def lines(package: str, frame: pa.Schema, plan: Plan) -> list[str]:
    """Return the lines that mend a frame of a package, of which this is the schema; none for other packages."""
    code = list(_lines(_LINES[package], frame, plan)) if package in _LINES else []
    return ["import decimal", *code] if any(_DECIMAL in line for line in code) else code


def _lines(words: Mapping[tuple[str, str], str], frame: pa.Schema, plan: Plan) -> Iterator[str]:
    columns = {column.name: column for column in plan.columns}
    required = {metric.columns for metric in plan.metrics if metric.has(Trait.REQUIRED)}
    unknown = [name for name in frame.names if name not in columns]
    for name, column in columns.items():
        if name in frame.names:
            yield from _retype(words, name, frame.field(name).type, column)
            continue
        matches = [other for other in unknown if fold(other.strip()) == fold(name.strip())]
        if matches:
            unknown.remove(matches[0])
            yield words["renamed", ""].format(c=repr(name), other=repr(matches[0]))
        elif plan.policy.missing_columns is not Stance.ALLOW and (name,) not in required:
            yield words["missing", ""].format(c=repr(name))
    if plan.policy.new_columns is Stance.FREEZE:
        yield from (words["unknown", ""].format(c=repr(name)) for name in unknown)


def _retype(words: Mapping[tuple[str, str], str], name: str, source: pa.DataType, column: TableColumn) -> Iterator[str]:
    kind = parse(column.type)
    if not isinstance(kind, Atom) or source in (plain_type(column.type), pa.null()):
        return
    precision, scale = digits(kind) or (0, 0)
    target = "decimal" if precision else _KINDS.get(kind.name, kind.name)
    if line := words.get((_type_word(source), target)):
        yield line.format(c=repr(name), precision=precision, scale=scale)


def _type_word(kind: pa.DataType) -> str:
    """Return the word for a type that a frame has."""
    if pa.types.is_timestamp(kind):
        return "naive" if kind.tz is None else "zoned"
    words: Sequence[tuple[str, bool]] = (
        ("text", pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind)),
        ("boolean", pa.types.is_boolean(kind)),
        ("day", pa.types.is_date(kind)),
        ("number", pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)),
    )
    return next((word for word, is_so in words if is_so), "")
