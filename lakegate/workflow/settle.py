"""Settling: after the job has ended, publish what passed, reject what did not, tell, and tidy up.

It may be run at any time, by anyone, again: it looks at what is already done and goes on from there.
"""

from collections.abc import Collection, Iterable, Mapping

import structlog

from lakegate.audit.job import Job
from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.findings import Finding
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt, entry_of
from lakegate.landing.standing import is_open
from lakegate.workflow.attempts.claims import files_claimed_on, list_open_attempts, not_claimed_later
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.attempts.reports import End, accept_report, note_end
from lakegate.workflow.attempts.start import start_attempt
from lakegate.workflow.ledger.decisions import decide
from lakegate.workflow.ledger.receipts import known
from lakegate.workflow.notices.messages import (
    rejection,
)
from lakegate.workflow.notices.outbox import told_at
from lakegate.workflow.notices.outcome import decided_so, tell_outcome, tell_waiting
from lakegate.workflow.publish import publish
from lakegate.workflow.publishing.audited import Audited, DecidedMeanwhile, NeedsNewAttempt, Objection
from lakegate.workflow.publishing.rebase import drop_files
from lakegate.workflow.registry import contract_of
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.facts import Ended, Facts
from lakegate.workflow.settlement.queue import in_place, waiting
from lakegate.workflow.settlement.reader import end_of, observe
from lakegate.workflow.settlement.rules import Supersede, settlement, superseded

log = structlog.get_logger()


def settle(service: Service, attempt: Attempt) -> None:
    """Bring an attempt to its end if its job has ended and it is its turn; otherwise do nothing. Those that have waited
    for it come next.
    """
    job = job_of(service.store, attempt)
    if job is None or not _settle(service, attempt, job):
        return
    for other in waiting(service, attempt) if job.plan.table in job.plan.depends_on else ():
        try:
            its = job_of(service.store, other)
            if its is None or not _settle(service, other, its):
                return
        except Exception as error:  # noqa: BLE001 (it has an event or a sweep of its own, which tries and says it again)
            log.warning("next_not_settled", branch=other.branch, error=str(error), kind=type(error).__name__)
            return


def _settle(service: Service, attempt: Attempt, job: Job) -> bool:
    """Carry out the attempt's settlement. Return True if there was something to settle and it was its turn."""
    claims = files_claimed_on(service, attempt, job)
    ended = accept_end(service, attempt, job) if claims else None
    if ended is None:
        return False
    facts = in_place(service, observe(service, attempt, job, claims, ended))
    plan = settlement(facts)
    _supersede(service, attempt, plan.superseded)
    if plan.wait and plan.wait.behind:
        log.info("not_its_turn", branch=attempt.branch, first=plan.wait.behind.branch)
        return False
    tell_waiting(service, facts, plan)
    again = _publish(service, facts, claims, plan.publish)
    if plan.wait or not _give_up(service, facts, plan.retry):
        _retry(service, attempt, again, plan.released if again else ())
        return True  # the sweep, or whoever else settles, takes it up
    _retry(service, attempt, [*again, *plan.retry], plan.released)
    decide(service, attempt, Decision.REJECTED, plan.reject)
    _finish(service, attempt, claims, ended)
    return True


def _retry(service: Service, attempt: Attempt, files: Iterable[FileVersion], released: Collection[FileVersion]) -> None:
    """Open one next attempt for all of these files, and for those of the released ones that none has taken on: each
    attempt is a Spark job.
    """
    its = [*files, *(not_claimed_later(service, attempt, released) if released else ())]
    if its:
        start_attempt(service, attempt.next(), its)


def accept_end(service: Service, attempt: Attempt, job: Job) -> Ended | None:
    """Note the attempt's report as its end, if there is one, and return how it ended; None while the job is under
    way.
    """
    return end_of(service, attempt, job, accept_report)


def _give_up(service: Service, facts: Facts, retried: Collection[FileVersion]) -> bool:
    """Note that the attempt is given up, where it crashed and another is to follow. Return False where its report was
    noted first: then the attempt is settled by that.
    """
    crashed = facts.ended.crash
    how = End.GIVEN_UP if crashed and crashed.began else End.WAITED
    return not (crashed and retried) or note_end(service.store, facts.attempt, how)


def _publish(
    service: Service, facts: Facts, claims: Iterable[FileVersion], files: Collection[FileVersion]
) -> list[FileVersion]:
    """Publish these files, or reject them where a proof fails. Return those that the next attempt is to take, because
    main's move has changed verdicts of them.
    """
    attempt, report, good = facts.attempt, facts.ended.report, list(files)
    if report is None:
        return []
    audited = Audited(attempt=attempt, base=facts.job.base, report=report, claims=tuple(claims))
    while good and (reason := _publish_or_why(service, audited, good)):
        left = _close_superseded(service, attempt, good, facts.ended)
        if isinstance(reason, NeedsNewAttempt):
            log.info("new_attempt", branch=attempt.branch, why=reason.why)
            return left
        left = not_claimed_later(service, attempt, left)
        if left == good:
            _reject(service, attempt, good, reason)
            return []
        good = left  # another worker was first with some, which must not keep the rest from being published
    return []


def _publish_or_why(service: Service, audited: Audited, files: list[FileVersion]) -> Objection | Refused | None:
    """Publish these files, or return why not: a reason of main's, or the proof that failed."""
    try:
        return publish(service, audited, files)
    except Refused as why:
        return why


def _reject(service: Service, attempt: Attempt, files: Iterable[FileVersion], why: DecidedMeanwhile | Refused) -> None:
    """A proof failed: the branch is not what was audited, and never will be. Raises Conflict where they were refused
    for what is not so any more.
    """
    if isinstance(why, DecidedMeanwhile):
        raise Conflict(f"{why.why}; not so by the contract that was pushed since: the next sweep settles it")
    _require_branch(service, attempt)
    decide(service, attempt, Decision.REJECTED, [Finding(file=file, reasons=(str(why),)) for file in files])


def _close_superseded(
    service: Service, attempt: Attempt, files: Iterable[FileVersion], ended: Ended
) -> list[FileVersion]:
    """Decide those of the open files that other versions of their keys supersede since they were claimed. Return the
    open files that are left.
    """
    files = list(files)
    return _close_by_receipts(service, attempt, files, known(service, files), ended)


def _close_by_receipts(
    service: Service, attempt: Attempt, files: Iterable[FileVersion], receipts: Mapping[str, Receipt], ended: Ended
) -> list[FileVersion]:
    reuploads = contract_of(service.store, attempt.table).ingestion.reuploads
    files = [file for file in files if is_open(receipts, file, attempt)]
    closed = superseded(attempt, files, receipts, reuploads, ended.reported)
    _supersede(service, attempt, closed)
    gone = {each.finding.file for each in closed}
    return [file for file in files if file not in gone]


def _supersede(service: Service, attempt: Attempt, closed: Collection[Supersede]) -> None:
    """Decide those of these files that no later attempt has taken on. Raises Conflict where the branch is gone that is
    kept for what is rejected.
    """
    its = set(not_claimed_later(service, attempt, [each.finding.file for each in closed])) if closed else ()
    if its:
        _require_branch(service, attempt)
    for each in closed:
        if each.finding.file in its:
            decide(service, attempt, each.decision, [each.finding])


def _require_branch(service: Service, attempt: Attempt) -> None:
    if service.branches.head(attempt.branch) is None:
        raise Conflict(f"branch {attempt.branch} is gone: another worker has settled it")


def _finish(service: Service, attempt: Attempt, claims: list[FileVersion], ended: Ended) -> None:
    """Tell what was decided, take what is published off the branch, and delete branches that nobody needs any more.

    What the next attempt was to take and did not, because its key's other versions decide it by now, is decided first:
    nobody else may do that for a branch that is gone. Where they do not any more, by a contract that was pushed between
    the two looks, the branch is left as it is: the sweep settles it again, and tells of all at once.
    """
    receipts = known(service, claims)
    if left := _undecided(service, attempt, claims, receipts):
        if _close_by_receipts(service, attempt, left, receipts, ended):
            return
        receipts = known(service, claims)
    if kept := tell_outcome(service, attempt, claims, ended, receipts):
        _prune(service, attempt, [file for file in claims if file not in kept], ended)
    else:
        service.branches.delete_branch(attempt.branch)
    delete_settled(service, attempt)


def _undecided(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion], receipts: Mapping[str, Receipt]
) -> list[FileVersion]:
    """What is neither decided nor a later attempt's matter."""
    still_open = [file for file in claims if is_open(receipts, file, attempt)]
    return not_claimed_later(service, attempt, still_open) if still_open else []


def _prune(service: Service, attempt: Attempt, gone: list[FileVersion], ended: Ended) -> None:
    """Leave the rejected files' rows and claims alone on the branch that is kept."""
    if not gone or ended.report is None:
        return
    audited = Audited(attempt=attempt, base=ended.report.base, report=ended.report, claims=())
    try:
        drop_files(service, audited, gone, attempt.branch)
    except (Conflict, Refused) as why:  # another worker is at it; the next sweep sees whether something is left
        log.warning("not_pruned", branch=attempt.branch, why=str(why))


def delete_settled(service: Service, attempt: Attempt) -> None:
    """Delete the branches of this batch's earlier attempts that keep no rejected file any more. What one of them has
    decided may not have been told yet, where whoever settled it died: without its branch nobody would look again.
    """
    if attempt.number < 2:  # noqa: PLR2004 (a first attempt has no earlier ones)
        return
    for other in list_open_attempts(service.branches):
        if other.batch != attempt.batch or other.number >= attempt.number:
            continue
        job = job_of(service.store, other)
        claims = files_claimed_on(service, other, job)
        if keeps_nothing(service, other, claims):
            if ended := accept_end(service, other, job) if job and claims else None:
                tell_outcome(service, other, claims, ended, known(service, claims))
            service.branches.delete_branch(other.branch)


def keeps_nothing(service: Service, attempt: Attempt, claims: Iterable[FileVersion]) -> bool:
    """Whether all files that an attempt claims are decided, also those that it tries again, and it rejected none."""
    claims = list(claims)
    receipts = known(service, claims)
    rejected = [file for file in claims if decided_so(entry_of(receipts, file), Decision.REJECTED, attempt)]
    return not rejected and not any(is_open(receipts, file, attempt) for file in claims)


def is_at_rest(
    service: Service, attempt: Attempt, claims: Iterable[FileVersion], receipts: Mapping[str, Receipt]
) -> bool:
    """Whether nothing is left to do for an attempt, by the receipts on main: it rejected all that its branch claims,
    and people were told. What else it claimed is off the branch then: that follows the telling, and claims go last.
    """
    rejected = all(decided_so(entry_of(receipts, file), Decision.REJECTED, attempt) for file in claims)
    return rejected and told_at(service, rejection(attempt)) is not None
