"""The text for Dremio: a call that adds Nessie as a source, and a query, which says its branch itself."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from lakegate.cli.readers.engine import token_command
from lakegate.cli.readers.quoting import comment, shell, sql_name
from lakegate.cli.readers.reading import Reading

NAME = "lakegate"


def dremio(reading: Reading) -> Iterator[str]:
    """Yield the call, and the query as a comment."""
    place = reading.place
    if place.audience and not place.token_endpoint:
        yield comment(f"# The access token ends within an hour: {token_command(place)}")
    yield "# DREMIO is the address of your Dremio, and DREMIO_TOKEN a personal access token of yours there."
    yield 'curl --fail --request POST "$DREMIO/api/v3/catalog" \\'
    yield '  --header "Authorization: Bearer $DREMIO_TOKEN" \\'
    yield "  --header 'Content-Type: application/json' \\"
    yield f"  --data {shell(json.dumps(source(reading)))}"
    table = ".".join(map(sql_name, (NAME, reading.namespace, reading.name)))
    yield comment(f"# Then: SELECT * FROM {table} AT {_at(reading)} LIMIT 20")


def source(reading: Reading) -> Mapping[str, Any]:
    """Return the source as Dremio's API has it. Dremio reads files with the role of its own machines."""
    place = reading.place
    config = {
        "nessieEndpoint": f"{place.nessie_uri}/api/v2",
        **_own(reading),
        "credentialType": "EC2_METADATA",
        "awsRootPath": place.location.removeprefix("s3://"),
        "secure": True,
    }
    return {"entityType": "source", "type": "NESSIE", "name": NAME, "config": config}


def _own(reading: Reading) -> Mapping[str, str]:
    place = reading.place
    if place.token_endpoint:
        return {
            "nessieAuthType": "OAUTH2",
            "oauth2TokenEndpointURI": place.token_endpoint,
            "oauth2ClientId": place.client(reading.role).id,
            "oauth2ClientSecret": "<the client's secret>",
        }
    if place.audience:
        return {"nessieAuthType": "BEARER", "nessieAccessToken": "<a token>"}
    return {"nessieAuthType": "NONE"}


def _at(reading: Reading) -> str:
    ref = reading.ref
    return f"COMMIT {sql_name(ref.commit)}" if ref.commit else f"BRANCH {sql_name(ref.branch)}"
