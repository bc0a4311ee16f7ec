"""`drop` and `wait`: where a file goes, what is said of it, and with which code the command ends."""

import shlex
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest

from lakegate.errors import Retryable
from lakegate.landing.files import FileVersion
from lakegate.ports import Changes
from lakegate.workflow import backlog
from tests.cli.desk import ROWS, Desk


def test_a_dropped_file_goes_where_its_tables_contract_looks(desk: Desk) -> None:
    dropped = desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    assert dropped.exit_code == 0
    assert [key for key, _ in desk.world.landing.files] == ["nyc/flights/1.parquet"]
    assert "lakegate wait" in dropped.stdout


def test_a_dropped_file_goes_to_the_folder_that_is_named(desk: Desk) -> None:
    desk.run("drop", desk.file("a b+%#.parquet"), "--to", "nyc/flights/more")
    assert [key for key, _ in desk.world.landing.files] == ["nyc/flights/more/a b+%#.parquet"]


def test_without_a_table_the_only_contract_that_takes_the_name_says_where(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"))
    assert [key for key, _ in desk.world.landing.files] == ["nyc/flights/1.parquet"]


@pytest.mark.parametrize(("args", "before"), [(("--table", "nyc.planes"), "goes: "), ((), "which: ")])
def test_the_command_that_is_recommended_names_the_file_as_a_shell_takes_it(
    desk: Desk, args: tuple[str, ...], before: str
) -> None:
    desk.run("contract", "push", desk.contract(), desk.contract("nyc.others", "nyc/others/*.txt", "others.yaml"))
    (desk.folder / "of may").mkdir()
    file = desk.file("of may/x y.txt")
    told = desk.run("drop", file, *args)
    assert told.exit_code == 2
    assert shlex.split(told.stderr.partition(before)[2])[2] == str(file)


def test_a_file_that_two_contracts_would_take_needs_a_table(desk: Desk) -> None:
    desk.run("contract", "push", desk.contract())
    dropped = desk.run("drop", desk.file("1.parquet"))
    assert dropped.exit_code == 2
    assert "nyc.flights, nyc.planes" in dropped.stderr
    assert "--table" in dropped.stderr


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (("--table", "nyc.nothing"), "nyc.nothing has no contract"),
        (("--table", "nyc.flights", "--to", "x/"), "give one of them"),
        (("--table", "nyc.planes"), "does not match the route nyc/planes/*.csv"),
        (("--to", "x" * 1100), "at most 1024 bytes"),
    ],
)
def test_a_key_that_cannot_be_right_is_misuse_before_anything_is_uploaded(
    desk: Desk, args: tuple[str, ...], says: str
) -> None:
    desk.run("contract", "push", desk.contract(route="nyc/planes/*.csv"))
    dropped = desk.run("drop", desk.file("1.parquet"), *args)
    assert dropped.exit_code == 2
    assert says in dropped.stderr
    assert desk.world.landing.files == {}


def test_a_file_that_is_not_there_is_misuse_before_anything_is_uploaded(desk: Desk) -> None:
    dropped = desk.run("drop", desk.file("1.parquet"), desk.folder / "2.parquet", "--table", "nyc.flights")
    assert dropped.exit_code == 2
    assert desk.world.landing.files == {}


def test_two_files_of_one_name_are_misuse_before_anything_is_uploaded(desk: Desk) -> None:
    (desk.folder / "other").mkdir()
    dropped = desk.run("drop", desk.file("1.parquet"), desk.file("other/1.parquet"), "--to", "nyc/flights/")
    assert dropped.exit_code == 2
    assert desk.world.landing.files == {}


def test_drop_and_wait_ends_well_when_all_are_published(desk: Desk) -> None:
    files = [desk.file(f"{number}.parquet", f"{number}".encode()) for number in range(3)]
    dropped = desk.run("drop", *files, "--table", "nyc.flights", "--wait")
    assert dropped.exit_code == 0
    assert "published" in dropped.stdout
    assert f"3 files  {3 * ROWS} rows" in dropped.stdout


def test_drop_and_wait_ends_with_one_when_a_file_is_rejected_and_says_why(desk: Desk) -> None:
    files = [desk.file("1.parquet"), desk.file("bad.parquet", b"bad")]
    dropped = desk.run("drop", *files, "--table", "nyc.flights", "--wait")
    batch = desk.json("status")["rejected"][0]["batch"]
    assert dropped.exit_code == 1
    assert "nyc/flights/bad.parquet" in dropped.stdout
    assert "carrier required" in dropped.stdout
    assert f"lakegate show {batch}" in dropped.stdout


def test_each_file_has_its_own_reasons_and_rows_though_the_batch_had_more(desk: Desk) -> None:
    files = [desk.file("bad1.parquet", b"bad1"), desk.file("good.parquet"), desk.file("bad2.parquet", b"bad2")]
    told = desk.json("drop", *files, "--table", "nyc.flights", "--wait")["files"]
    assert [(file["file"], file["state"], file["rows"]) for file in told] == [
        ("nyc/flights/bad1.parquet", "rejected", ROWS),
        ("nyc/flights/good.parquet", "published", ROWS),
        ("nyc/flights/bad2.parquet", "rejected", ROWS),
    ]
    assert [len(file["reasons"]) for file in told] == [1, 0, 1]


def test_the_same_bytes_dropped_again_are_already_published(desk: Desk) -> None:
    desk.published("1.parquet")
    again = desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights", "--wait")
    assert again.exit_code == 0
    assert "already published" in again.stdout
    assert desk.world.rows_on_main() != {}


def test_other_bytes_under_a_published_key_are_rejected(desk: Desk) -> None:
    desk.published("1.parquet")
    desk.world.push_contract(reuploads="reject")
    again = desk.run("drop", desk.file("1.parquet", b"other"), "--table", "nyc.flights", "--wait")
    assert again.exit_code == 1
    assert "already published: this key's version" in again.stdout


def test_a_file_that_no_contract_routes_is_unrouted_which_is_no_failure(desk: Desk) -> None:
    dropped = desk.run("drop", desk.file("1.parquet"), "--to", "elsewhere/", "--wait")
    assert dropped.exit_code == 0
    assert "no contract routes" in dropped.stdout
    assert "lakegate contract push" in dropped.stdout


def test_a_marker_is_passed_over_which_is_no_failure(desk: Desk) -> None:
    dropped = desk.run("drop", desk.file("_SUCCESS", b""), "--to", "nyc/flights/", "--wait")
    assert dropped.exit_code == 0
    assert "- passed over" in dropped.stdout
    assert "it has no bytes and a marker's name" in dropped.stdout


def test_a_file_that_is_deleted_before_it_is_decided_does_not_keep_a_person_waiting(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    [(key, version)] = desk.world.landing.files
    desk.is_working = False
    pause = desk.pause

    def pause_and_delete(seconds: float) -> None:
        desk.world.landing.files.pop((key, version), None)
        pause(seconds)

    desk.pause = pause_and_delete  # type: ignore[method-assign]
    waited = desk.run("wait", key)
    assert waited.exit_code == 1
    assert "deleted from the landing bucket" in waited.stdout


def test_wait_without_targets_waits_for_all_that_has_landed(desk: Desk) -> None:
    desk.run("drop", desk.file("1.parquet"), desk.file("bad.parquet", b"bad"), "--table", "nyc.flights")
    waited = desk.run("wait")
    assert waited.exit_code == 1
    assert "published" in waited.stdout
    assert desk.json("status")["in_flight"] == []


def test_wait_lists_a_large_bucket_as_a_whole_once(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.run("drop", desk.file("1.parquet"), desk.file("2.parquet"), "--table", "nyc.flights")
    monkeypatch.setattr(backlog, "MOST_FILES", 1)
    versions, ended = desk.world.landing.versions, []

    def counted() -> Iterator[FileVersion]:
        yield from versions()
        ended.append(len(desk.world.attempts()))

    monkeypatch.setattr(desk.world.service.landing, "versions", counted)
    assert desk.json("wait")["files"][0]["state"] == "published"
    assert ended == [0]


def test_waiting_looks_once_at_a_branch_that_is_kept(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.rejected("bad.parquet")
    [kept] = desk.world.service.branches.list_branches()
    changes, looked_at = desk.world.service.branches.changes, list[str]()
    pause, found = desk.pause, list[int]()

    def counted(base: str, head: str) -> Changes:
        looked_at.append(head)
        return changes(base, head)

    def rest(seconds: float) -> None:
        found.append(looked_at.count(kept.head))
        desk.is_working = len(found) == 3
        pause(seconds)

    monkeypatch.setattr(desk.world.service.branches, "changes", counted)
    desk.pause = rest  # type: ignore[method-assign]
    assert desk.run("drop", desk.file("2.parquet"), "--table", "nyc.flights", "--wait").exit_code == 0
    assert found[:3] == [1, 1, 1]


def test_wait_with_nothing_in_flight_says_so(desk: Desk) -> None:
    waited = desk.run("wait")
    assert waited.exit_code == 0
    assert "Nothing is in flight" in waited.stdout


def test_wait_for_a_batch_and_for_a_key_tell_what_became_of_them(desk: Desk) -> None:
    batch = desk.published("1.parquet")
    desk.rejected("bad.parquet")
    assert desk.run("wait", batch).exit_code == 0
    assert desk.run("wait", "nyc/flights/1.parquet").exit_code == 0
    assert desk.run("wait", "nyc/flights/1.parquet", "nyc/flights/bad.parquet").exit_code == 1


def test_wait_follows_a_retry_of_what_was_rejected_before(desk: Desk) -> None:
    batch = desk.rejected()
    [file] = desk.world.landing.files.values()
    desk.world.files["bad.parquet"] = file
    desk.world.mend("bad.parquet")
    assert desk.run("retry", batch).exit_code == 0
    assert desk.run("wait", batch).exit_code == 0


def test_wait_for_what_never_landed_is_misuse(desk: Desk) -> None:
    assert "nothing has landed under nyc/flights/1.parquet" in desk.run("wait", "nyc/flights/1.parquet").stderr
    assert desk.run("wait", "nyc/flights/1.parquet").exit_code == 2
    assert desk.run("wait", "20130101T0000-0123abcd").exit_code == 2


def test_wait_that_runs_out_of_time_names_what_is_in_flight(desk: Desk) -> None:
    desk.is_working = False
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    started = desk.world.clock.now()
    waited = desk.run("wait", "--timeout", "30")
    assert waited.exit_code == 3
    assert "nyc/flights/1.parquet (queued)" in waited.stderr
    assert "lakegate wait" in waited.stderr
    assert (desk.world.clock.now() - started).total_seconds() == pytest.approx(30)


def test_wait_that_runs_out_of_time_prints_json_all_the_same(desk: Desk) -> None:
    desk.is_working = False
    desk.run("drop", desk.file("1.parquet"), "--table", "nyc.flights")
    desk.deliver()
    [file] = desk.json("wait", "--timeout", "1")["files"]
    assert file["state"] == "waiting for a job"


def test_wait_survives_a_catalog_that_is_silent_for_a_moment(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.is_working = False
    silences(desk, monkeypatch, calls=4)
    assert desk.run("wait").exit_code == 0


def test_wait_gives_up_on_a_catalog_that_stays_silent(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    desk.is_working = False
    silences(desk, monkeypatch, calls=10_000)
    waited = desk.run("wait")
    assert waited.exit_code == 3
    assert "Nessie does not answer" in waited.stderr


def silences(desk: Desk, monkeypatch: pytest.MonkeyPatch, *, calls: int) -> None:
    """The catalog does not list its branches the first so many times that it is asked."""
    branches, left = desk.world.service.branches.list_branches, iter(range(calls))

    def answer() -> object:
        if next(left, None) is not None:
            raise Retryable("Nessie does not answer")
        return branches()

    monkeypatch.setattr(desk.world.service.branches, "list_branches", answer)


def test_a_key_is_waited_for_in_its_version_under_way(desk: Desk) -> None:
    desk.rejected("bad.parquet")
    desk.world.clock.time = datetime(2013, 2, 1, tzinfo=UTC)
    desk.run("drop", desk.file("bad.parquet", b"mended"), "--table", "nyc.flights")
    waited = desk.run("wait", "nyc/flights/bad.parquet")
    assert waited.exit_code == 0
    assert "published" in waited.stdout


@pytest.mark.parametrize("to", ["s3://landing/nyc/flights/", "/nyc/flights", "nyc//flights", "../flights", "."])
def test_a_folder_that_no_route_can_mean_is_misuse(desk: Desk, to: str) -> None:
    told = desk.run("drop", desk.file("1.parquet"), "--to", to)
    assert told.exit_code == 2
    assert "nyc/flights/" in told.stderr
    assert desk.world.landing.files == {}


def test_a_key_with_a_line_break_feigns_no_line(desk: Desk) -> None:
    file = desk.file("bad\n✓ published  nyc.flights\n    x.parquet", b"bad")
    told = desk.run("drop", file, "--table", "nyc.flights", "--wait")
    assert told.exit_code == 1
    for line in (*told.stdout.splitlines(), *desk.run("status").stdout.splitlines()):
        assert not line.startswith("✓ published")
    batch = desk.json("status")["rejected"][0]["batch"]
    assert not any(line.startswith("✓") for line in desk.run("show", batch).stdout.splitlines())


def test_wait_that_runs_out_of_time_names_a_few_of_many(desk: Desk) -> None:
    desk.is_working = False
    files = [desk.file(f"{number:03}.parquet") for number in range(40)]
    desk.run("drop", *files, "--table", "nyc.flights")
    told = desk.run("wait", "--timeout", "1").stderr
    assert told.count(".parquet") == 12
    assert "28 more" in told
