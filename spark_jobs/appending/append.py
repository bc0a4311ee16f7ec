"""The one append: all good files in a single commit, each data file holding rows of one file version only.

It never repeats an append whose outcome is unknown.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.types import StructType

from lakegate.audit.evaluation.mask import raw
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.types import spark_identifier
from spark_jobs.appending import decimals, not_null, partition_counts, path_lengths, text_sizes
from spark_jobs.formats.origin import origin
from spark_jobs.formats.registry import FORMATS
from spark_jobs.formats.text.rows import parsed
from spark_jobs.jvm.failures import FAILURES, class_names, is_task_failure, root_cause
from spark_jobs.jvm.isolate import per_file
from spark_jobs.jvm.session import LAKE
from spark_jobs.tables import nessie
from spark_jobs.tables.ddl import table_name

_FindFaults = Callable[[Plan, DataFrame], Mapping[str, tuple[str, ...]]]
_THREADS = 4
_UNKNOWN_ENCODING = ("ClassNotFoundException", "UnsupportedOperationException")  # a codec, an encoding
_UNWRITABLE = ((path_lengths.is_path_error, path_lengths.too_long), (not_null.is_null_error, not_null.find_nulls))


def append(spark: SparkSession, job: Job, inspections: Sequence[Inspection]) -> list[Inspection]:
    """Append these files; those that turn out not to be writable come back with that fault, and the others are
    appended.
    """
    return _append(spark, job, inspections, is_sized=False)


def _append(spark: SparkSession, job: Job, inspections: Sequence[Inspection], *, is_sized: bool) -> list[Inspection]:
    """`is_sized`: what their rows come to is known to be within the limit."""
    before = nessie.head(job.nessie_uri, job.branch)
    try:
        _write(spark, job.plan, inspections, is_sized=is_sized)
    except FAILURES as error:
        if not _is_surely_not_committed(error, before, nessie.head(job.nessie_uri, job.branch)):
            raise
        is_large = text_sizes.is_beyond_share(
            error
        )  # then nothing else is asked that reads all of them: it might never end
        inspected = (
            check_sizes(spark, job.plan, inspections) if is_large else find_faulty(spark, job.plan, inspections, error)
        )
        if not is_large and not any(inspection.faults for inspection in inspected):
            raise
        # What is wrong with another of them may not have shown yet.
        fine = [inspection for inspection in inspected if not inspection.faults]
        again = _append(spark, job, fine, is_sized=is_sized or is_large) if fine else ()
        known = {inspection.id: inspection for inspection in again}
        return [known.get(inspection.id, inspection) for inspection in inspected]
    return list(inspections)


def find_faulty(
    spark: SparkSession, plan: Plan, inspections: Sequence[Inspection], error: Exception | None = None
) -> list[Inspection]:
    """The same files, with a fault on each that cannot be read to its end, or has values that cannot be written; of
    these, after an error, those alone that lead to it.
    """
    fit = check_sizes(spark, plan, inspections) if error is None else list(inspections)
    whole = {
        inspection.id: inspection
        for inspection in find_corrupt(spark, plan, [inspection for inspection in fit if not inspection.faults])
    }
    inspected = [whole.get(inspection.id, inspection) for inspection in fit]
    for leads_to, tell in _UNWRITABLE:
        if error is None or leads_to(error):
            inspected = _unwritable(spark, plan, inspected, tell)
    # What has run out tells so in many words, and of no partition: it is asked where nothing else explains the error.
    if error is None or not any(inspection.faults for inspection in inspected):
        inspected = _unwritable(spark, plan, inspected, partition_counts.too_many)
    return inspected


def check_sizes(spark: SparkSession, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
    """The same files, with a fault on each whose rows come to more than is taken. One that cannot be read has none."""
    found = per_file(
        inspections, lambda inspection: text_sizes.too_large(plan, rows_of(spark, plan, [inspection])), _THREADS
    )
    return [
        inspection
        if isinstance(it, Exception)
        else replace(inspection, faults=it.get(inspection.id, inspection.faults))
        for inspection, it in zip(inspections, found, strict=True)
    ]


def _unwritable(
    spark: SparkSession, plan: Plan, inspections: Sequence[Inspection], tell: _FindFaults
) -> list[Inspection]:
    """The same files, with what is told of those that have no fault yet."""
    readable = [inspection for inspection in inspections if not inspection.faults]
    wrong = tell(plan, rows_of(spark, plan, readable)) if readable else {}
    return [replace(inspection, faults=wrong.get(inspection.id, inspection.faults)) for inspection in inspections]


def find_corrupt(spark: SparkSession, plan: Plan, inspections: Sequence[Inspection]) -> list[Inspection]:
    """The same files, with a fault on each that cannot be read to its end."""
    found = per_file(inspections, lambda inspection: _read_to_end(spark, plan, inspection), _THREADS)
    return [
        unreadable(plan, inspection, it) if it else inspection
        for inspection, it in zip(inspections, found, strict=True)
    ]


def rows_of(spark: SparkSession, plan: Plan, inspections: Iterable[Inspection]) -> DataFrame:
    """The files' rows as the table will hold them, whose columns the plan has. Files of one shape are read together,
    by column name.
    """
    if plan.files.kind.is_text:
        return reduce(DataFrame.union, (part.good() for part in parsed(spark, plan, inspections)))
    shapes: dict[frozenset[tuple[str, str]], list[str]] = {}
    for inspection in inspections:
        shapes.setdefault(frozenset((column.name, column.type) for column in inspection.columns), []).append(
            inspection.file.uri
        )
    return reduce(DataFrame.union, (_rows(spark, plan, shape, uris) for shape, uris in shapes.items()))


def _rows(spark: SparkSession, plan: Plan, shape: Iterable[tuple[str, str]], uris: Sequence[str]) -> DataFrame:
    types = dict(shape)
    schema = ", ".join(
        f"{spark_identifier(column.name)} {types[column.name]}" for column in plan.columns if column.name in types
    )
    found = {name: F.expr(decimals.checked(name, kind)) for name, kind in types.items()}
    columns = [found.get(each.name, F.lit(None)).cast(each.type).alias(each.name) for each in plan.columns]
    reader = spark.read.schema(schema or StructType([])).format(plan.files.kind)
    read = reader.options(**FORMATS[plan.files.kind].options).load(list(uris))
    return read.select(*columns, origin(read))


def _write(spark: SparkSession, plan: Plan, inspections: Sequence[Inspection], *, is_sized: bool) -> None:
    rows = rows_of(spark, plan, inspections)
    bounded = rows if is_sized else text_sizes.fail_beyond_share(plan, inspections, rows)
    bounded.writeTo(table_name(LAKE, plan.table)).append()


def _read_to_end(spark: SparkSession, plan: Plan, inspection: Inspection) -> None:
    rows_of(spark, plan, [inspection]).write.format("noop").mode("overwrite").save()


def unreadable(plan: Plan, inspection: Inspection, found: Exception) -> Inspection:
    """The same file with the fault that it cannot be read to its end."""
    if wrong := decimals.explain(root_cause(found)):
        return replace(inspection, faults=(wrong,))
    form = FORMATS[plan.files.kind]
    if known := form.explain(root_cause(found)):
        return replace(inspection, faults=(known,))
    is_strange = any(name.endswith(_UNKNOWN_ENCODING) for name in class_names(found))
    why = "Spark does not know how it is written" if is_strange else form.corrupt
    said = raw(plan.columns, root_cause(found))
    return replace(inspection, faults=(f"its rows cannot be read to the end, {why} ({said})",))


def _is_surely_not_committed(error: Exception, before: str, after: str) -> bool:
    """Whether a task failed, after which Spark does not commit, and the branch stands where it stood."""
    unknown = any(name.endswith("CommitStateUnknownException") for name in class_names(error))
    return is_task_failure(error) and not unknown and before == after
