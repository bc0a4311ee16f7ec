"""Files of a table as the express engine would hold them, in a folder: what it says of many metrics at once.

Rows are written by the engine's own writer and read back, with statistics. It judges nothing.
"""

from __future__ import annotations

import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.io.pyarrow import PyArrowFileIO, schema_to_pyarrow
from pyiceberg.partitioning import UNPARTITIONED_PARTITION_SPEC
from pyiceberg.table import Table
from pyiceberg.table.metadata import new_table_metadata
from pyiceberg.table.sorting import UNSORTED_SORT_ORDER

from lakegate.audit.data_files.statistics import DataFileStatistics
from lakegate.audit.definition import properties
from lakegate.audit.errors import HandedOver
from lakegate.audit.evaluation.drift import Past
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import DEFAULTS
from lakegate.audit.model.plan import Metric, Plan, Scope
from lakegate.audit.schema.types import Atom, parse
from lakegate.express import appending, footer, rows
from lakegate.express.creating import schema_of
from lakegate.express.keys import Base
from lakegate.express.limits import Limits
from lakegate.express.metrics import DuckDB
from lakegate.express.reading import Reader
from lakegate.express.tables import ExpressTable, statistics
from lakegate.express.view import ExpressView
from lakegate.reading.arrow import arrow_type

_AT_ONCE = 32  # metrics of one query


def narrowed(plan: Plan) -> Plan:
    """The plan without what the engine never takes: nested columns, and checks of tables on main."""
    columns = tuple(column for column in plan.columns if isinstance(parse(column.type), Atom))
    flat = {column.name for column in columns}
    metrics = tuple(it for it in plan.metrics if it.scope is Scope.BATCH and set(it.columns) <= flat)
    known = {metric.id for metric in metrics}
    checks = tuple(check for check in plan.checks if check.metric in known)
    return replace(plan, columns=columns, metrics=metrics, checks=checks, key=())


class Known(DuckDB):
    """DuckDB that has computed every metric of each file beforehand."""

    def __init__(self, numbers: Mapping[str, float | None]) -> None:
        self._known = numbers

    def numbers(self, metrics: Sequence[Metric], rows: pa.Table) -> dict[str, float | None]:  # noqa: ARG002 - DuckDB's
        if any(metric.id not in self._known for metric in metrics):
            raise HandedOver("A metric is not known.")
        return {metric.id: self._known[metric.id] for metric in metrics}


@dataclass(kw_only=True)
class ExpressFile:
    """One file of a table with the metrics of a plan."""

    plan: Plan
    file: str
    rows: Sequence[tuple[Any, ...]]
    folder: Path

    def __post_init__(self) -> None:
        schema = schema_of(self.plan.columns)
        own = {"format-version": "2", **properties(self.plan, self.plan.columns)}
        place = f"file://{self.folder}/{self.plan.table}"
        metadata = new_table_metadata(schema, UNPARTITIONED_PARTITION_SPEC, UNSORTED_SORT_ORDER, place, own)
        table = Table(("random", "t"), metadata, "", PyArrowFileIO(), None)  # type: ignore[arg-type]
        self.types = schema_to_pyarrow(schema, include_field_ids=False)
        self.fields = ExpressTable(table=table).fields()
        self.data = self._written(table)
        self.reader = Reader(_local, ExpressTable(table=table))
        self.duckdb = DuckDB(Limits())

    def _written(self, table: Table) -> list[DataFileStatistics]:
        if not self.rows:
            return []
        body = self._staged()
        found = footer.inspect(JobFile(id=self.file, key=self.file, uri="", size=len(body)), body, DEFAULTS)
        there = rows.rows_of(self.plan, found, body, self.types, Limits().arrow)
        return [statistics(each) for each in appending.write(table, there, PyArrowFileIO(), 1)]

    def _staged(self) -> bytes:
        kinds = [arrow_type(column.type) for column in self.plan.columns]
        arrays = [pa.array([row[at] for row in self.rows], kind, from_pandas=False) for at, kind in enumerate(kinds)]
        sink = io.BytesIO()
        pq.write_table(pa.table(arrays, names=[column.name for column in self.plan.columns]), sink)
        return sink.getvalue()

    def read(self, _file: str, names: Sequence[str]) -> pa.Table:
        return self.reader.rows(self.data, names)

    def numbers(self) -> dict[str, float | None]:
        """Every metric that DuckDB knows; the others would be handed over."""
        there = self.read(self.file, [column.name for column in self.plan.columns])
        return dict(self._numbers(list(self.plan.metrics), there))

    def _numbers(self, metrics: list[Metric], there: pa.Table) -> Iterable[tuple[str, float | None]]:
        if len(metrics) <= _AT_ONCE:
            try:
                yield from self.duckdb.numbers(metrics, there).items()
            except HandedOver:
                if len(metrics) == 1:
                    return
            else:
                return
        half = len(metrics) // 2
        yield from self._numbers(metrics[:half], there)
        yield from self._numbers(metrics[half:], there)

    def view(self, plan: Plan, numbers: Mapping[str, float | None], past: Past) -> ExpressView:
        """The engine's own view of the file, by one of the plans whose metrics these are."""
        return ExpressView(
            plan=plan,
            files={self.file: self.data},
            columns=self.fields,
            read=self.read,
            duckdb=Known(numbers),
            base=Base(load=lambda _: None, reader=lambda table, _: Reader(_local, table), limits=Limits()),
            past=past,
        )


def _local(place: str) -> bytes:
    return Path(place.removeprefix("file://")).read_bytes()
