"""Files that refer to another table's: those that come together are published together, and a wait has an end."""

from datetime import timedelta

import pytest

from lakegate.errors import Retryable
from lakegate.landing.attempts import Attempt
from lakegate.ports import MessageKind
from lakegate.settings import LONGEST_QUEUE
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import push
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.settlement.references import MOST_AUDITS, PATIENCE
from lakegate.workflow.status import status
from tests.world.installation import PLANES
from tests.world.world import CONTRACT, TABLE, World

PLANE = "nyc/planes/p"


@pytest.fixture
def world() -> World:
    world = World()
    world.refer_to_planes()
    return world


def together(world: World, bad: str = "") -> tuple[Attempt, Attempt]:
    """A file of flights and one of the planes that it needs, both audited from the same base."""
    world.drop("1", rows=2, needs=PLANE)
    world.drop(PLANE, rows=3, absolute=True, bad=bad)
    world.run(settle_after=False)
    [flights] = [attempt for attempt in world.attempts() if attempt.table == TABLE]
    [planes] = [attempt for attempt in world.attempts() if attempt.table == PLANES]
    return flights, planes


def test_a_file_waits_for_the_file_it_refers_to_and_is_published(world: World) -> None:
    flights, planes = together(world)
    settle(world.service, flights)
    assert (world.rejected(), world.rows_on_main(), world.messages()) == ({}, {}, [])
    settle(world.service, planes)
    settle(world.service, flights)
    assert world.runner.open_runs()[0].branch == flights.next().branch
    world.run()
    assert world.rows_on_main() == {"1": 2}
    assert (world.messages(), world.branches()) == ([], [])


def test_a_file_is_rejected_once_the_file_it_refers_to_is(world: World) -> None:
    flights, planes = together(world, bad="broken")
    settle(world.service, flights)
    assert world.rejected() == {}
    settle(world.service, planes)
    settle(world.service, flights)
    settle(world.service, flights)
    assert set(world.rejected()) == {"1", PLANE}
    assert [file.key for message in world.messages() for file in message.files] == [PLANE, world.key("1")]


def test_good_files_do_not_wait_with_one_that_is_early(world: World) -> None:
    world.drop("2", rows=5, deliver=False)
    world.drop("3", rows=7, bad="broken", deliver=False)
    world.drop("1", rows=2, needs=PLANE, deliver=False)
    world.drop_together("1", "2", "3")
    world.drop(PLANE, rows=3, absolute=True)
    world.run(settle_after=False)
    [flights] = [attempt for attempt in world.attempts() if attempt.table == TABLE]
    settle(world.service, flights)
    assert world.rows_on_main() == {"2": 5}
    world.run()
    assert reconcile(world.service) == []
    world.run()
    assert world.rows_on_main() == {"2": 5, "1": 2}
    assert set(world.rejected()) == {"3"}
    assert world.publications_by_name() == {"1": 1, "2": 1, PLANE: 1}
    assert world.branches() == [flights.branch]


def test_one_settling_opens_one_next_attempt_for_all_that_is_to_be_tried_again(world: World) -> None:
    world.drop("2", rows=5, deliver=False)
    world.drop("1", rows=2, needs=PLANE, deliver=False)
    world.drop_together("1", "2")
    world.drop(PLANE, rows=3, absolute=True)
    world.run(settle_after=False)
    [flights] = [attempt for attempt in world.attempts() if attempt.table == TABLE]
    [planes] = [attempt for attempt in world.attempts() if attempt.table == PLANES]
    settle(world.service, planes)
    contract = CONTRACT.rstrip() + f"\n        relationships: [{{to: {PLANES}.a}}]\n"
    world.push_text(contract.replace("name: a", "name: a\n        required: true"))
    settle(world.service, flights)
    assert [run.branch for run in world.runner.open_runs()] == [flights.next().branch]
    world.run()
    assert world.rows_on_main() == {"1": 2, "2": 5}


def test_warnings_that_could_not_be_told_are_told_before_the_next_attempt_deletes_the_branch(world: World) -> None:
    world.drop("2", rows=5, warn="odd", deliver=False)
    world.drop("1", rows=2, needs=PLANE, deliver=False)
    world.drop_together("1", "2")
    world.drop(PLANE, rows=3, absolute=True)
    create = world.store.create

    def throttled(name: str, body: bytes) -> bool:
        if name.endswith("-warned"):
            world.store.create = create  # type: ignore[method-assign]
            raise Retryable("throttled")
        return create(name, body)

    world.store.create = throttled  # type: ignore[method-assign]
    world.run(settle_after=False)
    [planes] = [attempt for attempt in world.attempts() if attempt.table == PLANES]
    [flights] = [attempt for attempt in world.attempts() if attempt.table == TABLE]
    settle(world.service, flights)
    settle(world.service, planes)
    with pytest.raises(Retryable):
        settle(world.service, flights)
    world.run(settle_after=False)
    settle(world.service, flights.next())
    assert world.rows_on_main() == {"1": 2, "2": 5}
    assert ([message.kind for message in world.messages()], world.branches()) == ([MessageKind.WARNING], [])


def test_a_file_whose_rows_would_be_put_aside_waits_and_none_of_them_is(world: World) -> None:
    world.drop("1", rows=2, needs=PLANE, aside=1, deliver=False)
    world.drop("2", rows=5, deliver=False)
    world.drop_together("1", "2")
    world.drop(PLANE, rows=3, absolute=True)
    world.run(settle_after=False)
    [flights] = [attempt for attempt in world.attempts() if attempt.table == TABLE]
    settle(world.service, flights)
    settle(world.service, flights)
    assert (world.rows_on_main(), world.quarantined_on(), world.messages()) == ({"2": 5}, {}, [])
    world.run()
    assert reconcile(world.service) == []
    world.run()
    assert (world.rows_on_main(), world.quarantined_on(), world.messages()) == ({"2": 5, "1": 3}, {}, [])
    assert (world.publications_by_name(), world.branches()) == ({"1": 1, "2": 1, PLANE: 1}, [])


def test_where_nothing_is_under_way_rows_without_what_they_refer_to_are_quarantined_at_once(world: World) -> None:
    world.drop("1", rows=2, needs=PLANE, aside=1)
    world.run()
    assert (world.rows_on_main(), world.quarantined_on(), world.job_runs()) == ({"1": 2}, {"1": 1}, 1)


def test_a_wait_to_put_rows_aside_has_an_end(world: World) -> None:
    world.drop(PLANE, rows=3, absolute=True)
    [stuck] = world.runner.open_runs()
    world.drop("1", rows=2, needs=PLANE, aside=1)
    [run] = [run for run in world.runner.open_runs() if run != stuck]
    world.runner.finish(run.id)
    assert reconcile(world.service) == []
    assert world.rows_on_main() == {}
    [waits] = [line for line in status(world.service).in_flight if line.state == "audited"]
    assert waits.waits_for == f"rows that it refers to are missing from {PLANES}, and files are in progress there"
    assert waits.waits_until is not None
    assert waits.waits_until - world.clock.now() <= PATIENCE
    world.clock.advance(PATIENCE.total_seconds() + 1)
    assert reconcile(world.service) == []
    assert (world.rows_on_main(), world.quarantined_on()) == ({"1": 2}, {"1": 1})


def test_what_was_published_before_the_wait_stays_decided_even_without_rows(world: World) -> None:
    """The rest of an attempt has main's last merge as its base: rows that it leaves out must not be taken off main."""
    world.drop(PLANE, rows=3, absolute=True)
    [stuck] = world.runner.open_runs()
    world.drop("empty", rows=0, deliver=False)
    world.drop("1", rows=2, needs=PLANE, aside=1, deliver=False)
    world.drop_together("empty", "1")
    [run] = [run for run in world.runner.open_runs() if run != stuck]
    world.runner.finish(run.id)
    assert reconcile(world.service) == []
    assert world.on_main() == {"empty"}
    world.clock.advance(PATIENCE.total_seconds() + 1)
    assert reconcile(world.service) == []
    assert world.on_main() == {"empty", "1"}
    assert (world.rows_on_main(), world.quarantined_on()) == ({"1": 2}, {"1": 1})


def test_an_attempt_does_not_wait_for_itself_where_a_table_refers_to_itself() -> None:
    world = World()
    own = CONTRACT.rstrip() + "\n        relationships: [{to: nyc.flights.a}]\n"
    push(world.store, [("flights.yaml", own.encode())])
    world.drop("1", rows=2, needs="nobody")
    world.run()
    assert set(world.rejected()) == {"1"}


def test_a_wait_for_what_never_ends_has_an_end(world: World) -> None:
    world.drop(PLANE, rows=3, absolute=True)
    [stuck] = world.runner.open_runs()
    world.drop("1", rows=2, needs=PLANE)
    [run] = [run for run in world.runner.open_runs() if run != stuck]
    world.runner.finish(run.id)
    world.clock.advance((PATIENCE - timedelta(minutes=1)).total_seconds())
    assert reconcile(world.service) == []
    assert world.rejected() == {}
    world.clock.advance(61)
    assert reconcile(world.service) == []
    assert set(world.rejected()) == {"1"}


def test_who_waits_for_a_table_waits_for_longer_than_its_job_may_queue() -> None:
    assert timedelta(minutes=LONGEST_QUEUE) < PATIENCE


def test_what_has_another_fault_besides_does_not_wait(world: World) -> None:
    world.drop("1", rows=2, needs=PLANE, bad="broken")
    world.drop(PLANE, rows=3, absolute=True)
    world.run(settle_after=False)
    [flights] = [attempt for attempt in world.attempts() if attempt.table == TABLE]
    settle(world.service, flights)
    assert set(world.rejected()) == {"1"}


def test_where_nothing_is_under_way_a_reference_to_nothing_is_rejected_at_once(world: World) -> None:
    world.drop("1", rows=2, needs=PLANE)
    world.run()
    assert set(world.rejected()) == {"1"}
    assert world.job_runs() == 1


def settle_while_planes_change(world: World) -> None:
    """Jobs end, planes changes, every attempt is settled: more often than a batch has attempts."""
    for _ in range(MOST_AUDITS + 2):
        world.runner.finish_all()
        world.change_on_main(PLANES)
        for attempt in world.attempts():
            settle(world.service, attempt)


def test_a_table_that_changes_all_the_time_does_not_keep_an_orphan_from_being_rejected(world: World) -> None:
    world.drop("1", rows=2, needs="nobody")
    settle_while_planes_change(world)
    assert world.job_runs() == MOST_AUDITS
    assert set(world.rejected()) == {"1"}
    assert len(world.branches()) == len(world.messages()) == 1
    assert status(world.service).in_flight == ()


def test_a_table_that_changes_all_the_time_does_not_keep_rows_from_being_put_aside(world: World) -> None:
    world.drop("1", rows=2, needs="nobody", aside=1)
    settle_while_planes_change(world)
    assert world.job_runs() == MOST_AUDITS
    assert (world.rows_on_main(), world.quarantined_on(), world.branches()) == ({"1": 2}, {"1": 1}, [])


def test_good_files_are_published_by_their_first_audit_though_the_table_they_refer_to_changes_all_the_time(
    world: World,
) -> None:
    world.change_on_main(PLANES, "p")
    world.drop("0", rows=1)
    world.run()
    for name in ("1", "2", "3"):
        world.drop(name, rows=2, needs="p")
    world.runner.finish_all()
    for attempt in world.attempts():
        world.change_on_main(PLANES)
        settle(world.service, attempt)
    assert world.rows_on_main() == {"0": 1, "1": 2, "2": 2, "3": 2}
    assert (world.job_runs(), world.branches()) == (4, [])


SELF = f"""{CONTRACT.rstrip()}
        relationships: [{{to: {TABLE}.a}}]
        customProperties: [{{property: severity, vendor: lakegate, value: quarantine}}]
    customProperties: [{{property: quarantineBudget, vendor: lakegate, value: {{rows: 100}}}}]
"""


def test_a_file_that_waits_for_a_younger_one_of_its_own_table_does_not_keep_that_waiting_for_its_turn(
    world: World,
) -> None:
    """They would wait for each other until the patience ends, and the row would be put aside for nothing."""
    world.push_text(SELF)
    world.drop("0", rows=1)
    world.run()
    world.drop("child", rows=2, aside=1, needs="parent")
    world.clock.advance(61)
    world.drop("parent", rows=3)
    world.run()
    assert world.rows_on_main() == {"0": 1, "parent": 3}
    assert reconcile(world.service) == []
    world.run()
    assert (world.rows_on_main(), world.quarantined_on()) == ({"0": 1, "child": 3, "parent": 3}, {})
    assert (world.messages(), world.branches()) == ([], [])


def test_a_retried_file_waits_for_the_file_that_it_refers_to_as_any_other() -> None:
    world = World()
    world.refer_to_planes()
    world.drop("1", rows=2, needs=PLANE)
    world.run()
    [line] = status(world.service).rejected
    for _ in range(MOST_AUDITS - 1):
        retry(world.service, line.batch)
        world.run()
    world.drop(PLANE, rows=3, absolute=True)
    retry(world.service, line.batch)
    world.runner.finish_all()
    for attempt in sorted(world.attempts(), key=lambda it: it.table == PLANES):
        settle(world.service, attempt)
    world.run()
    assert reconcile(world.service) == []
    world.run()
    assert world.rows_on_main() == {"1": 2}


@pytest.mark.parametrize("aside", [0, 1])
def test_attempts_that_pushed_contracts_asked_for_take_no_patience_from_an_early_file(aside: int) -> None:
    world = World()
    world.refer_to_planes()
    world.push_contract()  # which refers to nothing yet
    world.drop("1", rows=2, needs=PLANE, aside=aside)
    for number in range(MOST_AUDITS - 1):
        world.runner.finish_all()
        if number < MOST_AUDITS - 2:
            world.push_text(f"{CONTRACT.rstrip()}\n      - name: c{number}\n        logicalType: integer\n")
        else:
            world.refer_to_planes()
        for attempt in world.attempts():
            settle(world.service, attempt)
    world.drop(PLANE, rows=3, absolute=True)
    world.runner.finish_all()
    for attempt in sorted(world.attempts(), key=lambda it: it.table != TABLE):
        settle(world.service, attempt)
    world.run()
    assert reconcile(world.service) == []
    world.run()
    assert (world.rows_on_main(), world.quarantined_on(), world.rejected()) == ({"1": 2 + aside}, {}, {})


def repeating(*, aside: int, late: bool) -> World:
    """Two files with the same key in one batch, of which the first fails: once rows had left it, or at once; then main
    has the key, too.
    """
    world = World()
    world.want_unique_keys()
    if not late:
        world.drop("0", rows=1, holds="key")
        world.run()
    world.drop("1", rows=9, bad="too few rows", aside=late, holds="key", deliver=False)
    world.drop("2", rows=7, aside=aside, holds="key", deliver=False)
    world.drop_together("1", "2")
    world.run()
    return world


@pytest.mark.parametrize("aside", [0, 1])
def test_a_key_is_free_again_once_what_is_left_of_the_file_that_had_it_fails(aside: int) -> None:
    world = repeating(aside=aside, late=True)
    assert (set(world.rejected()), world.rows_on_main()) == ({"1"}, {"2": 7})
    [published] = status(world.service).published
    assert published.attempt == 2


def test_a_file_that_fails_for_more_than_keys_is_rejected_with_the_one_whose_keys_it_repeats() -> None:
    world = World()
    world.want_unique_keys()
    world.drop("1", rows=9, bad="too few rows", aside=1, holds="key", deliver=False)
    world.drop("2", rows=7, bad="broken", holds="key", deliver=False)
    world.drop_together("1", "2")
    world.run()
    assert (set(world.rejected()), world.job_runs()) == ({"1", "2"}, 1)


def test_a_key_that_a_file_of_the_same_batch_has_which_failed_at_once_is_no_reason_to_try_again() -> None:
    """The job knows then already that it is free."""
    world = repeating(aside=0, late=False)
    assert (set(world.rejected()), world.job_runs()) == ({"1", "2"}, 2)


def test_of_files_with_the_same_key_the_first_is_published_though_one_before_them_failed_late() -> None:
    world = World()
    world.want_unique_keys()
    world.drop("1", rows=9, bad="too few rows", aside=1, holds="another key", deliver=False)
    world.drop("2", rows=7, holds="key", deliver=False)
    world.drop("3", rows=5, holds="key", deliver=False)
    world.drop_together("1", "2", "3")
    world.run()
    assert (set(world.rejected()), world.rows_on_main()) == ({"1", "3"}, {"2": 7})
    assert world.job_runs() == 2


def test_files_without_a_common_key_are_published_at_once_though_one_failed_late() -> None:
    world = World()
    world.want_unique_keys()
    world.drop("1", rows=9, bad="too few rows", aside=1, holds="another key", deliver=False)
    world.drop("2", rows=7, holds="key", deliver=False)
    world.drop_together("1", "2")
    world.run()
    assert (world.rows_on_main(), world.job_runs()) == ({"2": 7}, 1)
