from __future__ import annotations

from functools import reduce
from itertools import pairwise
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.sql import SparkSession

from lakegate.bundles import EMR_7
from spark_jobs.appending.path_lengths import is_path_error
from spark_jobs.jvm.failures import FAILURES, is_refused, is_unreachable
from spark_jobs.jvm.gateway import empty_array, jvm
from tests.support.image import BUNDLE
from tests.support.spark import raised

pytestmark = pytest.mark.spark


def test_a_class_is_looked_for_once_wherever_it_is_named(spark: SparkSession) -> None:
    java = jvm(spark)

    assert java.org.apache.iceberg.SchemaParser is java.org.apache.iceberg.SchemaParser
    assert java.functions is java.functions
    assert java.java.util.ArrayList([1]).get(0) == 1


def test_spark_logs_no_event_that_is_slow(spark: SparkSession) -> None:
    spark_s_own: Any = jvm(spark).org.apache.spark
    options = getattr(getattr(spark_s_own.internal.config, "package$"), "MODULE$")
    assert spark_s_own.SparkEnv.get().conf().get(options.LISTENER_BUS_LOG_SLOW_EVENT_ENABLED()) is False


def made(spark: SparkSession, name: str, *said: Any) -> Any:
    if name.startswith("com.amazonaws.") and BUNDLE != EMR_7:
        pytest.skip("this image has the newer SDK alone")
    return reduce(getattr, name.split("."), jvm(spark))(*(said or ("said",)))


def chain(spark: SparkSession, *names: str) -> Py4JJavaError:
    """A failure whose causes are of these classes, outermost first."""
    found = [made(spark, name) for name in names]
    for outer, inner in pairwise(found):
        outer.initCause(inner)
    return raised(spark, found[0])


S3 = "com.amazonaws.services.s3.model.AmazonS3Exception"


@pytest.mark.parametrize(
    "causes",
    [
        ("java.net.ConnectException",),
        ("java.lang.RuntimeException", "java.io.IOException", "java.net.SocketTimeoutException"),
        ("org.apache.hadoop.net.ConnectTimeoutException",),  # by its superclass
        ("java.io.IOException", "java.net.UnknownHostException"),
        ("java.net.NoRouteToHostException",),
        ("javax.net.ssl.SSLHandshakeException", "java.io.EOFException"),
        ("java.nio.file.AccessDeniedException", S3),
        ("org.apache.hadoop.security.AccessControlException",),
        ("java.io.IOException", S3),
        ("com.amazonaws.SdkClientException",),
        ("org.apache.http.NoHttpResponseException",),
        ("org.apache.http.ConnectionClosedException",),
        ("org.apache.iceberg.shaded.org.apache.hc.core5.http.NoHttpResponseException",),
        ("org.apache.http.conn.ConnectTimeoutException",),
    ],
)
def test_what_keeps_us_from_a_file_is_no_fault_of_the_file(spark: SparkSession, causes: tuple[str, ...]) -> None:
    assert is_unreachable(chain(spark, *causes))


def test_so_is_it_with_the_other_sdk_of_the_same_storage(spark: SparkSession) -> None:
    model = jvm(spark).software.amazon.awssdk.services.s3.model.S3Exception
    assert is_unreachable(raised(spark, model.builder().message("Please reduce your request rate").build()))


@pytest.mark.parametrize(
    "causes",
    [
        ("java.io.FileNotFoundException", S3),
        ("java.io.EOFException", S3),
        ("java.lang.RuntimeException", "java.io.EOFException"),
        ("java.lang.IllegalArgumentException",),
        ("org.apache.parquet.io.ParquetDecodingException", "java.io.IOException"),
    ],
)
def test_what_is_wrong_with_a_file_is(spark: SparkSession, causes: tuple[str, ...]) -> None:
    assert not is_unreachable(chain(spark, *causes))


@pytest.mark.parametrize(
    ("kind", "said", "refused"),
    [
        ("ForbiddenException", "no", True),
        ("NotAuthorizedException", "expired", True),
        ("ServiceFailureException", "Service failed: 500: 'UPDATE_ENTITY' is not allowed for role 'spark'", True),
        ("ServiceFailureException", "Service failed: 500: null", False),
        ("NotFoundException", "File does not exist: s3://x", False),
    ],
)
def test_a_refusal_by_the_catalog_is_told_from_an_outage(
    spark: SparkSession, kind: str, said: str, *, refused: bool
) -> None:
    java = jvm(spark)
    inner = getattr(java.org.apache.iceberg.exceptions, kind)(said, empty_array(spark, java.java.lang.Object))
    outer = java.org.apache.iceberg.exceptions.CommitStateUnknownException(inner)
    assert is_refused(raised(spark, outer)) is refused


def test_a_files_own_text_is_not_taken_for_a_refusal(spark: SparkSession) -> None:
    said = "'UPDATE_ENTITY' is not allowed for role 'x'"
    assert not is_refused(raised(spark, made(spark, "org.apache.spark.SparkException", said)))


TRACE = """Job aborted due to stage failure: Task 0 in stage 8.0 failed 4 times, most recent failure: \
Lost task 0.3 in stage 8.0 (TID 9) (192.0.2.1 executor 3): {}: said
\tat org.apache.spark.sql.Reader.next(Reader.scala:1)
Caused by: {}: said: said
\tat java.base/java.lang.Thread.run(Thread.java:1)
\t... 28 more
Driver stacktrace:"""


@pytest.mark.parametrize(
    ("outer", "inner", "is_unreached"),
    [
        ("org.apache.spark.SparkException", "java.net.SocketException", True),
        ("java.net.SocketException", "java.io.IOException", True),
        ("org.apache.spark.SparkException", f"com.amazon.ws.emr.hadoop.fs.shaded.{S3}", True),
        ("org.apache.spark.SparkException", "java.io.EOFException", False),
        ("java.io.FileNotFoundException", S3, False),
        ("org.apache.parquet.io.ParquetDecodingException", "java.lang.IllegalArgumentException", False),
    ],
)
def test_a_task_tells_its_causes_in_the_text_alone(
    spark: SparkSession, outer: str, inner: str, *, is_unreached: bool
) -> None:
    said = TRACE.format(outer, inner)
    assert is_unreachable(raised(spark, made(spark, "org.apache.spark.SparkException", said))) is is_unreached


def test_a_files_own_text_is_not_taken_for_a_cause(spark: SparkSession) -> None:
    said = TRACE.format("java.lang.RuntimeException", "java.net.SocketException")
    told = made(spark, "org.apache.spark.SparkException", said, made(spark, "java.lang.RuntimeException", said))
    assert not is_unreachable(raised(spark, told))


def test_a_task_that_really_fails_is_understood(spark: SparkSession) -> None:
    asked = {"java.net.InetAddress': 'getByName": "[", "java.lang.Integer': 'parseInt": "x"}
    found = []
    for call, text in asked.items():
        named = call.replace("': '", "', '")
        with pytest.raises(FAILURES) as caught:
            spark.range(1).selectExpr(f"reflect('{named}', '{text}')").collect()
        found.append(is_unreachable(caught.value))
    assert found == [True, False]


@pytest.mark.parametrize(
    ("said", "is_so"),
    [
        ("Your key is too long (Service: S3, Status Code: 400)", True),
        ("/lake/name=xxxx (File name too long)", True),
        ("ExecutorLostFailure (executor 1 exited)", False),
    ],
)
def test_a_write_that_found_no_room_in_a_path_is_told_from_others(spark: SparkSession, said: str, is_so: bool) -> None:  # noqa: FBT001
    assert is_path_error(raised(spark, jvm(spark).java.io.IOException(said))) is is_so
