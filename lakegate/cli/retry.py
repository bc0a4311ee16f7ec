"""`retry`: rejected batches are tried again, one or many. A batch that fails to start stops no other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import RenderableType

from lakegate.cli.choice import list_rejected
from lakegate.cli.exits import Exit, exit_code, paragraph
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, indented, say, say_json
from lakegate.counts import count
from lakegate.errors import Misconfigured, foreseen
from lakegate.operations.acts import Retry
from lakegate.workflow.retry import Retried, UnderWay


def retry(installation: Installation, batches: Sequence[str], chosen: Sequence[str] = (), *, as_json: bool) -> Exit:
    several = list(dict.fromkeys(batches))
    if len(several) == 1:
        return _one(installation, several[0], chosen, as_json=as_json)
    if chosen:
        raise Misconfigured("--file names files of one batch: give one BATCH with it")
    return _all(installation, several, as_json)


def _one(installation: Installation, batch: str, chosen: Sequence[str], *, as_json: bool) -> Exit:
    if not (chosen or as_json):
        list_rejected(installation, batch)
    retried = _retried(installation, batch, chosen)
    if as_json:
        say_json(_plain(retried))
        return Exit.DONE
    say(*_said(retried))
    say(f"Next: lakegate wait {batch}")
    return Exit.DONE


def _retried(installation: Installation, batch: str, chosen: Sequence[str] = ()) -> Retried:
    with busy(f"starting a new attempt at {batch}"):
        return installation.operations.run(Retry(batch=batch, files=tuple(chosen)))


def _said(retried: Retried) -> list[RenderableType]:
    first, *more = retried.attempts
    at = f"of batch {first.batch} of {first.table}"
    if not more:
        return [f"Attempt a{first.number} {at} is in progress on {first.branch}", *left_as_rejected(retried.left)]
    *names, last = [f"a{attempt.number}" for attempt in retried.attempts]
    return [f"Attempts {', '.join(names)} and {last} {at} are in progress", *left_as_rejected(retried.left)]


def left_as_rejected(left: Mapping[str, str]) -> list[RenderableType]:
    """Return the files that stay rejected, with the reasons."""
    head = [f"Still rejected ({count(len(left), 'file')}):"] if left else []
    return [*head, *(indented(f"{key}: {why}", 4, "yellow") for key, why in left.items())]


def _plain(retried: Retried) -> dict[str, object]:
    """Return the first attempt as JSON, and all of them if there are several."""
    first = retried.attempts[0]
    its = [{"attempt": attempt.number, "branch": attempt.branch} for attempt in retried.attempts]
    more = {"attempts": its} if len(its) > 1 else {}
    return {"batch": first.batch, "table": first.table, **its[0], **more, "left": dict(retried.left)}


@dataclass(kw_only=True)
class _Outcomes:
    """An outcome for each batch; a batch that is worked on already counts as under way."""

    retried: list[Retried] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)
    left: dict[str, Exception] = field(default_factory=dict)

    def add(self, installation: Installation, batch: str) -> list[RenderableType]:
        """Try the batch again. Return the lines to print."""
        try:
            self.retried.append(_retried(installation, batch))
        except UnderWay as why:
            self.under_way.append(batch)
            return [f"Not retried: {why}"]
        except Exception as why:  # noqa: BLE001 (a fault of ours is raised when all were tried)
            self.left[batch] = why
            first, *more = paragraph(why).split("\n")
            return [f"Not retried: {batch}: {first}", *(indented(line, 4) for line in more)]
        return _said(self.retried[-1])

    @property
    def plain(self) -> dict[str, object]:
        left = {batch: paragraph(why) for batch, why in self.left.items()}
        return {"retried": [_plain(it) for it in self.retried], "under_way": self.under_way, "left": left}


def _all(installation: Installation, batches: Sequence[str], as_json: bool) -> Exit:  # noqa: FBT001
    outcomes = _Outcomes()
    for batch in batches:
        lines = outcomes.add(installation, batch)
        if not as_json:
            say(*lines)
    if as_json:
        say_json(outcomes.plain)
    else:
        say(f"In progress: {len(batches) - len(outcomes.left):,} of {len(batches):,} batches. Next: lakegate wait")
    foreseen(outcomes.left.values())
    return max(map(exit_code, outcomes.left.values()), default=Exit.DONE)
