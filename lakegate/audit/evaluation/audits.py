"""Audits as rows of a table: one for each file version, and one for each of its checks. It writes none of them.

A table's audits have a table of their own. Attempts at one table cannot be published side by side anyway, because a
merge compares tables; a single one for all would make each publish wait for every other.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from lakegate.audit.model.job import Job
from lakegate.audit.model.names import name_beside
from lakegate.audit.model.report import CheckResult, FileReport, Verdict

NAMESPACE = "_audits"
FILE_CHECK = "file"
"""An id for the row of the file itself. No plan has such a check."""

Row = Mapping[str, Any]
"""The values of one row, by column; a missing one is null."""


def audits_of(table: str, *, distinct: bool = False) -> str:
    """Return the table that has a table's audits: `_audits.nyc_flights` for `nyc.flights`,
    unless it has the `distinct` name.
    """
    return f"{NAMESPACE}.{name_beside(table, distinct=distinct)}"


def audit_rows(job: Job, commit: str, at: datetime, file: FileReport, error: str = "") -> Sequence[Row]:
    """Return the rows of one file version: its own first, with its reasons or the attempt's `error`, then its checks.
    `commit` is the commit whose rows were judged.
    """
    plan = job.plan
    common = {
        "key": file.key,
        "table_name": plan.table,
        "batch": job.batch,
        "attempt": job.attempt,
        "lane": str(job.lane),
        "contract_id": plan.contract_id,
        "contract_version": plan.contract_version,
        "contract_hash": plan.contract_hash,
        "mode": str(plan.mode),
        "audited_commit": commit,
        "audited_at": at,
    }
    return [common | _of_file(file, error), *(common | _of_check(check) for check in file.checks)]


def _of_file(file: FileReport, error: str) -> dict[str, Any]:
    reasons = (error,) if error else file.reasons or file.warnings
    return {
        "check_id": FILE_CHECK,
        "verdict": str(file.verdict),
        "failing_rows": file.quarantined_rows,
        "row_count": file.rows + file.quarantined_rows,
        "reason": "; ".join(reasons) or None,
    }


def _of_check(check: CheckResult) -> dict[str, Any]:
    return {
        "check_id": check.check,
        "check_name": check.name,
        "column_names": ", ".join(check.columns) or None,
        "severity": str(check.severity),
        "verdict": str(check.verdict),
        "value": None if check.value is None else float(check.value),
        "unit": str(check.unit),
        "expected": check.expected,
        "low": check.low,
        "high": check.high,
        "failing_rows": check.failing_rows,
        "row_count": check.rows,
        "reason": None if check.verdict is Verdict.PASS else check.reason,
    }
