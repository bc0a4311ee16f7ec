"""EventBridge → settle: "EMR Serverless Job Run State Change" of a run that ended. The event carries no reason and no
attempt. Of a run of the express lane, Lambda tells as the destination of its call.
"""

from typing import Any

from handlers.runtime import service
from lakegate.adapters.events import ended
from lakegate.adapters.express import is_end, note_end
from lakegate.workflow.receive import settle_run


def handler(event: dict[str, Any], _context: object) -> None:
    """Settle the attempt whose job run ended, and let queued files follow."""
    running = service()
    run = note_end(running.store, event, running.clock.now()) if is_end(event) else ended(event)
    settle_run(running, run)
