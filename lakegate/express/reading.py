"""Rows that a branch holds, read back from its data files: what is judged is what main will hold."""

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

import pyarrow as pa
import pyarrow.parquet as pq

from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField
from lakegate.audit.errors import HandedOver

_FIELD_ID = b"PARQUET:field_id"
_AT_ONCE = 8  # data files that are fetched concurrently


class Reader:
    """A reader of data files, each fetched once. `types` are Arrow's types of the columns."""

    def __init__(self, fetch: Callable[[str], bytes], columns: Mapping[str, IcebergField], types: pa.Schema) -> None:
        self._fetch, self._columns, self._types = fetch, columns, types
        self._bodies: dict[str, bytes] = {}

    def rows(self, files: Iterable[DataFileStatistics], names: Sequence[str]) -> pa.Table:
        """Return these columns of the rows in these data files, in order. Raise HandedOver if a file is not as this
        engine has written it.
        """
        schema, wanted = pa.schema([(name, self._types.field(name).type) for name in names]), list(files)
        self._fetch_all([file.path for file in wanted])
        return pa.concat_tables([schema.empty_table(), *(self._read(file, schema) for file in wanted)])

    def _fetch_all(self, paths: Sequence[str]) -> None:
        """Fetch the data files that were not, several at once."""
        unread = [path for path in paths if path not in self._bodies]
        if unread:
            with ThreadPoolExecutor(_AT_ONCE) as pool:
                self._bodies.update(zip(unread, pool.map(self._fetch, unread), strict=True))

    def _read(self, file: DataFileStatistics, schema: pa.Schema) -> pa.Table:
        try:
            found = pq.ParquetFile(io.BytesIO(self._bodies[file.path]))
            stored = {(each.metadata or {}).get(_FIELD_ID): each.name for each in found.schema_arrow}
            names = [stored[str(self._columns[name].id).encode()] for name in schema.names]
            rows = found.read(columns=names, use_threads=False).select(names).rename_columns(schema.names).cast(schema)
        except (pa.ArrowException, KeyError, ValueError) as error:
            raise HandedOver("A data file on the branch is not as the express engine writes it.") from error
        if rows.num_rows != file.rows:
            raise HandedOver("A data file on the branch has other rows than its manifest says.")
        return rows
