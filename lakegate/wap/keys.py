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
    known = None if theirs is None else theirs.group_by(theirs.column_names).aggregate([])
    whole = {file: rows.drop_null() for file, rows in appends.items()}
    lost = {
        file: rows if known is None else rows.join(known, rows.column_names, join_type="left anti")
        for file, rows in whole.items()
    }
    return Orphans(rows={file: rows.num_rows for file, rows in lost.items() if rows.num_rows})


def _counted(appends: Mapping[str, pa.Table]) -> pa.Table:
    """Return each key once for each append that has it, with the number of its rows. A null makes it no key."""
    whole = {file: rows.drop_null() for file, rows in appends.items()}
    parts = [rows.append_column(_FILE, pa.repeat(pa.scalar(file), rows.num_rows)) for file, rows in whole.items()]
    rows = pa.concat_tables(parts)
    counted = rows.group_by(rows.column_names).aggregate([([], "count_all")])
    return counted.rename_columns([*rows.column_names, _ROWS])


def _patterns(counted: pa.Table, keys: Sequence[str], *, taken: bool) -> Iterator[Pattern]:
    by_key: dict[tuple[Any, ...], dict[str, int]] = {}
    for row in counted.to_pylist():
        by_key.setdefault(tuple(row[name] for name in keys), {})[row[_FILE]] = row[_ROWS]
    for counts in by_key.values():
        yield Pattern(counts=counts, keys=1, taken=taken)
