"""Bundles: releases of EMR Serverless for which the job is tested, each with the versions that belong together. It is
data, and knows neither AWS nor Spark.
"""

import re
from dataclasses import dataclass

from lakegate.errors import Misconfigured


@dataclass(frozen=True, kw_only=True)
class Bundle:
    """A release of EMR Serverless, the releases with the same Spark, and what a job needs there.

    `spark`, `scala` and `python` are the first two parts of a version. `iceberg` and `avro` are of the job's jars, the
    second of one that Spark reads Avro by and no image loads by itself. EMR's image puts its own AWS SDK before them:
    Iceberg's S3 classes were tried with one as old as 2.33.0.
    """

    release: str
    releases: str  # a pattern
    label: str  # the same for people
    spark: str
    scala: str
    python: str
    avro: str
    iceberg: str = "1.11.0"

    @property
    def jars(self) -> tuple[str, ...]:
        """Return the names of the job's jars."""
        return (
            f"iceberg-spark-runtime-{self.spark}_{self.scala}-{self.iceberg}.jar",
            f"iceberg-aws-bundle-{self.iceberg}.jar",
            f"spark-avro_{self.scala}-{self.avro}.jar",
        )


EMR_7 = Bundle(
    release="emr-7.13.0",
    releases=r"emr-7\.[0-9]+\.[0-9]+",
    label="emr-7.<minor>.<patch>",
    spark="3.5",
    scala="2.12",
    python="3.11",
    avro="3.5.7",
)
EMR_SPARK_8 = Bundle(
    release="emr-spark-8.1.0",
    releases=r"emr-spark-8\.[12]\.[0-9]+",  # 8.0 has Spark 4.0
    label="emr-spark-8.1.<patch> and 8.2",
    spark="4.1",
    scala="2.13",
    python="3.13",
    avro="4.1.1",
)
BUNDLES = (EMR_7, EMR_SPARK_8)
DEFAULT = EMR_SPARK_8
RELEASES = " or ".join(bundle.label for bundle in BUNDLES)


def bundle_of(release: str) -> Bundle | None:
    """Return the bundle of a release of EMR Serverless; None if its Spark has not passed the tests."""
    return next((bundle for bundle in BUNDLES if re.fullmatch(bundle.releases, release)), None)


def of_release(release: str) -> Bundle:
    """Return the same, and raise Misconfigured if there is none."""
    if bundle := bundle_of(release):
        return bundle
    raise Misconfigured(f"no job can run on {release}: release is one of {RELEASES}. Set it: lakegate deploy SETTINGS")


def of_spark(version: str) -> Bundle | None:
    """Return the bundle of a version of Spark, such as 3.5.6-amzn-2."""
    return next((bundle for bundle in BUNDLES if version.startswith(f"{bundle.spark}.")), None)
