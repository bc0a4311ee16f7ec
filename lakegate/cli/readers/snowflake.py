"""The text for Snowflake: the catalog and its storage as objects of an account, and one table that follows Nessie's."""

from collections.abc import Iterator

from lakegate.cli.readers.engine import token_command
from lakegate.cli.readers.quoting import comment, snowflake, sql_name
from lakegate.cli.readers.reading import Reading

ROLE = "lakegate-snowflake"
"""The IAM role that Snowflake takes on; a person makes it."""


def statements(reading: Reading) -> Iterator[str]:
    """Yield the statements."""
    own = "lakegate" if reading.is_on_main else "lakegate_branch"
    yield from _volume(reading, own)
    yield from _integration(reading, own)
    table = sql_name(reading.name if reading.is_on_main else f"{reading.name} on {reading.ref}")
    yield f"CREATE ICEBERG TABLE IF NOT EXISTS {table}"
    yield f"  EXTERNAL_VOLUME = '{own}'"
    yield f"  CATALOG = '{own}'"
    yield f"  CATALOG_NAMESPACE = {snowflake(reading.namespace)}"
    yield f"  CATALOG_TABLE_NAME = {snowflake(reading.name)}"
    yield "  AUTO_REFRESH = TRUE;"
    yield f"SELECT * FROM {table} LIMIT 20;"


def _volume(reading: Reading, name: str) -> Iterator[str]:
    place = reading.place
    yield f"CREATE EXTERNAL VOLUME IF NOT EXISTS {name}"
    yield "  STORAGE_LOCATIONS = (("
    yield "    NAME = 'lake'"
    yield "    STORAGE_PROVIDER = 'S3'"
    yield f"    STORAGE_BASE_URL = {snowflake(f'{place.location}/')}"
    yield f"    STORAGE_AWS_ROLE_ARN = {snowflake(f'arn:aws:iam::{place.account}:role/{ROLE}')}"
    yield "  ))"
    yield "  ALLOW_WRITES = FALSE;"


def _integration(reading: Reading, name: str) -> Iterator[str]:
    yield f"CREATE CATALOG INTEGRATION IF NOT EXISTS {name}"
    yield "  CATALOG_SOURCE = ICEBERG_REST"
    yield "  TABLE_FORMAT = ICEBERG"
    yield "  REST_CONFIG = ("
    yield f"    CATALOG_URI = {snowflake(f'{reading.place.nessie_uri}/iceberg')}"
    yield f"    PREFIX = {snowflake(reading.segment)}"
    yield f"    CATALOG_NAME = {snowflake(reading.place.warehouse)}"
    yield "    ACCESS_DELEGATION_MODE = EXTERNAL_VOLUME_CREDENTIALS"
    yield "  )"
    yield from _authentication(reading)
    yield "  ENABLED = TRUE;"


def _authentication(reading: Reading) -> Iterator[str]:
    place = reading.place
    yield "  REST_AUTHENTICATION = ("
    if place.token_endpoint:
        yield "    TYPE = OAUTH"
        yield f"    OAUTH_TOKEN_URI = {snowflake(place.token_endpoint)}"
        yield f"    OAUTH_CLIENT_ID = {snowflake(place.client(reading.role).id)}"
        yield "    OAUTH_CLIENT_SECRET = '<the client''s secret>'"
        yield f"    OAUTH_ALLOWED_SCOPES = ({snowflake(place.token_scope or 'openid')})"
    else:
        yield "    TYPE = BEARER"
        if place.audience:
            yield comment(f"    -- Within an hour this ends, and has to be set again: {token_command(place)}")
        yield "    BEARER_TOKEN = '<a token>'"
    yield "  )"
