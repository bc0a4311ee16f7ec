"""Tests of what a job says last when it cannot go on: enough to go by, and nothing that its contract hides."""

from __future__ import annotations

from lakegate.audit.errors import JobError
from spark_jobs.append_and_audit import last_word

ERROR = ValueError("cannot cast 'jane@example.com'")


def test_an_error_is_told_with_its_text() -> None:
    assert last_word("batch b", ERROR, has_masks=False) == f"JobError: ValueError: {ERROR}; batch b"


def test_the_reason_comes_first_for_whoever_cuts_the_rest_off() -> None:
    """EMR Serverless keeps 256 characters of a failed run's reason, of which its own words take over a hundred."""
    batch, table = "20130131T0405-1a2b3c4d", f"{'n' * 40}.{'t' * 40}"
    what = f"batch {batch} of {table}, branch wap-{table}-{batch}-a1"
    assert str(ERROR) in last_word(what, ERROR, has_masks=False)[:140]


def test_where_columns_are_masked_the_text_of_an_error_stays_in_the_log() -> None:
    said = last_word("batch b", ERROR, has_masks=True)
    assert "jane" not in said
    assert said.startswith("JobError: ValueError: ")
    assert said.endswith("; batch b")


def test_our_own_errors_hold_no_values() -> None:
    assert last_word("batch b", JobError("run: lakegate retry b"), has_masks=True) == "JobError: run: lakegate retry b"


def test_what_our_own_errors_are_about_comes_last_too() -> None:
    said = last_word(
        "batch b", JobError("batch b of t, branch wap-t-b-a1: 2 rows are gone. Run: lakegate retry b"), has_masks=True
    )
    assert said == "JobError: 2 rows are gone. Run: lakegate retry b; batch b of t, branch wap-t-b-a1"
