"""Lines of text files as rows, each with its file and its place in the file. It parses no value."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - what everybody calls it

from lakegate.audit.model.files import FileFormat
from spark_jobs.formats.origin import origin

BLOCK, AT, TEXT = "block", "at", "text"
_NUMBER_IN_BLOCK = (1 << 33) - 1  # the low bits of Spark's increasing ids: a task reads one block of one file


def lines(spark: SparkSession, form: FileFormat, uris: Sequence[str]) -> DataFrame:
    """Return every line: its file, block and number there, its text, and `sound`, true if its bytes are text of the
    encoding.

    Spark decompresses a file by the ending of its name.
    """
    raw = F.col("value").cast("binary")
    text = F.decode(raw, form.encoding)
    read = spark.read.text(list(uris))
    return read.select(
        origin(read),
        F.col("_metadata.file_block_start").alias(BLOCK),
        number_in_block(),
        text.alias(TEXT),
        (F.encode(text, form.encoding) == raw).alias("sound"),
    )


def number_in_block() -> Column:
    return F.monotonically_increasing_id().bitwiseAND(_NUMBER_IN_BLOCK).alias(AT)


def is_short_sql(form: FileFormat) -> str:
    """Return the SQL that is true of a line within the limit; no longer line is taken apart."""
    return f"octet_length({TEXT}) <= {form.limits.line}"
