"""What a job says last when it cannot go on: enough to go by, and nothing that its contract hides."""

from __future__ import annotations

from spark_jobs.append_and_audit import last_word
from spark_jobs.errors import JobError

ERROR = ValueError("cannot cast 'jane@example.com'")


def test_an_error_is_told_with_its_text() -> None:
    assert last_word("batch b", ERROR, hidden=False) == f"JobError: batch b: ValueError: {ERROR}"


def test_where_columns_are_masked_the_text_of_an_error_stays_in_the_log() -> None:
    said = last_word("batch b", ERROR, hidden=True)
    assert "jane" not in said
    assert said.startswith("JobError: batch b: ValueError")


def test_our_own_errors_hold_no_values() -> None:
    assert last_word("batch b", JobError("run: lakegate retry b"), hidden=True) == "JobError: run: lakegate retry b"
