import pytest
from pyspark.sql import SparkSession

from spark_jobs.java import jvm

pytestmark = pytest.mark.spark


def test_a_class_is_looked_for_once_wherever_it_is_named(spark: SparkSession) -> None:
    java = jvm(spark)

    assert java.org.apache.iceberg.SchemaParser is java.org.apache.iceberg.SchemaParser
    assert java.functions is java.functions
    assert java.java.util.ArrayList([1]).get(0) == 1
