"""The queue: batches whose verdicts depend on the rows of their own table are published one by one, oldest first.

Publishing one makes the audits of the others old, so only the first is audited again and the rest wait. A batch joins
the queue when its first audit ends. It leaves while its last job has crashed, or while all that it has left waits for
files that it refers to; otherwise two batches could wait for each other. Attempts at parts of one batch queue alike, by
the landing of their first files. It reads other attempts and decides nothing.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial

from lakegate.audit.model.job import Job
from lakegate.audit.model.report import Report
from lakegate.errors import Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.ports import JobState
from lakegate.workflow.attempts.claims import files_claimed_on, list_open_attempts
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.attempts.reports import report_in_force
from lakegate.workflow.ledger.receipts import receipts_now
from lakegate.workflow.service import Service
from lakegate.workflow.settlement.facts import AttemptEnd, Facts
from lakegate.workflow.settlement.reader import all_facts, answer_or_no, first_look, with_references
from lakegate.workflow.settlement.references import with_failing_rows
from lakegate.workflow.settlement.rules import goes_first, settlement

UNREAD = "not_in_line"  # the log's event for an attempt that cannot be read


def facts_of(service: Service, attempt: Attempt, job: Job, claims: Iterable[FileVersion], end: AttemptEnd) -> Facts:
    """Return all facts of an attempt that claims these files and has this end. If order matters for the table, and the
    attempt would publish something, the attempt that publishes first is among them.
    """
    facts = all_facts(service, attempt, job, claims, end)
    if not facts.in_order or not settlement(facts).publish:
        return facts
    return replace(facts, predecessor=predecessor(service, facts.attempt))


def predecessor(service: Service, attempt: Attempt) -> Attempt | None:
    """Return an attempt at older files of the same table that publishes first, or None."""
    older = [other for other in _other_attempts(service, attempt) if other.batch <= attempt.batch]
    questions = (_goes_first, _is_reaudited)
    ahead_attempts = (other for other in older if any(answer_or_no(ask, service, other, UNREAD) for ask in questions))
    is_older = partial(_is_older, than=attempt)
    return next((other for other in ahead_attempts if answer_or_no(is_older, service, other, UNREAD)), None)


def _is_older(service: Service, other: Attempt, than: Attempt) -> bool:
    """Return True if the other attempt is at an older batch, or at files of this one that landed before."""
    if other.batch != than.batch:
        return other.batch < than.batch
    other_files, own_files = files_claimed_on(service, other), files_claimed_on(service, than)
    return bool(other_files and own_files) and other_files[0].order < own_files[0].order


def successors(service: Service, attempt: Attempt) -> Iterator[Attempt]:
    """Yield the other attempts at the table that are audited and have files to publish, oldest first."""
    return (other for other in _other_attempts(service, attempt) if answer_or_no(_goes_first, service, other, UNREAD))


def _other_attempts(service: Service, attempt: Attempt) -> list[Attempt]:
    attempts = list_open_attempts(service.branches)
    attempts_of_table = [other for other in attempts if other.table == attempt.table and other != attempt]
    return sorted(attempts_of_table, key=lambda other: (other.batch, other.number))


def _goes_first(service: Service, attempt: Attempt) -> bool:
    """Return True if the attempt is audited and keeps newer batches waiting. It notes nothing of that attempt."""
    end = AttemptEnd(report=_report(service, attempt))
    job = readable_job_of(service.store, attempt) if end.passing_ids else None
    if job is None:
        return False
    passing_files = [file for file in files_claimed_on(service, attempt, job) if file.id in end.passing_ids]
    facts = first_look(service, attempt, job, passing_files, end) if passing_files else None
    if facts is None or not facts.files:
        return False
    facts = replace(facts, receipts=receipts_now(service, facts.files))
    return goes_first(with_references(service, facts, with_failing_rows(facts)))


def _is_reaudited(service: Service, attempt: Attempt) -> bool:
    """Return True if the attempt repeats an audit, with reused data files or by appending again, and is under way. One
    that only follows crashes does not count.
    """
    job = readable_job_of(service.store, attempt)
    if job is None or not (job.reuses or _was_audited(service, attempt, job)):
        return False
    run = service.runner.find(attempt.branch)
    return run is None or run.state is JobState.RUNNING


def _was_audited(service: Service, attempt: Attempt, job: Job) -> bool:
    """Return True if its files' last attempt has a report. Attempts that crashed just before, or were handed
    over, do not count.
    """
    ids = {file.id for file in job.files}
    for number in range(min(job.consecutive_crashes, default=attempt.number) - 1, 0, -1):
        other = replace(attempt, number=number)
        if number in job.handed_over:
            continue
        earlier_job = readable_job_of(service.store, other)
        if earlier_job and not ids.isdisjoint(file.id for file in earlier_job.files):
            return _report(service, other) is not None
    return False


def _report(service: Service, attempt: Attempt) -> Report | None:
    with suppress(Refused, Misconfigured):  # a report that can't be read keeps no other batch from being published
        return report_in_force(service.store, attempt)
    return None
