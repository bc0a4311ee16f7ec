"""Keys that repeat, or refer to nothing, counted in Arrow for each file that has them."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.audit.evaluation.duplicates import Pattern, Repeats
from lakegate.audit.evaluation.table_scope import Orphans

_FILE, _ROWS = "_lakegate_file_of", "_lakegate_rows"


def repeats(keys_by_file: Mapping[str, pa.Table], table_keys: pa.Table) -> Repeats:
    """Return the keys that repeat among these files, or that the table has already."""
    counts = _count(keys_by_file)
    names = [name for name in counts.column_names if name not in (_FILE, _ROWS)]
    table = table_keys.group_by(names).aggregate([])
    old, new = (counts.join(table, names, join_type=kind) for kind in ("left semi", "left anti"))
    totals = new.group_by(names).aggregate([(_ROWS, "sum")])
    repeats_in_files = totals.filter(pc.greater(totals[f"{_ROWS}_sum"], 1)).select(names)
    new = new.join(repeats_in_files, names, join_type="left semi")
    return Repeats(patterns=(*_patterns(old, names, in_table=True), *_patterns(new, names, in_table=False)))


def orphans(keys_by_file: Mapping[str, pa.Table], table_keys: pa.Table) -> Orphans:
    """Return how many rows of each file have a key that the table does not have."""
    counts = _count(keys_by_file)
    table = table_keys.group_by(table_keys.column_names).aggregate([])
    counts = counts.join(table, table.column_names, join_type="left anti")
    rows = counts.group_by(_FILE).aggregate([(_ROWS, "sum")])
    return Orphans(rows=dict(zip(rows[_FILE].to_pylist(), rows[f"{_ROWS}_sum"].to_pylist(), strict=True)))


def _count(keys_by_file: Mapping[str, pa.Table]) -> pa.Table:
    """Return each key once for each file that has it, with the number of its rows. A null makes it no key."""
    counts = pa.concat_tables(part for file, rows in keys_by_file.items() for part in _counts(file, rows))
    names = [name for name in counts.column_names if name != _ROWS]
    return counts.group_by(names).aggregate([(_ROWS, "sum")]).rename_columns([*names, _ROWS])


def _counts(file: str, rows: pa.Table) -> Iterator[pa.Table]:
    """Yield the same of one file, of few rows at once, because they are copied."""
    for part in (rows.slice(0, 0), *(pa.Table.from_batches([batch]) for batch in rows.to_batches())):
        keys = part.drop_null()
        keys = keys.append_column(_FILE, pa.repeat(pa.scalar(file), keys.num_rows))
        counts = keys.group_by(keys.column_names).aggregate([([], "count_all")])
        yield counts.rename_columns([*keys.column_names, _ROWS])


def _patterns(counts: pa.Table, names: Sequence[str], *, in_table: bool) -> Iterator[Pattern]:
    by_key: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in counts.to_pylist():
        by_key.setdefault(tuple(row[name] for name in names), {})[row[_FILE]] = row[_ROWS]
    for rows_by_file in by_key.values():
        yield Pattern(counts=rows_by_file, keys=1, in_table=in_table)
