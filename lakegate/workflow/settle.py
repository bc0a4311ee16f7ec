"""Settling: after the job has ended, publish what passed, reject what did not, tell, and tidy up.

It may be run at any time, by anyone, again: it looks at what is already done and goes on from there.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import structlog

from lakegate.audit.job import Job
from lakegate.audit.report import FileReport, Report, Verdict
from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import GONE, FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Entry, Receipt, entry_of
from lakegate.landing.standing import is_open, standing
from lakegate.ports import JobRun, JobState, ToldFile
from lakegate.workflow.archive import known
from lakegate.workflow.attempt import open_attempt
from lakegate.workflow.audited import Audited, DecidedOtherwise, NeedsNewAttempt
from lakegate.workflow.claims import claims_on, job_of, not_taken_on, open_attempts, open_files
from lakegate.workflow.decide import decide
from lakegate.workflow.history import DECISIONS
from lakegate.workflow.publish import publish
from lakegate.workflow.rebase import take_off
from lakegate.workflow.reports import accept_report, note_end
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.backoff import Crash, crash, tried_again, why_no_report
from lakegate.workflow.settlement.findings import Finding
from lakegate.workflow.settlement.keys import freed
from lakegate.workflow.settlement.queue import ahead, takes_turns, waiting
from lakegate.workflow.settlement.references import Again, early, premature
from lakegate.workflow.shelf import contract_of
from lakegate.workflow.tell import (
    LATE,
    approved_message,
    rejected_message,
    rejection,
    tell,
    told_at,
    waiting_message,
    warned_message,
)

log = structlog.get_logger()


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What the job found: files that passed, a finding for each that did not; `report` is None if it left none, and
    then `crash` tells whether the job crashed.
    """

    good: tuple[FileVersion, ...]
    bad: tuple[Finding, ...]
    report: Report | None
    error: str = ""
    crash: Crash | None = None

    @cached_property
    def reported(self) -> dict[str, FileReport]:
        """By file version's id."""
        return {entry.id: entry for entry in self.report.files} if self.report else {}


def settle(service: Service, attempt: Attempt) -> None:
    """Bring an attempt to its end if its job has ended and it is its turn; otherwise do nothing. Those that have waited
    for it come next.
    """
    job = job_of(service.store, attempt)
    if job is None or not _settle(service, attempt, job):
        return
    for other in waiting(service, attempt) if takes_turns(job) else ():
        try:
            its = job_of(service.store, other)
            if its is None or not _settle(service, other, its):
                return
        except Exception as error:  # noqa: BLE001 (it has an event or a sweep of its own, which tries and says it again)
            log.warning("next_not_settled", branch=other.branch, error=str(error), kind=type(error).__name__)
            return


def _settle(service: Service, attempt: Attempt, job: Job) -> bool:
    """Whether there was something to settle and it was its turn.

    Files that a later attempt has taken on are that one's matter, whatever a job that was given up says of them now.
    """
    claims = claims_on(service, attempt, job)
    outcome = accept_outcome(service, attempt, job, not_taken_on(service, attempt, claims)) if claims else None
    if outcome is None:
        return False
    aside = premature(service, attempt, job, outcome.report, outcome.good)
    good = tuple(file for file in outcome.good if file not in aside.files)
    free = _freed(service, attempt, job, outcome)
    published = _publish_good(service, attempt, job, claims, replace(outcome, good=good))
    if published.behind:
        return False
    again = _again(service, attempt, job, outcome)
    due = aside.now and again.now and _give_up(service, attempt, outcome.crash, again)
    retried = [*published.retry, *((*aside.files, *again.files) if due else ())]
    if free and (retried or due):
        retried += not_taken_on(service, attempt, free)
    if retried:  # one next attempt for all of them: each is a Spark job
        open_attempt(service, attempt.next(), retried)
    if not due:
        return True  # the sweep, or whoever else settles, takes it up
    decide(service, attempt, Decision.REJECTED, [it for it in outcome.bad if it.file not in (*again.files, *free)])
    _finish(service, attempt, claims, outcome)
    return True


def _give_up(service: Service, attempt: Attempt, crashed: Crash | None, again: Again) -> bool:
    """Note that the attempt is given up, where it crashed and another is to follow. Return False where its report was
    noted first: then the attempt is settled by that.
    """
    return not (crashed and again.files) or note_end(service.store, attempt, crashed.end)


def _again(service: Service, attempt: Attempt, job: Job, outcome: Outcome) -> Again:
    """Those of the files that did not pass which the next attempt takes instead of their being rejected."""
    files = [finding.file for finding in outcome.bad]
    if outcome.crash:
        again = tried_again(service, attempt, outcome.crash, files)
        _tell_waiting(service, attempt, outcome.crash, again.files)
        return again
    return early(service, attempt, job, outcome.report, files)


def _freed(service: Service, attempt: Attempt, job: Job, outcome: Outcome) -> list[FileVersion]:
    """Those of the files that did not pass whose keys are free by now. The next attempt takes them together with what
    passed: of the same key the file that landed first stays.
    """
    ids = freed(job.plan, outcome.report) if outcome.report else frozenset[str]()
    files = [finding.file for finding in outcome.bad if finding.file.id in ids]
    return open_files(service, attempt, files) if files else []


def accept_outcome(service: Service, attempt: Attempt, job: Job, claims: Iterable[FileVersion]) -> Outcome | None:
    """Note the attempt's report as its end, if there is one, and return what became of each claimed file; None while
    the job is still under way.
    """
    claims = tuple(claims)
    try:
        ended = _accept_end(service, attempt)
    except Refused as why:
        return _without_report(claims, str(why))
    if ended is None:
        return None
    if isinstance(ended, Report):
        return _by_report(ended, claims, job.left_out)
    crashed = crash(service, attempt, job, ended)
    return replace(_without_report(claims, str(crashed or why_no_report(ended))), crash=crashed)


def _accept_end(service: Service, attempt: Attempt) -> Report | JobRun | None:
    """Note the attempt's report as its end and return it, or return the run that ended without one; None while it runs.
    Raises Refused where the report can't be read.
    """
    if report := accept_report(service.store, attempt):
        return report
    run = service.runner.find(attempt.branch)
    if run is None or run.state is JobState.RUNNING:
        return None
    return accept_report(service.store, attempt) or run  # it may have been written between the two looks


def _without_report(claims: tuple[FileVersion, ...], why: str) -> Outcome:
    return Outcome(good=(), bad=tuple(Finding(file=file, reasons=(why,)) for file in claims), report=None, error=why)


def _by_report(report: Report, claims: tuple[FileVersion, ...], left_out: Mapping[str, str]) -> Outcome:
    entries = {entry.id: entry for entry in report.files}
    good = tuple(file for file in claims if file.id in entries and entries[file.id].verdict is not Verdict.FAIL)
    if report.error:
        good = ()
    gone = {file.id: left_out.get(file.id, GONE) for file in claims if file.id not in entries}
    bad = tuple(
        _finding(file, entries.get(file.id), report.error or gone.get(file.id, ""))
        for file in claims
        if file not in good
    )
    return Outcome(good=good, bad=bad, report=report, error=report.error)


def _finding(file: FileVersion, entry: FileReport | None, error: str) -> Finding:
    if error or entry is None:
        return Finding(file=file, reasons=(error,))
    return Finding(file=file, reasons=entry.reasons, rows=entry.rows)


@dataclass(frozen=True, kw_only=True)
class Published:
    """What publishing came to: nothing where the attempt `behind` which it stands goes first; `retry` are files that
    main's move has changed verdicts of, so that the next attempt takes them.
    """

    behind: Attempt | None = None
    retry: tuple[FileVersion, ...] = ()


def _publish_good(
    service: Service, attempt: Attempt, job: Job, claims: list[FileVersion], outcome: Outcome
) -> Published:
    if outcome.report is None:
        return Published()
    audited = Audited(attempt=attempt, base=job.base, report=outcome.report, claims=tuple(claims))
    good = list(outcome.good)
    if takes_turns(job):
        good = _close_superseded(service, audited, good)
        if good and (first := ahead(service, attempt)):
            log.info("not_its_turn", branch=attempt.branch, first=first.branch)
            return Published(behind=first)
    while good:
        try:
            publish(service, audited, good)
        except NeedsNewAttempt as why:
            log.info("new_attempt", branch=attempt.branch, why=str(why))
            return Published(retry=tuple(_close_superseded(service, audited, good)))
        except Refused as why:
            left = not_taken_on(service, attempt, _close_superseded(service, audited, good))
            if left != good:  # another worker was first with some, which must not keep the rest from being published
                good = left
                continue
            _reject(service, attempt, good, why)
        break
    return Published()


def _reject(service: Service, attempt: Attempt, files: Iterable[FileVersion], why: Refused) -> None:
    """A proof failed: the branch is not what was audited, and never will be. Raises Conflict where they were refused
    for what is not so any more.
    """
    if isinstance(why, DecidedOtherwise):
        raise Conflict(f"{why}; not so by the contract that was pushed since: the next sweep settles it") from why
    _require_branch(service, attempt)
    decide(service, attempt, Decision.REJECTED, [Finding(file=file, reasons=(str(why),)) for file in files])


def _close_superseded(service: Service, audited: Audited, files: Iterable[FileVersion]) -> list[FileVersion]:
    """Decide those of the open files that other versions of their keys supersede since they were claimed. Return the
    open files that are left.
    """
    files = list(files)
    return _close_by_receipts(service, audited.attempt, files, known(service, files), audited.reported)


def _close_by_receipts(
    service: Service,
    attempt: Attempt,
    files: Iterable[FileVersion],
    receipts: Mapping[str, Receipt],
    reported: Mapping[str, FileReport],
) -> list[FileVersion]:
    reuploads = contract_of(service.store, attempt.table).ingestion.reuploads
    files = [file for file in files if is_open(receipts, file, attempt)]
    stand = {file.id: standing(receipts.get(file.key), file, attempt.table, reuploads) for file in files}
    closed = {file: decision for file in files if (decision := stand[file.id].decision)}
    for file in _its_matter(service, attempt, list(closed)):
        rows = reported[file.id].rows if file.id in reported else 0
        finding = Finding(file=file, reasons=(stand[file.id].reason,), rows=rows, reuploads=reuploads)
        decide(service, attempt, closed[file], [finding])
    return [file for file in files if file not in closed]


def _its_matter(service: Service, attempt: Attempt, files: list[FileVersion]) -> list[FileVersion]:
    """Those of the files that no later attempt has taken on. Raises Conflict where the branch is gone that is kept for
    what is rejected.
    """
    left = not_taken_on(service, attempt, files) if files else []
    if left:
        _require_branch(service, attempt)
    return left


def _require_branch(service: Service, attempt: Attempt) -> None:
    if service.catalog.head(attempt.branch) is None:
        raise Conflict(f"branch {attempt.branch} is gone: another worker has settled it")


def _finish(service: Service, attempt: Attempt, claims: list[FileVersion], outcome: Outcome) -> None:
    """Tell what was decided, take what is published off the branch, and delete branches that nobody needs any more.

    What the next attempt was to take and did not, because its key's other versions decide it by now, is decided first:
    nobody else may do that for a branch that is gone. Where they do not any more, by a contract that was pushed between
    the two looks, the branch is left as it is: the sweep settles it again, and tells of all at once.
    """
    receipts = known(service, claims)
    if left := _undecided(service, attempt, claims, receipts):
        if _close_by_receipts(service, attempt, left, receipts, outcome.reported):
            return
        receipts = known(service, claims)
    if kept := _tell(service, attempt, claims, outcome, receipts):
        _prune(service, attempt, [file for file in claims if file not in kept], outcome)
    else:
        service.catalog.delete_branch(attempt.branch)
    delete_settled(service, attempt)


def _undecided(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion], receipts: Mapping[str, Receipt]
) -> list[FileVersion]:
    """What is neither decided nor a later attempt's matter."""
    still_open = [file for file in claims if is_open(receipts, file, attempt)]
    return not_taken_on(service, attempt, still_open) if still_open else []


def _is_its(entry: Entry | None, decision: Decision, attempt: Attempt) -> bool:
    """Whether this attempt decided so. Its branch is kept for what it rejected, and it tells of nobody else's files."""
    return entry is not None and entry.decision is decision and entry.is_of(attempt)


def _prune(service: Service, attempt: Attempt, gone: list[FileVersion], outcome: Outcome) -> None:
    """Leave the rejected files' rows and claims alone on the branch that is kept."""
    if not gone or outcome.report is None:
        return
    audited = Audited(attempt=attempt, base=outcome.report.base, report=outcome.report, claims=())
    try:
        take_off(service, audited, gone, attempt.branch)
    except (Conflict, Refused) as why:  # another worker is at it; the next sweep sees whether something is left
        log.warning("not_pruned", branch=attempt.branch, why=str(why))


def _tell(
    service: Service,
    attempt: Attempt,
    claims: list[FileVersion],
    outcome: Outcome,
    receipts: Mapping[str, Receipt],
) -> list[FileVersion]:
    """Tell what this attempt decided. Returns the files that it rejected."""
    entries = {file.id: entry_of(receipts, file) for file in claims}
    kept, published = (
        [file for file in claims if _is_its(entries[file.id], decision, attempt)]
        for decision in (Decision.REJECTED, Decision.PUBLISHED)
    )
    if published and outcome.report is None:  # the report tells what is to be said, and came after this worker's look
        raise Conflict(f"branch {attempt.branch}: another worker has published by its report; settle it again")
    reports = outcome.reported
    reported = [(file, reports[file.id]) for file in published if file.id in reports]
    rows = sum(report.rows for _, report in reported)
    replaced = sum(report.replaces.rows for _, report in reported)
    if kept:
        told = [_told(file, entries[file.id], reports.get(file.id)) for file in kept]
        message = rejected_message(
            attempt,
            told,
            branch=attempt.branch,
            why=outcome.error,
            appended=[file.id for file in kept if file.id in reports and reports[file.id].data_files],
            published_files=len(published),
            published_rows=rows,
        )
        tell(service, rejection(attempt), message)
    passed = [(file, report) for file, report in reported if report.verdict is not Verdict.FAIL]
    if len(passed) < len(reported):
        tell_approved(service, attempt)
    if warned := [(file, report) for file, report in passed if report.warnings]:
        files = [_told_warnings(file, report) for file, report in warned]
        aside = {report.id: report.quarantined_rows for _, report in warned if report.quarantined}
        tell(
            service,
            f"{attempt.branch}-warned",
            warned_message(attempt, files, rows, quarantined=aside, replaced=replaced),
        )
    return kept


def _tell_waiting(service: Service, attempt: Attempt, crashed: Crash, files: Sequence[FileVersion]) -> None:
    """Tell of files that wait because no job gets through to them: once a day for a table, for it may be so for all of
    its batches.
    """
    now = service.clock.now()
    if files and not crashed.began and now - min(file.landed_at for file in files) >= LATE:
        tell(service, f"{attempt.table}-waiting-{now:%Y%m%d}", waiting_message(attempt, files, str(crashed)))


def tell_approved(service: Service, attempt: Attempt) -> None:
    """Tell of what people let through of this attempt, as main's log has it: each time they did."""
    for decided in service.catalog.decisions(DECISIONS, batch=attempt.batch):
        note = decided.note
        if (note.decision, note.attempt) == (Decision.PUBLISHED, attempt.number) and note.by:
            tell(service, f"{attempt.branch}-approved-{decided.commit[:16]}", approved_message(note))


def _told(file: FileVersion, entry: Entry | None, report: FileReport | None) -> ToldFile:
    failed = [check.failing_rows for check in report.checks if check.verdict is Verdict.FAIL] if report else []
    failing = failed[0] if len(failed) == 1 else 0  # of several checks, the same row may have failed more than one
    return ToldFile(
        key=file.key, reasons=entry.reasons if entry else (), rows=report.rows if report else 0, failing_rows=failing
    )


def _told_warnings(file: FileVersion, report: FileReport) -> ToldFile:
    aside = report.quarantined_rows
    reasons = (*report.warnings, *report.unread)
    return ToldFile(key=file.key, reasons=reasons, rows=report.rows + aside, failing_rows=aside)


def delete_settled(service: Service, attempt: Attempt) -> None:
    """Delete the branches of this batch's earlier attempts that keep no rejected file any more. What one of them has
    decided may not have been told yet, where whoever settled it died: without its branch nobody would look again.
    """
    if attempt.number < 2:  # noqa: PLR2004 (a first attempt has no earlier ones)
        return
    for other in open_attempts(service.catalog):
        if other.batch != attempt.batch or other.number >= attempt.number:
            continue
        job = job_of(service.store, other)
        claims = claims_on(service, other, job)
        if keeps_nothing(service, other, claims):
            if outcome := accept_outcome(service, other, job, claims) if job else None:
                _tell(service, other, claims, outcome, known(service, claims))
            service.catalog.delete_branch(other.branch)


def keeps_nothing(service: Service, attempt: Attempt, claims: Iterable[FileVersion]) -> bool:
    """Whether all files that an attempt claims are decided, also those that it tries again, and it rejected none."""
    claims = list(claims)
    receipts = known(service, claims)
    rejected = [file for file in claims if _is_its(entry_of(receipts, file), Decision.REJECTED, attempt)]
    return not rejected and not any(is_open(receipts, file, attempt) for file in claims)


def is_at_rest(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion], receipts: Mapping[str, Receipt]
) -> bool:
    """Whether nothing is left to do for an attempt, by the receipts on main: it rejected all that its branch claims,
    and people were told. What else it claimed is off the branch then: that follows the telling, and claims go last.
    """
    rejected = all(_is_its(entry_of(receipts, file), Decision.REJECTED, attempt) for file in claims)
    return rejected and told_at(service, rejection(attempt)) is not None
