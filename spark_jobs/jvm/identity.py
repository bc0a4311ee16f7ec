"""The job's identity in the catalog: a token of its own IAM role, from AWS STS, or of its client at an OIDC issuer.
AWS is asked by the JVM's client.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.client import HTTPException
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request

from pyspark.sql import SparkSession

from lakegate.audit import issuer, role_session
from lakegate.audit.bounded_http import LARGEST, open_url, place, trust
from lakegate.audit.model.catalog import CatalogAddress
from lakegate.audit.model.client import Client
from spark_jobs.jvm.failures import FAILURES, is_caused_by
from spark_jobs.jvm.gateway import jvm

SECONDS = 3600  # STS gives no longer life; the catalog that a token opens keeps it until the job ends
ANSWER_SECONDS = 30  # seconds for an issuer's answer

_OF_ISSUER = ("org.apache.iceberg.rest.auth", "org.apache.iceberg.util.Tasks")  # the second tries a token again


class NoTokenError(OSError):
    """An issuer that gives the job no token. The job's files are not at fault, so it counts as an outage."""


def token(spark: SparkSession, catalog: CatalogAddress) -> str:
    """Return a new token, or "" if the catalog is asked without one. It is never kept, printed or written."""
    if client := catalog.client:
        return _of_client(client, password(spark, client), catalog.authorities)
    return _of_role(spark, catalog.audience) if catalog.audience else ""


def options(spark: SparkSession, catalog: CatalogAddress) -> Mapping[str, str]:
    """Return the options of a catalog of Iceberg's that give it the job's identity. Iceberg itself asks for tokens of a
    client, and renews them; a token of STS it keeps, because Nessie exchanges none.
    """
    if client := catalog.client:
        secret = password(spark, client)
        _silence_issuer(spark)
        # A refusal that Iceberg itself meets would count as a crash of the job.
        _of_client(client, secret, catalog.authorities)
        return {
            "rest.auth.type": "oauth2",
            "credential": f"{client.id}:{secret}",
            "oauth2-server-uri": client.endpoint,
            "scope": client.scope,  # left out, it would be Iceberg's own default
            "token-exchange-enabled": "false",
        }
    if secret := token(spark, catalog):
        return {"rest.auth.type": "oauth2", "token": secret, "token-refresh-enabled": "false"}
    return {}


def _silence_issuer(spark: SparkSession) -> None:
    """Keep out of Spark's log what an issuer says to Iceberg's own client: it may echo the client's secret."""
    log4j = jvm(spark).org.apache.logging.log4j
    for logger in _OF_ISSUER:
        log4j.core.config.Configurator.setLevel(logger, log4j.Level.OFF)


SECRET = ("token", "credential")
"""Options that hold a secret."""


def _of_role(spark: SparkSession, audience: str) -> str:
    java = jvm(spark)
    service = java.software.amazon.awssdk.services.sts
    request = service.model.GetWebIdentityTokenRequest.builder()
    request.audience(java.java.util.Collections.singletonList(audience))
    request.signingAlgorithm("RS256")
    with _aws(spark, service.StsClient) as sts:
        for life in role_session.lives(SECONDS):
            try:
                return str(sts.getWebIdentityToken(request.durationSeconds(life).build()).webIdentityToken())
            except FAILURES as error:
                if not is_caused_by(error, role_session.TOO_LONG):
                    raise
        raise NoTokenError(role_session.end_message(str(sts.getCallerIdentity().arn())))


def password(spark: SparkSession, client: Client) -> str:
    """Return the client's password. It is never kept, printed or written."""
    service = jvm(spark).software.amazon.awssdk.services.secretsmanager
    request = service.model.GetSecretValueRequest.builder().secretId(client.secret).build()
    with _aws(spark, service.SecretsManagerClient) as secrets:
        return str(secrets.getSecretValue(request).secretString()).strip()


@contextmanager
def _aws(spark: SparkSession, kind: Any) -> Iterator[Any]:
    """Yield a client of AWS. An image may hold several HTTP clients, and then the SDK takes none by itself."""
    http = jvm(spark).software.amazon.awssdk.http.apache.ApacheHttpClient.builder()
    client = kind.builder().httpClientBuilder(http).build()
    try:
        yield client
    finally:
        client.close()


def _of_client(client: Client, password: str, authorities: str) -> str:
    form = urlencode(client.form(password)).encode()
    request = Request(client.endpoint, data=form, headers={"Accept": "application/json"})  # noqa: S310 - the settings'
    refusal = f"{place(client.endpoint)} gives the client {client.id} no token"
    try:
        _, body = open_url(request, ANSWER_SECONDS, context=trust(authorities))
    except HTTPError as error:
        answer = issuer.answer_of(_body(error))
        code = issuer.error_code(answer, client.id, password)
        raise NoTokenError(f"{refusal}: HTTP Error {error.code} {code}".rstrip()) from None
    except (OSError, HTTPException) as error:
        raise NoTokenError(f"{refusal}: {issuer.no_answer_message(error)}") from None
    if access_token := issuer.access_token(issuer.answer_of(body)):
        return access_token
    raise NoTokenError(f"{refusal}: the answer has none")


def _body(error: HTTPError) -> bytes:
    """Return the body of a refusal as far as it came."""
    try:
        with error:
            return error.read(LARGEST)
    except (OSError, HTTPException):
        return b""
