"""Lanes: which engine audits an attempt's files, and why. It reads nothing; the answer is frozen in the attempt's job.

Spark audits whatever there is. The express lane has one try at given files: however that ends without a report, the
files are handed over to Spark.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from lakegate.audit.model.lane import Lane
from lakegate.audit.model.plan import Plan
from lakegate.counts import count
from lakegate.landing.attempts import batches
from lakegate.landing.files import FileVersion
from lakegate.landing.ingestion import Engine, Ingestion

NO_LANE = "this installation has no express lane"
CONTRACT_CHOICE = "its contract asks for Spark"


@dataclass(frozen=True, kw_only=True)
class Express:
    """An installation's express lane. It takes batches of at most so many bytes and files, and no plan for which
    `spark_only` has a reason not to. A table that is busy opens no other batch for it while `at_once` jobs run: a new
    account's functions run ten at a time, those that start and settle jobs among them.
    """

    most_bytes: int
    spark_only: Callable[[Plan], str]
    most_files: int = 100
    at_once: int = 6


@dataclass(frozen=True, kw_only=True)
class Work:
    """An attempt's work, as far as its lane depends on it: the `sizes` of its files in bytes, whether it takes rows out
    of data files that somebody has `rewritten`, and why an earlier attempt was `handed_over`, if one was.
    """

    plan: Plan
    sizes: Sequence[int]
    rewritten: bool = False
    handed_over: str = ""


def lane_of(engine: Engine, express: Express | None, work: Work) -> tuple[Lane, str]:
    """Return the lane and the reason for it. A contract that asks for the express lane gets it for a batch of any
    size: what is too large for the engine is handed over.
    """
    if engine is Engine.SPARK:
        return Lane.SPARK, CONTRACT_CHOICE
    if express is None:
        return Lane.SPARK, NO_LANE
    if reason := next(_what_needs_spark(express, work), ""):
        return Lane.SPARK, reason
    if engine is Engine.EXPRESS:
        return Lane.EXPRESS, "its contract asks for the express lane"
    return _by_size(express, len(work.sizes), sum(work.sizes))


def limits_of(ingestion: Ingestion, express: Express | None, plan: Plan, files: Sequence[FileVersion]) -> Ingestion:
    """Return the limits of batches of these files. Many small files become batches of the express lane if they take no
    more of its jobs than may run at a time. One batch of them all would need Spark for its size alone.
    """
    if express is None or ingestion.engine is Engine.SPARK or express.spark_only(plan):
        return ingestion
    narrow = replace(
        ingestion,
        batch_files=min(express.most_files, ingestion.batch_files),
        batch_bytes=min(express.most_bytes, ingestion.batch_bytes),
    )
    fit = all(file.size <= express.most_bytes for file in files)
    return narrow if fit and len(list(batches(files, narrow, {}))) <= express.at_once else ingestion


def _by_size(express: Express, files: int, size: int) -> tuple[Lane, str]:
    has = f"{count(files, 'file')} of {count(size, 'byte')}"
    takes = f"the express lane takes up to {count(express.most_files, 'file')} of {count(express.most_bytes, 'byte')}"
    if size <= express.most_bytes and files <= express.most_files:
        return Lane.EXPRESS, f"the batch is small: {has}, and {takes}"
    return Lane.SPARK, f"the batch is too large for the express lane: {has}, and {takes}"


def _what_needs_spark(express: Express, work: Work) -> Iterator[str]:
    if work.handed_over:
        yield work.handed_over
    if work.rewritten:
        yield "its files replace rows that somebody has rewritten into other data files"
    if reason := express.spark_only(work.plan):
        yield reason
