"""The rows of text files that do not parse, as a metric. How they are found is the job's matter."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from lakegate.audit.report import Source
from lakegate.audit.verdicts import Measured


@dataclass(frozen=True, kw_only=True)
class Unparsed:
    """How many rows of each file version (by id) do not parse, out of how many lines; files without such are absent."""

    rows: Mapping[str, int] = field(default_factory=dict)
    lines: Mapping[str, int] = field(default_factory=dict)

    def __call__(self, file: str, _earlier: Sequence[str]) -> Measured:
        return Measured(value=self.rows.get(file, 0), source=Source.FILE, rows=self.lines.get(file))
