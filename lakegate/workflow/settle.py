"""Settling: after the job has ended, publish what passed, reject what did not, notify people, and tidy up.

`settlement` says what is to be done, and this page does it with conditional writes. Anybody may settle an attempt at
any time, and again: the page looks at what is done already and goes on from there.
"""

from collections.abc import Collection, Iterable, Mapping

import structlog

from lakegate.audit.model.job import Job
from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.findings import Finding
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.landing.standing import is_open
from lakegate.ports import Signal
from lakegate.publishing.guards import NeedsNewAttempt
from lakegate.workflow.attempts.claims import files_claimed_on, list_open_attempts, not_claimed_later
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.attempts.reports import End, accept_report, hand_over, record_end
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.ledger.decisions import Commit, record
from lakegate.workflow.ledger.receipts import receipts_now
from lakegate.workflow.notices.messages import rejection
from lakegate.workflow.notices.outbox import notified_at
from lakegate.workflow.notices.outcome import decided_so, notify_outcome, notify_waiting
from lakegate.workflow.publish import publish
from lakegate.workflow.publishing.audit import Audit, DecidedMeanwhile, Objection
from lakegate.workflow.publishing.rebase import drop_files
from lakegate.workflow.publishing.rejection import commit_with_audit
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.facts import AttemptEnd, Facts
from lakegate.workflow.settlement.queue import facts_of, successors
from lakegate.workflow.settlement.reader import end_of
from lakegate.workflow.settlement.rules import Supersede, settlement, superseded

log = structlog.get_logger()


def settle(service: Service, attempt: Attempt) -> None:
    """Bring an attempt to its end, if its job has ended and no other attempt publishes first; otherwise do nothing.
    Then settle the attempts that have waited for it.
    """
    job = job_of(service.store, attempt)
    if job is None or not _settle(service, attempt, job):
        return
    for other in successors(service, attempt) if job.plan.table in job.plan.depends_on else ():
        try:
            others_job = job_of(service.store, other)
            if others_job is None or not _settle(service, other, others_job):
                return
        except Exception as error:  # noqa: BLE001 (its own event or sweep tries it again)
            log.warning("next_not_settled", branch=other.branch, error=str(error), kind=type(error).__name__)
            return


def _settle(service: Service, attempt: Attempt, job: Job) -> bool:
    """Carry out the attempt's settlement. Return False if its job has not ended or another attempt publishes first."""
    claims = files_claimed_on(service, attempt, job)
    end = accept_end(service, attempt, job) if claims else None
    if end is None:
        return False
    facts = facts_of(service, attempt, job, claims, end)
    todo = settlement(facts)
    _supersede(service, attempt, todo.superseded)
    if todo.wait and todo.wait.predecessor:
        log.info("not_its_turn", branch=attempt.branch, first=todo.wait.predecessor.branch)
        return False
    notify_waiting(service, facts, todo)
    files_to_retry = _publish(service, facts, claims, todo.publish)
    if todo.wait or not _give_up(service, facts, todo.files_to_retry):
        _retry(service, attempt, files_to_retry, todo.released_files if files_to_retry else ())
        return True  # the next sweep settles the rest
    _retry(service, attempt, [*files_to_retry, *todo.retry], todo.released_files)
    for half in todo.halves:
        start_attempt(service, attempt.next(), half)
    record(service, attempt, Decision.REJECTED, todo.reject, commit=_with_audit(service, facts, claims))
    if end.crash:
        service.telemetry.emit({Signal.JOBS_FAILED: 1}, attempt.table)
    if end.handed_over:
        service.telemetry.emit({Signal.FILES_HANDED_OVER: len(todo.retry)}, attempt.table)
    _finish(service, attempt, claims, end)
    return True


def _with_audit(service: Service, facts: Facts, claims: Iterable[FileVersion]) -> Commit | None:
    """Return the commit of a rejection, if the audits table gets what the attempt's audit found."""
    audited_attempt = _audited_attempt(facts, claims)
    if audited_attempt is None or not any(entry.noted for entry in audited_attempt.report.files):
        return None
    return commit_with_audit(service, audited_attempt)


def _audited_attempt(facts: Facts, claims: Iterable[FileVersion]) -> Audit | None:
    """Return the attempt as publishing takes it, or None if it has no report."""
    report = facts.end.report
    if report is None:
        return None
    return Audit(attempt=facts.attempt, base=facts.job.base, report=report, claims=tuple(claims))


def _retry(
    service: Service, attempt: Attempt, files: Iterable[FileVersion], extra_files: Collection[FileVersion]
) -> None:
    """Start one next attempt for all of these files, because each attempt is a job. It also takes the released
    files that no later attempt has claimed.
    """
    free = not_claimed_later(service, attempt, extra_files) if extra_files else ()
    if all_files := list(dict.fromkeys([*files, *free])):  # a released file may be among the others
        start_attempt(service, attempt.next(), all_files)


def accept_end(service: Service, attempt: Attempt, job: Job) -> AttemptEnd | None:
    """Record the attempt's report, if there is one, as its end. Return how the attempt ended, or None while its job is
    under way.
    """
    return end_of(service, attempt, job, accept_report)


def _give_up(service: Service, facts: Facts, files: Collection[FileVersion]) -> bool:
    """Record that the attempt is given up, or handed over, if its job left no report and a next attempt is to follow.
    Return False if its report was recorded first: the attempt is then settled by its report.
    """
    end, crash = facts.end, facts.end.crash
    if not files or not (crash or end.handed_over):
        return True
    if end.handed_over:
        hand_over(service.store, facts.attempt, end.reason)
        return record_end(service.store, facts.attempt, End.HANDED_OVER)
    return record_end(service.store, facts.attempt, End.GIVEN_UP if crash and crash.began else End.NEVER_BEGAN)


def _publish(
    service: Service, facts: Facts, claims: Iterable[FileVersion], files: Collection[FileVersion]
) -> list[FileVersion]:
    """Publish these files, or reject them if a proof fails. Return the files that the next attempt takes, because main
    has changed in a way that may change their verdicts.
    """
    attempt, audited_attempt, good = facts.attempt, _audited_attempt(facts, claims), list(files)
    if audited_attempt is None:
        return []
    while good and (reason := _publish_or_why(service, audited_attempt, good)):
        open_files = _close_superseded(service, attempt, good, receipts_now(service, good), facts.end)
        if isinstance(reason, NeedsNewAttempt):
            log.info("new_attempt", branch=attempt.branch, why=reason.reason)
            return open_files
        open_files = not_claimed_later(service, attempt, open_files)
        if open_files == good:
            _reject(service, attempt, good, reason)
            return []
        good = open_files  # another worker decided some of them first; the rest can be published
    return []


def _publish_or_why(service: Service, audited_attempt: Audit, files: list[FileVersion]) -> Objection | Refused | None:
    """Publish these files, or return the reason why not: main has changed, or a proof failed."""
    try:
        return publish(service, audited_attempt, files)
    except Refused as error:
        return error


def _reject(
    service: Service, attempt: Attempt, files: Iterable[FileVersion], problem: DecidedMeanwhile | Refused
) -> None:
    """Reject files because a proof failed: the branch does not hold what was audited, and never will. Raise Conflict if
    the reason to refuse them does not hold any more.
    """
    if isinstance(problem, DecidedMeanwhile):
        raise Conflict(
            f"{problem.reason}. The contract pushed since then no longer says so; the next sweep settles the batch"
        )
    _require_branch(service, attempt)
    record(service, attempt, Decision.REJECTED, [Finding(file=file, reasons=(str(problem),)) for file in files])


def _close_superseded(
    service: Service, attempt: Attempt, files: Iterable[FileVersion], receipts: Mapping[str, Receipt], end: AttemptEnd
) -> list[FileVersion]:
    """Decide the open files that other versions of their keys supersede. Return the open files that are left."""
    reuploads = contract_of(service.store, attempt.table).ingestion.reuploads
    files = [file for file in files if is_open(receipts, file, attempt)]
    closures = superseded(attempt, files, receipts, reuploads, end.reports_by_id)
    _supersede(service, attempt, closures)
    closed_files = {closure.finding.file for closure in closures}
    return [file for file in files if file not in closed_files]


def _supersede(service: Service, attempt: Attempt, closures: Collection[Supersede]) -> None:
    """Write these decisions, but for files that a later attempt has claimed. Raise Conflict if the branch, which is
    kept for rejected files, is gone.
    """
    own_files = (
        set(not_claimed_later(service, attempt, [closure.finding.file for closure in closures])) if closures else ()
    )
    if own_files:
        _require_branch(service, attempt)
    for closure in closures:
        if closure.finding.file in own_files:
            record(service, attempt, closure.decision, [closure.finding])


def _require_branch(service: Service, attempt: Attempt) -> None:
    """Raise Conflict if the attempt's branch is gone."""
    if service.branches.head(attempt.branch) is None:
        raise Conflict(f"branch {attempt.branch} is gone: another worker has settled it")


def _finish(service: Service, attempt: Attempt, claims: list[FileVersion], end: AttemptEnd) -> None:
    """Notify people of the decisions, take published files off the branch, and delete branches that nobody needs.

    The next attempt leaves out files that other versions of their keys supersede by now. Those are decided first,
    because nobody can decide them once the branch is gone. If a contract pushed meanwhile says that they are not
    superseded, the branch is left as it is: the sweep settles it again and notifies of all files at once.
    """
    receipts = receipts_now(service, claims)
    if open_files := _undecided_files(service, attempt, claims, receipts):
        if _close_superseded(service, attempt, open_files, receipts, end):
            return
        receipts = receipts_now(service, claims)
    if files_to_keep := notify_outcome(service, attempt, claims, end, receipts):
        _prune(service, attempt, [file for file in claims if file not in files_to_keep], end)
    else:
        service.branches.delete_branch(attempt.branch)
    delete_settled(service, attempt)


def _undecided_files(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion], receipts: Mapping[str, Receipt]
) -> list[FileVersion]:
    """Return the files that are not decided and that no later attempt has claimed."""
    still_open = [file for file in claims if is_open(receipts, file, attempt)]
    return not_claimed_later(service, attempt, still_open) if still_open else []


def _prune(service: Service, attempt: Attempt, files: list[FileVersion], end: AttemptEnd) -> None:
    """Take these files' rows and claims off the branch that is kept for the rejected files."""
    if not files or end.report is None:
        return
    audited_attempt = Audit(attempt=attempt, base=end.report.base, report=end.report, claims=())
    try:
        drop_files(service, audited_attempt, files, attempt.branch)
    except (Conflict, Refused) as error:  # another worker is at it; the next sweep looks again
        log.warning("not_pruned", branch=attempt.branch, why=str(error))


def delete_settled(service: Service, attempt: Attempt) -> None:
    """Delete the branches of the batch's earlier attempts that keep no rejected file. Tell first what such an attempt
    decided: a worker that crashed may not have told it, and without the branch nobody would look again.
    """
    if attempt.number < 2:  # noqa: PLR2004 (a first attempt has no earlier ones)
        return
    for other in list_open_attempts(service.branches):
        if other.batch != attempt.batch or other.number >= attempt.number:
            continue
        job = job_of(service.store, other)
        claims = files_claimed_on(service, other, job)
        if keeps_nothing(service, other, claims):
            if end := accept_end(service, other, job) if job and claims else None:
                notify_outcome(service, other, claims, end, receipts_now(service, claims))
            service.branches.delete_branch(other.branch)


def keeps_nothing(service: Service, attempt: Attempt, claims: Iterable[FileVersion]) -> bool:
    """Return True if all files that the attempt claims are decided and it rejected none of them."""
    claims = list(claims)
    receipts = receipts_now(service, claims)
    rejected = [file for file in claims if decided_so(entry_of(receipts, file), Decision.REJECTED, attempt)]
    return not rejected and not any(is_open(receipts, file, attempt) for file in claims)


def is_at_rest(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion], receipts: Mapping[str, Receipt]
) -> bool:
    """Return True if nothing is left to do: by main's receipts the attempt rejected all that its branch claims, and
    people were notified. Other files are off the branch then, because pruning follows notices and removes claims last.
    """
    rejected = all(decided_so(entry_of(receipts, file), Decision.REJECTED, attempt) for file in claims)
    return rejected and notified_at(service, rejection(attempt)) is not None
