"""Bounds of texts, UTF-8 or not, as Iceberg makes them of a data file's row groups."""

from collections.abc import Sequence

from hypothesis import strategies as st

from lakegate.audit.data_files.statistics import DataFileStatistics

_CUT = 16  # letters of a bound
_LAST = 0x10FFFF
_PIECES = (
    *(b"a", b"z", "é".encode(), "あ".encode(), "い".encode(), "\ufffb".encode(), "\U00010000".encode(), "😀".encode()),
    *(b"\x80", b"\xc0", b"\xe3", b"\xed\xa0\x80", b"\xef\xbf", b"\xff"),
)
Group = Sequence[bytes]

TEXTS = st.tuples(st.sampled_from((b"", b"m" * 15, b"m" * 16)), st.lists(st.sampled_from(_PIECES), max_size=3)).map(
    lambda parts: parts[0] + b"".join(parts[1])
)
GROUPS = st.lists(st.lists(TEXTS, min_size=1, max_size=3), min_size=1, max_size=3)


def ends(group: Group) -> tuple[str, str]:
    """A row group's bounds: the least and the greatest in the order of bytes, read as text."""
    return min(group).decode(errors="replace"), max(group).decode(errors="replace")


def data_file(groups: Sequence[Group], column: int) -> DataFileStatistics:
    lower, upper = min(ends(group)[0] for group in groups)[:_CUT], _rounded_up(max(ends(group)[1] for group in groups))
    rows = sum(map(len, groups))
    return DataFileStatistics(
        path="f",
        rows=rows,
        values={column: rows},
        nulls={column: 0},
        lower={column: lower.encode().hex()},
        upper={} if upper is None else {column: upper.encode().hex()},
        row_groups=len(groups),
    )


def _rounded_up(text: str) -> str | None:
    if len(text) <= _CUT:
        return text
    kept = text[:_CUT].rstrip(chr(_LAST))
    return kept[:-1] + chr(ord(kept[-1]) + 1) if kept else None
