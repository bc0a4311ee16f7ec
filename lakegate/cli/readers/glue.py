"""The text for Athena and Redshift: commands of AWS that make Glue a catalog which federates Nessie's main."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lakegate.cli.readers.quoting import comment, shell, sql_name
from lakegate.cli.readers.reading import Reading

NAME = "lakegate"
"""Of the connection and of the catalog in Glue."""
ROLE, SECRET = "lakegate-federation", "lakegate/federation"
"""Names of what a person makes before: Glue's role, and the secret with the client's password."""


def athena(reading: Reading) -> Iterator[str]:
    """Yield the commands, and a query of Athena's."""
    yield from federation(reading)
    table = f"{sql_name(NAME)}.{sql_name(reading.namespace)}.{sql_name(reading.name)}"
    yield comment(f"# Then, in Athena: SELECT * FROM {table} LIMIT 20")


def redshift(reading: Reading) -> Iterator[str]:
    """Yield the commands, and how Redshift finds the catalog."""
    yield from federation(reading)
    yield "# Then, in Redshift, the catalog is a database, whose name it tells: SHOW DATABASES FROM DATA CATALOG"
    table = f"{sql_name(reading.namespace)}.{sql_name(reading.name)}"
    yield comment(f'# and the rows are: SELECT * FROM "<that name>".{table} LIMIT 20')


def federation(reading: Reading) -> Iterator[str]:
    """Yield the commands of AWS."""
    place = reading.place
    if not place.token_endpoint:
        yield "# Glue asks for a client of an OIDC issuer, and this installation's Nessie knows none (token_endpoint)."
    yield f"# Make the role {ROLE} and the secret {SECRET} before (docs/readers/athena-redshift.md)."
    yield from _command("glue create-connection", region=place.region, connection_input=connection(reading))
    arn = f"arn:aws:glue:{place.region}:{place.account}:connection/{NAME}"
    yield from _command(
        "lakeformation register-resource",
        region=place.region,
        resource_arn=arn,
        role_arn=f"arn:aws:iam::{place.account}:role/{ROLE}",
        with_federation=True,
    )
    yield from _command(
        "glue create-catalog",
        region=place.region,
        name=NAME,
        catalog_input={
            "FederatedCatalog": {"Identifier": place.warehouse, "ConnectionName": NAME},
            "CreateDatabaseDefaultPermissions": [],
            "CreateTableDefaultPermissions": [],
        },
    )


def connection(reading: Reading) -> Mapping[str, Any]:
    """Return what Glue is told of Nessie."""
    place = reading.place
    scope = {"TokenUrlParametersMap": {"scope": place.token_scope}} if place.token_scope else {}
    return {
        "Name": NAME,
        "ConnectionType": "ICEBERGRESTCATALOG",
        "ConnectionProperties": {
            "INSTANCE_URL": f"{place.nessie_uri}/iceberg",
            "ROLE_ARN": f"arn:aws:iam::{place.account}:role/{ROLE}",
            "CATALOG_CASING_FILTER": "LOWERCASE_ONLY",
        },
        "AuthenticationConfiguration": {
            "AuthenticationType": "OAUTH2",
            "SecretArn": f"arn:aws:secretsmanager:{place.region}:{place.account}:secret:{SECRET}",
            "OAuth2Properties": {
                "OAuth2GrantType": "CLIENT_CREDENTIALS",
                "TokenUrl": place.token_endpoint or "https://the-issuer/token",
                "OAuth2ClientApplication": {"UserManagedClientApplicationClientId": place.client(reading.role).id},
                **scope,
            },
        },
    }


def _command(words: str, **options: object) -> Iterator[str]:
    """Yield a command of AWS with an option a line."""
    *first, last = [_option(name.replace("_", "-"), value) for name, value in options.items()]
    yield f"aws {words} \\"
    yield from (f"  {option} \\" for option in first)
    yield f"  {last}"


def _option(name: str, value: object) -> str:
    if value is True:
        return f"--{name}"
    return f"--{name} {shell(value if isinstance(value, str) else json.dumps(value))}"
