"""Rows of text files that do not parse, as a metric. The job finds them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakegate.audit.report import Source
from lakegate.audit.verdicts import Measured


@dataclass(frozen=True, kw_only=True)
class Unparsed:
    """Rows of each file version (by id) that do not parse, out of its lines; files without such rows are absent."""

    rows: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, file: str, _earlier: Sequence[str]) -> Measured:
        return Measured(value=self.rows.get(file, 0), source=Source.FILE, rows=self.lines.get(file))
