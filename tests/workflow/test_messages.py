"""Messages of a rejection, from a report to Slack: they name columns and first values, and their counts agree."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from lakegate.adapters.slack import blocks
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.report import CheckResult, Source, Verdict
from lakegate.audit.summary import first_row
from lakegate.landing.attempts import Attempt
from lakegate.workflow.attempts.reports import read_report, report_name
from lakegate.workflow.settle import settle
from tests.cli.batch_report import BATCH, add_batch
from tests.cli.desk import Desk
from tests.cli.test_report import BAD, SHOP

ATTEMPT = Attempt(table="shop.orders", batch=BATCH, number=1)
KEY = "shop/orders/2.parquet"


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(folder=tmp_path)


def told(desk: Desk, contract: str = SHOP, rows: pa.Table = BAD) -> str:
    """The text of the message that these rows were rejected."""
    add_batch(desk, contract, {KEY: rows})
    return settled(desk)


def settled(desk: Desk) -> str:
    settle(desk.world.service, ATTEMPT)
    [message] = desk.world.messages()
    return "\n".join(re.findall(r'"text": "((?:[^"\\]|\\.)*)"', json.dumps(blocks(message), ensure_ascii=False)))


def test_a_message_names_the_column_and_the_first_value_that_failed(desk: Desk) -> None:
    said = told(desk)
    assert "amount required: 2 of 4 rows, expected none; the first: amount null, id 3" in said
    assert "amount &gt; 0: 1 of 4 rows, expected none; the first: amount -1.0, id 4" in said
    assert 'expected none; the first: state \\"lost\\", id 4' in said or "and 1 more" in said


def test_a_message_names_no_masked_value(desk: Desk) -> None:
    said = told(desk, SHOP.replace("name: state", "name: state\n        classification: restricted"))
    assert "lost" not in said
    assert "•••" not in said


def of_lines(desk: Desk, lines: int, failing: int) -> str:
    """The text of the message of a file with so many lines, of which some do not parse."""
    add_batch(desk, SHOP, {KEY: BAD})
    report = read_report(desk.world.service.store, ATTEMPT)
    assert report
    [file] = report.files
    check = replace(file.checks[0], check="malformed-1", name="rows that parse", columns=(), verdict=Verdict.FAIL,
                    failing_rows=failing, rows=lines, value=float(failing), expected="none", metric="",
                    sample=({"line": 7, "why": "no number", "text": "a,b"},))  # fmt: skip
    whole = replace(file, checks=(check,), rows=lines - failing)
    desk.world.store.write(report_name(ATTEMPT), to_json(replace(report, files=(whole,))).encode())
    return settled(desk)


@pytest.mark.parametrize(("lines", "failing"), [(752, 14), (15, 14), (1_000_000, 1)])
def test_all_counts_of_one_file_in_a_message_are_out_of_the_same_rows(desk: Desk, lines: int, failing: int) -> None:
    said = of_lines(desk, lines, failing)
    assert set(re.findall(r"of ([\d,]+) rows?", said)) == {f"{lines:,}"}
    assert "the first: line 7" in said


def check(sample: tuple[dict[str, Any], ...], columns: tuple[str, ...]) -> CheckResult:
    return CheckResult(check="c", name="c", columns=columns, severity="error", verdict=Verdict.FAIL, value=1.0,  # type: ignore[arg-type]
                       expected="none", failing_rows=1, rows=1, source=Source.QUERY, sample=sample)  # fmt: skip


@pytest.mark.parametrize(
    ("row", "columns", "key", "says"),
    [
        ({"a": -1, "id": 4}, ("a",), ("id",), "a -1, id 4"),
        ({"a": None, "id": 4}, ("a",), ("id",), "a null, id 4"),
        ({"a": "", "id": 4}, ("a",), ("id",), 'a "", id 4'),
        ({"a": "x" * 99}, ("a",), (), f'a "{"x" * 40}…"'),
        ({"a": "•••", "id": 4}, ("a",), ("id",), "id 4"),
        ({"a": "•••", "id": "•••"}, ("a",), ("id",), ""),
        ({"id": 4, "b": 5}, ("id",), ("id", "b"), "id 4, b 5"),
        (dict.fromkeys("abcdef", 1), tuple("abcdef"), (), "a 1, b 1, c 1, d 1"),
        ({"line": 3, "why": "no number", "text": "secret"}, (), ("id",), "line 3"),
        ({"row": 3, "why": "no number", "text": "secret"}, (), (), "row 3"),
        ({"other": 1}, (), (), ""),
    ],
)
def test_the_first_row_is_told_by_its_columns_at_fault_and_its_key(
    row: dict[str, Any], columns: tuple[str, ...], key: tuple[str, ...], says: str
) -> None:
    assert first_row(check((row, {"a": "second"}), columns), key) == says


def test_a_check_without_a_sample_has_no_first_row() -> None:
    assert first_row(check((), ("a",)), ("id",)) == ""
