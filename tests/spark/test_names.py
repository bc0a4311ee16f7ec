"""Names without case, as Spark itself compares them."""

from __future__ import annotations

import sys
import unicodedata

import pytest
from pyspark.sql import SparkSession

from lakegate.audit.schema.names import fold
from spark_jobs.jvm.gateway import jvm, session_state

pytestmark = pytest.mark.spark
EVERY = [chr(code) for code in range(sys.maxunicode + 1) if unicodedata.category(chr(code)) not in ("Cc", "Cs")]


def test_letters_that_are_one_to_lakegate_are_one_to_spark(spark: SparkSession) -> None:
    assert session_state(spark).conf().resolver().apply("".join(EVERY), "".join(map(fold, EVERY)))


def test_letters_that_are_one_to_spark_are_one_to_lakegate(spark: SparkSession) -> None:
    """A set in which those that differ in case alone are there once is as large to the one as to the other."""
    java = jvm(spark).java
    apart = java.util.TreeSet(java.lang.String.CASE_INSENSITIVE_ORDER)
    apart.addAll(java.util.Collections.list(java.util.StringTokenizer("\t".join(EVERY), "\t")))
    assert apart.size() == len({*map(fold, EVERY)})
