"""The one door to Spark's JVM, for what pyspark has no Python for."""

from typing import Any

from py4j.java_gateway import JavaPackage
from pyspark.sql import SparkSession

# The roots of what this package names, and what pyspark names with each expression.
_ROOTS = ("java", "org", "py4j", "shaded", "functions", "PythonUtils")


class Package:
    """A package of the JVM that knows the classes that were asked for.

    Py4j asks for every part of a name wherever it is written, and the JVM looks for a class of that name in each jar.
    """

    def __init__(self, found: JavaPackage) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        found = _remembering(getattr(self._found, name))
        setattr(self, name, found)
        return found


def _remembering(found: Any) -> Any:
    return Package(found) if isinstance(found, JavaPackage) else found


def remember_classes(spark: SparkSession) -> None:
    """What is looked for in this session's JVM from now on is looked for once."""
    java = jvm(spark)
    for name in _ROOTS:
        setattr(java, name, _remembering(getattr(java, name)))


def jvm(spark: SparkSession) -> Any:
    return spark._jvm  # noqa: SLF001 - there is no public name for it


def session_state(spark: SparkSession) -> Any:
    """Spark's own session state: its catalogs and its configuration."""
    session: Any = spark._jsparkSession  # noqa: SLF001 - there is no public name for it
    # Parts of Spark ask the thread for the session, and a thread of ours may have none yet.
    jvm(spark).org.apache.spark.sql.SparkSession.setActiveSession(session)
    return session.sessionState()


def empty_array(spark: SparkSession, kind: Any) -> Any:
    gateway: Any = spark.sparkContext._gateway  # noqa: SLF001 - there is no public name for it
    return gateway.new_array(kind, 0)
