"""A contract that observes, at a terminal: what is told of files that are published all the same, and of the past."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lakegate.audit.evaluation.observation import as_observed, rows_observed
from lakegate.audit.evaluation.verdicts import verdict
from lakegate.audit.model.codec import to_json
from lakegate.audit.model.plan import Mode
from lakegate.audit.model.report import Verdict
from lakegate.cli.page.document import page
from lakegate.contracts import load
from lakegate.landing.attempts import Attempt
from lakegate.operations.batch import view_batch
from lakegate.workflow.attempts.reports import read_report, report_name
from tests.cli.batch_report import BATCH, add_batch
from tests.cli.desk import Desk
from tests.cli.test_report import BAD, GOOD, SHOP
from tests.world.world import CONTRACT

OBSERVE = "    customProperties: [{property: mode, vendor: lakegate, value: observe}]\n"
FEW = "    quality:\n      - {metric: rowCount, mustBeGreaterThan: 30}\n"
WOULD = "observed: it would have been rejected"


@pytest.fixture
def observing(desk: Desk) -> Desk:
    desk.world.push_contract(mode="observe")
    return desk


def test_a_file_with_a_fault_is_waited_for_and_published_with_its_fault(observing: Desk) -> None:
    dropped = observing.run("drop", observing.file("bad.parquet", b"bad"), "--table", "nyc.flights", "--wait")
    assert dropped.exit_code == 0
    assert WOULD in dropped.stdout
    assert "carrier required" in dropped.stdout


def test_status_says_what_would_have_been_rejected(observing: Desk) -> None:
    batch = observing.published("bad.parquet")
    assert "Observed" not in observing.run("status").stdout
    assert observing.run("drop", observing.file("2.parquet", b"bad"), "--table", "nyc.flights", "--wait").exit_code == 0
    told = observing.run("status").stdout
    for words in ("Observed (1 published file would have been rejected)", WOULD, "Published (2 files"):
        assert words in told
    entries = {entry["batch"]: entry for entry in observing.json("status")["published"]}
    assert [entry["would_reject"] for entry in entries.values()].count(1) == 1
    assert entries[batch]["would_reject"] == 0


def test_show_and_retry_say_that_there_is_nothing_to_do(observing: Desk) -> None:
    assert observing.run("drop", observing.file("1.parquet", b"bad"), "--table", "nyc.flights", "--wait").exit_code == 0
    batch = observing.json("status")["published"][0]["batch"]
    told = observing.run("show", batch).stdout
    for words in ("the contract observes", "1 file: 1 would have been rejected", "would fail  nyc/flights/1.parquet"):
        assert words in told
    assert "1 file would have been rejected" in told[told.index("Decisions") :]
    retried = observing.run("retry", batch)
    assert (retried.exit_code, "there is nothing to do for them" in retried.output) == (1, True)


@pytest.fixture
def shop(desk: Desk) -> str:
    """A batch of real rows, as a contract that observes has it."""
    add_batch(desk, SHOP, {"shop/orders/1.parquet": GOOD, "shop/orders/2.parquet": BAD})
    plan, attempt = load(SHOP, "shop.yaml").plan, Attempt(table="shop.orders", batch=BATCH, number=1)
    report = read_report(desk.world.store, attempt)
    assert report is not None
    checks = as_observed(plan, {file.id: file.checks for file in report.files})
    files = tuple(
        replace(file, checks=its, verdict=verdict(its), would_quarantine=rows_observed(its))
        for file in report.files
        for its in [checks[file.id]]
    )
    desk.world.store.write(report_name(attempt), to_json(replace(report, files=files, mode=Mode.OBSERVE)).encode())
    return BATCH


def test_the_page_says_it_in_words_and_with_a_sign_of_its_own(desk: Desk, shop: str) -> None:
    text = page(view_batch(desk.world.service, shop))
    head = text[: text.index("<article")]
    assert "2 files: 1 would have been rejected, 1 passed" in head
    assert "The contract observes: what can be appended is published" in head
    assert f'<span class="verdict would fail">(✕) {Verdict.WOULD_FAIL}</span>' in head
    assert '<article class="file would fail"' in text


def test_rows_that_would_have_failed_are_listed(desk: Desk, shop: str) -> None:
    told = desk.run("show", shop, "--rows", "amount required")
    assert (told.exit_code, "2 rows" in told.stdout) == (0, True)


# And the push.


def test_a_push_says_what_the_last_thirty_days_would_have_met(observing: Desk) -> None:
    observing.published("1.parquet")
    contract = observing.file("flights.yaml", (CONTRACT + FEW + OBSERVE).encode())
    told = observing.run("contract", "push", contract).stdout
    for words in (
        "It observes: what can be appended is published, and faults are reported. To enforce it: mode: enforce",
        "Enforced over the last 30 days (1 file with 10 rows), it would have rejected 1 file",
        "error: rowCount",
    ):
        assert words in told
    contract.write_text(CONTRACT + FEW)
    assert "It observes" not in observing.run("contract", "push", contract).stdout


def test_a_push_says_as_json_what_it_would_have_met(observing: Desk) -> None:
    observing.published("1.parquet")
    contract = observing.file("flights.yaml", (CONTRACT + FEW).encode())
    told = json.loads(observing.run("contract", "push", contract, "--json").stdout)
    [found] = told["last_30_days"]
    assert (found["table"], found["files"], found["rejected"], found["mode"]) == ("nyc.flights", 1, 1, "enforce")
    assert told["contracts"][0]["mode"] == "enforce"


def test_a_push_of_a_table_without_files_says_nothing_of_the_past(desk: Desk) -> None:
    assert "last 30 days" not in desk.run("contract", "push", desk.contract()).stdout
