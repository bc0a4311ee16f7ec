"""The driver's JVM trusts a catalog's own authority once a job names it, and still the image's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from lakegate.audit.model.catalog import CatalogAddress
from lakegate.audit.ref import Ref
from spark_jobs.jvm import trust
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import open_catalog
from tests.support.authority import Authority, DeployedAuthority, served

pytestmark = pytest.mark.spark
OURS = Authority.made("ours")


@pytest.fixture(scope="module")
def uri(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with served(OURS, tmp_path_factory.mktemp("tls")) as address:
        yield address


def namespaces(spark: SparkSession, name: str, uri: str, authorities: str) -> list[str]:
    """Return the answer to Iceberg's own client."""
    open_catalog(spark, name, CatalogAddress(uri=uri, warehouse="lake", authorities=authorities), Ref("main"))
    return [str(row[0]) for row in spark.sql(f"SHOW NAMESPACES IN {name}").collect()]


def trusted(spark: SparkSession) -> int:
    """Return how many authorities a client of Java's trusts."""
    ssl: Any = jvm(spark).javax.net.ssl
    factory = ssl.TrustManagerFactory.getInstance("PKIX")
    store = jvm(spark).java.security.KeyStore.getInstance("PKCS12")
    file = jvm(spark).java.io.FileInputStream(jvm(spark).java.lang.System.getProperty(trust.STORE))
    store.load(file, trust._characters(jvm(spark).java, "changeit"))
    factory.init(store)
    return len(factory.getTrustManagers()[0].getAcceptedIssuers())


def test_iceberg_s_client_trusts_the_authority_that_the_job_names(spark: SparkSession, uri: str) -> None:
    with pytest.raises((PySparkException, Py4JJavaError), match=r"PKIX path|unable to find valid certification path"):
        namespaces(spark, "strange", uri, "")
    assert namespaces(spark, "known", uri, OURS.pem) == ["shop"]
    assert trusted(spark) > 50
    before = jvm(spark).java.lang.System.getProperty(trust.STORE)
    assert namespaces(spark, "again", uri, OURS.pem) == ["shop"]
    assert jvm(spark).java.lang.System.getProperty(trust.STORE) == before


def test_iceberg_s_client_trusts_the_authority_that_a_deployment_makes(spark: SparkSession, tmp_path: Path) -> None:
    made = DeployedAuthority()
    with served(made, tmp_path) as address:
        assert namespaces(spark, "deployed", address, made.pem) == ["shop"]
