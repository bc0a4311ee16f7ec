"""The job's identity: a token of its own IAM role, from AWS STS by the JVM's client."""

from typing import Protocol

from pyspark.sql import SparkSession

from spark_jobs.jvm.gateway import jvm

SECONDS = 3600  # STS gives no longer life; the catalog that a token opens keeps it until the job ends


class Identified(Protocol):
    """What says for whom its tokens are, as a job does; "" asks for none."""

    @property
    def token_audience(self) -> str: ...


def token(spark: SparkSession, whose: Identified) -> str:
    """Return a new token, or "" if the catalog is asked without one. It is never kept, printed or written."""
    if not whose.token_audience:
        return ""
    java = jvm(spark)
    aws = java.software.amazon.awssdk
    asked = aws.services.sts.model.GetWebIdentityTokenRequest.builder()
    asked.audience(java.java.util.Collections.singletonList(whose.token_audience))
    asked.signingAlgorithm("RS256").durationSeconds(SECONDS)
    # An image may hold several HTTP clients of AWS, and then the SDK takes none by itself.
    client = aws.services.sts.StsClient.builder().httpClientBuilder(aws.http.apache.ApacheHttpClient.builder()).build()
    try:
        return str(client.getWebIdentityToken(asked.build()).webIdentityToken())
    finally:
        client.close()
