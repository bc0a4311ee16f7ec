"""What a file's rows come to, before any is written or shown to a pattern: the bytes of its texts, and patterns' tries.

A value that stands once in a file may be that of a billion rows. No text is looked at: its length is enough.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.files import FileKind
from lakegate.audit.fit import FILE_COLUMN
from lakegate.audit.fit import quoted as shown
from lakegate.audit.limits import beyond
from lakegate.audit.plan import Metric, Plan
from lakegate.audit.types import Array, Map, Struct, Type, parse, quoted
from spark_jobs.apart import each
from spark_jobs.append import rows_of, unread
from spark_jobs.java import FAILURES
from spark_jobs.look import THREADS, Look

_REPEATING = (FileKind.PARQUET, FileKind.ORC)  # by dictionaries
_FEW = 1_000  # rows: values of as many, each as large as memory takes, come to no more than files may anyway


def within(spark: SparkSession, plan: Plan, looks: Sequence[Look]) -> list[Look]:
    """The same files; those whose rows come to more than is taken with that fault."""
    tried = [metric for metric in plan.metrics if metric.tries]
    repeats = plan.files.kind in _REPEATING
    asked = [look for look in looks if not look.faults and (tried or (repeats and look.rows > _FEW))]
    told = {look.file.id: look for look in _told(spark, plan, tried, asked)} if asked else {}
    return [told.get(look.file.id, look) for look in looks]


def _told(spark: SparkSession, plan: Plan, tried: Sequence[Metric], looks: Sequence[Look]) -> list[Look]:
    """Of all files at once; where one of them cannot be read, of each by itself."""
    try:
        found = _counted(spark, plan, tried, looks)
    except FAILURES:
        apart = each(looks, lambda look: _counted(spark, plan, tried, [look]), THREADS)
        return [
            unread(plan, look, it) if isinstance(it, Exception) else _judged(plan, tried, look, it)
            for look, it in zip(looks, apart, strict=True)
        ]
    return [_judged(plan, tried, look, found) for look in looks]


def _counted(
    spark: SparkSession, plan: Plan, tried: Sequence[Metric], looks: Sequence[Look]
) -> dict[str, tuple[float, ...]]:
    """By file version, the bytes of its texts and the tries of each metric."""
    parts = [sql for column in plan.columns for sql in _bytes(quoted(column.name), parse(column.type))]
    is_asked = parts and plan.files.kind in _REPEATING
    numbers = [" + ".join(parts) if is_asked else "0", *(metric.tries for metric in tried)]
    sums = [F.sum(F.expr(sql).cast("double")).alias(f"n{at}") for at, sql in enumerate(numbers)]
    return {row[0]: tuple(row[1:]) for row in rows_of(spark, plan, looks).groupBy(FILE_COLUMN).agg(*sums).collect()}


def _bytes(value: str, kind: Type) -> Iterator[str]:
    """The SQL of how many bytes each text in a value has."""
    if isinstance(kind, Struct):
        for name, part in kind.fields.items():
            yield from _bytes(f"{value}.{quoted(name)}", part)
    elif isinstance(kind, Array):
        yield from _of_all(value, kind.element)
    elif isinstance(kind, Map):
        yield from _of_all(f"map_keys({value})", kind.key)
        yield from _of_all(f"map_values({value})", kind.value)
    elif kind.name in ("string", "binary"):
        yield f"CAST(COALESCE(OCTET_LENGTH({value}), 0) AS DOUBLE)"


def _of_all(values: str, kind: Type) -> Iterator[str]:
    item = f"it{values.count('(')}"  # lambdas within each other need names of their own
    for each_one in _bytes(item, kind):
        yield f"COALESCE(AGGREGATE({values}, 0D, (so_far, {item}) -> so_far + {each_one}), 0D)"


def _judged(plan: Plan, tried: Sequence[Metric], look: Look, found: dict[str, tuple[float, ...]]) -> Look:
    size, *counted = found.get(look.file.id, (0.0,))
    if wrong := beyond(plan.files.limits, uncompressed=int(size)):
        return replace(look, faults=wrong)
    if not (wrong := beyond(plan.files.limits, tries=int(sum(counted)))):
        return look
    most = tried[max(range(len(counted)), key=counted.__getitem__)]
    why = (
        f"most of them column {shown(most.columns[0])}'s: tie its pattern to the start with ^, say how many repetitions"
        " there may be, or let each end where the next one cannot begin; let SQL look for no long text in another"
    )
    return replace(look, faults=(*wrong, why))
