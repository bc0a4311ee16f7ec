"""The Spark session and its catalogs: one per reference of Nessie. It reads nothing of the job but where things are."""

from pyspark.sql import SparkSession

from lakegate.audit.errors import JobError
from lakegate.audit.model.job import Job
from lakegate.audit.ref import Ref
from spark_jobs.jvm.gateway import jvm, remember_classes

ICEBERG = "1.11.0"  # of the jar that the job brings; with 1.10 a commit that is sent twice loses its manifest list
LAKE, BASE, AUDIT, LEFT = "lake", "base", "audit", "left"
SPLIT = 128 * 1024 * 1024
_SMALL, _PIECE = 64 * 1024 * 1024, 2 * 1024 * 1024
_OPTIONS = {
    # Not Iceberg's extension of SQL: it is bound to the inside of one Spark, and no statement of the job needs it.
    "spark.sql.session.timeZone": "UTC",
    # A date that a pattern does not fit is no date.
    "spark.sql.legacy.timeParserPolicy": "CORRECTED",
    # The plan's predicates are written for this; a cast that fails is a null, not the end of the job.
    "spark.sql.ansi.enabled": "false",
    # What looks like a variable in a contract's texts and names is text: else Spark would put its environment there.
    "spark.sql.variable.substitute": "false",
    # A task reads rows of one file alone: opening another costs as much as a whole split may hold.
    "spark.sql.files.maxPartitionBytes": str(SPLIT),
    "spark.sql.files.openCostInBytes": str(SPLIT),
    # A file that cannot be read must be heard of.
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    # A file that claims more memory than there is fails its task, and not the machine with all other files' tasks.
    "spark.executor.killOnFatalError.depth": "0",
    # Text may be compressed by zstd, too: this is parquet's own codec, beside those that Hadoop always knows.
    "spark.hadoop.io.compression.codecs": "org.apache.parquet.hadoop.codec.ZstandardCodec",
    "spark.sql.parquet.inferTimestampNTZ.enabled": "true",
    "spark.sql.legacy.parquet.nanosAsLong": "false",
    # The job makes a handful of small queries, and their plans are of no use to it.
    "spark.ui.enabled": "false",
}
_CATALOG = {
    "": "org.apache.iceberg.spark.SparkCatalog",
    ".type": "rest",
    ".io-impl": "org.apache.iceberg.aws.s3.S3FileIO",
    # The job has credentials of its own. Unless it asks for such, the catalog signs each of its requests to S3 with its
    # own rights, whatever the job's are, and whatever is said here of signing: a table's own settings come last.
    ".header.X-Iceberg-Access-Delegation": "vended-credentials",
    ".s3.remote-signing-enabled": "false",
    ".cache-enabled": "false",
    ".rest-metrics-reporting-enabled": "false",
}


def build(name: str) -> SparkSession:
    """A session that can read the job; its catalogs come with `open_catalog`."""
    builder = SparkSession.builder.appName(name)
    for option, value in _OPTIONS.items():
        builder = builder.config(option, value)
    spark = builder.getOrCreate()
    remember_classes(spark)
    return spark


def check_iceberg(spark: SparkSession, job: Job) -> None:
    """JobError where the JVM has another Iceberg than the job's: an image may have one of its own that comes first."""
    found = jvm(spark).org.apache.iceberg.IcebergBuild.version()
    if found != ICEBERG:
        raise JobError(
            f"batch {job.batch} of {job.plan.table}, branch {job.branch}: Spark has loaded Iceberg {found}, and the "
            f"job is made for {ICEBERG}. Make the jar that the job brings the first on Spark's class path, or take the "
            f"image's own off it. Until then no batch is rejected for it: each is tried again"
        )


def tune_for_size(spark: SparkSession, job: Job) -> None:
    """A small batch shuffles in few pieces, by plans that are not made over again at every step."""
    size = sum(file.size for file in job.files)
    if size < _SMALL:
        pieces = min(int(str(spark.conf.get("spark.sql.shuffle.partitions"))), 1 + size // _PIECE)
        spark.conf.set("spark.sql.shuffle.partitions", str(pieces))
        spark.conf.set("spark.sql.adaptive.enabled", "false")


def open_catalog(spark: SparkSession, name: str, job: Job, ref: Ref) -> None:
    """A Spark catalog of this name over a branch, or one commit of it.

    A name is good for one reference: Spark makes a catalog when it is first used, and keeps it.
    """
    prefix = f"spark.sql.catalog.{name}"
    for option, value in _CATALOG.items():
        spark.conf.set(prefix + option, value)
    spark.conf.set(f"{prefix}.uri", f"{job.nessie_uri}/iceberg/{ref}")
    spark.conf.set(f"{prefix}.warehouse", job.warehouse)
