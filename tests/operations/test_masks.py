"""Masks of today and of then: which values of a table's rows people are shown."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.audit.evaluation.mask import MASK, Mask
from lakegate.audit.model.plan import Severity
from lakegate.audit.model.report import CheckResult, Source, Verdict
from lakegate.operations.masks import mask_of, masked_report
from lakegate.testing.store import MemoryStore
from lakegate.workflow.registry import contract_name
from tests.dashboard.test_figures import report
from tests.world.world import CONTRACT

MASKED = CONTRACT.replace("      - name: b", "      - name: b\n        classification: personal")
SPELLINGS = ("nyc.flights", "NYC.Flights", "nyc.flIghts", "nyc.fl\N{LATIN SMALL LETTER DOTLESS I}ghts")


@pytest.mark.parametrize("table", SPELLINGS)
def test_a_table_is_masked_by_its_contract_however_its_name_is_spelled(table: str) -> None:
    assert MASKED != CONTRACT
    store = MemoryStore()
    store.write(contract_name("nyc.flights"), MASKED.encode())
    mask = mask_of(store, table)
    assert mask.hides(["B", "a"]) == [True, False]
    assert mask.leaves_open(["B", "a", "else"]) == [False, False, True]


def test_another_tables_contract_masks_nothing_here() -> None:
    store = MemoryStore()
    store.write(contract_name("nyc.flights"), MASKED.encode())
    assert mask_of(store, "nyc.flights2") == Mask()


def check(name: str, row: dict[str, object]) -> CheckResult:
    return CheckResult(check=name, name=name, severity=Severity.ERROR, verdict=Verdict.FAIL, value=1.0, expected="0",
                       failing_rows=1, rows=1, columns=(), source=Source.QUERY, sample=(row,))  # fmt: skip


def test_a_sample_of_then_is_shown_by_the_mask_of_today() -> None:
    raw = check("malformed-1", {"line": 3, "why": "4 fields", "text": "a,b"})
    row = check("failing-1", {"text": "a", "SSN": "078", "id": None, "other": 1})
    before = replace(report((Verdict.FAIL, (raw, row))), columns=("text", "SSN", "id", "other"), masked=("other",))
    shown = masked_report(before, Mask(columns=("ssn", "id")))
    samples = [check.sample[0] for file in shown.files for check in file.checks]
    assert samples == [
        {"line": 3, "why": "4 fields", "text": MASK},
        {"text": "a", "SSN": MASK, "id": None, "other": 1},
    ]
    assert shown.masked == ("other", "SSN", "id")
    assert masked_report(before, Mask(plan_columns=("ssn",))) == before
