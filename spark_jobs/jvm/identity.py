"""The job's identity: a token of its own IAM role, from AWS STS by the JVM's client."""

from pyspark.sql import SparkSession

from lakegate.audit.model.job import Job
from spark_jobs.jvm.gateway import jvm

SECONDS = 3600  # STS gives no longer life; the catalog that a token opens keeps it until the job ends


def token(spark: SparkSession, job: Job) -> str:
    """Return a new token, or "" if the catalog is asked without one. It is never kept, printed or written."""
    if not job.token_audience:
        return ""
    java = jvm(spark)
    aws = java.software.amazon.awssdk
    asked = aws.services.sts.model.GetWebIdentityTokenRequest.builder()
    asked.audience(java.java.util.Collections.singletonList(job.token_audience))
    asked.signingAlgorithm("RS256").durationSeconds(SECONDS)
    # An image may hold several HTTP clients of AWS, and then the SDK takes none by itself.
    client = aws.services.sts.StsClient.builder().httpClientBuilder(aws.http.apache.ApacheHttpClient.builder()).build()
    try:
        return str(client.getWebIdentityToken(asked.build()).webIdentityToken())
    finally:
        client.close()
