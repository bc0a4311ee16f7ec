"""Trends: a check's number in audit after audit, as an audits table has it. It reads nothing itself."""

from datetime import datetime
from typing import Any

from lakegate.adapters.sql import Result
from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.model.plan import Unit
from lakegate.audit.model.report import WORST_FIRST
from lakegate.duckdb.dialect import duckdb_table, duckdb_text
from lakegate.operations.tables import Number, TableAudit

MOST_AUDITS = 2_000  # audits, which a chart still shows one by one


def trend_sql(table: str, check: str, *, distinct: bool = False) -> str:
    """Return the statement that reads a check's number in a table's last audits, newest first."""
    ranks = " ".join(f"WHEN {duckdb_text(str(word))} THEN {rank}" for rank, word in enumerate(WORST_FIRST))
    return (
        "SELECT batch, attempt, max(audited_at), any_value(check_name), min(CASE verdict " + ranks + " END), "
        "any_value(unit), sum(failing_rows), sum(row_count), min(value), max(value), any_value(low), any_value(high) "
        f"FROM {duckdb_table(audits_of(table, distinct=distinct))} WHERE table_name = {duckdb_text(table)} "
        f"AND check_id = {duckdb_text(check)} "
        f"GROUP BY batch, attempt ORDER BY max(audited_at) DESC LIMIT {MOST_AUDITS}"
    )


def trend(check: str, result: Result) -> list[TableAudit]:
    """Return what the statement has found, oldest first. Of each audit there is this one number."""
    return [_audit_of_row(check, *row) for row in reversed(result.rows)]


def _audit_of_row(
    check: str, batch: str, attempt: int, at: datetime, name: str, rank: int, unit: str, *values: Any
) -> TableAudit:
    failing_rows, rows, least, greatest, low, high = values
    number = Number(
        check=check,
        name=name,
        verdict=WORST_FIRST[rank],
        unit=Unit(unit),
        failing_rows=int(failing_rows),
        rows=int(rows),
        least=least,
        most=greatest,
        low=low,
        high=high,
    )
    return TableAudit(batch=batch, attempt=attempt, at=at, verdicts={}, rows=0, quarantined=0, numbers=(number,))
