"""EventBridge → settle: "EMR Serverless Job Run State Change" of a run that ended. The event carries no reason and no
attempt.
"""

from typing import Any

from handlers.runtime import service
from lakegate.adapters.events import ended
from lakegate.workflow.receive import settle_run


def handler(event: dict[str, Any], _context: object) -> None:
    """Settle the attempt whose job run ended, and let queued files follow."""
    settle_run(service(), ended(event))
