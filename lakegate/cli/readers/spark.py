"""The text for Spark: a program in Python, whose session has one catalog for one reference."""

from collections.abc import Iterator, Mapping

from lakegate.audit.schema.types import spark_identifier
from lakegate.bundles import EMR_7, EMR_SPARK_8, Bundle
from lakegate.cli.readers.python import ROWS, SECRET, identity, identity_imports, variables
from lakegate.cli.readers.quoting import python
from lakegate.cli.readers.reading import Reading

PACKAGE = "org.apache.iceberg"


def spark(reading: Reading) -> Iterator[str]:
    """Yield a program that shows rows."""
    yield f"# Spark {EMR_SPARK_8.spark} has another package: {packages(EMR_SPARK_8)}"
    yield from identity_imports(reading)
    yield "from pyspark.sql import SparkSession"
    yield ""
    yield from variables(reading)
    yield from identity(reading)
    yield "spark = ("
    yield f'    SparkSession.builder.config("spark.jars.packages", {python(packages(EMR_7))})'
    for name, value in options(reading).items():
        yield f"    .config({python(f'spark.sql.catalog.{catalog(reading)}{name}')}, {value})"
    yield "    .getOrCreate()"
    yield ")"
    yield f"spark.table({python(address(reading))}).show({ROWS})"


def catalog(reading: Reading) -> str:
    """Return the name of Spark's catalog. A session keeps a catalog from its first use on, so a branch has another."""
    return "lake" if reading.is_on_main else "branch"


def address(reading: Reading) -> str:
    """Return the table's name in Spark's SQL."""
    return ".".join([catalog(reading), *map(spark_identifier, (reading.namespace, reading.name))])


def packages(bundle: Bundle) -> str:
    """Return the coordinates of what Spark loads."""
    runtime = f"{PACKAGE}:iceberg-spark-runtime-{bundle.spark}_{bundle.scala}:{bundle.iceberg}"
    return f"{runtime},{PACKAGE}:iceberg-aws-bundle:{bundle.iceberg}"


def options(reading: Reading) -> Mapping[str, str]:
    """Return the options of the catalog, each as an expression of Python's."""
    place = reading.place
    return {
        "": python("org.apache.iceberg.spark.SparkCatalog"),
        ".type": python("rest"),
        ".uri": python(reading.uri),
        ".warehouse": python(place.warehouse),
        ".io-impl": python("org.apache.iceberg.aws.s3.S3FileIO"),
        ".client.region": python(place.region),
        ".header.X-Iceberg-Access-Delegation": python("vended-credentials"),
        ".s3.remote-signing-enabled": python("false"),
        **_own(reading),
    }


def _own(reading: Reading) -> Mapping[str, str]:
    place = reading.place
    if place.token_endpoint:
        return {
            ".rest.auth.type": python("oauth2"),
            ".credential": SECRET,
            ".oauth2-server-uri": python(place.token_endpoint),
            ".scope": python(place.token_scope),
            ".token-exchange-enabled": python("false"),
        }
    if place.audience:
        return {".rest.auth.type": python("oauth2"), ".token": "token", ".token-refresh-enabled": python("false")}
    return {}
