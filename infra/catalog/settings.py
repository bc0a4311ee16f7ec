"""Nessie's settings, which are its environment: each variable has a setting's own name, with dots.

Quarkus would also read names in capitals with `_`, but misses the options of S3 among them.
"""

from collections.abc import Mapping

PORT, HEALTH_PORT = 19120, 9000
HEALTH = "/q/health/ready"
DATABASE = "nessie"
WAREHOUSE = "lake"  # as Nessie names it, also a Nessie of somebody else's
_S3 = "nessie.catalog.service.s3.default-options"
_STORE = "quarkus.datasource.postgresql"
CONNECTIONS = 20  # of a task: the smallest database takes some 85, and a deployment doubles the tasks
USER, PASSWORD = f"{_STORE}.username", f"{_STORE}.password"


def environment(
    *,
    bucket: str,
    region: str,
    database_host: str,
    database_port: str,
    callers: Mapping[str, str],
) -> dict[str, str]:
    """Return all that is no secret of a Nessie that knows its callers, by the settings of `access` for them. The
    database's user and password are secrets.
    """
    return {
        "quarkus.http.port": str(PORT),
        "quarkus.management.port": str(HEALTH_PORT),
        "quarkus.http.proxy.proxy-address-forwarding": "true",  # the balancer ends TLS
        "quarkus.http.proxy.allow-x-forwarded": "true",
        "quarkus.http.access-log.enabled": "true",
        "quarkus.http.access-log.pattern": '%h %u "%r" %s',  # %u is the role's ARN
        **store(database_host, database_port),
        "nessie.catalog.default-warehouse": WAREHOUSE,
        f"nessie.catalog.warehouses.{WAREHOUSE}.location": f"s3://{bucket}/warehouse",
        f"{_S3}.region": region,
        f"{_S3}.auth-type": "APPLICATION_GLOBAL",
        f"{_S3}.request-signing-enabled": "false",  # otherwise Nessie signs every client's requests with its own rights
        **callers,
    }


def store(host: str, port: str) -> dict[str, str]:
    """Return where Nessie keeps what it knows: in a PostgreSQL database, over TLS."""
    return {
        "nessie.version.store.type": "JDBC2",
        "nessie.version.store.persist.jdbc.datasource": "postgresql",
        f"{_STORE}.jdbc.url": f"jdbc:postgresql://{host}:{port}/{DATABASE}?sslmode=require",
        f"{_STORE}.jdbc.max-size": str(CONNECTIONS),
    }
