"""The batch as its branch holds it, measured: statistics first, and one query for what they leave open."""

# ruff: noqa: ARG002 - the arguments are a protocol's

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

import pyarrow as pa

from lakegate.audit.completeness import PerFile
from lakegate.audit.data_files.statistics import IcebergField, measure, with_rows
from lakegate.audit.evaluation.drift import Past
from lakegate.audit.evaluation.duplicates import OwnRepeats
from lakegate.audit.evaluation.quarantine import Results
from lakegate.audit.evaluation.verdicts import Dependent, Measurement, Measurements, malformed_checks
from lakegate.audit.model.plan import Metric, Plan, Relation, Scope, Trait
from lakegate.audit.model.report import CheckResult, Source
from lakegate.audit.schema.inspection import Inspection
from lakegate.audit.schema.types import canonical
from lakegate.duckdb.metrics import KINDS
from lakegate.express import samples
from lakegate.express.keys import Base, Batch, resolve
from lakegate.express.metrics import DuckDB, check_near_limits, columns_needed, is_exact
from lakegate.express.quarantine import Reasons, reasons

Read = Callable[[str, Sequence[str]], pa.Table]
"""Returns these columns of a file version's rows, by id."""


@dataclass(frozen=True, kw_only=True)
class ExpressView:
    """Rows of file versions, with the data files that hold them, and tables at the base. `past` is what earlier files
    measured, and `entries` are PyIceberg's objects of the data files, by path.
    """

    plan: Plan
    files: PerFile
    columns: Mapping[str, IcebergField]
    read: Read
    duckdb: DuckDB
    base: Base
    past: Past
    entries: Mapping[str, Any] = field(default_factory=dict)

    def measure(self) -> tuple[list[Measurements], dict[str, Dependent]]:
        metrics_by_file = {file: self._measure_file(file) for file in self.files}
        key_metrics = {metric.id for metric in self._file_metrics if metric.has(Trait.REPEATS)}
        repeats: dict[str, Dependent] = {
            name: OwnRepeats(rows={file: int(metrics[name].value or 0) for file, metrics in metrics_by_file.items()})
            for name in key_metrics
        }
        measurements = [
            Measurements(
                file=file,
                rows=self._rows(file),
                metrics={name: metric for name, metric in metrics.items() if name not in key_metrics},
            )
            for file, metrics in metrics_by_file.items()
        ]
        return measurements, repeats | self._of_tables()

    @property
    def _file_metrics(self) -> list[Metric]:
        """Return the metrics of each file by itself."""
        return [metric for metric in self.plan.metrics if metric.scope is Scope.BATCH]

    def _of_tables(self) -> dict[str, Dependent]:
        table_metrics = [metric for metric in self.plan.metrics if metric.scope is Scope.TABLE]
        batch = Batch(files=self.files, columns=self.columns, read=self.read)
        return {metric.id: resolve(self.plan, metric, batch, self.base, self.duckdb) for metric in table_metrics}

    def _rows(self, file: str) -> int:
        return sum(data.rows for data in self.files[file])

    def _measure_file(self, file: str) -> dict[str, Measurement]:
        by_statistics = {metric.id: measure(metric, self.files[file], self.columns) for metric in self._file_metrics}
        values = {name: value for name, value in by_statistics.items() if value is not None}
        measurements = {name: Measurement(value=value, source=Source.STATISTICS) for name, value in values.items()}
        rest = [metric for metric in self._file_metrics if metric.id not in measurements]
        if not rest:
            return measurements
        numbers = self.duckdb.numbers(rest, self.read(file, columns_needed(rest, self._all)))
        for metric in rest:
            self._check(metric, numbers[metric.id], file)
        return measurements | {
            metric.id: Measurement(value=numbers[metric.id], source=_source(metric)) for metric in rest
        }

    @property
    def _all(self) -> list[str]:
        return [column.name for column in self.plan.columns]

    def _check(self, metric: Metric, value: float | None, file: str) -> None:
        types = {column.name.lower(): canonical(column.type) for column in self.plan.columns}
        if value is not None and not is_exact(metric, types):
            check_near_limits(self.plan, metric, value, self._rows(file), self.past)

    def failing_rows(self, file: str, earlier: Sequence[str], checks: Sequence[str]) -> int:
        return sum(map(bool, self.reasons(file, earlier, checks)))

    def reasons(self, file: str, earlier: Sequence[str], checks: Sequence[str]) -> Reasons:
        """Return for each row of a file which of these checks it fails, given the good files before it: a key of theirs
        repeats in the file. A row that does not parse is none of them.
        """
        ids, metrics = {*checks} - malformed_checks(self.plan), self.plan.comparing(Relation.CONFLICT)
        among = {check.id for check in self.plan.checks if earlier and check.id in ids and check.metric in metrics}
        rows = self.read(file, self._all)
        single = reasons(self.plan, rows, ids - among, self.duckdb)
        if not among:
            return single
        rows = pa.concat_tables([*(self.read(other, self._all) for other in earlier), rows])
        by_key = reasons(self.plan, rows, among, self.duckdb)[-self._rows(file) :]
        return [(*names, *key_names) for names, key_names in zip(single, by_key, strict=True)]

    def without(self, order: Sequence[str], failures: Mapping[str, Sequence[str]]) -> Self:
        stay = {
            file: [not names for names in self.reasons(file, order[: order.index(file)], checks)]
            for file, checks in failures.items()
        }

        def read(file: str, names: Sequence[str]) -> pa.Table:
            rows = self.read(file, names)
            return rows.filter(pa.array(stay[file])) if file in stay else rows

        remaining = {file: with_rows(self.files[file], sum(kept_rows)) for file, kept_rows in stay.items()}
        return replace(self, files={file: remaining.get(file, self.files[file]) for file in order}, read=read)

    def with_samples(
        self, results: Results, plan: Plan, inspections: Sequence[Inspection]
    ) -> dict[str, tuple[CheckResult, ...]]:
        return samples.with_samples(self.plan, results, lambda file: self.read(file, self._all), self.duckdb)


def _source(metric: Metric) -> Source:
    asks = metric.alone or KINDS[metric.kind].query
    return Source.QUERY if asks else Source.AGGREGATE
