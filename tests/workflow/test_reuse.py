"""Data files that the next attempt reuses: its job audits, and appends nothing."""

import pytest

from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, Ref
from lakegate.workflow.attempts.reports import read_report
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.world.world import TABLE, World


@pytest.fixture
def world() -> World:
    """A table whose keys are unique in all of it, with one file on main."""
    world = World()
    world.want_unique_keys()
    world.drop("0", rows=1, holds="key 0")
    world.run()
    return world


def audited(world: World, *names: str, holds: str = "", warn: str = "", column: str = "") -> Attempt:
    world.clock.advance(60)  # batches of one minute are in no order that a test may know
    for name in names:
        world.drop(name, rows=2, deliver=False, holds=holds or f"key {name}", warn=warn, column=column)
    attempt = world.open_attempt(*(world.file(name) for name in names))
    world.run(settle_after=False)
    return attempt


def test_the_next_attempt_at_audited_files_reuses_their_data_files_and_audits_them_again(world: World) -> None:
    one, two = audited(world, "1"), audited(world, "2")
    settle(world.service, one)
    settle(world.service, two)
    [run] = world.runner.open_runs()
    job = world.runner.job(run.id)
    assert job.reuses == f"s3://service/reports/{two.branch}.json"
    assert [file.data_files for file in job.files] == [(f"{two.branch}/{world.file('2').id}/0",)]
    assert not any(two.next().branch in uri for uri in world.landing.copies)
    assert world.rows_on(two.next().branch) == {"2": 2}
    world.run()
    assert world.reused == [two.next().branch]
    assert world.rows_on_main() == {"0": 1, "1": 2, "2": 2}
    assert world.publications_by_name() == dict.fromkeys("012", 1)
    assert world.branches() == []


def test_its_report_says_from_where_it_has_the_rest_and_of_which_state_it_is_true(world: World) -> None:
    one, two = audited(world, "1"), audited(world, "2", warn="odd")
    settle(world.service, one)
    base = world.lake.branches[MAIN]
    settle(world.service, two)
    world.run()
    report = read_report(world.store, two.next())
    assert report is not None
    assert (report.base, report.reused_from) == (base, two.branch)
    assert [check.name for check in report.files[0].checks] == ["odd", "b unique in the table"]


def test_a_key_that_was_published_meanwhile_rejects_the_file_with_that_reason(world: World) -> None:
    one, two = audited(world, "1"), audited(world, "2", "3")
    world.stories[world.file("2").id] = world.stories[world.file("1").id]
    settle(world.service, one)
    settle(world.service, two)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2, "3": 2}
    assert world.rejected() == {"2": ("b unique in the table: 1 of 2 rows, expected none",)}
    assert world.branches() == [two.next().branch]
    assert world.rows_on(two.next().branch) == {"2": 2}


def test_a_bad_file_stays_on_its_branch_and_the_good_ones_are_reused(world: World) -> None:
    one = audited(world, "1")
    world.clock.advance(60)
    world.drop("2", rows=5, deliver=False, bad="broken")
    world.drop("3", rows=6, deliver=False)
    two = world.open_attempt(world.file("2"), world.file("3"))
    world.run(settle_after=False)
    settle(world.service, one)
    settle(world.service, two)
    world.run()
    assert world.reused == [two.next().branch]
    assert world.rows_on_main() == {"0": 1, "1": 2, "3": 6}
    assert (list(world.rejected()), world.branches()) == (["2"], [two.branch])


def test_an_early_file_is_reused_too() -> None:
    world = World()
    world.refer_to_planes()
    world.drop("0", rows=1)
    world.run()
    world.drop("1", rows=2, needs="nyc/planes/p")
    world.drop("nyc/planes/p", rows=3, absolute=True)
    world.run()
    assert reconcile(world.service) == []
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2}
    assert len(world.reused) == 1


def test_an_attempt_that_crashes_while_it_audits_again_is_followed_by_one_that_reuses_the_same(world: World) -> None:
    one, two = audited(world, "1"), audited(world, "2")
    settle(world.service, one)
    settle(world.service, two)
    world.kill_jobs("out of memory")
    settle(world.service, two.next())
    world.clock.advance(world.service.grace.total_seconds())
    assert reconcile(world.service) == []
    world.run()
    assert world.reused == [two.next().next().branch]
    assert world.rows_on_main() == {"0": 1, "1": 2, "2": 2}


def test_data_files_that_no_open_branch_keeps_are_not_reused_because_they_may_be_cleaned_away(world: World) -> None:
    attempt = audited(world, "1")
    world.service.branches.delete_branch(attempt.branch)
    world.deliver(world.file("1"))
    [run] = world.runner.open_runs()
    assert (run.branch, world.runner.job(run.id).reuses) == (attempt.next().branch, "")
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2}


def test_a_table_that_another_attempt_made_is_not_reused_on() -> None:
    world = World()
    world.want_unique_keys()
    one, two = audited(world, "1"), audited(world, "2")
    settle(world.service, one)
    settle(world.service, two)
    world.run()
    assert world.reused == []
    assert world.rows_on_main() == {"1": 2, "2": 2}


def test_a_contract_that_was_pushed_meanwhile_is_audited_by_from_the_files(world: World) -> None:
    two = audited(world, "2")
    world.push_contract(changed=True)
    settle(world.service, two)
    world.run()
    assert (world.reused, world.rows_on_main()) == ([], {"0": 1, "2": 2})


def test_columns_that_came_with_files_are_not_reused(world: World) -> None:
    one, two = audited(world, "1"), audited(world, "2", column="zip")
    settle(world.service, one)
    settle(world.service, two)
    world.run()
    assert (world.reused, world.rows_on_main()) == ([], {"0": 1, "1": 2, "2": 2})


def test_a_batch_with_rows_in_quarantine_is_not_reused(world: World) -> None:
    one = audited(world, "1")
    world.clock.advance(60)
    world.drop("2", rows=2, aside=1, deliver=False)
    two = world.open_attempt(world.file("2"))
    world.run(settle_after=False)
    settle(world.service, one)
    settle(world.service, two)
    world.run()
    assert (world.reused, world.quarantined_on()) == ([], {"2": 1})


def test_a_retry_by_a_person_appends_from_the_files(world: World) -> None:
    one = audited(world, "1", holds="key 0")
    settle(world.service, one)
    assert list(world.rejected()) == ["1"]
    world.stories[world.file("1").id] = world.stories[world.file("0").id]
    [line] = status(world.service).rejected
    retry(world.service, line.batch)
    [run] = world.runner.open_runs()
    assert world.runner.job(run.id).reuses == ""


def test_what_a_stranger_left_on_the_next_branch_is_not_taken_for_reused(world: World) -> None:
    one, two = audited(world, "1"), audited(world, "2")
    create = world.service.ledger.commit_receipts

    def meddling(branch: str, *args: object, **kwargs: object) -> str:
        head = create(branch, *args, **kwargs)  # type: ignore[arg-type]
        if branch == two.next().branch:
            world.spark_append(branch, "stranger", rows=9)
        return head

    world.service.ledger.commit_receipts = meddling  # type: ignore[method-assign]
    settle(world.service, one)
    [run] = world.runner.open_runs()
    assert world.runner.job(run.id).reuses == ""
    assert world.lake.table(Ref(MAIN), TABLE) != world.lake.table(Ref(two.next().branch), TABLE)
