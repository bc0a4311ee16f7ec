"""Failing rows for the report, with masked values hidden: one pass over the files at fault, for all checks.

Each row is tagged with the metrics that it fails. Their numbers are known by then, so about as many rows are kept by
chance as the report takes, and neither Spark nor the driver holds them all.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it
from pyspark.sql.window import Window

from lakegate.audit.evaluation.mask import MASK
from lakegate.audit.evaluation.quarantine import Results
from lakegate.audit.evaluation.samples import (
    TEXT,
    Row,
    by_keys,
    evenly,
    rows_per_sample,
    shown_columns,
    to_sample,
    with_rows,
)
from lakegate.audit.evaluation.verdicts import good
from lakegate.audit.model.plan import Metric, Plan, TableColumn
from lakegate.audit.model.report import CheckResult
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.types import canonical, spark_identifier
from spark_jobs.metrics.failing_keys import ROWS_OF_KEY, KeySearch
from spark_jobs.metrics.keys import Batch
from spark_jobs.metrics.kinds import KINDS, ByKey, failing_condition
from spark_jobs.tables.base import Base

_DICE, _SIDES = "_lakegate_dice", 1 << 30
_RANK = "_lakegate_rank"
_SPARE = 2  # times the rows wanted are kept, because chance may leave too few


@dataclass(frozen=True, kw_only=True)
class SampleRequest:
    """A metric that some files fail, with the number of failing rows by file id."""

    number: int
    metric: Metric
    failing_rows: Mapping[str, int]


@dataclass(kw_only=True)
class Search:
    """One search for failing rows. Each of `rows` has a random number, its dice. DataFrames in `kept_frames` stay in
    memory until the end.
    """

    results: Results
    plan: Plan
    batch: Batch
    base: Base
    limit: int
    rows: DataFrame
    kept_frames: list[DataFrame] = field(default_factory=list)

    def sample_condition(self, rows: Mapping[str, int]) -> Column:
        """Return the condition that a row's dice keep it, by the number of such rows in each file; else false."""
        if not rows:
            return F.lit(False)  # noqa: FBT003 - a literal
        limit = self.limit * _SPARE
        chances = {file: _SIDES if count <= limit else _SIDES * limit // count for file, count in rows.items()}
        pairs = [F.lit(part) for file, chance in chances.items() for part in (file, chance)]
        return F.col(_DICE) < F.create_map(*pairs)[F.col(FILE_COLUMN)]


def with_samples(plan: Plan, results: Results, batch: Batch, base: Base) -> dict[str, tuple[CheckResult, ...]]:
    """Return the same results, with failing rows at each check that did not pass."""
    requests = _sample_requests(plan, results)
    pairs = sum(len(request.failing_rows) for request in requests)
    if not pairs:
        return dict(results)
    limit = rows_per_sample(pairs)
    rows = batch.read(dict.fromkeys(file for request in requests for file in request.failing_rows)).select("*", _dice())
    search = Search(results=results, plan=plan, batch=batch, base=base, limit=limit, rows=rows)
    return with_rows(results, _find_rows(search, requests), pairs)


def _sample_requests(plan: Plan, results: Results) -> list[SampleRequest]:
    """Return the metrics with rows that can be found, and the files that fail them."""
    metrics_with_rows = [(metric, files) for metric, files in to_sample(plan, results) if KINDS[metric.kind].finds_rows]
    return [
        SampleRequest(number=number, metric=metric, failing_rows=files)
        for number, (metric, files) in enumerate(metrics_with_rows)
    ]


def _dice() -> Column:
    return F.pmod(F.xxhash64(F.monotonically_increasing_id()), F.lit(_SIDES)).alias(_DICE)


def _find_rows(search: Search, requests: Sequence[SampleRequest]) -> dict[tuple[str, str], list[Row]]:
    """Return failing rows by file and metric."""
    plan = search.plan
    conditions = [_failing_condition(search, request) for request in requests]
    columns_by_number = {request.number: shown_columns(plan, request.metric) for request in requests}
    names = dict.fromkeys(name for columns in columns_by_number.values() for name in columns)
    samples: dict[tuple[str, str], list[Row]] = {}
    for file, tags, text in _collect(search, conditions, [column for column in plan.columns if column.name in names]):
        row = json.loads(text)
        for request in (request for request, is_failing in zip(requests, tags, strict=True) if is_failing):
            samples.setdefault((file, request.metric.id), []).append(
                {name: row[name] for name in columns_by_number[request.number]}
            )
    by_id = {request.metric.id: request.metric for request in requests}
    return {key: _first_rows(rows, by_id[key[1]], search.limit) for key, rows in samples.items()}


def _collect(search: Search, conditions: Sequence[Column], columns: Sequence[TableColumn]) -> list[Any]:
    """File, which of the metrics it fails, and JSON, of every row that fails any."""
    values = F.struct(*(_shown_value(column).alias(column.name) for column in columns))
    row = F.to_json(values, {"ignoreNullFields": "false"})
    any_of = F.array_contains(F.array(*conditions), F.lit(True))  # noqa: FBT003 - a value; a chain overflows the stack
    failing_rows = search.rows.where(any_of)
    try:
        return failing_rows.select(FILE_COLUMN, F.array(*conditions), row).collect()
    finally:
        for keys in search.kept_frames:
            keys.unpersist()


def _failing_condition(search: Search, request: SampleRequest) -> Column:
    by_key = KINDS[request.metric.kind].by_key
    return _key_condition(search, request, by_key) if by_key else _row_condition(search, request)


def _row_condition(search: Search, request: SampleRequest) -> Column:
    """Return the condition of rows that fail by themselves. It is not asked of other files, whose values may fail to
    compute.
    """
    is_own_file = F.col(FILE_COLUMN).isin(list(request.failing_rows))
    fails = search.sample_condition(request.failing_rows) & failing_condition(request.metric)
    return F.when(is_own_file, fails).otherwise(F.lit(False))  # noqa: FBT003


def _key_condition(search: Search, request: SampleRequest, by_key: ByKey) -> Column:
    """Return the condition of rows that fail by their key, after some keys of each file are joined to the rows."""
    rank = F.row_number().over(Window.partitionBy(FILE_COLUMN).orderBy(*map(spark_identifier, request.metric.columns)))
    order, fine = list(search.results), good(search.results)
    key_search = KeySearch(order=order, good=fine, files=list(request.failing_rows))
    at_fault = by_key.at_fault(search.plan, request.metric, search.batch, search.base, key_search).withColumn(
        _RANK, rank
    )
    keys = at_fault.where(F.col(_RANK) <= search.limit).drop(_RANK).persist()
    search.kept_frames.append(keys)
    rows = {row[0]: row[1] for row in keys.groupBy(FILE_COLUMN).agg(F.sum(ROWS_OF_KEY)).collect()}
    names = (FILE_COLUMN, *request.metric.columns)
    aliases = {name: f"_lakegate_{request.number}_{at}" for at, name in enumerate(names)}
    sample_keys = keys.select(*(F.col(spark_identifier(name)).alias(alias) for name, alias in aliases.items()))
    is_same = [F.col(spark_identifier(name)) == F.col(alias) for name, alias in aliases.items()]
    search.rows = search.rows.join(F.broadcast(sample_keys), on=is_same, how="left")
    return F.col(aliases[FILE_COLUMN]).isNotNull() & search.sample_condition(rows)


def _first_rows(rows: list[Row], metric: Metric, limit: int) -> list[Row]:
    """Return at most `limit` rows: from the whole file, or key by key if rows belong together."""
    by_key = KINDS[metric.kind].by_key
    return by_keys(rows, metric, limit) if by_key and by_key.together else evenly(rows, limit)


def _shown_value(column: TableColumn) -> Column:
    """Return a value as JSON can spell it, cut to a readable length; of a masked one, only whether it is there."""
    value, kind = F.col(spark_identifier(column.name)), canonical(column.type)
    if column.masked:
        return F.when(value.isNotNull(), F.lit(MASK))
    if kind == "string":
        return F.substring(value, 1, TEXT)
    if kind == "binary":
        return F.hex(F.substring(value, 1, TEXT // 2))
    if kind in ("timestamp", "timestamp_ntz"):
        text = F.translate(value.cast("string"), " ", "T")
        return F.concat(text, F.lit("Z")) if kind == "timestamp" else text
    if kind.startswith(("struct<", "array<", "map<")):
        return F.substring(F.to_json(value), 1, TEXT)
    return value.cast("string") if kind == "date" or kind.startswith("decimal") else value
