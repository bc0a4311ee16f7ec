"""Columns of several samples as those of one table: a column has the type that holds it in all of them."""

from collections.abc import Sequence

import pyarrow as pa

from lakegate.audit.schema.fit import UNKNOWN_TYPE
from lakegate.audit.schema.names import display_name
from lakegate.audit.schema.types import MOST_DIGITS, Atom, Type, digits, holds, storage_of
from lakegate.inference.sample import Sample, unfit
from lakegate.reading.arrow import arrow_type


def agree_types(samples: Sequence[Sample]) -> dict[str, Type]:
    """Return each column with the type that holds it in all samples. Raise NoContract if there is none."""
    first, *rest = samples
    kinds = dict(first.columns)
    for sample in rest:
        if strange := sorted(kinds.keys() ^ sample.columns.keys()):
            raise unfit(sample.name, f"column {display_name(strange[0])} is not in all of these files")
        kinds = {name: _common(sample, name, kind, sample.columns[name]) for name, kind in kinds.items()}
    return {name: Atom("string") if kind == Atom(UNKNOWN_TYPE) else storage_of(kind) for name, kind in kinds.items()}


def _common(sample: Sample, name: str, kind: Type, other: Type) -> Type:
    if Atom(UNKNOWN_TYPE) in (kind, other):
        return kind if other == Atom(UNKNOWN_TYPE) else other
    if kind == other:
        return kind
    if isinstance(kind, Atom) and isinstance(other, Atom):
        wide = next((wide for wide, narrow in ((kind, other), (other, kind)) if holds(wide, narrow)), None)
        if wide := wide or _decimals(kind, other):
            return wide
    raise unfit(sample.name, f"column {display_name(name)} is {other}, and in other files {kind}: a table has one type")


def _decimals(kind: Atom, other: Atom) -> Atom | None:
    """Return the decimal that holds both, if there is one."""
    if not (small := digits(kind)) or not (large := digits(other)):
        return None
    places, before = max(small[1], large[1]), max(small[0] - small[1], large[0] - large[1])
    return Atom(f"decimal({places + before},{places})") if places + before <= MOST_DIGITS else None


def in_types(sample: Sample, kinds: dict[str, Type]) -> pa.Table:
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
