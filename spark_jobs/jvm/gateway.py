"""The one door to Spark's JVM, for what pyspark has no Python for."""

from collections.abc import Sequence
from typing import Any

from py4j.java_gateway import JavaPackage
from pyspark.sql import DataFrame, SparkSession

# Roots of the names that this job uses, and those that pyspark uses with each expression.
_ROOTS = ("java", "org", "py4j", "shaded", "functions", "PythonUtils")


class Package:
    """A package of the JVM that remembers its classes.

    Py4J asks the JVM for each part of a dotted name each time, and the JVM then searches every jar for a class of that
    name.
    """

    def __init__(self, package: JavaPackage) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        member = _wrap(getattr(self._package, name))
        setattr(self, name, member)
        return member


def _wrap(member: Any) -> Any:
    return Package(member) if isinstance(member, JavaPackage) else member


def remember_classes(spark: SparkSession) -> None:
    """Make this session look up each class of the JVM once."""
    java = jvm(spark)
    for name in _ROOTS:
        setattr(java, name, _wrap(getattr(java, name)))


def jvm(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001 - there is no public name for it


def session_state(spark: SparkSession) -> Any:
    """Return Spark's session state: its catalogs and its configuration."""
    session: Any = spark._jsparkSession  # noqa: SLF001 - there is no public name for it
    # Parts of Spark ask the thread for its session, and a new thread has none.
    jvm(spark).org.apache.spark.sql.SparkSession.setActiveSession(session)
    return session.sessionState()


def empty_array(spark: SparkSession, kind: Any) -> Any:
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - there is no public name for it
    return gateway.new_array(kind, 0)


def one_text_per_task(spark: SparkSession, texts: Sequence[str]) -> DataFrame:
    """Return these texts as the column `value`, each read by a task of its own. They are in no plan, which Spark
    would print, and need no process of Python's.
    """
    java_list = jvm(spark).java.util.ArrayList()
    for text in texts:
        java_list.add(text)
    rdd = spark.sparkContext._jsc.parallelize(java_list, len(texts)).rdd()  # noqa: SLF001 - there is no public name
    session: Any = spark._jsparkSession  # noqa: SLF001 - there is no public name for it
    dataset = session.createDataset(rdd, jvm(spark).org.apache.spark.sql.Encoders.STRING())
    return DataFrame(dataset.toDF(), spark)
