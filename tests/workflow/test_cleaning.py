"""Files in the lake that nothing needs: which they are, when they go, and what keeps the others."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import pytest

from lakegate.errors import Misconfigured, Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, StoredFile
from lakegate.testing import MemoryWarehouse
from lakegate.testing.lake import EPOCH
from lakegate.workflow.approve import approve
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.cleaning import candidates
from lakegate.workflow.cleaning.candidates import Candidate, Moment, Reprieve, is_unneeded, sort_files
from lakegate.workflow.cleaning.clean import clean
from lakegate.workflow.cleaning.needs import Need
from lakegate.workflow.retry import discard
from lakegate.workflow.settle import settle
from tests.workflow.cleaned import DAYS, CleanedWorld

LONG = 38  # days: more than a branch is kept, and a week
FOLDER = "s3://lake/warehouse/nyc/flights_7c5ea4be-62b4-53b4-8b6c-0d5f1cbd0a8f"
STRANGE = "s3://lake/warehouse/nyc/others_7c5ea4be-62b4-53b4-8b6c-0d5f1cbd0a8f"


@pytest.fixture
def world() -> CleanedWorld:
    """A table with one file on main."""
    world = CleanedWorld.made()
    world.drop("0", rows=1)
    world.run()
    return world


def rejected(world: CleanedWorld, name: str = "1") -> Attempt:
    world.drop(name, rows=2, bad="broken")
    world.run()
    [attempt] = world.attempts()
    return attempt


def test_what_main_replaced_goes_once_its_days_are_over_and_two_runs_agree(world: CleanedWorld) -> None:
    world.drop("0b", rows=2, under=world.key("0"))
    world.run()
    world.wait(LONG)
    old = world.there() - world.reached(world.lake.branches[MAIN])
    assert world.clean_twice() == len(old) > 0
    assert world.there() == world.reached(world.lake.branches[MAIN])


def test_main_is_read_as_it_was_in_the_days_that_are_kept(world: CleanedWorld) -> None:
    world.wait(LONG)
    before = world.lake.branches[MAIN]
    world.drop("0b", rows=2, under=world.key("0"))
    world.run()
    world.wait(22)
    assert world.clean_twice() == 0  # 29 days after it was main's head
    world.lake.read(before)
    world.wait(2)
    world.clean_twice()
    assert world.reached(before) - world.there()
    assert world.lake.lost == []


def test_a_kept_branch_and_its_base_are_kept_and_an_approval_finds_all_its_files(world: CleanedWorld) -> None:
    attempt = rejected(world)
    world.drop("0b", rows=2, under=world.key("0"))
    world.run()
    world.wait(100)
    world.clean_twice()
    report = read_report(world.store, attempt)
    assert report is not None
    world.lake.read(report.audited)
    world.lake.read(report.base)
    assert approve(world.service, attempt.batch, reason="known", by="ann").files == 1
    assert world.lake.lost == []
    assert world.rows_on_main() == {"0b": 2, "1": 2}


def test_a_branch_of_which_rows_were_pruned_keeps_what_was_audited(world: CleanedWorld) -> None:
    world.drop("1", rows=2, bad="broken", deliver=False)
    world.drop("2", rows=3, deliver=False)
    world.drop_together("1", "2")
    world.run()
    [attempt] = world.attempts()
    report = read_report(world.store, attempt)
    assert report is not None
    assert report.audited != world.lake.branches[attempt.branch]
    world.wait(100)
    world.clean_twice()
    assert approve(world.service, attempt.batch, reason="known", by="ann").files == 1
    assert world.lake.lost == []


def test_a_discarded_batch_leaves_nothing_behind(world: CleanedWorld) -> None:
    attempt = rejected(world)
    its = world.there() - world.reached(world.lake.branches[MAIN])
    world.clean(delete=False)
    discard(world.service, attempt.batch, reason="broken", by="ann")
    assert world.branches() == []
    world.wait(LONG)
    assert its <= world.there()
    world.clean_twice()
    assert not its & world.there()


def test_one_run_deletes_nothing_and_neither_do_two_within_a_week(world: CleanedWorld) -> None:
    attempt = rejected(world)
    discard(world.service, attempt.batch, reason="broken", by="ann")
    world.wait(LONG)
    first = world.clean()
    world.wait(6.9)
    second = world.clean()
    assert not world.lake.warehouse.deletions
    waiting = [sum(each.amounts.get(Reprieve.SECOND_RUN, (0,))[0] for each in run.folders) for run in (first, second)]
    assert waiting[0] == waiting[1] > 0
    assert {each.next_run for each in first.folders} == {world.clock.now() + timedelta(days=0.1)}
    world.wait(0.1)
    world.clean()
    assert len(world.lake.warehouse.deletions) == waiting[0]


def test_without_delete_nothing_is_deleted_however_often_it_runs(world: CleanedWorld) -> None:
    attempt = rejected(world)
    discard(world.service, attempt.batch, reason="broken", by="ann")
    for _ in range(8):
        world.wait(LONG)
        run = world.clean(delete=False)
    assert not world.lake.warehouse.deletions
    assert sum(each.amount_to_delete.files for each in run.folders) > 0


def test_a_file_that_is_needed_in_between_begins_anew(world: CleanedWorld) -> None:
    attempt = rejected(world)
    lost = world.lake.branches[attempt.branch]
    discard(world.service, attempt.batch, reason="broken", by="ann")
    world.wait(LONG)
    world.clean()
    world.lake.branches["a-persons"] = lost
    world.wait(7)
    world.clean()
    del world.lake.branches["a-persons"]
    world.wait(1)
    world.clean()
    assert not world.lake.warehouse.deletions
    assert world.clean_twice() > 0


@pytest.mark.parametrize("name", ["a-persons", "wap-of-another-program"])
def test_a_strangers_branch_keeps_what_its_commits_have(world: CleanedWorld, name: str) -> None:
    world.lake.branches[name] = world.lake.branches[MAIN]
    old = world.lake.branches[name]
    world.drop("0b", rows=2, under=world.key("0"))
    world.run()
    world.wait(100)
    world.clean_twice()
    world.lake.read(old)
    assert world.lake.lost == []


def test_a_folder_that_the_catalog_never_knew_is_told_and_left_alone_until_a_person_names_it(
    world: CleanedWorld,
) -> None:
    stranger = f"{STRANGE}/data/1.parquet"
    there = world.lake.warehouse.present_files
    warehouse = MemoryWarehouse(lambda: {**there(), stranger: EPOCH})
    world.wait(LONG)

    def run(*named: str) -> dict[str, tuple[int, int]]:
        found = clean(world.service, warehouse, days=DAYS, delete=True, names=named)
        world.wait(7)
        return dict(found.unknown)

    assert [run(), run(), run()] == [{STRANGE: (1, 1)}] * 3
    assert stranger not in warehouse.deletions
    assert run("nyc/others_7c5ea4be-62b4-53b4-8b6c-0d5f1cbd0a8f/") == {}
    assert run() == {}
    assert stranger in warehouse.deletions


@pytest.mark.parametrize("name", ["nyc", "", "..", "nyc/flights", "nyc/flights_7c5ea4be-62b4-53b4-8b6c/data"])
def test_no_other_place_can_be_named(world: CleanedWorld, name: str) -> None:
    with pytest.raises(Misconfigured, match="no table's folder"):
        world.clean(names=(name,))


def test_the_files_of_a_table_that_was_never_published_go_too() -> None:
    world = CleanedWorld.made()
    attempt = rejected(world)
    world.clean(delete=False)
    discard(world.service, attempt.batch, reason="broken", by="ann")
    world.wait(LONG)
    assert world.clean_twice() > 0
    assert world.there() == set()


def test_a_run_that_keeps_more_days_than_one_before_asks_for_no_files_that_are_gone(world: CleanedWorld) -> None:
    world.wait(LONG)
    world.drop("0b", rows=2, under=world.key("0"))
    world.run()
    world.wait(50)
    world.clean(days=5)
    world.wait(8)
    first = world.clean(days=5)
    assert world.lake.warehouse.deletions
    again = world.clean(days=400)
    assert again.history_start == first.history_start


def test_a_job_that_is_frozen_keeps_the_files_that_it_is_about_to_reuse() -> None:
    world = CleanedWorld.made()
    world.want_unique_keys()
    world.drop("0", rows=1, holds="key 0")
    world.run()
    one, two = (audited(world, name) for name in "12")
    settle_both(world, one, two)
    [run] = world.runner.open_runs()
    job = world.runner.job(run.id)
    assert job.reuses
    world.lake.branches[job.branch] = world.lake.commits[world.lake.branches[job.branch]].parent or ""  # not yet done
    world.lake.branches.pop(two.branch, None)
    world.wait(100)
    world.clean_twice()
    report = read_report(world.store, two)
    assert report is not None
    world.lake.read(report.audited)
    assert world.lake.lost == []


def audited(world: CleanedWorld, name: str) -> Attempt:
    world.clock.advance(60)
    world.drop(name, rows=2, deliver=False, holds=f"key {name}")
    attempt = world.open_attempt(world.file(name))
    world.run(settle_after=False)
    return attempt


def settle_both(world: CleanedWorld, one: Attempt, two: Attempt) -> None:
    settle(world.service, one)
    settle(world.service, two)


def test_a_missing_file_that_is_needed_ends_the_run_and_what_needs_it_is_said(world: CleanedWorld) -> None:
    lost = min(world.reached(world.lake.branches[MAIN]))
    world.lake.warehouse.delete([lost])
    world.wait(LONG)
    for _ in range(2):
        with pytest.raises(Refused, match=lost) as error:
            world.clean()
        assert error.value.__notes__[0].startswith("main needs it, so nothing is deleted. Restore the file")
        world.wait(7)
    assert world.lake.warehouse.deletions == {lost}


def test_a_note_that_cannot_be_read_makes_its_files_wait_anew(world: CleanedWorld) -> None:
    attempt = rejected(world)
    discard(world.service, attempt.batch, reason="broken", by="ann")
    world.wait(LONG)
    world.clean()
    for name in world.store.names("cleaning/candidates/"):
        world.store.write(name, b"{")
    world.wait(7)
    world.clean()
    assert not world.lake.warehouse.deletions
    assert world.clean_twice() > 0


def test_a_memory_that_cannot_be_read_ends_the_run(world: CleanedWorld) -> None:
    world.store.write("cleaning/remembered.json", b"[]")
    with pytest.raises(Misconfigured, match="restore or delete it"):
        world.clean()


# Sorting alone.


def stored(name: str, days: float, etag: str = "1") -> StoredFile:
    return StoredFile(uri=f"{FOLDER}/{name}", size=7, etag=etag, written_at=EPOCH - timedelta(days=days))


def sort(*files: StoredFile, needed: str = "", noted: dict[str, Candidate] | None = None) -> candidates.SortedFolder:
    def need_of(uri: str) -> Need | None:
        return Need.BRANCHES if needed and uri.endswith(needed) else None

    return sort_files(FOLDER, files, need_of, noted or {}, Moment(now=EPOCH, age=timedelta(days=37)))


@pytest.mark.parametrize(
    ("file", "why"),
    [
        (stored("data/needed.parquet", 99), Need.BRANCHES),
        (stored("data/needed.parquet", 1), Need.BRANCHES),
        (stored("data/1.parquet", 36.9), Reprieve.YOUNG),
        (stored("metadata/1.avro", 36.9), Reprieve.YOUNG),
        (stored("notes.txt", 99), Reprieve.STRANGE),
        (stored("database/1.parquet", 99), Reprieve.STRANGE),
    ],
)
def test_a_file_is_kept_for_a_reason(file: StoredFile, why: Need | Reprieve) -> None:
    found = sort(file, needed="needed.parquet")
    assert (found.amounts, found.candidates) == ({why: (1, 7)}, [])


def test_a_candidate_is_one_since_it_was_first_noted_unless_it_was_written_again() -> None:
    old = stored("data/1.parquet", 99)
    [first] = sort(old).candidates
    noted = {old.uri: replace(first, since=EPOCH - timedelta(days=7))}
    [again], [other] = sort(old, noted=noted).candidates, sort(replace(old, etag="2"), noted=noted).candidates
    assert (first.since, again.since, other.since) == (EPOCH, EPOCH - timedelta(days=7), EPOCH)
    assert [is_unneeded(it, EPOCH) for it in (first, again, other)] == [False, True, False]


def test_no_more_candidates_are_noted_than_fit_and_later_runs_find_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(candidates, "MOST_CANDIDATES", 2)
    found = sort(*(stored(f"data/{number}", 99) for number in range(5)))
    assert (len(found.candidates), found.amounts) == (2, {Reprieve.NEXT_RUN: (3, 21)})
