"""`retry`: a rejected batch is tried again, in as many attempts as its contract asks for."""

from collections.abc import Mapping

from rich.console import RenderableType

from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, indented, say, say_json
from lakegate.counts import count
from lakegate.workflow.retry import Retried
from lakegate.workflow.retry import retry as try_again


def retry(installation: Installation, batch: str, *, as_json: bool) -> Exit:
    retried = _retried(installation, batch)
    if as_json:
        say_json(_plain(retried))
        return Exit.DONE
    say(*_said(retried))
    say(f"Next: lakegate wait {batch}")
    return Exit.DONE


def _retried(installation: Installation, batch: str) -> Retried:
    with busy(f"starting a new attempt at {batch}"):
        return try_again(installation.service, batch)


def _said(retried: Retried) -> list[RenderableType]:
    first, *more = retried.attempts
    at = f"at {first.batch} of {first.table}"
    if not more:
        return [f"Attempt a{first.number} {at} is under way on {first.branch}", *left_as_rejected(retried.left)]
    *names, last = [f"a{attempt.number}" for attempt in retried.attempts]
    return [f"Attempts {', '.join(names)} and {last} {at} are under way", *left_as_rejected(retried.left)]


def left_as_rejected(left: Mapping[str, str]) -> list[RenderableType]:
    """What stays rejected, and why."""
    head = [f"Left as rejected ({count(len(left), 'file')}):"] if left else []
    return [*head, *(indented(f"{key}: {why}", 4, "yellow") for key, why in left.items())]


def _plain(retried: Retried) -> dict[str, object]:
    """The first attempt, and all of them where they are several."""
    first = retried.attempts[0]
    its = [{"attempt": attempt.number, "branch": attempt.branch} for attempt in retried.attempts]
    more = {"attempts": its} if len(its) > 1 else {}
    return {"batch": first.batch, "table": first.table, **its[0], **more, "left": dict(retried.left)}
