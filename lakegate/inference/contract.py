"""The page: samples in, a contract's text out, which the samples pass by the audit's own rules. It writes no file.

Begin with `infer`. A contract that its samples would not pass is never returned: NoContract says why there is none.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.audit.model.files import FileKind
from lakegate.audit.model.limits import beyond_limits
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.faults import INDEX
from lakegate.audit.schema.fit import UNKNOWN_TYPE, FileColumn, faults
from lakegate.audit.schema.inspection import NO_ROWS
from lakegate.audit.schema.kinds import MAGIC
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import Atom, Type
from lakegate.contracts import load
from lakegate.counts import count
from lakegate.errors import ContractFaults, Misconfigured
from lakegate.inference import text_samples, typed_samples
from lakegate.inference.agreement import agree_types, in_types
from lakegate.inference.evaluator import Evaluator
from lakegate.inference.numbers import Numbers, measure
from lakegate.inference.sample import NoContract, Sample, unfit
from lakegate.inference.suggestions import Suggestion, key_of, suggest
from lakegate.inference.text_types import NO_VALUE
from lakegate.inference.writing import Column, Draft, write_contract

NAMESPACE = "raw"
"""The namespace of a table that nobody has named."""
MOST_BYTES = 2**30
"""Bytes of a sample, which is read into memory."""
READERS: dict[FileKind, Callable[[Path], Sample]] = {
    FileKind.PARQUET: typed_samples.parquet,
    FileKind.ORC: typed_samples.orc_file,
    FileKind.AVRO: typed_samples.avro,
}
_ENDINGS = re.compile(r"(?i)[.](parquet|orc|avro|csv|tsv|txt|jsonl?|ndjson)([.](gz|bz2|zst|zstd))?$")
_NO_PLACE = re.compile("[^a-z0-9]+")
_DATE_END = re.compile(r"[-_. ]*[0-9][-_.T:0-9]*$")
_INDEX = "an index of Pandas: write files without it by index=False, and leave this column out"
_PART = 10  # of the rows of the smallest sample, the fewest that a file may have
_DAY_MICROSECONDS = 86_400_000_000


@dataclass(frozen=True, kw_only=True)
class Request:
    """Words of a person beside the samples: the table, the format, and the column that must be fresh, with its days."""

    table: str = ""
    kind: FileKind | None = None
    fresh: tuple[str, int] | None = None


def infer(paths: Sequence[Path], request: Request | None = None) -> str:
    """Return a contract's text. Raise NoContract, with the reason, if no contract can be made that the samples pass."""
    request = request or Request()
    samples = _read(paths, request.kind)
    kinds = agree_types(samples)
    tables = [in_types(sample, kinds) for sample in samples]
    draft = _draft(samples, kinds, tables, request, paths)
    text = write_contract(draft)
    _check(text, samples, tables)
    return text


def _read(paths: Sequence[Path], kind: FileKind | None) -> list[Sample]:
    if large := [path for path in paths if path.stat().st_size > MOST_BYTES]:
        raise Misconfigured(f"{large[0]} has over {count(MOST_BYTES, 'byte')}: give a part of it, with whole rows")
    kinds_by_path = {path: kind or _kind(path) for path in paths}
    if len(kinds := set(kinds_by_path.values())) > 1:
        raise Misconfigured(f"these files have several formats, {' and '.join(sorted(kinds))}: a table has one")
    [form] = kinds
    samples = (
        text_samples.of(list(kinds_by_path), form) if form.is_text else [READERS[form](path) for path in kinds_by_path]
    )
    if empty := [sample for sample in samples if not sample.rows.num_rows]:
        raise unfit(empty[0].name, NO_ROWS)
    return samples


def _kind(path: Path) -> FileKind:
    """Return a file's format, by its first bytes, else by its name."""
    with path.open("rb") as file:
        start = file.read(4)
    if kind_of_start := next((kind for magic, kind in MAGIC.items() if start.startswith(magic)), None):
        return kind_of_start
    ending = _ENDINGS.search(path.name)
    if ending and (word := ending[1].lower()) not in ("parquet", "orc", "avro"):
        return FileKind.JSON if word in ("json", "jsonl", "ndjson") else FileKind.CSV
    if ending:
        raise unfit(path.name, f"it is not {ending[1].lower()}, as its name says")
    return FileKind.JSON if start.lstrip().startswith(b"{") else FileKind.CSV


def _draft(
    samples: Sequence[Sample],
    kinds: dict[str, Type],
    tables: Sequence[pa.Table],
    request: Request,
    paths: Sequence[Path],
) -> Draft:
    numbers, first = measure(tables, kinds), samples[0]
    key, least = key_of(kinds, numbers), min(table.num_rows for table in tables)
    table = request.table or _table(paths)
    columns = [_column(name, kind, numbers[name], samples, is_key=name == key) for name, kind in kinds.items()]
    fewest = Suggestion(value=max(1, least // _PART), reason=f"the samples have {count(least, 'row')} or more")
    fresh = (request.fresh[0], _fresh(request.fresh, kinds, tables, samples)) if request.fresh else None
    return Draft(
        table=table,
        route=_route(table, paths),
        form=first.form,
        columns=columns,
        samples=_sample_note(samples, tables),
        rows=fewest,
        fresh=fresh,
    )


def _column(name: str, kind: Type, numbers: Numbers, samples: Sequence[Sample], *, is_key: bool) -> Column:
    first = samples[0]
    is_empty = all(sample.columns[name] == Atom(UNKNOWN_TYPE) for sample in samples)
    remark = NO_VALUE if is_empty else first.remarks.get(name, "")
    return Column(
        name=name,
        kind=kind,
        suggestions=suggest(name, kind, numbers, is_key=is_key),
        pattern=first.form.patterns.get(name, ""),
        nulls=Suggestion(value=list(first.form.column_nulls[name]), reason=first.nulls[name])
        if name in first.nulls
        else None,
        remark=remark or (_INDEX if INDEX.fullmatch(name) else ""),
    )


def _sample_note(samples: Sequence[Sample], tables: Sequence[pa.Table]) -> str:
    rows = count(sum(table.num_rows for table in tables), "row")
    if len(samples) == 1:
        return f"{samples[0].name}: {rows}"
    return f"{samples[0].name} and {count(len(samples) - 1, 'other file')}: {rows}"


def _fresh(
    request: tuple[str, int], kinds: dict[str, Type], tables: Sequence[pa.Table], samples: Sequence[Sample]
) -> Suggestion:
    name, days = request
    if str(kinds.get(name)) not in ("date", "timestamp", "timestamp_ntz"):
        message = ", ".join(column for column, kind in kinds.items() if str(kind).startswith(("date", "timestamp")))
        raise Misconfigured(f"{name!r} is no column with a date or timestamp: {message or 'there is none'}")
    newest = [
        pc.max(table.column(name).cast(pa.timestamp("us"), safe=False)).cast(pa.int64()).as_py() for table in tables
    ]
    now = int(datetime.now(UTC).timestamp() * 1_000_000)
    for sample, moment in zip(samples, newest, strict=True):
        age = None if moment is None else (now - moment) / _DAY_MICROSECONDS
        if age is None or age > days:
            message = "no value" if age is None else f"a newest value that is {age:,.1f} days old"
            raise unfit(
                sample.name, f"column {display_name(name)} has {message}, and {count(days, 'day')} were asked for"
            )
    return Suggestion(value=days, reason="as asked for")


def _table(paths: Sequence[Path]) -> str:
    """Return a table's name by that of a file, without its date."""
    stem = _ENDINGS.sub("", paths[0].name)
    plain = _NO_PLACE.sub("_", (_DATE_END.sub("", stem) or stem).lower()).strip("_")
    name = plain if plain[:1].isalpha() else f"t_{plain}".rstrip("_")
    return f"{NAMESPACE}.{name[:100]}"


def _route(table: str, paths: Sequence[Path]) -> str:
    endings = {match[0] if (match := _ENDINGS.search(path.name)) else "" for path in paths}
    return f"{table.replace('.', '/')}/*{endings.pop() if len(endings) == 1 else ''}"


def _check(text: str, samples: Sequence[Sample], tables: Sequence[pa.Table]) -> None:
    """Raise NoContract unless the contract is sound and each sample passes it, as the audit judges files."""
    try:
        plan = load(text, samples[0].name).plan
    except ContractFaults as error:
        message = "; ".join(dict.fromkeys(fault.message for fault in error.faults))
        raise unfit(samples[0].name, message) from error
    with TemporaryDirectory() as folder:
        evaluator = Evaluator(plan, folder)
        for sample, rows in zip(samples, tables, strict=True):
            if sample.form.kind.is_text and replace(plan.files, limits=sample.form.limits) != sample.form:
                raise unfit(sample.name, "a contract cannot say how it is written")
            if wrong := _faults(plan, sample):
                raise unfit(sample.name, "; ".join(wrong))
            if failures := evaluator.failing_checks(rows):
                names = [check.name for check in plan.checks if check.id in failures]
                raise NoContract(f"{sample.name} would not pass its own contract: {', '.join(names or failures)}")


def _faults(plan: Plan, sample: Sample) -> tuple[str, ...]:
    columns = [FileColumn(name=name, type=str(kind)) for name, kind in sample.columns.items()]
    measures = {"bytes": sample.size, "rows": sample.rows.num_rows, "columns": len(columns)}
    return beyond_limits(plan.files.limits, **measures) or faults(plan, columns)
