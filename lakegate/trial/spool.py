"""A reader whose rows are on disk, mapped into memory: checks of a large file take the memory that there is."""

from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import Any

import pyarrow as pa

from lakegate.adapters.spool import spool
from lakegate.audit.data_files.statistics import DataFileStatistics
from lakegate.express.reading import Reader


class Spool:
    """A maker of readers, which share what was read once."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._tables = folder, dict[tuple[str, ...], pa.Table]()

    def __call__(self, *of: Any) -> "SpooledReader":
        return SpooledReader(self, *of)

    def table(self, paths: tuple[str, ...], schema: pa.Schema, parts: Iterable[pa.Table]) -> pa.Table:
        """Return these parts as one table, whose values are read where they are asked for."""
        if paths not in self._tables:
            self._tables[paths] = spool(schema, parts, self._folder)
        return self._tables[paths]


class SpooledReader(Reader):
    """A reader that decodes each data file once, whole, and then keeps it in the spool."""

    def __init__(self, spool: Spool, *of: Any) -> None:
        super().__init__(*of)
        self._spool = spool

    def rows(self, files: Iterable[DataFileStatistics], names: Sequence[str]) -> pa.Table:
        wanted = sorted(files, key=attrgetter("path"))
        parts = map(self._part, wanted)
        return self._spool.table(tuple(file.path for file in wanted), self._types, parts).select(list(names))

    def _part(self, file: DataFileStatistics) -> pa.Table:
        found = super().rows([file], self._types.names)
        self._bodies.pop(file.path)
        return found
