"""Text that is not UTF-8: Spark takes it from typed files as it is, and other readers of the lake fail at it."""

from collections.abc import Iterator, Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.advice import Fault
from lakegate.audit.schema.faults import broken_text
from lakegate.audit.schema.types import Array, Map, Struct, Type, label_within, parse, spark_identifier
from spark_jobs.jvm.failures import mentions
from spark_jobs.jvm.spark_sql import literal

_BAD_TEXT = "lakegate: a row has text that is not UTF-8"
_VALIDATING = 4  # Spark's first major version that validates texts by itself


def fail_at_broken(types: Mapping[str, str], rows: DataFrame) -> DataFrame:
    """Return the rows, whose reading fails at text that is not UTF-8 in these columns."""
    bad_texts = [sql for _, sql in _broken_sql(types, rows)]
    if not bad_texts:
        return rows
    return rows.where(f"CASE WHEN {' OR '.join(bad_texts)} THEN raise_error({literal(_BAD_TEXT)}) ELSE true END")


def is_broken(error: Exception) -> bool:
    """Return True if the error is of text that is not UTF-8."""
    return mentions(error, _BAD_TEXT)


def faults(types: Mapping[str, str], rows: DataFrame) -> tuple[Fault, ...]:
    """Return the faults of one file's rows: the columns, and parts of them, with text that is not UTF-8."""
    bad_texts = dict(_broken_sql(types, rows))
    labels = F.expr(f"array_compact(array({', '.join(_label_sql(*pair) for pair in bad_texts.items())}))")
    counts = dict[str, int](rows.select(F.explode(labels).alias("label")).groupBy("label").count().collect())
    return broken_text({label: counts[label] for label in bad_texts if label in counts})


def _label_sql(label: str, condition: str) -> str:
    return f"CASE WHEN {condition} THEN {literal(label)} END"


def _broken_sql(types: Mapping[str, str], rows: DataFrame) -> Iterator[tuple[str, str]]:
    """Yield each text in the columns, by its label, with the SQL that is true if it is not UTF-8."""
    validates = int(rows.sparkSession.version.split(".")[0]) >= _VALIDATING
    text = "NOT is_valid_utf8({0})" if validates else "{0} <> decode(CAST({0} AS BINARY), 'UTF-8')"
    for name, kind in types.items():
        yield from _parts_sql(name, spark_identifier(name), parse(kind), text)


def _parts_sql(label: str, value: str, kind: Type, text: str) -> Iterator[tuple[str, str]]:
    if isinstance(kind, Struct):
        for name, part in kind.fields.items():
            yield from _parts_sql(label_within(label, kind, name), f"{value}.{spark_identifier(name)}", part, text)
    elif isinstance(kind, Array):
        yield from _items_sql(label_within(label, kind, "element"), value, kind.element, text)
    elif isinstance(kind, Map):
        yield from _items_sql(label_within(label, kind, "key"), f"map_keys({value})", kind.key, text)
        yield from _items_sql(label_within(label, kind, "value"), f"map_values({value})", kind.value, text)
    elif kind.name == "string":
        yield label, f"({text.format(value)})"


def _items_sql(label: str, values: str, kind: Type, text: str) -> Iterator[tuple[str, str]]:
    item = f"it{values.count('(')}"  # lambdas within each other need names of their own
    for inner, condition in _parts_sql(label, item, kind, text):
        yield inner, f"exists({values}, {item} -> {condition})"
