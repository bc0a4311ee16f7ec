"""Stored JSON of this format is read, also by later releases, and JSON of a newer format is refused by name."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from lakegate.audit.evaluation.mask import MASK, raw
from lakegate.audit.model.catalog import CatalogAddress
from lakegate.audit.model.client import Client
from lakegate.audit.model.codec import NewerFormat, OlderFormat, from_json, to_json
from lakegate.audit.model.files import FileKind
from lakegate.audit.model.job import Job
from lakegate.audit.model.plan import Budget, Mode, Stance, TableColumn
from lakegate.audit.model.report import Report, Rewritten, Verdict
from lakegate.errors import Misconfigured
from lakegate.landing.receipts import Receipt
from lakegate.workflow.reconcile import reconcile
from tests.world.world import World

HERE = Path(__file__).parent


def kept(name: str, **changed: Any) -> str:
    return json.dumps(json.loads((HERE / f"{name}.json").read_text()) | changed)


def test_a_report_of_format_1_is_read() -> None:
    report = from_json(Report, kept("report-1"))
    aside, failed = report.files
    assert [file.verdict for file in report.files] == [Verdict.QUARANTINE, Verdict.FAIL]
    assert aside.warnings == (
        "in quarantine: 2 of 50 rows",
        "amount > 0: 2 of 50 rows, expected none",
        "nullValues of mail must be less than 50 percent: 40 of 50 rows, expected less than 50%",
        'the table gains column "zip" (string)',
    )
    assert (aside.replaces.versions, aside.replaces.rows, aside.replaces.rewritten) == (("v1",), 40, ())
    assert failed.reasons == ("id unique in the table: 1 of 50 rows, expected none",)
    assert failed.unread == ('column "extra" of the file is not read',)
    assert (report.format, report.masked, report.depends_on) == (1, ("mail",), ("shop.orders",))
    assert (report.rewritten, report.reused_from) == (Rewritten(), "")
    assert from_json(Report, to_json(report)) == report


def test_words_of_earlier_releases_on_registered_files_are_passed_over() -> None:
    job, report = json.loads(kept("job-2")), json.loads(kept("report-4"))
    files = [file | {"registered": True, "unregistered": ""} for file in report["files"]]
    assert from_json(Report, json.dumps(report | {"files": files})) == from_json(Report, kept("report-4"))
    assert from_json(Job, json.dumps(job | {"registers": True})) == from_json(Job, kept("job-2"))


def test_a_report_of_format_2_has_what_to_write_next() -> None:
    report = from_json(Report, kept("report-2"))
    _, failed, encrypted = report.files
    assert (report.format, report.mode) == (2, Mode.ENFORCE)
    assert [advice.operator for advice in report.advice] == ["run lakegate retry"]
    assert {said: advice.vendor for said, advice in failed.advice_by_reason.items()} == {
        "id unique in the table: 1 of 50 rows, expected none": 'send each value of "id" once'
    }
    assert {said: advice.vendor for said, advice in encrypted.advice_by_reason.items()} == {
        "it is encrypted": "write it without encryption"
    }
    assert from_json(Report, to_json(report)) == report


def test_a_report_of_format_3_tells_what_enforcing_would_have_done() -> None:
    report = from_json(Report, kept("report-3"))
    aside, failed, encrypted = report.files
    assert (report.format, report.mode) == (3, Mode.OBSERVE)
    assert [file.verdict for file in report.files] == [Verdict.WOULD_QUARANTINE, Verdict.WOULD_FAIL, Verdict.FAIL]
    assert aside.warnings[0] == "observed: 2 of 50 rows would have gone to quarantine"
    assert failed.warnings[0] == "observed: it would have been rejected"
    assert (failed.reasons, encrypted.warnings) == ((), ())
    assert from_json(Report, to_json(report)) == report


def test_a_report_of_format_4_names_its_data_files_in_the_audits_table() -> None:
    report = from_json(Report, kept("report-4"))
    assert (report.format, Report.format, report.unnoted) == (4, 4, "")
    assert [[data.rows for data in file.noted] for file in report.files] == [[6], [], []]
    assert not any(file.noted for file in from_json(Report, kept("report-3")).files)
    assert from_json(Report, to_json(report)) == report


def test_a_report_of_format_1_has_no_advice() -> None:
    report = from_json(Report, kept("report-1"))
    assert (report.advice, [file.advice_by_reason for file in report.files]) == ((), [{}, {}])


def test_a_job_of_format_2_is_read() -> None:
    job = from_json(Job, kept("job-2"))
    assert (job.format, job.plan.format, len(job.plan.checks), job.plan.key) == (2, 1, 6, ("id",))
    assert [column.name for column in job.plan.columns if column.masked] == ["mail"]
    assert (job.plan.files.kind, job.plan.files.limits.rows) == (FileKind.CSV, 1000)
    assert (job.plan.budget, job.plan.policy.new_columns) == (Budget(rows=3), Stance.EVOLVE)
    assert (job.consecutive_crashes, job.never_began, list(job.left_out.values())) == (
        (1,),
        (),
        ["it is gone from the landing bucket"],
    )
    assert ([data.rows for data in job.replaced_files], [data.rows for data in job.replaced_quarantined]) == ([40], [2])
    assert (job.rewritten, job.reuses, job.baseline) == (frozenset(), "", {"rows-df19b0086ef7": (50.0, 60.0)})
    assert from_json(Job, to_json(job)) == job
    client = Client(id="job-1", secret="oidc/spark", endpoint="https://issuer/token")
    assert job.catalog == CatalogAddress(uri="http://nessie:19120", warehouse="lake", client=client)


def test_a_job_of_format_1_is_refused_with_both_versions() -> None:
    words = "this job has format 1, of an earlier release of lakegate, and this release reads format 2 and later"
    with pytest.raises(OlderFormat, match=words):
        from_json(Job, kept("job-1"))


def test_a_receipt_of_format_1_is_read() -> None:
    receipt = Receipt.from_json(kept("receipt-1"))
    assert (receipt.truncated, [entry.version_id for entry in receipt.on_main]) == (
        datetime(2013, 2, 1, tzinfo=UTC),
        ["v2"],
    )
    assert json.loads(receipt.to_json()) == json.loads(kept("receipt-1"))


@pytest.mark.parametrize(("kind", "name", "known"), [(Report, "report-4", 4), (Job, "job-2", 2)])
def test_a_newer_format_is_refused_with_both_versions(kind: type, name: str, known: int) -> None:
    said = f"this {kind.__name__.lower()} has format 9, and .* up to format {known}: update"
    with pytest.raises(NewerFormat, match=said):
        from_json(kind, kept(name, format=9))


def test_a_plan_of_a_newer_format_is_refused_within_its_job() -> None:
    job = json.loads(kept("job-2"))
    with pytest.raises(NewerFormat, match="this plan has format 9"):
        from_json(Job, json.dumps(job | {"plan": job["plan"] | {"format": 9}}))


def test_a_newer_receipt_is_refused_with_both_versions() -> None:
    with pytest.raises(
        Misconfigured, match=r"shop/orders/2.parquet: this receipt has format 9, and .* up to format 1: update"
    ):
        Receipt.from_json(kept("receipt-1", format=9))


def test_a_newer_releases_report_waits_for_the_update_and_is_then_settled() -> None:
    world = World()
    world.drop("1.parquet", rows=3)
    world.drop("2.parquet", rows=3, bad="x")
    world.runner.finish_all()
    written = {name: world.store.objects[name] for name in world.store.names("reports/")}
    for name, body in written.items():
        world.store.write(name, json.dumps(json.loads(body) | {"format": 9}).encode())
    errors = reconcile(world.service)
    assert ["has format 9" in str(error) for error in errors] == [True] * len(written)
    assert (world.rows_on_main(), world.rejected(), world.messages()) == ({}, {}, [])
    world.store.objects |= written
    assert reconcile(world.service) == []
    assert (list(world.rows_on_main()), list(world.rejected())) == (["1.parquet"], ["2.parquet"])


@pytest.mark.parametrize(
    ("stored", "words"),
    [
        (9, "job.json: this job has format 9"),
        (1, "until the earlier release is deployed again and its batches have ended"),
    ],
)
def test_a_job_of_another_release_waits_for_that_release_alone(stored: int, words: str) -> None:
    """The sweep does all the rest, and batches of the same table take no turn."""
    world = World()
    world.want_unique_keys()
    world.drop("newer.parquet", rows=3)
    world.runner.finish_all()
    [job] = [name for name in world.store.names("attempts/") if name.endswith("job.json")]
    written = world.store.objects[job]
    world.store.write(job, json.dumps(json.loads(written) | {"format": stored}).encode())
    world.drop("lost.parquet", rows=2, deliver=False)
    world.wait_out_the_grace()
    for _ in range(2):
        [error] = reconcile(world.service)
        assert (type(error), words in str(error)) == (Misconfigured, True)
        world.end_jobs()
    assert (list(world.rows_on_main()), world.messages()) == (["lost.parquet"], [])
    world.store.write(job, written)
    for _ in range(2):
        assert reconcile(world.service) == []
        world.end_jobs()
    assert reconcile(world.service) == []
    assert set(world.rows_on_main()) == {"lost.parquet", "newer.parquet"}


def test_raw_text_of_a_file_is_shown_only_where_nothing_is_masked() -> None:
    column, hidden = TableColumn(name="a", type="int"), TableColumn(name="b", type="int", masked=True)
    assert raw([column], "1;x") == "1;x"
    assert raw([column, hidden], "1;x") == MASK
