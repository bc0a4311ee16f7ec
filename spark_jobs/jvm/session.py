"""The Spark session and its catalogs, one per Nessie reference. Of the job it reads only where things are."""

import re

from pyspark.sql import SparkSession

from lakegate.audit.errors import JobError
from lakegate.audit.model.catalog import CatalogAddress
from lakegate.audit.model.job import Job
from lakegate.audit.ref import Ref
from spark_jobs.jvm import identity, trust
from spark_jobs.jvm.gateway import jvm, remember_classes

ICEBERG = "1.11.0"  # of the job's jar; in 1.10 a commit that is sent twice loses its manifest list
LAKE, BASE, AUDIT, REST, LEDGER = "lake", "base", "audit", "rest", "ledger"
SPLIT = 128 * 1024 * 1024
_SMALL, _PIECE = 64 * 1024 * 1024, 2 * 1024 * 1024
OPTIONS = {
    # Iceberg's SQL extension is left out: it depends on one Spark's internals, and no statement of the job needs it.
    "spark.sql.session.timeZone": "UTC",
    # A date that does not match its pattern is null.
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    # The plan's predicates are written for this: a cast that fails gives null and does not end the job.
    "spark.sql.ansi.enabled": "false",
    # Spark 4 would decode text in a few charsets alone, and fail at bytes that are none.
    "spark.sql.legacy.javaCharsets": "true",
    "spark.sql.legacy.codingErrorAction": "true",
    # What Spark infers of each column's values takes time with the square of the columns, and the job needs none of it.
    "spark.sql.constraintPropagation.enabled": "false",
    # Contracts may contain text that looks like a variable; Spark would replace it with its environment.
    "spark.sql.variable.substitute": "false",
    # Opening a file costs as much as a whole split holds, so a task reads rows of one file only.
    "spark.sql.files.maxPartitionBytes": str(SPLIT),
    "spark.sql.files.openCostInBytes": str(SPLIT),
    # A file that cannot be read is an error.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # A file that claims too much memory fails its own task, not the executor with the tasks of other files.
    "spark.executor.killOnFatalError.depth": "0",
    # Adds zstd for text, by parquet's codec, to the codecs that Hadoop always has.
    "spark.hadoop.io.compression.codecs": "org.apache.parquet.hadoop.codec.ZstandardCodec",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
    # Spark's own, and the option of a catalog that has a client's password: no log of events has their values.
    "spark.redaction.regex": "(?i)secret|password|token|credential|access[.]?key",
    # Spark would log an event that one of its listeners is slow with, and a job's event holds the session's options.
    "spark.scheduler.listenerbus.logSlowEvent": "false",
    # The job runs few queries and nobody watches their plans.
    "spark.ui.enabled": "false",
}
_CATALOG = {
    "": "org.apache.iceberg.spark.SparkCatalog",
    ".type": "rest",
    ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
    # The job has credentials of its own. Without this header the catalog would sign the job's S3 requests with the
    # catalog's rights. A table's own settings override `remote-signing-enabled`, so that alone is not enough.
    ".header.X-Iceberg-Access-Delegation": "vended-credentials",
    ".s3.remote-signing-enabled": "false",
    # A task that fails would delete what it has written, and the job's role may delete nothing. `lakegate clean` does.
    ".s3.delete-enabled": "false",
    ".cache-enabled": "false",
    ".rest-metrics-reporting-enabled": "false",
}


def build(name: str) -> SparkSession:
    """Return a session that can read the job; `open_catalog` adds its catalogs."""
    builder = SparkSession.builder.appName(name)
    # Spark's event log hides a secret option of a session only if the whole application has one of that name, too.
    secret_options = {
        _option(name, option): "" for name in (LAKE, BASE, AUDIT, REST, LEDGER) for option in identity.SECRET
    }
    for option, value in {**OPTIONS, **secret_options}.items():
        builder = builder.config(option, value)
    spark = builder.getOrCreate()
    remember_classes(spark)
    return spark


def new_session(spark: SparkSession) -> SparkSession:
    """Return a session beside a person's own, on the same Spark, that reads and judges as the job's does."""
    session = spark.newSession()
    for option, value in OPTIONS.items():
        if option.startswith("spark.sql."):
            session.conf.set(option, value)
    return session


def check_iceberg(spark: SparkSession, job: Job) -> None:
    """Raise JobError if the JVM has loaded an Iceberg that was not tested: an image's own may come first."""
    version = jvm(spark).org.apache.iceberg.IcebergBuild.version()
    if not is_tested(version):
        raise JobError(
            f"batch {job.batch} of {job.plan.table}, branch {job.branch}: Spark has loaded Iceberg {version}, and the "
            f"job is made for {ICEBERG}, or AWS's build of it. Put the job's jar first on Spark's class path by "
            f"-c spark_conf, or give an image without another one by -c image. Until then no batch is rejected for it: "
            f"each is tried again"
        )


def is_tested(version: str) -> bool:
    """Return True for the version of the job's jar, and for AWS's builds of it, such as `1.11.0-amzn-0`."""
    return re.fullmatch(rf"{re.escape(ICEBERG)}(-amzn-[0-9]+)?", version) is not None


def tune_for_size(spark: SparkSession, job: Job) -> None:
    """Make a small batch shuffle in few partitions, without planning again at every stage."""
    size = sum(file.size for file in job.files)
    if size < _SMALL:
        pieces = min(int(str(spark.conf.get("spark.sql.shuffle.partitions"))), 1 + size // _PIECE)
        spark.conf.set("spark.sql.shuffle.partitions", str(pieces))
        spark.conf.set("spark.sql.adaptive.enabled", "false")


def open_catalog(spark: SparkSession, name: str, catalog: CatalogAddress, ref: Ref) -> None:
    """Add a Spark catalog of this name, at a branch or one commit of it.

    A name serves one reference: Spark creates a catalog at its first use and keeps it.
    """
    trust.add(spark, catalog.authorities)
    prefix = f"spark.sql.catalog.{name}"
    for option, value in _CATALOG.items():
        spark.conf.set(prefix + option, value)
    spark.conf.set(f"{prefix}.uri", f"{catalog.uri}/iceberg/{ref}")
    spark.conf.set(f"{prefix}.warehouse", catalog.warehouse)
    for option in identity.SECRET:
        spark.conf.unset(_option(name, option))
    for option, value in identity.options(spark, catalog).items():
        spark.conf.set(_option(name, option), value)


def _option(catalog: str, option: str) -> str:
    return f"spark.sql.catalog.{catalog}.{option}"
