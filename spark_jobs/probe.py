"""A probe of the image, storage and Nessie as a job finds them. It changes nothing that it does not put back."""

import json
import platform
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from urllib.error import HTTPError
from urllib.request import Request

from pyspark.sql import SparkSession

from lakegate.audit.bounded_http import open_url, trust
from lakegate.audit.model.probe import Probe, ProbeReport
from lakegate.audit.ref import Ref
from spark_jobs.jvm import identity
from spark_jobs.jvm.failures import FAILURES, root_cause
from spark_jobs.jvm.gateway import jvm
from spark_jobs.jvm.session import ICEBERG, LAKE, is_tested, open_catalog
from spark_jobs.tables import nessie

MAIN, SECONDS = "main", 30


def report_of(spark: SparkSession, probe: Probe) -> ProbeReport:
    """Return the probe's findings. What cannot be reached is one of them, and stops nothing else."""
    java = jvm(spark)
    iceberg_version, nessie_fault = (
        str(java.org.apache.iceberg.IcebergBuild.version()),
        _reason(lambda: _main(spark, probe)),
    )
    return ProbeReport(
        nonce=probe.nonce,
        python=platform.python_version(),
        spark=spark.version,
        iceberg=iceberg_version,
        iceberg_wanted=ICEBERG,
        is_tested=is_tested(iceberg_version),
        sdk=str(java.software.amazon.awssdk.core.util.VersionInfo.SDK_VERSION),
        nessie=nessie_fault,
        catalog=_reason(lambda: _list_namespaces(spark, probe)),
        made_branch=probe.catalog.has_identity and not nessie_fault and _makes_branch(spark, probe),
    )


def _reason(act: Callable[[], object]) -> str:
    """Return why something fails, or "" if it does not."""
    try:
        act()
    except FAILURES as error:
        return root_cause(error)
    except OSError as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _main(spark: SparkSession, probe: Probe) -> str:
    return nessie.head(probe.catalog, MAIN, identity.token(spark, probe.catalog))


def _list_namespaces(spark: SparkSession, probe: Probe) -> None:
    """List namespaces by Iceberg's own client, which goes to the address that Nessie names."""
    open_catalog(spark, LAKE, probe.catalog, Ref(MAIN))
    spark.sql(f"SHOW NAMESPACES IN {LAKE}").collect()


def _makes_branch(spark: SparkSession, probe: Probe) -> bool:
    """Try to make a branch, which Nessie's rules forbid to a job. Delete one that was made."""
    name, token = f"wap-probe-{probe.nonce}", identity.token(spark, probe.catalog)
    head = _main(spark, probe)
    body = json.dumps({"type": "BRANCH", "name": MAIN, "hash": head}).encode()
    send = partial(_send, token=token, authorities=probe.catalog.authorities)
    try:
        send("POST", f"{probe.catalog.uri}/api/v2/trees?name={name}&type=BRANCH", body=body)
    except HTTPError as error:
        if error.code in {HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN}:
            return False
        raise
    send("DELETE", f"{probe.catalog.uri}/api/v2/trees/{name}@{head}")
    return True


def _send(method: str, url: str, *, token: str, authorities: str, body: bytes | None = None) -> None:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    request = Request(url, data=body, headers=headers, method=method)  # noqa: S310 (the probe's own address)
    open_url(request, SECONDS, context=trust(authorities))
