"""The text for Trino: a file of properties, which makes one catalog for one reference."""

from collections.abc import Iterator, Mapping

from lakegate.cli.readers.engine import credential_command, token_command
from lakegate.cli.readers.quoting import comment, java_property, sql_name
from lakegate.cli.readers.reading import Reading

REST = "iceberg.rest-catalog"
# In a value, Trino takes this for a variable of its environment.
CREDENTIAL, TOKEN = "${ENV:LAKEGATE_CREDENTIAL}", "${ENV:LAKEGATE_TOKEN}"


def trino(reading: Reading) -> Iterator[str]:
    """Yield the properties, and how the table is addressed then."""
    name = "lake" if reading.is_on_main else "branch"
    yield f"# This is etc/catalog/{name}.properties. Before Trino 481, fs.s3.enabled is fs.native-s3.enabled."
    yield from _exports(reading)
    yield from (f"{option}={java_property(value)}" for option, value in _options(reading).items())
    yield from (f"{option}={value}" for option, value in _own(reading).items())
    table = f"{name}.{sql_name(reading.namespace)}.{sql_name(reading.name)}"
    yield comment(f"# Then: SELECT * FROM {table} LIMIT 20")


def _exports(reading: Reading) -> Iterator[str]:
    """Yield how Trino's server gets its secret."""
    place = reading.place
    if place.token_endpoint:
        yield f"# Trino's server is started after: {credential_command(reading)}"
    elif place.audience:
        yield f'# Trino\'s server is started after: export LAKEGATE_TOKEN="$({token_command(place)})"'
        yield "# This token ends within an hour and Trino cannot renew it: use a client of an OIDC issuer for longer."


def _options(reading: Reading) -> Mapping[str, str]:
    place = reading.place
    return {
        "connector.name": "iceberg",
        "iceberg.catalog.type": "rest",
        f"{REST}.uri": reading.uri,
        f"{REST}.warehouse": place.warehouse,
        "iceberg.security": "read_only",
        "fs.s3.enabled": "true",
        "s3.region": place.region,
    }


def _own(reading: Reading) -> Mapping[str, str]:
    """Return the options of an identity; secrets come from the environment of Trino's server."""
    place = reading.place
    if place.token_endpoint:
        scope = {f"{REST}.oauth2.scope": java_property(place.token_scope)} if place.token_scope else {}
        return {
            f"{REST}.security": "OAUTH2",
            f"{REST}.oauth2.credential": CREDENTIAL,
            f"{REST}.oauth2.server-uri": java_property(place.token_endpoint),
            f"{REST}.oauth2.token-exchange-enabled": "false",
            **scope,
        }
    if place.audience:
        own = {"security": "OAUTH2", "oauth2.token": TOKEN, "oauth2.token-refresh-enabled": "false"}
        return {f"{REST}.{option}": value for option, value in own.items()}
    return {}
