"""A text file as both readers have it, the Spark job's and lakegate.reading's, in values that can be compared."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from lakegate.audit.errors import HandedOver
from lakegate.audit.evaluation import samples
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.schema.inspection import fit_all
from lakegate.audit.schema.types import canonical, spark_identifier
from lakegate.reading.text import inspect, parts
from spark_jobs.appending.rows import rows_of
from spark_jobs.metrics import malformed
from tests.support.inspection import inspections

_SQL = {
    "date": "unix_date({0})",
    "timestamp": "unix_micros({0})",
    "timestamp_ntz": "unix_micros(cast({0} AS timestamp))",
}


@dataclass(frozen=True, kw_only=True)
class Reading:
    """A file's faults, or its rows and those that do not parse."""

    faults: tuple[str, ...] = ()
    rows: tuple[tuple[Any, ...], ...] = ()
    malformed: tuple[tuple[int, str, str], ...] = ()


def by_reader(plan: Plan, body: bytes, key: str = "landed") -> Reading | None:
    """Return what lakegate.reading says; None if only Spark can."""
    try:
        found = inspect(plan, JobFile(id="f", key=key, uri="", size=len(body)), body)
        [fitted] = fit_all(plan, None, [found])[1]
        if fitted.faults:
            return Reading(faults=tuple(map(str, fitted.faults)))
        read = list(parts(plan, fitted, body))
    except HandedOver:
        return None
    rows = pa.Table.from_batches([part.rows for part in read])
    bad = tuple((it.number, it.reason, it.text[: samples.TEXT]) for part in read for it in part.malformed)
    assert rows.num_rows + len(bad) == fitted.rows
    return Reading(rows=comparable(rows), malformed=bad)


def comparable(rows: pa.Table) -> tuple[tuple[Any, ...], ...]:
    """Arrow's rows in values that can be compared."""
    columns = [column.cast(_plain(column.type)).to_pylist() for column in rows.columns]
    return tuple(tuple(map(_value, row)) for row in zip(*columns, strict=True))


def _plain(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_date(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def _value(value: Any) -> Any:
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, Decimal):
        return f"{value.normalize():f}"
    return repr(value) if isinstance(value, float) else str(value)


def by_spark(spark: SparkSession, folder: Path, plan: Plan, body: bytes) -> Reading:
    """Return what the job says."""
    [found] = inspections(spark, folder, plan, body)
    if found.faults:
        return Reading(faults=tuple(map(str, found.faults)))
    rows = rows_of(spark, plan, [found])
    asked = [_SQL.get(canonical(c.type), "{0}").format(spark_identifier(c.name)) for c in plan.columns]
    good = rows.selectExpr(*(f"{sql} AS c{at}" for at, sql in enumerate(asked))).collect()
    bad = malformed.sample(spark, plan, found, limit=10_000) if len(good) < found.rows else ()
    return Reading(
        rows=tuple(tuple(map(_value, row)) for row in good),
        malformed=tuple((it.get("line") or it["row"], it["why"], it["text"]) for it in bad),
    )
