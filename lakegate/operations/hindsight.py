"""Hindsight: what the files of the last thirty days would have met by a contract, from the numbers in their reports.

Nothing is measured again. A rule that asks for a number which no report of a file has cannot be answered for that file,
and is said so.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta

from lakegate.audit.evaluation.quarantine import budget_check
from lakegate.audit.evaluation.verdicts import Measurement, result_of
from lakegate.audit.model.plan import Check, Mode, Plan, Scope, Severity, Trait
from lakegate.audit.model.report import CheckResult, FileReport, Source, Verdict
from lakegate.contracts import Contract
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.workflow.attempts.reports import readable_report
from lakegate.workflow.ledger.decisions import DECISIONS
from lakegate.workflow.service import Service

DAYS, REPORTS = 30, 100


@dataclass(frozen=True, kw_only=True)
class CheckBefore:
    """A check that files would have failed, and in how many rows of them, if it counts rows. It is `unknown` of so many
    files, whose reports do not have its number.
    """

    name: str
    severity: Severity
    files: int = 0
    rows: int = 0
    unknown: int = 0


@dataclass(frozen=True, kw_only=True)
class Hindsight:
    """Files of a table that were audited in the last thirty days, and what they would have met by its contract, if it
    enforces: so many `rejected`, and `quarantined_rows` of the `quarantined` files. What would have become of `unknown`
    files cannot be known. Files that were not appended at all are no part of them; there were `unread` of those.

    `checks` are those that some file fails, or is unknown to. `is_cut` if there were more reports than are read.
    """

    table: str
    mode: Mode
    files: int = 0
    rows: int = 0
    rejected: int = 0
    quarantined: int = 0
    quarantined_rows: int = 0
    unknown: int = 0
    unread: int = 0
    checks: tuple[CheckBefore, ...] = ()
    is_cut: bool = False


def hindsight(service: Service, contract: Contract) -> Hindsight:
    """Return the results that the files in the table's reports would have by this contract."""
    files, is_cut = _files(service, contract.table)
    return hindsight_of(contract.plan, files, is_cut=is_cut)


def _files(service: Service, table: str) -> tuple[list[FileReport], bool]:
    """Return the newest report of each file version that was decided in these days, and whether there are more."""
    reports: dict[str, FileReport] = {}
    for number, attempt in enumerate(_attempts(service, table)):
        if number == REPORTS:
            return list(reports.values()), True
        report = readable_report(service.store, attempt)
        for file in report.files if report and not report.error else ():
            reports.setdefault(file.id, file)
    return list(reports.values()), False


def _attempts(service: Service, table: str) -> Iterator[Attempt]:
    """Yield the attempts that published or rejected files of the table in these days, newest first."""
    start, known_attempts = service.clock.now() - timedelta(days=DAYS), set[Attempt]()
    for decision in service.ledger.decisions(DECISIONS, table=table):
        if decision.at < start:
            return
        attempt = Attempt(table=table, batch=decision.record.batch, number=decision.record.attempt)
        if attempt.number and attempt not in known_attempts and decision.record.decision is not Decision.DISCARDED:
            known_attempts.add(attempt)
            yield attempt


@dataclass(frozen=True, kw_only=True)
class _File:
    """One file's results by a contract, those that are known, and the ids of the checks that are `unknown`."""

    report: FileReport
    results: Sequence[CheckResult]
    unknown: frozenset[str]
    verdict: Verdict | None
    rows: int = 0


def hindsight_of(plan: Plan, files: Iterable[FileReport], *, is_cut: bool = False) -> Hindsight:
    """Return what these files would have met by the plan."""
    files = list(files)
    files_with_rows = [_file_by_plan(plan, file) for file in files if not file.faults]
    quarantine_files = [file for file in files_with_rows if file.verdict is Verdict.QUARANTINE]
    return Hindsight(
        table=plan.table,
        mode=plan.mode,
        files=len(files_with_rows),
        rows=sum(file.report.rows + file.report.quarantined_rows for file in files_with_rows),
        rejected=sum(file.verdict is Verdict.FAIL for file in files_with_rows),
        quarantined=len(quarantine_files),
        quarantined_rows=sum(file.rows for file in quarantine_files),
        unknown=sum(file.verdict is None for file in files_with_rows),
        unread=len(files) - len(files_with_rows),
        checks=tuple(_checks(plan, files_with_rows)),
        is_cut=is_cut,
    )


def _checks(plan: Plan, files: Sequence[_File]) -> Iterator[CheckBefore]:
    for check in plan.checks:
        results = [
            result
            for file in files
            for result in file.results
            if result.check == check.id and result.verdict is not Verdict.PASS
        ]
        unknown = sum(check.id in file.unknown for file in files)
        if results or unknown:
            yield CheckBefore(
                name=check.name,
                severity=check.severity,
                files=len(results),
                rows=sum(result.failing_rows for result in results),
                unknown=unknown,
            )


def _file_by_plan(plan: Plan, file: FileReport) -> _File:
    by_metric = {result.metric: result for result in file.checks if result.metric}
    by_check = {result.check: result for result in file.checks}
    results_by_check = {check.id: _result(plan, check, file, by_metric, by_check) for check in plan.checks}
    results = [result for result in results_by_check.values() if result]
    unknown = frozenset(check.id for check in plan.checks if not results_by_check[check.id])
    matters = any(check.id in unknown and check.severity is not Severity.WARNING for check in plan.checks)
    verdict, rows = _verdict(plan, file, results)
    is_open = verdict is not Verdict.FAIL and matters
    return _File(report=file, results=results, unknown=unknown, verdict=None if is_open else verdict, rows=rows)


def _result(
    plan: Plan,
    check: Check,
    file: FileReport,
    by_metric: Mapping[str, CheckResult],
    by_check: Mapping[str, CheckResult],
) -> CheckResult | None:
    """Return a check's result by the numbers of the file's report; None if it does not have them. What the files before
    it were like is in no report, so the drift from them is known of the very same check alone.
    """
    if check.drift:
        return by_check.get(check.id)
    metric = plan.metric(check.metric)
    if earlier := by_metric.get(metric.id):
        measurement = Measurement(value=earlier.measured, source=earlier.source, rows=earlier.rows)
    elif metric.has(Trait.SIZE) and metric.scope is Scope.BATCH:
        measurement = Measurement(value=file.rows, source=Source.STATISTICS)
    else:
        return None
    return result_of(plan, check, measurement, measurement.rows or file.rows)


def _verdict(plan: Plan, file: FileReport, results: Sequence[CheckResult]) -> tuple[Verdict | None, int]:
    """Return what enforcing makes of these results, and how many rows would go to quarantine, at most. Which rows
    failed is in no report, so those that fail several checks may be fewer than they seem: None if that decides.
    """
    failures = [result for result in results if result.verdict is not Verdict.PASS]
    if any(result.severity is Severity.ERROR or result.value is None for result in failures):
        return Verdict.FAIL, 0
    quarantine_rows = [result.failing_rows for result in failures if result.severity is Severity.QUARANTINE]
    if not quarantine_rows:
        return Verdict.PASS, 0
    rows = max(file.rows + file.quarantined_rows, *(result.rows for result in results))
    least, greatest = (
        budget_check(plan.budget, rows_aside, rows).verdict
        for rows_aside in (max(quarantine_rows), sum(quarantine_rows))
    )
    if least is Verdict.FAIL:
        return Verdict.FAIL, 0
    return (Verdict.QUARANTINE if greatest is Verdict.PASS else None), sum(quarantine_rows)
