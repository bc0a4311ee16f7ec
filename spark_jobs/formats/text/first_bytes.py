"""Faults of a staged text file that its first and last bytes show: another format, or a compression that is not there.

A compressed file is decompressed to the end only if so few bytes could hold more than the limit.
"""

from contextlib import closing

from pyspark.sql import SparkSession

from lakegate.audit.advice import Fault
from lakegate.audit.model.files import SUFFIXES
from lakegate.audit.model.job import JobFile
from lakegate.audit.model.limits import Limits, more_than
from lakegate.audit.schema.inspection import COPY_DELETED, EMPTY
from lakegate.audit.schema.kinds import FIRST
from lakegate.audit.text.first_bytes import TAIL, compression, fault_of_ends, may_exceed
from spark_jobs.jvm import hadoop
from spark_jobs.jvm.failures import FAILURES, is_caused_by
from spark_jobs.jvm.gateway import jvm


def fault_of_bytes(spark: SparkSession, file: JobFile, limits: Limits) -> Fault | None:
    """Return why the file cannot be the text that its name says; None if its bytes show nothing wrong."""
    if file.size == 0:
        return EMPTY
    suffix = compression(file.uri)
    try:
        _, start, end = hadoop.ends(spark, file.uri, FIRST, TAIL if suffix == SUFFIXES["bzip2"] else 0)
    except FAILURES as error:
        if is_caused_by(error, "FileNotFoundException"):
            return COPY_DELETED
        raise
    if wrong := fault_of_ends(suffix, start, end):
        return wrong
    return _uncompressed_fault(spark, file, suffix, limits) if suffix else None


def _uncompressed_fault(spark: SparkSession, file: JobFile, suffix: str, limits: Limits) -> Fault | None:
    if not may_exceed(limits, suffix, file.size):
        return None
    try:
        size = _count_uncompressed(spark, file.uri, limits.uncompressed + 1)
    except FAILURES:
        return None  # the scan of its lines reports the error
    return more_than(limits, "uncompressed") if size > limits.uncompressed else None


def _count_uncompressed(spark: SparkSession, uri: str, limit: int) -> int:
    """Count the bytes that a file decompresses to, up to `limit`. None is kept."""
    path, java = hadoop.path(spark, uri), jvm(spark).org.apache
    codec = java.hadoop.io.compress.CompressionCodecFactory(hadoop.configuration(spark)).getCodec(path)
    sink = java.commons.io.output.NullOutputStream()
    with hadoop.open_stream(spark, uri) as stream, closing(codec.createInputStream(stream)) as content:
        return int(java.commons.io.IOUtils.copyLarge(content, sink, 0, limit))
