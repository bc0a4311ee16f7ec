"""An audit's findings are rows of a table."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from lakegate.audit.definition import AUDITS
from lakegate.audit.evaluation.audits import FILE_CHECK, audit_rows, audits_of
from lakegate.audit.model.catalog import NO_CATALOG
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Severity, Unit
from lakegate.audit.model.report import CheckResult, DataFile, FileReport, Source, Verdict
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.contracts import load
from lakegate.errors import ContractFaults
from tests.support.plans import nulls, plan
from tests.world.world import CONTRACT

AT = datetime(2026, 11, 27, 15, tzinfo=UTC)
JOB = Job(
    branch="b", batch="20130131T0405-1a2b3c4d", attempt=2, base="0", catalog=NO_CATALOG, report_uri="",
    begun_uri="", plan=plan("nyc.flights", {"id": "bigint"}, (nulls("id"),)), files=(),
)  # fmt: skip
CHECK = CheckResult(
    check="c1", name="id required", columns=("id", "day"), severity=Severity.ERROR, verdict=Verdict.FAIL, value=2,
    expected="none", failing_rows=2, rows=10, source=Source.STATISTICS, unit=Unit.ROWS, high=0.0,
)  # fmt: skip


def test_an_audits_table_is_named_for_its_table() -> None:
    assert audits_of("nyc.flights") == "_audits.nyc_flights"


def test_a_file_has_a_row_of_its_own_and_one_for_each_check() -> None:
    passed = replace(CHECK, check="c2", verdict=Verdict.PASS, failing_rows=0, value=None)
    file = FileReport(id="f", key="k", verdict=Verdict.FAIL, rows=10, checks=(CHECK, passed))
    own, failed, good = audit_rows(JOB, "0a", AT, file)
    assert (own["check_id"], own["verdict"], own["row_count"]) == (FILE_CHECK, "fail", 10)
    assert own["reason"] == failed["reason"] == "id required: 2 of 10 rows, expected none"
    assert (failed["value"], failed["low"], failed["high"], failed["column_names"]) == (2.0, None, 0.0, "id, day")
    assert (good["value"], good["reason"], good["failing_rows"]) == (None, None, 0)
    for row in (own, failed, good):
        assert (row["table_name"], row["key"], row["attempt"], row["audited_commit"]) == ("nyc.flights", "k", 2, "0a")
        assert row["audited_at"] == AT


def test_every_value_has_a_column() -> None:
    file = FileReport(id="f", key="k", verdict=Verdict.PASS, checks=(CHECK,))
    named = {FILE_COLUMN}.union(*audit_rows(JOB, "0a", AT, file))
    assert named == {column.name for column in AUDITS}


def test_a_file_that_was_not_appended_says_why() -> None:
    unreadable = FileReport(id="f", key="k", verdict=Verdict.FAIL, faults=("it is empty", "it is odd"))
    assert [row["reason"] for row in audit_rows(JOB, "", AT, unreadable)] == ["it is empty; it is odd"]
    refused = FileReport(id="f", key="k", verdict=Verdict.FAIL)
    assert [row["reason"] for row in audit_rows(JOB, "", AT, refused, "no such column")] == ["no such column"]


def test_rows_in_quarantine_count_as_read_and_as_failing() -> None:
    file = FileReport(id="f", key="k", verdict=Verdict.QUARANTINE, rows=8, quarantined=(DataFile(path="q", rows=2),))
    [own] = audit_rows(JOB, "", AT, file)
    assert (own["row_count"], own["failing_rows"]) == (10, 2)


def test_no_contract_may_be_of_a_table_of_audits() -> None:
    with pytest.raises(ContractFaults, match=r"_audits\.nyc_flights' is no table"):
        load(CONTRACT.replace("physicalName: nyc.flights", "physicalName: _audits.nyc_flights"), "flights.yaml")
