"""Inspection of staged text files: whether they open, their columns and their rows. One query scans all of them.

It counts lines and parses no value. Rows that the append leaves out show as a difference to this count.
"""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

from lakegate.audit.advice import Advice, Fault, setting
from lakegate.audit.evaluation.mask import masked, raw
from lakegate.audit.model.files import FileFormat
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import beyond, more_than
from lakegate.audit.model.plan import Plan, Stance
from lakegate.audit.schema.faults import named
from lakegate.audit.schema.fit import FileColumn
from lakegate.audit.schema.inspection import NO_ROWS, Inspection
from lakegate.audit.schema.names import display_name, folded
from spark_jobs.formats.footer import Unreadable
from spark_jobs.formats.text.first_bytes import fault_of_bytes
from spark_jobs.formats.text.text_format import HEADER, Scan, TextFormat
from spark_jobs.jvm.failures import FAILURES, root_cause
from spark_jobs.jvm.isolate import THREADS, per_file

_QUOTES = Advice(
    vendor="close each quote that it opens, and to double the quotes within a value",
    contract="say how its values are quoted, at the contract's landing server",
    lines=setting("quote", "'\"'"),
)
_TWICE = Fault("an object has a key twice", Advice(vendor="write each key of an object once"))
_MOST_SIGNS = 10  # delimiters in a header for each column that it may have: quotes may hold some


def inspect_text(spark: SparkSession, plan: Plan, files: Sequence[JobFile], text: TextFormat) -> list[Inspection]:
    """Inspect every file; the result is in their order."""
    with ThreadPoolExecutor(THREADS) as pool:
        faults = list(pool.map(lambda file: fault_of_bytes(spark, file, plan.files.limits), files))
    readable = [file for file, fault in zip(files, faults, strict=True) if not fault]
    found = _scan_all(spark, plan.files, readable, text) if readable else {}
    return [
        Inspection(file=file, faults=(fault,)) if fault else _inspect(plan, file, found.get(file.id, Scan()), text)
        for file, fault in zip(files, faults, strict=True)
    ]


def _inspect(plan: Plan, file: JobFile, found: Scan | str, text: TextFormat) -> Inspection:
    """Inspect a file by its scan, or by the reason that there is none."""
    try:
        return _readable(plan, file, found, text)
    except Unreadable as error:
        return Inspection(file=file, faults=(error.fault(plan.columns),))


def _readable(plan: Plan, file: JobFile, found: Scan | str, text: TextFormat) -> Inspection:
    if isinstance(found, str):
        raise Unreadable(f"it cannot be read to its end ({raw(plan.columns, found)})")
    if large := _limit_faults(plan.files, found):
        return Inspection(file=file, faults=large)
    _check_lines(plan, found, text)
    layout = text.columns(plan, found)
    if wide := beyond(plan.files.limits, columns=len(layout)):
        return Inspection(file=file, faults=wide)
    _check_names(plan, layout, text)
    types = {column.name: column.type for column in plan.columns}
    there = layout if text.is_positional else dict.fromkeys([*types, *layout])
    columns = tuple(FileColumn(name=name, type=types.get(name, "string")) for name in there)
    twice = (_TWICE,) if found.twice else ()
    return Inspection(
        file=file, rows=found.rows, columns=columns, layout=tuple(layout), sound=found.sound, faults=twice
    )


def _limit_faults(form: FileFormat, found: Scan) -> tuple[Fault, ...]:
    """Return the limits that a file's lines exceed, before any is taken apart."""
    limits, signs = form.limits, found.header.count(form.delimiter)
    columns = signs + 1 if signs > _MOST_SIGNS * limits.columns else found.widest
    if wrong := beyond(limits, rows=found.rows, line=found.longest, columns=columns):
        return wrong
    return (more_than(limits, "columns"),) if len(found.keys) > limits.columns else ()


def _check_lines(plan: Plan, found: Scan, text: TextFormat) -> None:
    if not found.header and not found.rows:
        raise Unreadable(NO_ROWS)
    if text.has_header(plan.files) and not found.header.strip():
        raise Unreadable("its first line is blank: the names of its columns should stand there", advice=HEADER)
    if found.left_open:
        raise Unreadable("its quotes don't pair: one is opened and never closed", advice=_QUOTES)


def _check_names(plan: Plan, layout: Sequence[str], text: TextFormat) -> None:
    """Raise Unreadable if names of a file with masked columns may be values, which must not be shown as names."""
    hidden, there = masked(plan.columns), set(map(folded, layout))
    known = {folded(column.name) for column in plan.columns}
    if hidden and layout and not there & known:
        raise Unreadable(text.no_names, advice=_names(plan))
    if not text.has_header(plan.files) or plan.policy.missing_columns is not Stance.FREEZE:
        return
    missing = [display_name(name) for name in hidden if folded(name) not in there]
    if missing and not there <= known:
        said = (
            f"its first line lacks {', '.join(missing)}, and has other names, which are not shown: they may be values"
        )
        raise Unreadable(said, advice=_names(plan))


def _names(plan: Plan) -> Advice:
    """Return the advice for a file without the contract's names. The file's own may be values, so none is shown."""
    return Advice(vendor=f"name its columns as the contract does: {named([column.name for column in plan.columns])}")


def _scan_all(
    spark: SparkSession, form: FileFormat, files: Sequence[JobFile], text: TextFormat
) -> dict[str, Scan | str]:
    """Scan the files together. If that fails, scan each by itself and return the reason of those that fail again."""
    try:
        return dict(text.scan(spark, form, [file.uri for file in files]))
    except FAILURES:
        found = per_file(files, lambda file: text.scan(spark, form, [file.uri]).get(file.id, Scan()), THREADS)
        pairs = zip(files, found, strict=True)
        return {file.id: _reason(result) if isinstance(result, Exception) else result for file, result in pairs}


def _reason(error: Exception) -> str:
    cause = root_cause(error)  # the parser's array of fields is as long as a row may have fields
    return "a row has too many fields" if "out of bounds for length" in cause else cause
