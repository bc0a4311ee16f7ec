"""A reader whose rows are on disk, mapped into memory: checks of a large file take the memory that there is."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from operator import attrgetter
from pathlib import Path

import pyarrow as pa

from lakegate.adapters.spool import spool
from lakegate.audit.data_files.statistics import DataFileStatistics
from lakegate.express.reading import Reader
from lakegate.express.tables import ExpressTable

_AT_ONCE = 8  # data files that are fetched concurrently


class Spool:
    """Tables of rows on disk, which readers share."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._tables = folder, dict[tuple[str, ...], pa.Table]()

    def table(self, paths: Sequence[str], schema: pa.Schema, parts: Iterable[pa.Table]) -> pa.Table:
        """Return these parts as one table, whose values are read where they are asked for."""
        key = (*schema.names, "", *paths)
        if key not in self._tables:
            self._tables[key] = spool(schema, parts, self._folder)
        return self._tables[key]


class SpooledReader(Reader):
    """A reader that decodes each data file once, all columns of these names, and then keeps it in the spool."""

    def __init__(
        self, spool: Spool, fetch: Callable[[str], bytes], table: ExpressTable, names: Collection[str]
    ) -> None:
        super().__init__(fetch, table)
        self._types = pa.schema([column for column in self._types if column.name in names])
        self._spool = spool

    def rows(self, files: Iterable[DataFileStatistics], names: Sequence[str]) -> pa.Table:
        order = sorted(files, key=attrgetter("path"))
        return self._spool.table([file.path for file in order], self._types, self._decode(order)).select(list(names))

    def _decode(self, files: Sequence[DataFileStatistics]) -> Iterator[pa.Table]:
        for first in range(0, len(files), _AT_ONCE):
            batch = files[first : first + _AT_ONCE]
            self._fetch_all([file.path for file in batch])
            for file in batch:
                yield from self._parts(file, self._types)
                self._bodies.pop(file.path)
