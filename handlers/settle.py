"""EventBridge → settle: "EMR Serverless Job Run State Change" of a run that ended. The event carries no reason and no
attempt.
"""

from typing import Any

import structlog

from handlers.runtime import service
from lakegate.landing.attempts import Attempt
from lakegate.workflow.attempts.usage import note_usage
from lakegate.workflow.settle import settle

log = structlog.get_logger()


def handler(event: dict[str, Any], _context: object) -> None:
    """Settle the attempt whose job run ended; ignore runs that are not lakegate's."""
    running = service()
    run = running.runner.get(event["detail"]["jobRunId"])
    attempt = Attempt.parse(run.branch)
    if attempt is None:
        log.info("not_ours", run=run.id, name=run.branch)
        return
    settle(running, attempt)
    note_usage(running, attempt, run)
