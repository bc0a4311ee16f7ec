"""Rules: they turn facts into a settlement, which says of each file whether it is published, retried, decided or waits.

They read nothing, write nothing and know no clock. They decide only what to try: publishing proves afresh that it is
safe, and a decision on main is checked against main's receipts when it is written.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import assert_never

from lakegate.audit.model.report import FileReport
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import DELETED, FileVersion
from lakegate.landing.findings import Finding
from lakegate.landing.ingestion import Reuploads
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt
from lakegate.landing.standing import standing_of
from lakegate.workflow.settlement.backoff import Crash
from lakegate.workflow.settlement.facts import Facts
from lakegate.workflow.settlement.keys import with_released_keys
from lakegate.workflow.settlement.references import Deferral, deferred, with_failing_rows


@dataclass(frozen=True, kw_only=True)
class Publish:
    """Bring the file to main."""


@dataclass(frozen=True, kw_only=True)
class Retry:
    """Give the file to the next attempt: now, or not before `until`, or sooner if what it waits for ends."""

    why: str
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Halve(Retry):
    """Give the file to one of two attempts: each takes a half of the job's files."""

    later: bool


@dataclass(frozen=True, kw_only=True)
class Release:
    """Give the file to the next attempt, together with all others that it takes: its keys are free."""


@dataclass(frozen=True, kw_only=True)
class Supersede:
    """Decide the file before anything is published: its key's other versions on main say how."""

    decision: Decision
    finding: Finding


@dataclass(frozen=True, kw_only=True)
class Reject:
    """Reject the file, once nothing else of its attempt waits."""

    finding: Finding


@dataclass(frozen=True, kw_only=True)
class Leave:
    """The file is decided already."""


Action = Publish | Retry | Halve | Release | Supersede | Reject | Leave
Answers = Mapping[FileVersion, Action]


@dataclass(frozen=True, kw_only=True)
class Wait:
    """An attempt's reason to wait, and until when it may; `behind` is the attempt that publishes first."""

    why: str
    files: tuple[FileVersion, ...]
    until: datetime | None = None
    behind: Attempt | None = None


@dataclass(frozen=True, kw_only=True)
class Settlement:
    """Everything that is to be done for an attempt. One next attempt takes the retried files and the released ones, and
    one each of the `halves`. While the attempt has something to `wait` for, no file is rejected, and only publishing
    asks for a retry.
    """

    superseded: tuple[Supersede, ...] = ()
    publish: tuple[FileVersion, ...] = ()
    retry: tuple[FileVersion, ...] = ()
    halves: tuple[tuple[FileVersion, ...], ...] = ()
    released: tuple[FileVersion, ...] = ()
    reject: tuple[Finding, ...] = ()
    wait: Wait | None = None

    @property
    def again(self) -> tuple[FileVersion, ...]:
        """Files that next attempts take without publishing asking for it."""
        return (*self.retry, *(file for half in self.halves for file in half))


def settlement(facts: Facts) -> Settlement:
    """Return the settlement of these facts. Of each file, the first rule that answers decides."""
    answers: dict[FileVersion, Action] = {}
    for rule in RULES:
        answers |= rule(facts, [file for file in facts.files if file not in answers])
    return _behind(facts, _settlement(facts, {file: answers[file] for file in facts.files}))


def handed_over(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Give the open files to the next attempt at once if the express lane left them to Spark: nothing has crashed."""
    if not facts.ended.handed_over:
        return {}
    return {file: Retry(why=facts.ended.why) if facts.is_open(file) else Leave() for file in files}


def job_without_verdicts(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Answer for all files if the job left no verdicts. After a crash next attempts take the open ones, until a file
    alone has crashed too often. After an error of files that rewrite the table, the next one takes the others.
    """
    ended = facts.ended
    if not ended.error:
        return {}
    answers: dict[FileVersion, Action] = {file: Reject(finding=_without_verdict(facts, file)) for file in files}
    if ended.crash and not ended.crash.is_last:
        answers |= {file: _after(ended.crash, facts, file) for file in answers if facts.is_open(file)}
    beside = _beside_rewriting(facts)
    return answers | {file: Retry(why=ended.error) for file in answers if file.id in beside and facts.is_open(file)}


def _beside_rewriting(facts: Facts) -> frozenset[str]:
    """Return the files that had nothing to do with the error if it is that rows could not be taken out of shared data
    files: those for which no row was to be. Without the others their next job cannot meet it.
    """
    if not facts.ended.report or not facts.job.rewritten:
        return frozenset()
    return frozenset(file.id for file in facts.job.files if not file.replaces.rewritten)


def _without_verdict(facts: Facts, file: FileVersion) -> Finding:
    """Return why a file is rejected that has no verdict. A crash is no reason for one that the job never had."""
    crashed, left_out = facts.ended.crash, facts.job.left_out.get(file.id)
    if crashed is None:
        return Finding(file=file, reasons=(facts.ended.error,))
    if left_out:
        return Finding(file=file, reasons=(left_out,))
    return Finding(file=file, reasons=(f"{crashed}{_next_step(facts) if crashed.with_others else ''}",))


def _next_step(facts: Facts) -> str:
    return f". Make the file smaller or give jobs more memory, then run: lakegate retry {facts.attempt.batch}"


def _after(crashed: Crash, facts: Facts, file: FileVersion) -> Retry:
    """Return which next attempt takes an open file after a crash. The halves are those of the frozen job, so that they
    stay the same whoever settles, and whatever is claimed or decided meanwhile.
    """
    until = crashed.due if facts.now < crashed.due else None
    if not crashed.halves:
        return Retry(why=str(crashed), until=until)
    ids = [each.id for each in facts.job.files]
    return Halve(why=str(crashed), until=until, later=file.id in ids[(len(ids) + 1) // 2 :])


def missing_from_report(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Reject files that the job never had, because they were gone from the landing bucket or were left out."""
    gone = [file for file in files if file.id not in facts.ended.reported]
    why = facts.job.left_out
    return {file: Reject(finding=Finding(file=file, reasons=(why.get(file.id, DELETED),))) for file in gone}


def unresolved_reference(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Retry files whose only fault is that rows they refer to are not on main yet."""
    asked = set(files)
    groups = (
        deferred(facts, [file for file in group if file in asked]) for group in (with_failing_rows(facts), facts.bad)
    )
    return {file: Retry(why=_why(each), until=each.until) for each in groups for file in each.files}


def released_key(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Release files that failed only for keys of files that failed after quarantine: those keys are free."""
    free = set(released(facts))
    return {file: Release() for file in files if file in free}


def superseded_by_key(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Decide good files whose key has another version on main. Without an order of batches, publishing finds these."""
    if facts.reuploads is None:
        return {}
    its = [file for file in files if file.id in facts.ended.passed]
    decided: dict[FileVersion, Action] = {file: Leave() for file in its if not facts.is_open(file)}
    still = [file for file in its if file not in decided]
    closed = superseded(facts.attempt, still, facts.receipts, facts.reuploads, facts.ended.reported)
    return decided | {each.finding.file: each for each in closed}


def verdict(facts: Facts, files: Iterable[FileVersion]) -> Answers:
    """Publish files that passed their audit, and reject the others."""
    passed, reported = facts.ended.passed, facts.ended.reported
    return {it: Publish() if it.id in passed else Reject(finding=_finding(it, reported[it.id])) for it in files}


RULES: tuple[Callable[[Facts, Iterable[FileVersion]], Answers], ...] = (
    handed_over,
    job_without_verdicts,
    missing_from_report,
    unresolved_reference,
    released_key,
    superseded_by_key,
    verdict,
)
"""Rules in the order in which they are asked, each about the files that no earlier rule has answered for."""


def released(facts: Facts) -> tuple[FileVersion, ...]:
    """Return the open files that failed only for keys that are free by now. They are audited again together with the
    files that passed, because of files with the same key the one that landed first stays.
    """
    ids = with_released_keys(facts.job.plan, facts.ended.report) if facts.ended.report else frozenset[str]()
    return tuple(file for file in facts.bad if file.id in ids and facts.is_open(file))


def superseded(
    attempt: Attempt,
    files: Iterable[FileVersion],
    receipts: Mapping[str, Receipt],
    reuploads: Reuploads,
    reported: Mapping[str, FileReport],
) -> list[Supersede]:
    """Return the decisions on those of the files that other versions of their keys on main supersede."""
    stand = {file: standing_of(receipts.get(file.key), file, attempt.table, reuploads) for file in files}
    return [
        Supersede(
            decision=decision,
            finding=Finding(
                file=file,
                reasons=(its.reason,),
                rows=reported[file.id].rows if file.id in reported else 0,
                reuploads=reuploads,
            ),
        )
        for file, its in stand.items()
        if (decision := its.decision)
    ]


def goes_first(facts: Facts) -> bool:
    """Return True if the attempt keeps newer batches of its table waiting: it has good files left, and not all of them
    wait for references. A batch that waits keeps nobody waiting, lest two batches wait for each other.
    """
    good = [file for file in facts.good if facts.is_open(file)]
    waits = deferred(facts, [file for file in with_failing_rows(facts) if facts.is_open(file)])
    return bool(good) and (waits.until is None or len(waits.files) < len(good))


def _settlement(facts: Facts, answers: Answers) -> Settlement:
    superseded, publish, retries, reject = (
        list[Supersede](),
        list[FileVersion](),
        dict[FileVersion, Retry](),
        list[Finding](),
    )
    for file, each in answers.items():
        match each:
            case Supersede():
                superseded.append(each)
            case Publish():
                publish.append(file)
            case Retry():  # a Halve, too
                retries[file] = each
            case Reject():
                reject.append(each.finding)
            case Release() | Leave():
                pass
            case _:
                assert_never(each)
    ready = Settlement(superseded=tuple(superseded), publish=tuple(publish), released=released(facts))
    if first := next((each for each in retries.values() if each.until), None):
        return replace(ready, wait=Wait(why=first.why, until=first.until, files=tuple(retries)))
    halves = (_half(retries, later=False), _half(retries, later=True))
    together = tuple(file for file, answer in retries.items() if not isinstance(answer, Halve))
    return replace(ready, retry=together, halves=tuple(half for half in halves if half), reject=tuple(reject))


def _half(retries: Mapping[FileVersion, Retry], *, later: bool) -> tuple[FileVersion, ...]:
    return tuple(file for file, answer in retries.items() if isinstance(answer, Halve) and answer.later is later)


def _behind(facts: Facts, found: Settlement) -> Settlement:
    """Wait for the attempt that publishes first, with everything but superseded files."""
    if not found.publish or facts.predecessor is None:
        return found
    why = f"{facts.predecessor.branch} is older and is published first"
    return Settlement(superseded=found.superseded, wait=Wait(why=why, files=found.publish, behind=facts.predecessor))


def _why(deferral: Deferral) -> str:
    what = "files are in progress there" if deferral.until else "rows have changed there since"
    return f"rows that it refers to are missing from {', '.join(sorted(deferral.tables))}, and {what}"


def _finding(file: FileVersion, entry: FileReport) -> Finding:
    return Finding(file=file, reasons=entry.reasons, rows=entry.rows)
