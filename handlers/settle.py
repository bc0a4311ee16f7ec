"""EventBridge → settle: "EMR Serverless Job Run State Change" of a run that ended. The event carries no reason and no
attempt. Lambda sends the end of an express run, as its call's destination.
"""

from typing import Any

from handlers.runtime import service
from lakegate.adapters.events import ended_run
from lakegate.adapters.express import forget_ended, is_end, record_end
from lakegate.workflow.receive import settle_run


def handler(event: dict[str, Any], _context: object) -> None:
    """Settle the attempt whose job run ended, and let queued files follow."""
    running_service = service()
    if not is_end(event):
        settle_run(running_service, ended_run(event))
        return
    settle_run(running_service, record_end(running_service.store, event, running_service.clock.now()))
    forget_ended(running_service.store, running_service.clock.now())
