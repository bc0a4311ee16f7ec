"""Objects in storage through Hadoop's file system, which has the cluster's credentials. It knows no format."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark.sql import SparkSession

from spark_jobs.jvm.gateway import jvm, session_state


def path(spark: SparkSession, uri: str) -> Any:
    return jvm(spark).org.apache.hadoop.fs.Path(uri)


def configuration(spark: SparkSession) -> Any:
    return session_state(spark).newHadoopConf()


def read(spark: SparkSession, uri: str) -> bytes:
    """Return the whole object."""
    return read_part(spark, uri, 0, None)


def read_part(spark: SparkSession, uri: str, start: int, length: int | None) -> bytes:
    """Return `length` bytes of the object from `start` on; with None, the rest of it."""
    with open_stream(spark, uri) as stream:
        return part(spark, stream, start, length)


def ends(spark: SparkSession, uri: str, first: int, last: int) -> tuple[int, bytes, bytes]:
    """Return the object's length, its first bytes and its last bytes, with one lookup and one opening. With `last` 0
    there is no second read.
    """
    place = path(spark, uri)
    system = place.getFileSystem(configuration(spark))
    status = system.getFileStatus(place)
    length = int(status.getLen())
    stream = system.openFile(place).withFileStatus(status).build().get()
    try:
        head = part(spark, stream, 0, min(first, length))
        return length, head, part(spark, stream, max(length - last, 0), None) if last else b""
    finally:
        stream.close()


def part(spark: SparkSession, stream: Any, start: int, length: int | None) -> bytes:
    """Return the same of an object that is open."""
    stream.seek(start)
    utils = jvm(spark).org.apache.commons.io.IOUtils
    return bytes(utils.toByteArray(stream) if length is None else utils.toByteArray(stream, length))


@contextmanager
def open_stream(spark: SparkSession, uri: str) -> Iterator[Any]:
    """Open the object as Hadoop's stream. Read it inside the JVM if it is large: bytes come slowly to Python."""
    place = path(spark, uri)
    stream = place.getFileSystem(configuration(spark)).open(place)
    try:
        yield stream
    finally:
        stream.close()


def write(spark: SparkSession, uri: str, body: bytes) -> None:
    """Write or replace the object."""
    place = path(spark, uri)
    stream = place.getFileSystem(configuration(spark)).create(place, True)  # noqa: FBT003 - Hadoop has no name for "overwrite"
    try:
        stream.write(bytearray(body))
    finally:
        stream.close()
