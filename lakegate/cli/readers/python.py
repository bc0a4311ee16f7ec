"""Texts in Python: PyIceberg, and what reads through it. Each is a whole program."""

from collections.abc import Iterator, Mapping

from lakegate.cli.readers.engine import credential_command
from lakegate.cli.readers.quoting import python
from lakegate.cli.readers.reading import Reading

ROWS = 20
SECRET = 'os.environ["LAKEGATE_CREDENTIAL"]'
"""The client and its secret, `<id>:<secret>`, which no text has."""


def pyiceberg(reading: Reading) -> Iterator[str]:
    """Yield a program that prints rows as an Arrow table."""
    yield from load(reading)
    yield f"print(table.scan(limit={ROWS}).to_arrow())"


def pandas(reading: Reading) -> Iterator[str]:
    """Yield a program that prints rows as a DataFrame of Pandas."""
    yield from load(reading)
    yield f"frame = table.scan(limit={ROWS}).to_pandas()"
    yield "print(frame)"


def polars(reading: Reading) -> Iterator[str]:
    """Yield a program that prints rows of a lazy frame of Polars."""
    yield from load(reading, "import polars")
    yield "frame = polars.scan_iceberg(table, storage_options=table.io.properties)"
    yield f"print(frame.head({ROWS}).collect())"


def duckdb(reading: Reading) -> Iterator[str]:
    """Yield a program that has DuckDB query rows which PyIceberg reads: every reference, and no extension."""
    yield from load(reading)
    yield 'engine = table.scan().to_duckdb("scanned")'
    yield f'print(engine.sql("SELECT * FROM scanned LIMIT {ROWS}"))'


def load(reading: Reading, *imports: str) -> Iterator[str]:
    """Yield the lines that load the table. Python's sorted order of imports puts a client of AWS first."""
    place = reading.place
    yield from identity_imports(reading)
    yield from imports
    yield "from pyiceberg.catalog import load_catalog"
    yield ""
    yield from variables(reading)
    yield from identity(reading)
    yield "catalog = load_catalog("
    yield f"    {python(place.warehouse)},"
    yield "    **{"
    for name, value in {**_options(reading), **_own(reading)}.items():
        yield f"        {python(name)}: {value},"
    yield "    },"
    yield ")"
    yield f"table = catalog.load_table(({python(reading.namespace)}, {python(reading.name)}))"


def identity_imports(reading: Reading) -> Iterator[str]:
    """Yield what `identity` and its options import."""
    place = reading.place
    if place.token_endpoint:
        yield f"# Before it: {credential_command(reading)}"
    if place.token_endpoint or place.variables:
        yield "import os"
        yield ""
    if place.audience and not place.token_endpoint:
        yield "import boto3"


def variables(reading: Reading) -> Iterator[str]:
    """Yield the lines that take what the installation was found by, and no secret of it, if that is a file."""
    if path := reading.place.variables:
        yield f"with open({python(path)}) as file:"
        yield '    os.environ.update(line.strip().split("=", 1) for line in file if "=" in line and line[0] != "#")'


def identity(reading: Reading) -> Iterator[str]:
    """Yield the lines that get a token of AWS STS, if Nessie asks for one."""
    place = reading.place
    if place.audience and not place.token_endpoint:
        yield 'token = boto3.client("sts").get_web_identity_token('
        yield f'    Audience=[{python(place.audience)}], SigningAlgorithm="RS256", DurationSeconds=3600'
        yield ')["WebIdentityToken"]'


def _options(reading: Reading) -> Mapping[str, str]:
    place = reading.place
    return {
        "type": python("rest"),
        "uri": python(reading.uri),
        "warehouse": python(place.warehouse),
        "s3.region": python(place.region),
        "s3.remote-signing-enabled": python("false"),
    }


def _own(reading: Reading) -> Mapping[str, str]:
    """Return the options of an identity as expressions."""
    place = reading.place
    if place.token_endpoint:
        scope = {"scope": python(place.token_scope)} if place.token_scope else {}
        return {"credential": SECRET, "oauth2-server-uri": python(place.token_endpoint), **scope}
    return {"token": "token"} if place.audience else {}
