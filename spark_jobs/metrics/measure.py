"""The plan's metrics from the cheapest source that proves each: statistics, dictionaries, one pass, own queries.

It reads the batch's data files, and of those only what statistics leave open. `keys` answers for keys.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from lakegate.audit.data_files.statistics import DataFileStatistics, IcebergField, measure
from lakegate.audit.evaluation.verdicts import Dependent, Measurement, Measurements
from lakegate.audit.model.plan import Metric, Plan
from lakegate.audit.model.report import Source
from spark_jobs.metrics import dictionaries
from spark_jobs.metrics.aggregates import compute, source_of
from spark_jobs.metrics.keys import Batch, Read
from spark_jobs.metrics.kinds import Way, resolve, way_of
from spark_jobs.tables.base import Base

_THREADS = 4


def measure_all(plan: Plan, batch: Batch, base: Base) -> tuple[list[Measurements], dict[str, Dependent]]:
    """Return every metric of the plan. Queries run side by side, because each alone leaves cores idle."""
    with ThreadPoolExecutor(1) as pool:
        batch_results = pool.submit(batch_metrics, plan, batch, base)
        return row_metrics(plan, batch.files, batch.columns, batch.read), batch_results.result()


def batch_metrics(plan: Plan, batch: Batch, base: Base) -> dict[str, Dependent]:
    """Return the metrics, by id, that are resolved file by file from what is known of the whole batch."""
    batch_kinds = [metric for metric in plan.metrics if way_of(metric) is Way.BATCH]
    with ThreadPoolExecutor(_THREADS) as pool:
        results = pool.map(lambda metric: resolve(plan, metric, batch, base), batch_kinds)
        return {metric.id: result for metric, result in zip(batch_kinds, results, strict=True)}


def row_metrics(
    plan: Plan, files: Mapping[str, Sequence[DataFileStatistics]], columns: Mapping[str, IcebergField], read: Read
) -> list[Measurements]:
    """Return the metrics of single rows for each file version. `files` has its data files, none if no row of a text
    file parses.
    """
    single = [metric for metric in plan.metrics if way_of(metric) in (Way.PASS, Way.QUERY)]
    measurements = _without_reading_rows(single, files, columns, read)
    open_files = [
        file for file, file_metrics in measurements.items() if len(file_metrics) < len(single) and files[file]
    ]
    open_metrics = [
        metric for metric in single if any(metric.id not in file_metrics for file_metrics in measurements.values())
    ]
    numbers = compute(open_metrics, open_files, read) if open_files else {}
    return [
        Measurements(
            file=file,
            rows=sum(data.rows for data in files[file]),
            metrics={
                metric.id: file_metrics.get(metric.id)
                or Measurement(value=numbers.get(file, _number_of_no_rows(metric))[metric.id], source=source_of(metric))
                for metric in single
            },
        )
        for file, file_metrics in measurements.items()
    ]


def _number_of_no_rows(metric: Metric) -> dict[str, float | None]:
    """Return the metric of a file without rows: none fail, and there is no other number."""
    return {metric.id: 0 if metric.kind.counts_rows else None}


def _without_reading_rows(
    metrics: Sequence[Metric],
    files: Mapping[str, Sequence[DataFileStatistics]],
    columns: Mapping[str, IcebergField],
    read: Read,
) -> dict[str, dict[str, Measurement]]:
    """Return what statistics, and then dictionaries, prove, by file version and metric."""
    measurements = {file: _from_statistics(metrics, data, columns) for file, data in files.items()}
    rest = [
        metric for metric in metrics if any(metric.id not in file_metrics for file_metrics in measurements.values())
    ]
    zero = Measurement(value=0, source=Source.DICTIONARIES)
    short = {file: data for file, data in files.items() if len(measurements[file]) < len(metrics)}
    for file, zero_metrics in dictionaries.prove(rest, short, columns, read).items():
        measurements[file] = dict.fromkeys(zero_metrics, zero) | measurements[file]
    return measurements


def _from_statistics(
    metrics: Sequence[Metric], data: Sequence[DataFileStatistics], columns: Mapping[str, IcebergField]
) -> dict[str, Measurement]:
    values = {metric.id: measure(metric, data, columns) for metric in metrics}
    return {
        name: Measurement(value=value, source=Source.STATISTICS) for name, value in values.items() if value is not None
    }
