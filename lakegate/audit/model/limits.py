"""Limits on a landed file, checked before its content is read, and the message for a file beyond one.

It opens no file. A limit keeps one file from delaying, or crashing, the job of all the others.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields

from lakegate.audit.advice import Advice, Fault, setting

_MIB, _GIB = 1024**2, 1024**3
MOST_FAULTS = 20
"""A number of faults: so many of one file are listed, and more are counted."""


@dataclass(frozen=True, kw_only=True)
class Limits:
    """A maximum for each measure of a file; SETTINGS names the contract's setting of each."""

    bytes: int = 10 * _GIB
    uncompressed: int = 100 * _GIB  # bytes
    rows: int = 1_000_000_000
    row_groups: int = 10_000
    blocks: int = 1_000_000  # of Avro
    columns: int = 5_000  # parts of nested columns included, as the file's schema counts them
    nesting: int = 32  # as in the file's schema
    footer: int = 16 * _MIB  # bytes
    line: int = 64 * _MIB  # bytes


DEFAULTS = Limits()
SETTINGS = {
    "bytes": "maxBytes",
    "uncompressed": "maxUncompressedBytes",
    "rows": "maxRows",
    "row_groups": "maxRowGroups",
    "blocks": "maxBlocks",
    "columns": "maxColumns",
    "nesting": "maxNesting",
    "footer": "maxFooterBytes",
    "line": "maxLineBytes",
}
_SENTENCES = {
    "bytes": "it has {found} bytes",
    "uncompressed": "it has {found} bytes uncompressed",
    "rows": "it has {found} rows",
    "row_groups": "it has {found} row groups",
    "blocks": "it has {found} blocks",
    "columns": "it has {found} columns",
    "nesting": "its columns are nested {found} deep",
    "footer": "its footer or header has {found} bytes",
    "line": "one of its lines has {found} bytes",
}


_SMALLER = {
    "row_groups": "write larger row groups",
    "blocks": "write larger blocks",
    "columns": "write fewer columns",
    "nesting": "nest its columns less deep",
    "footer": "write a smaller footer",
    "line": "end its lines, or to write shorter ones",
}
_USUALLY = "send it as several smaller files"
_REST_ADVICE = Advice(vendor="mend those before it first: the next report lists the rest")


def beyond_limits(limits: Limits, **measures: int) -> tuple[Fault, ...]:
    """Return a fault for each limit that these measures (named as in Limits) exceed."""
    order = [limit.name for limit in fields(Limits) if measures.get(limit.name, 0) > getattr(limits, limit.name)]
    return tuple(_fault(name, f"{measures[name]:,}", getattr(limits, name), measures[name]) for name in order)


def more_than(limits: Limits, name: str) -> Fault:
    """Return the fault for a measure whose counting stopped at the limit."""
    limit = getattr(limits, name)
    return _fault(name, f"more than {limit:,}", limit, 2 * limit)


def _fault(name: str, measure: str, limit: int, size: int) -> Fault:
    advice = Advice(
        vendor=_SMALLER.get(name, _USUALLY),
        contract="raise the limit, at the contract's landing server",
        lines=setting(SETTINGS[name], size),
    )
    return Fault(f"{_SENTENCES[name].format(found=measure)}, and the limit is {limit:,}", advice)


def first_faults(faults: Iterable[Fault]) -> tuple[Fault, ...]:
    """Return the first faults of a file, and how many more there are."""
    all_faults: Sequence[Fault] = tuple(faults)
    rest = len(all_faults) - MOST_FAULTS
    return (*all_faults[:MOST_FAULTS], Fault(f"and {rest:,} more", _REST_ADVICE)) if rest > 0 else tuple(all_faults)
