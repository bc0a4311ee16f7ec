"""Columns of several samples as those of one table: a column has the type that holds it in all of them."""

from collections.abc import Sequence

import pyarrow as pa

from lakegate.audit.schema.fit import UNKNOWN_TYPE
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import MOST_DIGITS, Atom, Type, digits, holds, storage_of
from lakegate.inference.sample import Sample, unfit
from lakegate.reading.arrow import arrow_type


def agreed(samples: Sequence[Sample]) -> dict[str, Type]:
    """Return each column with the type that holds it in all samples. Raise NoContract if there is none."""
    first, *others = samples
    kinds = dict(first.columns)
    for sample in others:
        if strange := sorted(kinds.keys() ^ sample.columns.keys()):
            raise unfit(sample.name, f"column {display_name(strange[0])} is not in all of these files")
        kinds = {name: _both(sample, name, kind, sample.columns[name]) for name, kind in kinds.items()}
    return {name: Atom("string") if kind == Atom(UNKNOWN_TYPE) else storage_of(kind) for name, kind in kinds.items()}


def _both(sample: Sample, name: str, one: Type, other: Type) -> Type:
    if Atom(UNKNOWN_TYPE) in (one, other):
        return one if other == Atom(UNKNOWN_TYPE) else other
    if one == other:
        return one
    if isinstance(one, Atom) and isinstance(other, Atom):
        wide = next((wide for wide, narrow in ((one, other), (other, one)) if holds(wide, narrow)), None)
        if wide := wide or _decimals(one, other):
            return wide
    raise unfit(sample.name, f"column {display_name(name)} is {other}, and in other files {one}: a table has one type")


def _decimals(one: Atom, other: Atom) -> Atom | None:
    """Return the decimal that holds both, if there is one."""
    if not (small := digits(one)) or not (large := digits(other)):
        return None
    places, before = max(small[1], large[1]), max(small[0] - small[1], large[0] - large[1])
    return Atom(f"decimal({places + before},{places})") if places + before <= MOST_DIGITS else None


def as_agreed(sample: Sample, kinds: dict[str, Type]) -> pa.Table:
    """Return the rows with the types that all samples agree on. Raise NoContract if a value has none of them."""
    columns = []
    for name, kind in kinds.items():
        try:
            columns.append(_cast(sample.rows.column(name), arrow_type(kind)))
        except (pa.ArrowException, OverflowError) as error:
            raise unfit(sample.name, f"column {display_name(name)} has a value that is no {kind}") from error
    return pa.table(columns, schema=pa.schema([(name, arrow_type(kind)) for name, kind in kinds.items()]))


def _cast(values: pa.ChunkedArray, kind: pa.DataType) -> pa.ChunkedArray:
    if isinstance(values.type, pa.BaseExtensionType):
        values = pa.chunked_array([chunk.storage for chunk in values.chunks], values.type.storage_type)
    return values.cast(kind, safe=not pa.types.is_timestamp(kind))  # finer than microseconds: cut, as Spark does
