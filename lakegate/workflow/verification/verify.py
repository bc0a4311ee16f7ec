"""Verify: read all facts, and judge them. It changes nothing and may be asked at any time.

Work that goes on meanwhile may show as a finding, so it is best asked while nothing lands.
"""

from lakegate.doctor.finding import Finding
from lakegate.ports import Warehouse
from lakegate.workflow.service import Service
from lakegate.workflow.verification.attempts import read_open
from lakegate.workflow.verification.facts import Comparison
from lakegate.workflow.verification.ledger import read_ledger
from lakegate.workflow.verification.rules import findings
from lakegate.workflow.verification.storage import read_needs


def verify(service: Service, warehouse: Warehouse) -> list[Finding]:
    """Return what is well, what is wrong and what cannot be known, each with the next step. Raise Misconfigured for a
    role that may not read the ledger.
    """
    service.ledger.watermark()
    return findings(
        Comparison(needs=read_needs(service, warehouse), ledger=read_ledger(service), open=read_open(service))
    )
