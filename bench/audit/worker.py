"""One engine in a Spark session of its own, which appends the rows in the usual way and audits them.

It runs in the engine's environment without the product's dependencies, so its imports need the standard library and
pyspark alone. A round is the bare append, then the engine's audit and lakegate's of the same rows, which take turns to
run first. Making and dropping tables is not timed. lakegate's own worker runs its whole job beside the bare append.
"""

import argparse
import json
import re
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the usual name

from bench.audit import data
from bench.audit.engines import Told, lakegate
from bench.audit.rules import Rule
from lakegate.audit.model.catalog import NO_CATALOG
from lakegate.audit.model.codec import from_plain
from lakegate.audit.model.job import Job, JobFile
from lakegate.audit.model.plan import Plan
from lakegate.audit.model.report import Verdict
from lakegate.audit.run import Run
from lakegate.audit.schema.fit import FILE_COLUMN
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import AUDIT, BASE, LAKE, build

BARE = "lake.bench.bare"
WARM = 2  # rounds that do not count
Round = dict[str, list[float]]
"""Seconds by the clock and of processor time, by part."""


@dataclass(frozen=True, kw_only=True)
class Order:
    """A worker's instructions, passed in a JSON file, so that its environment needs no reader of contracts."""

    engine: str
    set: str
    rows: int
    rounds: int
    cache: str  # a folder for the rows
    warehouse: str  # a folder for the tables
    plan: Plan
    rules: tuple[Rule, ...]


def main(order: Order) -> dict[str, Any]:
    """Return the engine's version, and the seconds of each part of every round."""
    spark = build("bench")
    for catalog in (LAKE, BASE, AUDIT):
        spark.conf.set(f"spark.sql.catalog.{catalog}", "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"spark.sql.catalog.{catalog}.type", "hadoop")
        spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", f"file:{order.warehouse}")
        spark.conf.set(f"spark.sql.catalog.{catalog}.cache-enabled", "false")
    spark.sparkContext.setLogLevel("ERROR")
    dimensions(spark)
    job = job_of(order, data.make(spark, Path(order.cache), order.set, order.rows))
    rounds = whole_jobs if order.engine == "lakegate" else audits
    return {
        "version": import_module(f"bench.audit.engines.{order.engine}").version(),
        "rounds": rounds(spark, order, job),
    }


def dimensions(spark: SparkSession) -> None:
    """Make the tables that foreign keys refer to."""
    spark.sql("create namespace if not exists lake.bench")
    for name, rows in {"zones": data.zones(spark), "drivers": data.drivers(spark)}.items():
        rows.coalesce(1).writeTo(f"lake.bench.{name}").using("iceberg").createOrReplace()


def job_of(order: Order, place: Path) -> Job:
    files = [
        JobFile(id=path.stem, key=path.name, uri=path.as_uri(), size=path.stat().st_size)
        for path in sorted(place.glob("*.parquet"))
    ]
    return Job(
        branch="wap-bench", batch="bench", attempt=1, base="", catalog=NO_CATALOG, report_uri="", begun_uri="",
        plan=order.plan, files=tuple(files),
    )  # fmt: skip


def audits(spark: SparkSession, order: Order, job: Job) -> list[Round]:
    """Measure the engine's audit and lakegate's of the same rows, after a bare append."""
    dirty = order.set == "dirty"
    theirs = import_module(f"bench.audit.engines.{order.engine}").auditor(spark, order.rules, BARE, samples=dirty)
    parts = {
        order.engine: lambda: as_expected(order, theirs()),
        "lakegate": lambda: passed(lakegate.audit(spark, job, BARE), dirty=dirty),
    }
    rounds = []
    for turn in range(-WARM, order.rounds):
        make_bare(spark, job)
        took = {"append": timed(spark, lambda: bare_append(spark, job))}
        for name in list(parts) if turn % 2 else list(reversed(parts)):
            took[name] = timed(spark, parts[name])
        rounds.append(told(order, turn, took))
    return rounds[WARM:]


def whole_jobs(spark: SparkSession, order: Order, job: Job) -> list[Round]:
    """Measure bare appends and whole jobs, which take turns to run first."""
    dirty, rounds = order.set == "dirty", []
    steps: dict[str, list[float]] = {}

    def whole() -> None:
        run = lakegate.append_and_audit(spark, job)
        passed(run, dirty=dirty)
        steps.update({f"step {name}": [took] for name, took in run.timings.items()})

    parts: dict[str, Callable[[], None]] = {"append": lambda: bare_append(spark, job), "append and audit": whole}
    for turn in range(-WARM, order.rounds):
        took: Round = {}
        drop(spark, f"lake.{job.plan.table}")
        make_bare(spark, job)
        for name in list(parts) if turn % 2 else list(reversed(parts)):
            took[name] = timed(spark, parts[name])
        rounds.append(told(order, turn, {**took, **steps}))
    return rounds[WARM:]


def drop(spark: SparkSession, table: str) -> None:
    """Drop one of lakegate's tables with its files, which its own setting forbids."""
    if spark.catalog.tableExists(table):
        spark.sql(f"alter table {table} set tblproperties ('gc.enabled' = 'true')")
        spark.sql(f"drop table {table} purge")


def make_bare(spark: SparkSession, job: Job) -> None:
    """Make an empty table for the bare append."""
    spark.sql(f"drop table if exists {BARE} purge")
    _rows(spark, job).limit(0).writeTo(BARE).using("iceberg").create()


def bare_append(spark: SparkSession, job: Job) -> None:
    """Append the rows in the usual way, with a column more for the row's file."""
    _rows(spark, job).writeTo(BARE).append()


def _rows(spark: SparkSession, job: Job) -> DataFrame:
    rows = spark.read.parquet(*(file.uri for file in job.files))
    return rows.select("*", F.substring_index(F.col("_metadata.file_name"), ".", 1).alias(FILE_COLUMN))


def as_expected(order: Order, told: Told) -> None:
    """Exit if the engine skipped a rule, or if its failed rules are not the planted ones, because then there is nothing
    to compare.
    """
    wanted = set(data.FAULTS) if order.set == "dirty" else set[str]()
    columns = {rule.column for rule in order.rules if rule.column}
    blamed = [{column for column in columns if re.search(rf"\b{column}\b", name)} for name in told.failed]
    if told.evaluated < len(order.rules) or not all(blamed) or set[str]().union(*blamed) != wanted:
        raise SystemExit(f"{order.engine} says {told}; of {len(order.rules)} rules, those of {wanted} must fail")


def passed(run: Run, *, dirty: bool) -> None:
    """Exit if a verdict is wrong, because then the measurement is worthless."""
    failed = {
        name for checks in run.checks.values() for it in checks if it.verdict is Verdict.FAIL for name in it.columns
    }
    if len(run.checks) != data.FILES or failed != (set(data.FAULTS) if dirty else set()):
        raise SystemExit(f"lakegate says {failed} of {len(run.checks)} files")


def timed(spark: SparkSession, part: Callable[[], object]) -> list[float]:
    """Return seconds by the clock, and of the processor time of JVM and Python, which other load disturbs less."""
    began, busy = time.perf_counter(), processor_seconds(spark)
    part()
    return [time.perf_counter() - began, processor_seconds(spark) - busy]


def processor_seconds(spark: SparkSession) -> float:
    java = jvm(spark).java.lang
    bean = java.management.ManagementFactory.getOperatingSystemMXBean()
    kind = java.Class.forName("com.sun.management.OperatingSystemMXBean")
    return float(kind.getMethod("getProcessCpuTime", None).invoke(bean, None)) / 1e9 + time.process_time()


def told(order: Order, turn: int, took: Round) -> Round:
    shown = ", ".join(f"{name} {seconds[0]:.2f} s" for name, seconds in took.items())
    print(f"  {order.set}, {order.engine}, round {turn + 1}: {shown}", flush=True)
    return {name: [round(each, 3) for each in seconds] for name, seconds in took.items()}


def shut_down() -> None:
    """Stop Spark and its callback server, which an engine may have started and which keeps the process alive."""
    spark = SparkSession.active()
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - as PyDeequ's documentation has it
    gateway.shutdown_callback_server()
    spark.stop()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("order", type=Path)
    parser.add_argument("result", type=Path)
    given = parser.parse_args()
    result = main(from_plain(Order, json.loads(given.order.read_text())))
    given.result.write_text(json.dumps(result))
    shut_down()
