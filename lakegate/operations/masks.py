"""Masks: the values of a table that people are shown, by the contract of today and by the plan of an attempt then."""

from dataclasses import replace

from lakegate.audit.evaluation.mask import Mask, hide, of_columns
from lakegate.audit.model.plan import Trait
from lakegate.audit.model.report import CheckResult, Report
from lakegate.errors import ContractFaults, Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import Store
from lakegate.workflow.attempts.job import readable_job_of
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.registry import contracts_spelled_as


def mask_of(store: Store, table: str, attempt: Attempt | None = None) -> Mask:
    """Return the mask of a table's rows: today's, and if they are an attempt's, that of its job and its report, too."""
    return _mask_of_attempt(store, attempt) | _today(store, table) if attempt else _today(store, table)


def _today(store: Store, table: str) -> Mask:
    try:
        mask = Mask()
        for contract in contracts_spelled_as(store, table):
            mask |= of_columns(contract.plan.columns)
    except ContractFaults as faults:
        return Mask(fault=f"the contract of {table} does not load: {faults}")
    return mask


def _mask_of_attempt(store: Store, attempt: Attempt) -> Mask:
    job = readable_job_of(store, attempt)
    plan_mask = of_columns(job.plan.columns) if job else Mask()
    try:
        report = read_report(store, attempt)
    except (Misconfigured, Refused):  # a newer release's
        return plan_mask
    return plan_mask | Mask(columns=report.masked, plan_columns=report.columns) if report else plan_mask


def masked_report(report: Report, mask: Mask) -> Report:
    """Return the report with the samples masked by a mask of today, too."""
    if not mask.columns:
        return report
    files = tuple(
        replace(file, checks=tuple(_masked_check(check, mask) for check in file.checks)) for file in report.files
    )
    columns = [name for name, is_masked in zip(report.columns, mask.hides(report.columns), strict=True) if is_masked]
    return replace(report, files=files, masked=tuple(dict.fromkeys((*report.masked, *columns))))


def _masked_check(check: CheckResult, mask: Mask) -> CheckResult:
    hides = mask.hides_unparsed if check.has(Trait.LINES) else mask.hides
    sample = tuple(dict(zip(row, hide(row.values(), hides(row)), strict=True)) for row in check.sample)
    return replace(check, sample=sample)
