"""A batch's content: the reports of its attempts, main's log, and the next commands. It draws nothing and interprets
no verdict.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass, field

from lakegate.audit.evaluation.mask import Mask
from lakegate.audit.evaluation.quarantine import quarantine_of
from lakegate.audit.model.plan import Trait
from lakegate.audit.model.report import WORST_FIRST, CheckResult, FileReport, Report, Verdict
from lakegate.audit.summary import files_of
from lakegate.errors import Misconfigured, Refused
from lakegate.landing.attempts import PREFIX, Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.operations.masks import mask_of, masked_report
from lakegate.ports import LogEntry, Record, Usage
from lakegate.workflow.attempts.claims import files_claimed_on, list_open_attempts
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.attempts.usage import usage_of
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.ledger.rejected import Rejected, rejections
from lakegate.workflow.ledger.superseded import superseded_files
from lakegate.workflow.notices.messages import rows_query
from lakegate.workflow.overview.log import with_superseded
from lakegate.workflow.retry import in_progress
from lakegate.workflow.service import Service


@dataclass(frozen=True, kw_only=True)
class Try:
    """One attempt as it is now: its branch (kept or not), its job with its lane, what its run took, its report."""

    attempt: int
    branch: str
    kept: bool
    claims: tuple[str, ...]
    job: str
    usage: Usage | None
    report: Report | None
    lane: str = ""
    lane_why: str = ""


@dataclass(frozen=True, kw_only=True)
class BatchView:
    """A batch's attempts and decisions, and the next commands. `decided` says how file versions, by id, were published
    or discarded. If asked for, `past` has the values of each check (by id) in the files that were published before,
    oldest first.
    """

    batch: str
    table: str
    attempts: tuple[Try, ...]
    decisions: tuple[LogEntry, ...]
    next: tuple[str, ...]
    decided: dict[str, str] = field(default_factory=dict)
    past: dict[str, tuple[float, ...]] = field(default_factory=dict)


def view_batch(service: Service, batch: str) -> BatchView:
    """Return a batch's view. Raise Misconfigured if the batch is unknown."""
    decisions = with_superseded(service, service.ledger.decisions(DECISIONS, batch=batch))
    open_attempts = {
        attempt.branch: attempt for attempt in list_open_attempts(service.branches) if attempt.batch == batch
    }
    tables = [*(entry.record.table for entry in decisions), *(attempt.table for attempt in open_attempts.values())]
    if not tables:
        raise Misconfigured(f"no batch {batch} is known; run: lakegate status")
    attempts = _attempts(service, tables[0], batch, {attempt.number for attempt in open_attempts.values()}, decisions)
    mask = mask_of(service.store, tables[0])
    tries = tuple(_try(service, attempt, mask, is_open=attempt.branch in open_attempts) for attempt in attempts)
    rejected = rejections(service, tables[0], batch, decisions)
    decision_texts = _decision_texts(rejected, decisions)
    commands = _next(service, rejected, tries, decision_texts)
    return BatchView(
        batch=batch, table=tables[0], attempts=tries, decisions=decisions, next=commands, decided=decision_texts
    )


def _decision_texts(rejected: Rejected, decisions: Iterable[LogEntry]) -> dict[str, str]:
    """Return how the batch's file versions were published or discarded, by id."""
    records = [decision.record for decision in decisions if decision.record.decision is not Decision.REJECTED]
    words = {(file.key, file.version_id): _decision(record) for record in records for file in record.files}
    return {
        entry.file(receipt.bucket, receipt.key).id: words[receipt.key, entry.version_id]
        for receipt in rejected.receipts.values()
        for entry in receipt.entries
        if entry.decision is not Decision.REJECTED and (receipt.key, entry.version_id) in words
    }


def _decision(record: Record) -> str:
    """Return `approved by ann: it is known`, or `published with a2`."""
    verb = "approved" if record.overrules else str(record.decision)
    return f"{verb} by {record.by}: {record.reason}" if record.by else f"{verb} with a{record.attempt}"


def _attempts(
    service: Service, table: str, batch: str, open_numbers: set[int], decisions: tuple[LogEntry, ...]
) -> list[Attempt]:
    """Return the attempts that have a branch, a report or a decision. Number 0 is a decision that needed no attempt."""
    stem = f"reports/{PREFIX}{table}-{batch}-a"
    report_numbers = {int(text) for name in service.store.names(stem) if (text := _number(name, stem)).isdigit()}
    decision_numbers = {decision.record.attempt for decision in decisions} - {0}
    return [
        Attempt(table=table, batch=batch, number=number)
        for number in sorted(open_numbers | report_numbers | decision_numbers)
    ]


def _number(name: str, stem: str) -> str:
    return name.removeprefix(stem).removesuffix(".json")


def _try(service: Service, attempt: Attempt, mask: Mask, *, is_open: bool) -> Try:
    """Return one attempt's view. A part that can't be read shows its error in its place, and hides no other attempt."""
    run = service.runner.find(attempt.branch)
    job, report, claims = "" if run is None else f"{run.state} {run.id}", None, tuple[str, ...]()
    usage = usage_of(service.store, attempt)
    if usage is None and run and run.ended_at:
        usage = service.runner.get(run.id).usage  # nobody has recorded it, or it was not reckoned yet
    messages = [run.reason] if run and run.reason else []
    try:
        report = read_report(service.store, attempt)
        claims = tuple(file.key for file in files_claimed_on(service, attempt))
    except (Refused, Misconfigured) as error:
        messages.append(str(error))
    job = ": ".join([*([job] if job else []), *messages])
    frozen = readable_job_of(service.store, attempt)
    return Try(
        attempt=attempt.number,
        branch=attempt.branch,
        kept=is_open,
        claims=claims,
        job=job,
        usage=usage,
        report=masked_report(report, mask) if report else None,
        lane=frozen.lane.label if frozen else "",
        lane_why=frozen.lane_why if frozen else "",
    )


def _next(
    service: Service, rejected: Rejected, tries: tuple[Try, ...], decision_ids: Container[str]
) -> tuple[str, ...]:
    batch, table = rejected.batch, rejected.table
    commands = rows_commands(batch, tries, decision_ids)
    open_tries = [attempt for attempt in tries if attempt.kept]
    rows_by_branch = [(attempt.branch, ids) for attempt in open_tries if (ids := _open_rows(attempt, decision_ids))]
    commands += rows_query(table, *rows_by_branch[-1]) if rows_by_branch else []
    commands += _quarantine_commands(batch, table, tries)
    if rejected.files and not in_progress(service, rejected):
        commands += _ways_on(service, rejected, has_attempts=bool(tries), has_rows=bool(rows_by_branch))
    elif open_tries:
        commands += [f"lakegate wait {batch}"]
    return tuple(commands)


def _ways_on(service: Service, rejected: Rejected, *, has_attempts: bool, has_rows: bool) -> list[str]:
    """Return the commands for rejected files: superseded ones can only be discarded."""
    superseded_ids = {file.id for file in superseded_files(service, rejected.receipts)}
    is_of_use = any(file.id not in superseded_ids for file, _ in rejected.files)
    retries = (
        [f"lakegate retry {rejected.batch}"] if is_of_use and has_attempts else []
    )  # without any attempt, the contract must change first
    approve = [f'lakegate approve {rejected.batch} --why "…"'] if is_of_use and has_rows else []
    return [*retries, *approve, f'lakegate discard {rejected.batch} --why "…"']


def _open_rows(attempt: Try, decision_ids: Container[str]) -> list[str]:
    """Return the ids of the files that have rows on the branch and are not decided, or none for an attempt that was not
    audited: its rows are not reliable.
    """
    files = attempt.report.files if attempt.report and not attempt.report.error else ()
    return [file.id for file in files if file.data_files and file.id not in decision_ids]


def _quarantine_commands(batch: str, table: str, tries: Iterable[Try]) -> list[str]:
    """Return the command that shows the rows that a batch has quarantined on main."""
    reports = [attempt.report for attempt in tries if attempt.report and not attempt.kept]
    names = {
        quarantine_of(table, distinct=report.distinct)
        for report in reports
        if any(file.quarantined for file in report.files)
    }
    sql = [f"SELECT key, reasons, row_json FROM {name} WHERE batch = '{batch}' LIMIT 20" for name in sorted(names)]  # noqa: S608
    return [f'lakegate query "{statement}"' for statement in sql]


def rows_commands(batch: str, tries: Iterable[Try], decision_ids: Container[str]) -> list[str]:
    """Return the command that lists all rows that fail the worst check of the last attempt that is kept, or whose
    faults were observed, in files that have not failed and been decided since.
    """
    last = [attempt for attempt in tries if attempt.report and (attempt.kept or _is_observed(attempt.report))][-1:]
    files = [file for attempt in last if attempt.report for file in files_of(attempt.report)]
    still_open = [file for file in files if not is_decided(file, decision_ids)]
    failures = [check for file in still_open for check in file.checks if has_rows(file, check)]
    worst = sorted(failures, key=lambda check: WORST_FIRST.index(check.verdict))
    return [rows_command(batch, check) for check in worst[:1]]


def is_decided(file: FileReport, decision_ids: Container[str]) -> bool:
    """Return True if an attempt's audit rejects the file, and it was published or discarded since."""
    return file.verdict is Verdict.FAIL and file.id in decision_ids


def _is_observed(report: Report) -> bool:
    return any(file.would for file in report.files)


def rows_command(batch: str, check: CheckResult) -> str:
    return f"lakegate show {batch} --rows {check.check}"


def has_rows(file: FileReport, check: CheckResult) -> bool:
    """Return True if a table has rows of the file that fail the check. Malformed rows can only be in quarantine."""
    in_table = not check.has(Trait.LINES) or is_quarantined(file, check)
    return bool(check.failing_rows and check.metric) and in_table


def is_quarantined(file: FileReport, check: CheckResult) -> bool:
    """Return True if the file's rows that fail the check are in quarantine."""
    return bool(file.quarantined) and check.verdict is Verdict.QUARANTINE
