"""Nessie's settings, and the environment variables that Nessie reads them from."""

import re

from lakegate.access import nessie_settings

PORT, HEALTH_PORT = 19120, 9000
HEALTH = "/q/health/ready"
DATABASE = "nessie"
_S3 = "nessie.catalog.service.s3.default-options"
_STORE = "quarkus.datasource.postgresql"
CONNECTIONS = 20  # of a task: the smallest database takes some 85, and a deployment doubles the tasks


def variable(name: str) -> str:
    """Return the environment variable of a setting, as Quarkus derives it."""
    return re.sub("[^A-Za-z0-9]", "_", name).upper()


USER, PASSWORD = variable(f"{_STORE}.username"), variable(f"{_STORE}.password")


def environment(
    *, warehouse: str, bucket: str, region: str, database_host: str, database_port: str, issuer: str, audience: str
) -> dict[str, str]:
    """Return all that is no secret of a Nessie that knows its callers. The database's user and password are secrets."""
    settings = {
        "quarkus.http.port": str(PORT),
        "quarkus.management.port": str(HEALTH_PORT),
        "quarkus.http.proxy.proxy-address-forwarding": "true",  # the balancer ends TLS
        "quarkus.http.proxy.allow-x-forwarded": "true",
        "quarkus.http.access-log.enabled": "true",
        "quarkus.http.access-log.pattern": '%h %u "%r" %s',  # %u is the role's ARN
        "nessie.version.store.type": "JDBC2",
        "nessie.version.store.persist.jdbc.datasource": "postgresql",
        f"{_STORE}.jdbc.url": f"jdbc:postgresql://{database_host}:{database_port}/{DATABASE}?sslmode=require",
        f"{_STORE}.jdbc.max-size": str(CONNECTIONS),
        "nessie.catalog.default-warehouse": warehouse,
        f"nessie.catalog.warehouses.{warehouse}.location": f"s3://{bucket}/warehouse",
        f"{_S3}.region": region,
        f"{_S3}.auth-type": "APPLICATION_GLOBAL",
        f"{_S3}.request-signing-enabled": "false",  # otherwise Nessie signs every client's requests with its own rights
        **nessie_settings(issuer, audience),
    }
    return {variable(name): value for name, value in settings.items()}
