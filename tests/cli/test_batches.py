"""`status`, `show`, `retry`, `discard`, `reconcile`: what a person and what a script read."""

from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pytest
from typer.testing import CliRunner

from lakegate.cli.app import app
from lakegate.cli.exits import Exit
from lakegate.errors import Retryable
from lakegate.landing.attempts import Attempt
from lakegate.ports import Branch
from lakegate.testing.jobs import USAGE
from lakegate.workflow.attempts.usage import record_usage
from lakegate.workflow.registry import contract_name
from tests.cli.desk import ROWS, Desk
from tests.support.function_urls import ANN
from tests.world.world import CONTRACT, TABLE

MEMBERS = {"batch", "table", "branch", "files", "state", "rows", "reasons", "since"}


def test_status_of_an_empty_installation_says_what_to_do(desk: Desk) -> None:
    told = desk.run("status")
    assert told.exit_code == 0
    assert "Nothing has landed yet" in told.stdout
    assert "lakegate drop" in told.stdout


def test_status_as_json_has_the_four_lists_even_when_empty(desk: Desk) -> None:
    told = desk.json("status")
    assert {name: told[name] for name in ("in_flight", "unrouted", "rejected", "published")} == {
        "in_flight": [],
        "unrouted": [],
        "rejected": [],
        "published": [],
    }


def test_status_as_json_describes_every_entry_alike(desk: Desk) -> None:
    one_of_each(desk)
    told = desk.json("status")
    for name in ("in_flight", "unrouted", "rejected", "published"):
        [entry] = told[name]
        assert set(entry) >= MEMBERS
    assert told["published"][0]["rows"] == ROWS
    assert told["published"][0]["files"] == ["nyc/flights/1.parquet"]
    assert told["rejected"][0]["reasons"] == ["carrier required: 1, expected none"]
    assert told["rejected"][0]["branch"] in desk.world.branches()
    assert told["unrouted"][0]["files"] == ["elsewhere/x.parquet"]
    assert told["in_flight"][0]["state"] == "queued"


def test_status_shows_a_person_each_list(desk: Desk) -> None:
    one_of_each(desk)
    told = desk.run("status").stdout
    for words in ("In flight (1 file)", "Unrouted (1 file)", "Rejected (1 file)", f"Published (1 file, {ROWS} rows)"):
        assert words in told
    assert "carrier required: 1, expected none" in told
    assert "Next: lakegate wait" in told


def test_status_names_what_was_rejected_before_main_s_log_was_read_no_further(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = desk.rejected("bad.parquet")
    gone = desk.rejected("bad2.parquet")
    assert desk.run("discard", gone, "--why", "a test file").exit_code == 0
    desk.published("1.parquet")
    now = desk.json("status")
    assert (now["of_last"], now["older"]) == (None, [])
    monkeypatch.setattr("lakegate.workflow.status.DECISIONS", 1)
    now = desk.json("status")
    assert (now["of_last"], now["older"], now["rejected"]) == (1, [batch], [])
    told = desk.run("status").stdout
    assert f"Published (1 file, {ROWS} rows, of the last 1 decisions)" in told
    assert "Rejected earlier, with branches that are kept (1)" in told
    assert batch in told


def test_status_of_a_branch_that_goes_while_it_is_looked_at_does_without_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.rejected()
    gone = Branch(name="wap-nyc.flights-20130131T0405-1a2b3c4d-a1", head="0" * 16)
    branches = [*desk.world.service.branches.list_branches(), gone]
    monkeypatch.setattr(desk.world.service.branches, "list_branches", lambda: branches)
    now = desk.json("status")
    assert (len(now["rejected"]), now["in_flight"]) == (1, [])


def mended(desk: Desk) -> str:
    """A file that was rejected, and that was uploaded anew and published since; the batch that was rejected."""
    batch = desk.rejected("1.parquet")
    desk.published("1.parquet")
    return batch


def test_status_says_of_what_was_mended_by_another_upload_that_it_is_superseded(desk: Desk) -> None:
    batch = mended(desk)
    told = desk.run("status").stdout
    assert "Rejected (" not in told
    assert f"Superseded by other versions of their keys, nothing to do (1)\n\n    {batch}\n" in told


def test_a_superseded_batch_is_called_so_where_it_is_shown_and_waited_for(desk: Desk, tmp_path: Path) -> None:
    batch = mended(desk)
    shown = desk.run("show", batch).stdout.partition("Decisions")[2]
    assert "  superseded  a1, 1 file" in shown
    assert "another version of its key is on main, nothing to do" in shown
    waited = desk.run("wait", batch).stdout
    assert waited.startswith("- superseded  nyc.flights")
    assert "nothing to do" in waited
    assert "rejected" not in waited
    assert {file["state"] for file in desk.json("wait", batch)["files"]} == {"superseded"}
    assert desk.run("show", batch, "--html", tmp_path / "page.html").exit_code == 0
    assert '<span class="verdict superseded">superseded</span>' in (tmp_path / "page.html").read_text()


def test_a_batch_of_which_one_file_is_superseded_is_still_rejected(desk: Desk) -> None:
    for name in ("1.parquet", "2.parquet"):
        desk.file(name, b"bad")
    desk.run("drop", desk.folder / "1.parquet", desk.folder / "2.parquet", "--table", "nyc.flights", "--wait")
    batch = desk.json("status")["rejected"][0]["batch"]
    desk.run("drop", desk.file("1.parquet", b"mended"), "--table", "nyc.flights", "--wait")
    assert "  rejected  a1, 2 files" in desk.run("show", batch).stdout.partition("Decisions")[2]


def test_show_offers_to_discard_what_is_superseded_and_nothing_that_is_refused(desk: Desk) -> None:
    batch = mended(desk)
    words = {command.split()[1] for command in desk.json("show", batch)["next"]}
    assert words & {"retry", "approve", "discard", "wait"} == {"discard"}
    assert desk.run("discard", batch, "--why", "mended").exit_code == 0


def test_status_says_when_the_bucket_was_listed_last_where_that_was_long_ago(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk.published()
    monkeypatch.setattr("lakegate.workflow.backlog.MOST_FILES", 1)
    desk.sweep()
    desk.world.clock.advance(10 * 60)
    assert "listed the bucket" not in desk.run("status").stdout
    desk.world.clock.advance(10 * 60)
    told = desk.run("status").stdout
    assert (
        "The last sweep listed the bucket 20 minutes ago; later files are not shown. To list them: lakegate wait"
        in told
    )


def test_status_where_all_was_discarded_does_not_say_that_nothing_has_landed(desk: Desk) -> None:
    assert desk.run("discard", desk.rejected(), "--why", "a test file").exit_code == 0
    told = desk.run("status").stdout
    assert "Nothing is in flight, unrouted, rejected or published." in told
    assert "Nothing has landed" not in told


def one_of_each(desk: Desk) -> None:
    desk.published("1.parquet")
    desk.rejected("bad.parquet")
    desk.run("drop", desk.file("x.parquet"), "--to", "elsewhere/", "--wait")
    desk.run("drop", desk.file("2.parquet"), "--table", "nyc.flights")


def test_reasons_that_differ_name_their_files(desk: Desk) -> None:
    desk.world.drop("1.parquet", rows=3, bad="x", deliver=False)
    desk.world.drop("2.parquet", rows=3, unreadable="it is empty", deliver=False)
    desk.world.drop_together("1.parquet", "2.parquet")
    desk.world.run()
    [entry] = desk.json("status")["rejected"]
    assert sorted(entry["reasons"]) == [
        "nyc/flights/1.parquet: x: 1, expected none",
        "nyc/flights/2.parquet: it is empty",
    ]
    assert "nyc/flights/2.parquet: it is empty" in desk.run("status").stdout


def test_a_reason_that_all_files_share_is_said_once(desk: Desk) -> None:
    for name in ("1.parquet", "2.parquet"):
        desk.world.drop(name, rows=3, deliver=False)
    desk.world.drop_together("1.parquet", "2.parquet")
    desk.world.cancel_jobs()
    desk.world.run()
    [entry] = desk.json("status")["rejected"]
    assert len(entry["reasons"]) == 1


def test_status_says_why_no_job_begins(desk: Desk) -> None:
    desk.world.drop("1.parquet", rows=3)
    desk.world.kill_jobs("the account has no room", never_began=True)
    [entry] = desk.json("status")["in_flight"]
    told = desk.run("status").stdout
    assert "in a job that read no file; attempt a2 starts after" in told
    assert f"{entry['batch']}:\n    the account has no room\n" in told


def test_a_key_that_looks_like_markup_or_moves_the_cursor_is_shown_as_it_is(desk: Desk) -> None:
    desk.world.drop("[red]\x1b[2J:smile:.parquet", rows=3, bad="x")
    desk.world.run()
    told = desk.run("status").stdout
    assert "[red]\\x1b[2J:smile:.parquet" in told
    assert "\x1b" not in told


def test_show_tells_a_rejected_files_checks_and_what_to_do(desk: Desk) -> None:
    batch = desk.rejected()
    told = desk.run("show", batch)
    [branch] = desk.world.branches()
    assert told.exit_code == 0
    for words in (batch, branch, "carrier required", "none", "statistics", f"lakegate retry {batch}", "--ref"):
        assert words in told.stdout


def test_show_as_json_has_the_report(desk: Desk) -> None:
    batch = desk.rejected()
    told = desk.json("show", batch)
    [attempt] = told["attempts"]
    assert told["batch"] == batch
    assert attempt["kept"]
    assert attempt["report"]["files"][0]["checks"][0]["verdict"] == "fail"
    assert [decided["record"]["decision"] for decided in told["decisions"]] == ["rejected"]


def test_what_a_batch_is_billed_for_is_shown_before_anybody_has_noted_it(desk: Desk) -> None:
    batch = desk.published()
    assert desk.json("show", batch)["attempts"][0]["usage"]["vcpu_hours"] == USAGE.vcpu_hours
    assert "its job ran for 90 s, billed 0.100 vCPU-hours, 0.400 GB-hours, 2.750 GB-hours of disk" in (
        desk.run("show", batch).stdout
    )


def test_status_sums_up_what_the_published_batches_are_billed_for(desk: Desk) -> None:
    for name in ("1.parquet", "2.parquet"):
        batch = desk.published(name)
        attempt = Attempt(table="nyc.flights", batch=batch, number=1)
        run = desk.world.runner.find(attempt.branch)
        assert run
        record_usage(desk.world.service, attempt, desk.world.runner.get(run.id))
    assert "billed 0.20 vCPU-hours, 0.80 GB-hours" in desk.run("status").stdout
    assert [line["usage"]["seconds"] for line in desk.json("status")["published"]] == [90, 90]


def test_what_is_under_way_says_its_lane_where_there_are_two(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.deliver()
    assert "lane" not in desk.run("status").stdout
    desk.world.have_express()
    desk.run("drop", desk.file("2.parquet"), "--table", "nyc.flights")
    desk.deliver()
    assert "lane" in desk.run("status").stdout
    assert sorted(line["lane"] for line in desk.json("status")["in_flight"]) == ["express", "spark"]
    assert "is on the Spark lane" not in desk.run("status").stdout  # there was no other


def test_what_is_under_way_says_why_it_is_on_spark_s_lane_where_another_was_there(desk: Desk) -> None:
    desk.world.have_express(spark_only="a check of it is Spark's alone")
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.deliver()
    [line] = desk.json("status")["in_flight"]
    said = desk.run("status").stdout.splitlines()
    assert said[said.index(f"{line['batch']} is on the Spark lane:") + 1] == "    a check of it is Spark's alone"


def test_files_that_are_handed_over_say_so_until_spark_has_them_and_then_say_why_it_has(desk: Desk) -> None:
    desk.world.have_express()
    desk.run("drop", desk.file("1.parquet", b"bad"), "--table", "nyc.flights")
    desk.deliver()
    desk.world.hand_over("only Spark can compare `a`")
    [line] = desk.json("status")["in_flight"]
    assert (line["state"], line["reasons"]) == ("handed over to Spark", ["only Spark can compare `a`"])
    desk.world.run()
    batch = desk.json("status")["rejected"][0]["batch"]
    told = desk.run("show", batch).stdout
    why = "attempt a1 handed its files over: only Spark can compare `a`"
    assert f"on the Spark lane: {why}" in told
    assert f"It ran on the Spark lane: {why}" in desk.run("show", batch, "--html", "-").stdout
    assert desk.json("show", batch)["attempts"][0]["report"]["lane_why"] == why
    [message] = desk.world.notifier.messages
    assert message.lane == f"Spark: {why}"


def test_a_published_line_has_the_lane_that_its_commit_names(desk: Desk) -> None:
    desk.world.have_express()
    batch = desk.published()
    assert desk.json("status")["published"][0]["lane"] == "express"
    assert "on the express lane: the batch is small: 1 file of" in desk.run("show", batch).stdout


def test_show_of_a_published_batch_sums_its_checks_up(desk: Desk) -> None:
    told = desk.run("show", desk.published()).stdout
    assert "pass  nyc/flights/1.parquet" in told
    assert "(deleted)" in told


def test_show_of_a_batch_whose_job_died_says_how(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.deliver()
    desk.world.allow_attempts(1)
    desk.world.kill_jobs("killed by signal 9")
    desk.world.run()
    batch = desk.json("status")["rejected"][0]["batch"]
    told = desk.run("show", batch).stdout
    assert "no report; job: failed" in told
    assert "killed by signal 9" in told
    assert f"lakegate retry {batch}" in told
    assert "lakegate query" not in told


def test_show_keeps_the_reasons_of_an_attempt_that_left_no_report(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.deliver()
    desk.world.allow_attempts(1)
    desk.world.kill_jobs("killed by signal 9")
    desk.world.run()
    batch = desk.json("status")["rejected"][0]["batch"]
    desk.run("retry", batch)
    desk.work()
    told = desk.run("show", batch).stdout.partition("Decisions")[2]
    assert "killed by signal 9" in told
    assert "published" in told


def test_a_replacement_says_how_many_rows_it_took_the_place_of(desk: Desk) -> None:
    desk.published("1.parquet")
    dropped = desk.run("drop", desk.file("1.parquet", b"other"), "--table", "nyc.flights", "--wait").stdout
    assert f"1 file  {ROWS} rows in place of {ROWS} rows" in dropped
    assert f"1.parquet  {ROWS} rows in place of {ROWS} rows" in dropped
    [line] = desk.json("status")["published"]
    assert f"in place of {ROWS} rows" in desk.run("wait", line["batch"]).stdout
    assert line["replaced"] == line["rows"] > 0
    assert "replaced" in desk.run("status").stdout
    assert f"in place of {line['replaced']} rows" in desk.run("show", line["batch"]).stdout


def test_an_approval_publishes_and_names_who_and_why(desk: Desk) -> None:
    desk.published("0.parquet")
    batch = desk.rejected("1.parquet")
    assert f'lakegate approve {batch} --why "…"' in desk.json("show", batch)["next"]
    told = desk.run("approve", batch, "--why", "known at the vendor's")
    assert told.exit_code == 0
    assert f"1 file of {batch} published as audited: known at the vendor's" in told.stdout
    assert "known at the vendor's, by " in desk.run("show", batch).stdout
    assert desk.run("approve", batch, "--why", "again").exit_code == 1


def test_show_offers_to_approve_and_to_look_at_rows_where_some_are_on_the_branch(desk: Desk) -> None:
    desk.world.drop("1.parquet", rows=0, unreadable="it is not a parquet file", deliver=False)
    desk.world.drop("2.parquet", rows=3, bad="broken", deliver=False)
    ids = [desk.world.files[name].id for name in ("1.parquet", "2.parquet")]
    batches = []
    for name in ("1.parquet", "2.parquet"):
        desk.world.deliver(desk.world.files[name])
        desk.world.run()
        batches += [line["batch"] for line in desk.json("status")["rejected"] if line["batch"] not in batches]
    unread, failed = (" ".join(desk.json("show", batch)["next"]) for batch in batches)
    assert [words in unread for words in ("approve", "query", "retry")] == [False, False, True]
    assert [words in failed for words in ("approve", ids[1], "retry")] == [True, True, True]


def test_show_of_a_rejection_that_needed_no_job(desk: Desk) -> None:
    desk.published("1.parquet")
    desk.world.push_contract(reuploads="reject")
    desk.run("drop", desk.file("1.parquet", b"other"), "--table", "nyc.flights", "--wait")
    told = desk.run("show", batch := desk.json("status")["rejected"][0]["batch"])
    assert told.exit_code == 0
    assert "no attempt" in told.stdout
    assert "already published" in told.stdout
    assert "lakegate retry BATCH" not in told.stdout.replace(batch, "BATCH")


def test_show_of_a_batch_under_way_says_wait(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.deliver()
    batch = desk.json("status")["in_flight"][0]["batch"]
    told = desk.run("show", batch)
    assert told.exit_code == 0
    assert f"lakegate wait {batch}" in told.stdout


def test_show_of_a_batch_that_is_retried_says_wait_and_offers_nothing_that_is_refused(desk: Desk) -> None:
    batch = desk.rejected()
    assert desk.run("retry", batch).exit_code == 0
    words = {command.split()[1] for command in desk.json("show", batch)["next"]}
    assert words & {"retry", "approve", "discard", "wait"} == {"wait"}


def test_an_unknown_batch_is_misuse_for_every_command(desk: Desk) -> None:
    for command in (("show",), ("retry",), ("discard", "--why", "x")):
        told = desk.run(*command, "20130101T0000-0123abcd")
        assert (told.exit_code, "lakegate status" in told.stderr) == (2, True)


def test_retry_publishes_what_was_mended(desk: Desk) -> None:
    batch = desk.rejected()
    desk.world.files["bad.parquet"] = next(iter(desk.world.landing.files.values()))
    desk.world.mend("bad.parquet")
    assert desk.json("retry", batch)["attempt"] == 2
    desk.work()
    told = desk.json("status")
    assert [len(told["rejected"]), len(told["published"])] == [0, 1]


def unreachable(*_: Any) -> None:
    raise Retryable("nobody answers")


def test_a_retry_that_cannot_be_started_says_that_it_is_noted_and_the_next_sweep_starts_it(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = desk.rejected()
    with monkeypatch.context() as patch:
        patch.setattr(desk.world.runner, "start", unreachable)
        told = desk.run("retry", batch)
    assert (told.exit_code, "nobody answers" in told.stderr) == (3, True)
    assert f"Attempt a2 of batch {batch} is noted; the next sweep starts it" in told.stderr
    desk.sweep()
    assert len(desk.world.runner.open_runs()) == 1


def test_a_retry_that_fails_once_its_job_is_started_says_that_it_may_be_under_way(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    batch = desk.rejected()
    runs, head = desk.world.job_runs(), desk.world.service.branches.head

    def fails_then(branch: str) -> str | None:
        if desk.world.job_runs() > runs:
            raise Retryable("nobody answers")
        return head(branch)

    monkeypatch.setattr(desk.world.service.branches, "head", fails_then)
    told = desk.run("retry", batch)
    assert (told.exit_code, f"Attempt a2 of batch {batch} may have started" in told.stderr) == (3, True)


@pytest.mark.parametrize(
    ("command", "fails", "says"),
    [
        ("approve", "lakegate.workflow.approve.settle", "published"),
        ("discard", "lakegate.workflow.retry.delete_settled", "discarded"),
    ],
)
def test_a_command_that_fails_after_it_was_decided_says_what_was(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, command: str, fails: str, says: str
) -> None:
    batch = desk.rejected()
    with monkeypatch.context() as patch:
        patch.setattr(fails, unreachable)
        told = desk.run(command, batch, "--why", "known")
    assert (told.exit_code, f"1 file was {says} from batch {batch}" in told.stderr) == (3, True)
    desk.sweep()
    assert (desk.json("status")["rejected"], desk.world.branches()) == ([], [])


def test_retry_of_a_published_batch_is_forbidden(desk: Desk) -> None:
    batch = desk.published()
    told = desk.run("retry", batch)
    assert told.exit_code == 1
    assert batch in told.stderr


def test_discard_takes_the_batch_off_the_list_and_keeps_the_reason(desk: Desk) -> None:
    batch = desk.rejected()
    assert desk.run("discard", batch, "--why", "a test file").exit_code == 0
    assert desk.json("status")["rejected"] == []
    assert desk.world.branches() == []
    assert "a test file" in desk.run("show", batch).stdout


def test_discard_needs_a_reason(desk: Desk) -> None:
    assert desk.run("discard", desk.rejected()).exit_code == 2


def test_reconcile_finds_a_file_whose_event_was_lost(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.world.wait_out_the_grace()
    assert desk.run("reconcile").exit_code == 0
    desk.world.run()
    assert len(desk.json("status")["published"]) == 1


def test_main_s_log_says_whom_aws_authenticated(desk: Desk) -> None:
    batch = desk.rejected()
    assert desk.run("discard", batch, "--why", "no use").exit_code == 0
    [decided] = [it for it in desk.world.service.ledger.decisions(9) if it.record.by]
    assert decided.record.by == ANN
    assert f"by {ANN}" in desk.run("show", batch).stdout


@pytest.mark.parametrize("why", ["", "  ", "…", "..."])
@pytest.mark.parametrize("command", ["approve", "discard"])
def test_the_dots_of_a_copied_command_are_no_reason(desk: Desk, command: str, why: str) -> None:
    batch = desk.rejected()
    assert desk.run(command, batch, "--why", why).exit_code == 2
    assert desk.json("status")["rejected"]


@pytest.mark.parametrize("act", ["approve", "discard"])
@pytest.mark.parametrize(("why", "says"), [("x" * 2_001, "this one has 2,001"), ("…", "few words"), (" ", "few words")])
def test_a_reason_is_judged_before_anything_is_asked_of_the_installation(
    desk: Desk, act: str, why: str, says: str
) -> None:
    batch = desk.rejected()
    unreachable = replace(desk.installation, operations=cast(Any, None))
    answer = CliRunner().invoke(app, [act, batch, "--why", why], obj=unreachable)
    assert answer.exit_code == Exit.MISUSE
    assert says in " ".join(answer.output.split())


def test_status_names_a_table_whose_contract_is_refused_from_now_on_and_the_line_to_write(desk: Desk) -> None:
    register = "    customProperties:\n      - {property: write, vendor: lakegate, value: register}\n"
    desk.world.store.write(contract_name(TABLE), (CONTRACT + register).encode())  # as an earlier release has stored it
    desk.world.drop("1.parquet", rows=3)

    said = " ".join(desk.run("status").stdout.split())

    assert "Contracts that do not load (1)" in said
    assert TABLE in said
    assert "write: register is refused" in said
    assert "value: append" in said
    assert "Next: lakegate contract push CONTRACT" in said
    [entry] = desk.json("status")["broken_contracts"]
    assert (entry["table"], entry["faults"], entry["first"]["write"]) == (TABLE, 1, "value: append")
