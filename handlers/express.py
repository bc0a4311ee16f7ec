"""An asynchronous call → an attempt's job on the express lane. Lambda notifies settle of any end: this
function's rights are those of a job, which settles nothing.
"""

from functools import cache
from time import monotonic
from typing import Any

from handlers.packages import unpack

unpack()

from lakegate.express.job import Outcome, run_job  # noqa: E402 (its packages were packed until now)
from lakegate.express.process import Process, bound_memory  # noqa: E402


class JobFailed(Exception):
    """The job left no report. Its log says why. The reason stays there, because it may name masked values."""


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Run the job, unless it was taken before: Lambda may make one call twice. Return what it took."""
    began = monotonic()
    outcome = run_job(event["job"], _process(memory := int(context.memory_limit_in_mb)))
    if outcome in (Outcome.FAILED, Outcome.CUT_OFF):
        raise JobFailed(f"the job of {event['branch']} has ended without a report: {outcome}")
    return {"seconds": monotonic() - began, "memory_mb": memory, "outcome": str(outcome)}


@cache
def _process(megabytes: int) -> Process:
    bound_memory(megabytes)
    return Process()
