"""Rows that a branch holds, read back from its data files: what is judged is what main will hold."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import PYARROW_PARQUET_FIELD_ID_KEY

from lakegate.adapters.decoding import TooLarge, parquet_batches, within_limit
from lakegate.audit.data_files.statistics import DataFileStatistics
from lakegate.audit.errors import HandedOver
from lakegate.express.tables import ExpressTable

_AT_ONCE = 8  # data files that are fetched concurrently


class Reader:
    """A reader of a table's data files, each fetched once."""

    def __init__(self, fetch: Callable[[str], bytes], table: ExpressTable) -> None:
        self._fetch, self._columns, self._types = fetch, table.fields(), table.types()
        self._names = table.names()  # the field ids that the table has for names in files without ids
        self._bodies: dict[str, bytes] = {}

    def rows(self, files: Iterable[DataFileStatistics], names: Sequence[str]) -> pa.Table:
        """Return these columns of the rows in these data files, in the order of their paths. Raise HandedOver if a file
        is not as this engine has written it, or its rows take more memory than the engine has.
        """
        schema = pa.schema([(name, self._types.field(name).type) for name in names])
        ordered_files = sorted(files, key=attrgetter("path"))
        self._fetch_all([file.path for file in ordered_files])
        parts = (part for file in ordered_files for part in self._parts(file, schema))
        try:
            return pa.concat_tables([schema.empty_table(), *within_limit(parts)])
        except TooLarge as error:
            raise HandedOver("The rows that are read take more memory than the express engine has.") from error

    def _fetch_all(self, paths: Sequence[str]) -> None:
        """Fetch the data files that were not, several at once."""
        unread = [path for path in paths if path not in self._bodies]
        if unread:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                self._bodies.update(zip(unread, pool.map(self._fetch, unread), strict=True))

    def _parts(self, file: DataFileStatistics, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the file's rows, as many at once as their bytes allow."""
        number = 0
        try:
            for part in self._columns_of(pa.BufferReader(self._bodies[file.path]), schema):
                number += part.num_rows
                yield part
        except (pa.ArrowException, KeyError, ValueError) as error:
            raise HandedOver("A data file on the branch is not as the express engine writes it.") from error
        if number != file.rows:
            raise HandedOver("A data file on the branch has other rows than its manifest says.")

    def _columns_of(self, body: Any, schema: pa.Schema) -> Iterator[pa.Table]:
        """Yield the columns as every reader finds them: by field ids, or by the table's names in a file without any.
        Such a file was registered by an earlier release.
        """
        names_by_id = self._file_names(pq.ParquetFile(body).schema_arrow)
        names = [names_by_id[self._columns[name].id] for name in schema.names]
        for rows in parquet_batches(body, names):
            columns = [rows.column(name).cast(field.type) for name, field in zip(names, schema, strict=True)]
            yield pa.Table.from_arrays(columns, schema=schema)

    def _file_names(self, schema: pa.Schema) -> dict[int, str]:
        """Return the file's own names of its columns, by field id."""
        by_id = {
            int(number): field.name
            for field in schema
            if (number := (field.metadata or {}).get(PYARROW_PARQUET_FIELD_ID_KEY))
        }
        return by_id or {self._names[name]: name for name in schema.names if name in self._names}
