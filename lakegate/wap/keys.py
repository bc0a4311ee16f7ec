"""Keys that repeat, or refer to nothing, counted in Arrow for each append that has them.

The express lane hands such batches over, because it must tell the very rows that Spark would. A run is published as a
whole or not at all, so here it is enough to count them.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from lakegate.audit.evaluation.duplicates import Pattern, Repeats
from lakegate.audit.evaluation.table_scope import Orphans

_FILE, _ROWS = "_lakegate_append", "_lakegate_rows"


def repeats(appends: Mapping[str, pa.Table], theirs: pa.Table | None) -> Repeats:
    """Return the keys that repeat among these appends, each given as its keys, or that are `theirs` already."""
    counted = _counted(appends)
    keys = [name for name in counted.column_names if name not in (_FILE, _ROWS)]
    known = None if theirs is None else theirs.group_by(keys).aggregate([])
    taken = counted.slice(0, 0) if known is None else counted.join(known, keys, join_type="left semi")
    fresh = counted if known is None else counted.join(known, keys, join_type="left anti")
    several = fresh.group_by(keys).aggregate([(_ROWS, "sum")])
    several = several.filter(pc.greater(several[f"{_ROWS}_sum"], 1)).select(keys)
    patterns = [
        *_patterns(taken, keys, taken=True),
        *_patterns(fresh.join(several, keys, join_type="left semi"), keys, taken=False),
    ]
    return Repeats(patterns=tuple(patterns))


def orphans(appends: Mapping[str, pa.Table], theirs: pa.Table | None) -> Orphans:
    """Return how many rows of each append have a key that is none of `theirs`."""
    counted = _counted(appends)
    known = None if theirs is None else theirs.group_by(theirs.column_names).aggregate([])
    lost = counted if known is None else counted.join(known, known.column_names, join_type="left anti")
    rows = lost.group_by(_FILE).aggregate([(_ROWS, "sum")])
    return Orphans(rows=dict(zip(rows[_FILE].to_pylist(), rows[f"{_ROWS}_sum"].to_pylist(), strict=True)))


def _counted(appends: Mapping[str, pa.Table]) -> pa.Table:
    """Return each key once for each append that has it, with the number of its rows. A null makes it no key."""
    counted = pa.concat_tables(part for file, rows in appends.items() for part in _counted_in(file, rows))
    keys = [name for name in counted.column_names if name != _ROWS]
    return counted.group_by(keys).aggregate([(_ROWS, "sum")]).rename_columns([*keys, _ROWS])


def _counted_in(file: str, rows: pa.Table) -> Iterator[pa.Table]:
    """Yield the same of one append, of few rows at once, because they are copied."""
    for part in (rows.slice(0, 0), *(pa.Table.from_batches([batch]) for batch in rows.to_batches())):
        whole = part.drop_null()
        told = whole.append_column(_FILE, pa.repeat(pa.scalar(file), whole.num_rows))
        yield (
            told.group_by(told.column_names).aggregate([([], "count_all")]).rename_columns([*told.column_names, _ROWS])
        )


def _patterns(counted: pa.Table, keys: Sequence[str], *, taken: bool) -> Iterator[Pattern]:
    by_key: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in counted.to_pylist():
        by_key.setdefault(tuple(row[name] for name in keys), {})[row[_FILE]] = row[_ROWS]
    for counts in by_key.values():
        yield Pattern(counts=counts, keys=1, in_table=taken)
