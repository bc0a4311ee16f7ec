"""A probe: a job that touches no table, and reports what a job finds where it runs."""

from dataclasses import dataclass

from lakegate.audit.model.catalog import CatalogAddress

PROBE = "probe.json"
"""The name that a probe's object has; any other is a job's."""


@dataclass(frozen=True, kw_only=True)
class Probe:
    """Order for a probe: the catalog to reach, and where the report goes. `nonce` tells the report from an earlier one,
    and names the branch that the probe may not make.
    """

    nonce: str
    catalog: CatalogAddress
    report_uri: str
    format: int = 2


@dataclass(frozen=True, kw_only=True)
class ProbeReport:
    """Releases that the probe found, what kept it from Nessie and from the catalog ("" for nothing), and if it could
    make a branch, which no job may. Without an identity it does not try.
    """

    nonce: str
    python: str
    spark: str
    iceberg: str
    iceberg_wanted: str
    is_tested: bool
    sdk: str
    nessie: str
    catalog: str
    made_branch: bool = False
    format: int = 1
