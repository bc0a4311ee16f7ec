"""The text for DuckDB's own extension: SQL for its command line, which attaches main.

The extension asks at the address that it was given and takes no other from Nessie, so it gets no branch. It also makes
small letters of the address, and branches have capital ones.
"""

from collections.abc import Iterator
from urllib.parse import urlparse

from lakegate.cli.readers.engine import token_command
from lakegate.cli.readers.python import ROWS
from lakegate.cli.readers.quoting import comment, sql, sql_name
from lakegate.cli.readers.reading import Reading

NAME = "lake"


def duckdb(reading: Reading) -> Iterator[str]:
    """Yield the statements."""
    place = reading.place
    for extension in ("httpfs", "aws", "iceberg"):
        yield f"INSTALL {extension};"
        yield f"LOAD {extension};"
    yield "CREATE OR REPLACE SECRET lake_files ("
    yield f"    TYPE s3, PROVIDER credential_chain, REGION {sql(place.region)}{_elsewhere(place.s3_endpoint)}"
    yield ");"
    yield from _identity(reading)
    yield f"ATTACH {sql(place.warehouse)} AS {NAME} ("
    yield "    TYPE iceberg,"
    yield f"    ENDPOINT {sql(f'{place.nessie_uri}/iceberg')},"
    yield f"    {_authorization(reading)},"
    yield "    ACCESS_DELEGATION_MODE 'none'"
    yield ");"
    yield f"SELECT * FROM {NAME}.{sql_name(reading.namespace)}.{sql_name(reading.name)} LIMIT {ROWS};"


def _elsewhere(endpoint: str) -> str:
    """Return the options of a storage that is not AWS's, such as the local cloud's."""
    if not endpoint:
        return ""
    told = urlparse(endpoint)
    return f", ENDPOINT {sql(told.netloc)}, URL_STYLE 'path', USE_SSL {str(told.scheme == 'https').lower()}"


def _identity(reading: Reading) -> Iterator[str]:
    """Yield the secret that the catalog is asked with, whose own secret part a person fills in."""
    place = reading.place
    if place.token_endpoint:
        scope = f", OAUTH2_SCOPE {sql(place.token_scope)}" if place.token_scope else ""
        yield "CREATE OR REPLACE SECRET lake_client ("
        yield f"    TYPE iceberg, CLIENT_ID {sql(place.client(reading.role).id)}, CLIENT_SECRET '<its secret>',"
        yield f"    OAUTH2_SERVER_URI {sql(place.token_endpoint)}{scope}"
        yield ");"
    elif place.audience:
        yield comment(f"-- The token is what this prints: {token_command(place)}")
        yield "CREATE OR REPLACE SECRET lake_client (TYPE iceberg, TOKEN '<a token>');"


def _authorization(reading: Reading) -> str:
    place = reading.place
    return "SECRET lake_client" if place.token_endpoint or place.audience else "AUTHORIZATION_TYPE 'none'"
