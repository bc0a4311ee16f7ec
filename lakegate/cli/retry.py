"""`retry`: rejected batches are tried again, one or many. A batch that fails to start stops no other."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from rich.console import RenderableType

from lakegate.cli.choice import list_rejected
from lakegate.cli.exits import Exit, exit_code, paragraph
from lakegate.cli.installation import Installation
from lakegate.cli.terminal import busy, indent, print_lines, say_json
from lakegate.counts import count
from lakegate.errors import Misconfigured, foreseen
from lakegate.operations.acts import Retry
from lakegate.workflow.retry import RetryResult, UnderWay


def retry(installation: Installation, batches: Sequence[str], keys: Sequence[str] = (), *, as_json: bool) -> Exit:
    names = list(dict.fromkeys(batches))
    if len(names) == 1:
        return _retry_single(installation, names[0], keys, as_json=as_json)
    if keys:
        raise Misconfigured("--file names files of one batch: give one BATCH with it")
    return _all(installation, names, as_json)


def _retry_single(installation: Installation, batch: str, keys: Sequence[str], *, as_json: bool) -> Exit:
    if not (keys or as_json):
        list_rejected(installation, batch)
    result = _start_attempt(installation, batch, keys)
    if as_json:
        say_json(_plain(result))
        return Exit.SUCCESS
    print_lines(*_result_lines(result))
    print_lines(f"Next: lakegate wait {batch}")
    return Exit.SUCCESS


def _start_attempt(installation: Installation, batch: str, keys: Sequence[str] = ()) -> RetryResult:
    with busy(f"starting a new attempt at {batch}"):
        return installation.operations.run(Retry(batch=batch, files=tuple(keys)))


def _result_lines(result: RetryResult) -> list[RenderableType]:
    first, *further = result.attempts
    at = f"of batch {first.batch} of {first.table}"
    if not further:
        return [f"Attempt a{first.number} {at} is in progress on {first.branch}", *left_as_rejected(result.rest)]
    *names, last = [f"a{attempt.number}" for attempt in result.attempts]
    return [f"Attempts {', '.join(names)} and {last} {at} are in progress", *left_as_rejected(result.rest)]


def left_as_rejected(refusals: Mapping[str, str]) -> list[RenderableType]:
    """Return the files that stay rejected, with the reasons."""
    head = [f"Still rejected ({count(len(refusals), 'file')}):"] if refusals else []
    return [*head, *(indent(f"{key}: {reason}", 4, "yellow") for key, reason in refusals.items())]


def _plain(result: RetryResult) -> dict[str, object]:
    """Return the first attempt as JSON, and all of them if there are several."""
    first = result.attempts[0]
    attempts = [{"attempt": attempt.number, "branch": attempt.branch} for attempt in result.attempts]
    members = {"attempts": attempts} if len(attempts) > 1 else {}
    return {"batch": first.batch, "table": first.table, **attempts[0], **members, "left": dict(result.rest)}


@dataclass(kw_only=True)
class _Outcomes:
    """An outcome for each batch; a batch that is worked on already counts as under way."""

    results: list[RetryResult] = field(default_factory=list)
    under_way: list[str] = field(default_factory=list)
    errors: dict[str, Exception] = field(default_factory=dict)

    def add(self, installation: Installation, batch: str) -> list[RenderableType]:
        """Try the batch again. Return the lines to print."""
        try:
            self.results.append(_start_attempt(installation, batch))
        except UnderWay as error:
            self.under_way.append(batch)
            return [f"Not retried: {error}"]
        except Exception as error:  # noqa: BLE001 (a fault of ours is raised when all were tried)
            self.errors[batch] = error
            first, *further = paragraph(error).split("\n")
            return [f"Not retried: {batch}: {first}", *(indent(line, 4) for line in further)]
        return _result_lines(self.results[-1])

    @property
    def plain(self) -> dict[str, object]:
        texts = {batch: paragraph(error) for batch, error in self.errors.items()}
        return {"retried": [_plain(result) for result in self.results], "under_way": self.under_way, "left": texts}


def _all(installation: Installation, batches: Sequence[str], as_json: bool) -> Exit:  # noqa: FBT001
    outcomes = _Outcomes()
    for batch in batches:
        lines = outcomes.add(installation, batch)
        if not as_json:
            print_lines(*lines)
    if as_json:
        say_json(outcomes.plain)
    else:
        print_lines(
            f"In progress: {len(batches) - len(outcomes.errors):,} of {len(batches):,} batches. Next: lakegate wait"
        )
    foreseen(outcomes.errors.values())
    return max(map(exit_code, outcomes.errors.values()), default=Exit.SUCCESS)
