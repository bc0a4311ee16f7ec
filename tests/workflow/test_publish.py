"""Publishing when main moves, and what publishing refuses."""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from lakegate.errors import Conflict, Refused
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, MessageKind, Ref
from lakegate.publishing.guards import NeedsNewAttempt
from lakegate.workflow.approve import approve
from lakegate.workflow.attempts.job import job_of
from lakegate.workflow.publish import publish
from lakegate.workflow.publishing.audit import Audit, DecidedMeanwhile, Objection
from lakegate.workflow.retry import discard, retry
from lakegate.workflow.settle import accept_end, settle
from lakegate.workflow.status import status
from tests.world.installation import PLANES
from tests.world.world import QUARANTINE, TABLE, World

PLANE = "p"


@pytest.fixture
def world() -> World:
    """A world whose table is on main already, with one file."""
    world = World()
    world.drop("0.parquet", rows=1)
    world.run()
    return world


def audited(world: World, *names: str, bad: str = "", aside: int = 0, rows: int = 2, column: str = "") -> Audit:
    """An attempt at these files that is audited but not settled."""
    for name in names:
        world.drop(name, rows=rows, deliver=False, bad=bad, aside=aside, column=column)
    return audited_as_it_is(world, world.open_attempt(*(world.file(name) for name in names)))


def audited_as_it_is(world: World, attempt: Attempt) -> Audit:
    world.run(settle_after=False)
    job, claims = job_of(world.service.store, attempt), world.claims(attempt)
    assert job is not None
    ended = accept_end(world.service, attempt, job)
    assert ended is not None
    assert ended.report is not None
    return Audit(attempt=attempt, base=job.base, report=ended.report, claims=tuple(claims))


def assert_needs_new_attempt(reason: Objection | None, match: str) -> None:
    assert isinstance(reason, NeedsNewAttempt)
    assert re.search(match, reason.reason)


def test_two_batches_of_one_table_from_the_same_base_are_both_published(world: World) -> None:
    one, two = audited(world, "1.parquet"), audited(world, "2.parquet")
    settle(world.service, one.attempt)
    settle(world.service, two.attempt)
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2, "2.parquet": 2}
    assert world.job_runs() == 3
    assert world.branches() == []


def test_the_good_part_of_a_batch_is_rebased_when_main_moved(world: World) -> None:
    world.drop("2.parquet", rows=5, bad="broken", deliver=False)
    world.drop("3.parquet", rows=6, deliver=False)
    two = world.open_attempt(world.file("2.parquet"), world.file("3.parquet"))
    world.run(settle_after=False)
    one = audited(world, "1.parquet")
    settle(world.service, one.attempt)
    settle(world.service, two)
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2, "3.parquet": 6}
    assert world.rows_on(two.branch)["2.parquet"] == 5


def test_the_first_batch_of_a_table_twice_at_once_is_published_by_a_new_attempt() -> None:
    world = World()
    one, two = audited(world, "1.parquet"), audited(world, "2.parquet")
    settle(world.service, one.attempt)
    settle(world.service, two.attempt)
    assert world.rows_on_main() == {"1.parquet": 2}
    assert two.attempt.next().branch in world.branches()
    world.run()
    assert world.rows_on_main() == {"1.parquet": 2, "2.parquet": 2}
    assert world.branches() == []


def test_rows_put_aside_are_published_in_the_same_merge(world: World) -> None:
    one = audited(world, "1.parquet", aside=3)
    publish(world.service, one, one.claims)
    assert world.quarantined_on() == {"1.parquet": 3}
    [line] = [line for line in status(world.service).published if "1.parquet" in line.files[0]]
    assert (line.rows, line.quarantined) == (2, 3)
    assert line.reasons[0] == "in quarantine: 3 of 5 rows"


def test_people_hear_of_rows_put_aside_and_how_to_read_them(world: World) -> None:
    one = audited(world, "1.parquet", aside=3)
    settle(world.service, one.attempt)
    [message] = world.messages()
    assert (message.kind, message.published_rows, message.quarantined_rows) == (MessageKind.WARNING, 2, 3)
    file = world.file("1.parquet").id
    sql = f"SELECT * FROM {QUARANTINE} WHERE _lakegate_file IN ('{file}') LIMIT 20"
    assert message.commands[-1] == f'lakegate query "{sql}"'


def test_a_rejected_file_puts_nothing_aside_on_main(world: World) -> None:
    one = audited(world, "1.parquet", bad="broken", aside=3)
    settle(world.service, one.attempt)
    assert world.quarantined_on() == {}
    assert world.quarantined_on(one.attempt.branch) == {"1.parquet": 3}


def test_the_first_rows_put_aside_are_rebased_onto_a_main_without_quarantine(world: World) -> None:
    one, two = audited(world, "1.parquet"), audited(world, "2.parquet", aside=3)
    settle(world.service, one.attempt)
    publish(world.service, two, two.claims)
    assert world.quarantined_on() == {"2.parquet": 3}


def test_rows_are_not_rebased_into_a_quarantine_that_another_attempt_made(world: World) -> None:
    one, two = audited(world, "1.parquet", aside=2), audited(world, "2.parquet", aside=3)
    settle(world.service, one.attempt)
    assert_needs_new_attempt(publish(world.service, two, two.claims), QUARANTINE)


def test_publish_refuses_a_quarantine_that_the_report_does_not_name(world: World) -> None:
    world.meddle_with(QUARANTINE)
    one = audited(world, "1.parquet")
    with pytest.raises(Refused, match=QUARANTINE):
        publish(world.service, one, one.claims)


def test_a_column_added_on_both_sides_forbids_the_rebase(world: World) -> None:
    one, two = audited(world, "1.parquet"), audited(world, "2.parquet")
    world.change_fields_on_main(((1, "a", "int"), (2, "c", "int"), (3, "b", "int")))
    assert_needs_new_attempt(publish(world.service, one, one.claims), TABLE)
    settle(world.service, two.attempt)
    world.run()
    assert world.rows_on_main()["2.parquet"] == 2


def test_another_partitioning_on_main_forbids_the_rebase_and_a_new_attempt_writes_by_it(world: World) -> None:
    one = audited(world, "1.parquet")
    world.partition_main_anew()
    assert_needs_new_attempt(publish(world.service, one, one.claims), TABLE)
    settle(world.service, one.attempt)
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2}
    identity = world.service.tables.identity(Ref("main"), TABLE)
    assert identity is not None
    assert identity.partitions == "days(a)"


def test_a_contract_that_changed_meanwhile_forbids_the_rebase(world: World) -> None:
    one, two = audited(world, "1.parquet"), audited(world, "2.parquet")
    settle(world.service, one.attempt)
    world.push_contract(changed=True)
    assert_needs_new_attempt(publish(world.service, two, two.claims), "contract")


def test_verdicts_that_depend_on_the_table_are_found_anew_once_main_moved(world: World) -> None:
    world.depends_on = (TABLE,)
    one, two, three = (audited(world, name) for name in ("1.parquet", "2.parquet", "3.parquet"))
    settle(world.service, one.attempt)
    settle(world.service, two.attempt)
    settle(world.service, three.attempt)
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2}
    assert sorted(world.branches()) == sorted([two.attempt.next().branch, three.attempt.next().branch])
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2, "2.parquet": 2, "3.parquet": 2}
    assert world.publications_by_name() == dict.fromkeys(world.rows_on_main(), 1)
    assert world.branches() == []


def test_verdicts_that_depend_on_another_table_are_found_anew_once_that_changed(world: World) -> None:
    world.change_on_main("nyc.planes")
    world.depends_on = ("nyc.planes",)
    one = audited(world, "1.parquet")
    world.change_on_main("nyc.planes")
    settle(world.service, one.attempt)
    assert "1.parquet" not in world.rows_on_main()
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2}
    assert (world.job_runs(), world.branches()) == (3, [])


def test_a_table_that_verdicts_depend_on_and_that_is_made_meanwhile_has_changed(world: World) -> None:
    world.depends_on = ("nyc.planes",)
    one = audited(world, "1.parquet")
    world.change_on_main("nyc.planes")
    assert_needs_new_attempt(publish(world.service, one, one.claims), r"nyc\.planes")


def referring(world: World) -> Audit:
    """An audited attempt whose file refers to a row of planes."""
    world.refer_to_planes()
    world.change_on_main(PLANES, PLANE)
    world.drop("1.parquet", rows=2, needs=PLANE, deliver=False)
    return audited_as_it_is(world, world.open_attempt(world.file("1.parquet")))


def test_a_table_that_verdicts_only_refer_to_may_gain_rows(world: World) -> None:
    one = referring(world)
    world.change_on_main(PLANES)
    settle(world.service, one.attempt)
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2}
    assert (world.job_runs(), world.branches()) == (2, [])


def test_a_table_that_verdicts_only_refer_to_may_gain_rows_before_a_rebase(world: World) -> None:
    one = referring(world)
    world.change_on_main(PLANES)
    world.change_on_main(TABLE, "2.parquet")
    settle(world.service, one.attempt)
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2, "2.parquet": 1}
    assert (world.job_runs(), world.branches()) == (2, [])


@pytest.mark.parametrize(
    "change",
    [
        lambda world: world.compact(PLANES),
        lambda world: world.delete_rows_on_main(PLANES),
        lambda world: world.make_anew_on_main(PLANES),
        lambda world: world.change_fields_on_main(((1, "a", "bigint"), (2, "b", "int")), PLANES),
        lambda world: world.drop_on_main(PLANES),
    ],
    ids=["data files are rewritten", "a delete file", "made anew", "another type", "dropped"],
)
def test_a_table_that_verdicts_refer_to_and_that_may_have_lost_rows_has_changed(
    world: World, change: Callable[[World], None]
) -> None:
    one = referring(world)
    world.change_on_main(PLANES)
    change(world)
    assert_needs_new_attempt(publish(world.service, one, one.claims), PLANES)


def test_a_table_that_is_referred_to_by_another_plan_than_the_audits_may_not_even_gain_rows(world: World) -> None:
    one = referring(world)
    world.change_on_main(PLANES)
    other = replace(one, report=replace(one.report, plan_hash="of another release"))
    assert_needs_new_attempt(publish(world.service, other, other.claims), PLANES)


def test_tables_that_no_verdict_depends_on_may_change(world: World) -> None:
    world.change_on_main("nyc.planes")
    world.depends_on = ("nyc.planes",)
    one, two = audited(world, "1.parquet"), audited(world, "2.parquet")
    world.change_on_main("nyc.airports")
    settle(world.service, one.attempt)
    settle(world.service, two.attempt)
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2, "2.parquet": 2}
    assert (world.job_runs(), world.branches()) == (3, [])


def test_a_bad_file_is_left_behind_where_verdicts_depend_on_the_table(world: World) -> None:
    world.depends_on = (TABLE,)
    world.drop("2.parquet", rows=5, bad="broken", deliver=False)
    world.drop("3.parquet", rows=6, deliver=False)
    two = world.open_attempt(world.file("2.parquet"), world.file("3.parquet"))
    world.run(settle_after=False)
    settle(world.service, audited(world, "1.parquet").attempt)
    settle(world.service, two)
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2, "3.parquet": 6}
    assert list(world.rejected()) == ["2.parquet"]


def test_good_files_that_may_refer_to_each_other_are_published_together_or_anew(world: World) -> None:
    world.depends_on = (TABLE,)
    both = audited(world, "1.parquet", "2.parquet")
    world.reject_behind_the_back(both.attempt, both.claims[:1])
    assert_needs_new_attempt(publish(world.service, both, both.claims[1:]), "together")
    settle(world.service, both.attempt)
    assert world.rows_on_main() == {"0.parquet": 1}
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "2.parquet": 2}


def test_a_publish_looks_at_main_once_and_just_before_it_merges(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    one, asked = audited(world, "1.parquet"), list[str]()

    def noted(call: Callable[..., object]) -> Callable[..., object]:

        def ask(*given: object) -> object:
            asked.append(call.__name__)
            return call(*given)

        return ask

    service = world.service
    calls = ((service.branches, "head"), (service.branches, "changes"), (service.ledger, "receipts"))
    for port, name in (*calls, (service.publisher, "merge")):
        monkeypatch.setattr(port, name, noted(getattr(port, name)))
    publish(world.service, one, one.claims)
    assert asked == ["head", "changes", "head", "receipts", "merge"]


@pytest.mark.parametrize("others", [["1.parquet"], ["2.parquet"], ["1.parquet", "2.parquet"]], ids=" and ".join)
@pytest.mark.parametrize("empty", [False, True], ids=["rows", "no rows"])
def test_a_worker_that_publishes_a_part_just_before_takes_nothing_from_another(
    world: World, monkeypatch: pytest.MonkeyPatch, others: list[str], *, empty: bool
) -> None:
    both, merge = audited(world, "1.parquet", "2.parquet", rows=0 if empty else 2), world.service.publisher.merge

    def overtaken(*given: Any) -> None:
        monkeypatch.undo()
        publish(world.service, both, [file for file in both.claims if file.key.endswith(tuple(others))])
        merge(*given)

    monkeypatch.setattr(world.service.publisher, "merge", overtaken)
    publish(world.service, both, [file for file in both.claims if file.key.endswith("1.parquet")])
    wanted = {"1.parquet", *others}
    assert world.publications_by_name() == dict.fromkeys({"0.parquet", *wanted}, 1)
    assert world.rows_on_main() == {"0.parquet": 1} | ({} if empty else dict.fromkeys(wanted, 2))


def test_publish_refuses_a_branch_that_moved_after_the_audit(world: World) -> None:
    one = audited(world, "1.parquet")
    world.spark_append(one.attempt.branch, "late.parquet", rows=7)
    with pytest.raises(Refused, match="not the audited commit"):
        publish(world.service, one, one.claims)
    assert "late.parquet" not in world.rows_on_main()


def test_publish_refuses_a_branch_that_changed_another_table(world: World) -> None:
    world.meddle_with("nyc.planes")
    one = audited(world, "1.parquet")
    with pytest.raises(Refused, match=r"nyc\.planes"):
        publish(world.service, one, one.claims)


def test_publish_refuses_a_branch_that_changed_another_files_receipt(world: World) -> None:
    world.meddle_with_receipt_of("0.parquet")
    one = audited(world, "1.parquet")
    with pytest.raises(Refused, match="receipts of other files"):
        publish(world.service, one, one.claims)


def test_publish_refuses_what_was_discarded_in_the_meantime(world: World) -> None:
    one = audited(world, "1.parquet", bad="broken")
    settle(world.service, one.attempt)
    (line,) = status(world.service).rejected
    discard(world.service, line.batch, reason="not wanted", by="ann")
    with pytest.raises(Refused):
        publish(world.service, one, one.claims)
    assert world.rows_on_main() == {"0.parquet": 1}


def test_a_branch_that_another_worker_deleted_rejects_nothing(world: World) -> None:
    one = audited(world, "1.parquet")
    read = world.store.read

    def read_late(name: str) -> bytes | None:
        """By then the other worker has deleted the branch, whose claims were read."""
        if name.startswith("reports/"):
            world.lake.branches.pop(one.attempt.branch, None)
        return read(name)

    world.store.read = read_late  # type: ignore[method-assign]
    with pytest.raises(Conflict, match="another worker"):
        settle(world.service, one.attempt)
    assert world.rejected() == {}


def test_a_rebases_branch_that_somebody_deleted_is_made_again(world: World) -> None:
    one, two = audited(world, "1.parquet"), audited(world, "2.parquet")
    settle(world.service, one.attempt)
    branches, deleted = world.service.branches, list[str]()
    head = branches.head

    def head_late(branch: str) -> str | None:
        """By then somebody has deleted the branch that this worker made for its rebase."""
        if branch.startswith(two.attempt.branch) and branch != two.attempt.branch and not deleted:
            world.lake.branches.pop(branch)
            deleted.append(branch)
        return head(branch)

    branches.head = head_late  # type: ignore[method-assign]
    settle(world.service, two.attempt)
    assert deleted
    assert world.rejected() == {}
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2, "2.parquet": 2}


def test_publish_refuses_what_was_rejected_in_the_meantime(world: World) -> None:
    one = audited(world, "1.parquet")
    world.reject_behind_the_back(one.attempt, one.claims)
    reason = publish(world.service, one, one.claims)
    assert isinstance(reason, DecidedMeanwhile)
    assert "rejected meanwhile" in reason.reason
    assert world.rows_on_main() == {"0.parquet": 1}


def test_a_publish_repeated_after_it_succeeded_changes_nothing(world: World) -> None:
    one = audited(world, "1.parquet")
    publish(world.service, one, one.claims)
    publish(world.service, one, one.claims)
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2}
    assert world.publications("1.parquet") == 1


def test_a_branch_that_was_changed_after_its_audit_is_rejected_and_a_retry_publishes(world: World) -> None:
    one = audited(world, "1.parquet")
    world.spark_append(one.attempt.branch, "late.parquet", rows=7)
    settle(world.service, one.attempt)
    (line,) = status(world.service).rejected
    assert "not the audited commit" in line.reasons[0]
    assert len(world.messages()) == 1
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2}


def a_batch_whose_good_file_needs_a_new_attempt(world: World) -> str:
    """Its first attempt keeps the bad file; its second is at work on the good one. Returns the batch."""
    world.drop("2.parquet", rows=2, deliver=False)
    world.drop("3.parquet", rows=3, bad="broken", deliver=False)
    first = audited(world, "1.parquet")
    batch = world.open_attempt(world.file("2.parquet"), world.file("3.parquet"))
    world.run(settle_after=False)
    settle(world.service, first.attempt)
    settle(world.service, batch)
    world.mend("3.parquet")
    return batch.batch


def test_a_retry_takes_no_number_that_a_new_attempt_at_other_files_has() -> None:
    world = World()
    batch = a_batch_whose_good_file_needs_a_new_attempt(world)
    assert retry(world.service, batch).attempts[0].number == 3
    world.run()
    assert world.rows_on_main() == {"1.parquet": 2, "2.parquet": 2, "3.parquet": 3}
    assert world.branches() == []


def test_a_retry_takes_no_number_that_a_finished_attempt_at_other_files_had() -> None:
    world = World()
    batch = a_batch_whose_good_file_needs_a_new_attempt(world)
    world.run()
    assert retry(world.service, batch).attempts[0].number == 3
    world.run()
    assert world.rows_on_main() == {"1.parquet": 2, "2.parquet": 2, "3.parquet": 3}
    assert world.branches() == []


def test_nothing_is_published_that_was_audited_by_an_earlier_contract(world: World) -> None:
    one = audited(world, "1.parquet")
    world.push_contract(changed=True)
    settle(world.service, one.attempt)
    assert "1.parquet" not in world.rows_on_main()
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 2}
    assert (world.job_runs(), world.branches()) == (3, [])


def test_a_rejected_file_does_not_change_the_table_by_another_files_publishing(world: World) -> None:
    world.drop("2.parquet", rows=5, bad="broken", column="zip", deliver=False)
    world.drop("3.parquet", rows=6, deliver=False)
    two = world.open_attempt(world.file("2.parquet"), world.file("3.parquet"))
    world.run(settle_after=False)
    settle(world.service, two)
    assert "3.parquet" not in world.rows_on_main()
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "3.parquet": 6}
    assert (world.job_runs(), world.branches()) == (3, [two.branch])


def beside_one_that_fails(world: World) -> Attempt:
    """An attempt at a file 2 that fails and brings a column, and at a good file 3."""
    world.drop("2", rows=5, bad="broken", column="zip", deliver=False)
    world.drop("3", rows=6, deliver=False)
    return world.open_attempt(world.file("2"), world.file("3"))


def columns_on_main(world: World) -> list[str]:
    identity = world.service.tables.identity(Ref(MAIN), TABLE)
    return [name for _, name, _ in identity.fields] if identity else []


def test_a_file_that_brings_a_column_is_published_by_its_first_audit_though_main_got_rows_meanwhile(
    world: World,
) -> None:
    one, two, three = audited(world, "1"), audited(world, "2", column="zip"), audited(world, "3")
    for each in (one, two, three):
        settle(world.service, each.attempt)
    assert world.rows_on_main() == {"0.parquet": 1, "1": 2, "2": 2}
    assert columns_on_main(world) == ["a", "b", "zip"]
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1": 2, "2": 2, "3": 2}
    assert (world.job_runs(), world.branches()) == (5, [])


def test_two_files_that_bring_the_same_column_are_both_published_by_their_first_audit(world: World) -> None:
    one, two = audited(world, "1", column="zip"), audited(world, "2", column="zip")
    settle(world.service, one.attempt)
    settle(world.service, two.attempt)
    assert world.rows_on_main() == {"0.parquet": 1, "1": 2, "2": 2}
    assert columns_on_main(world) == ["a", "b", "zip"]


def test_rows_are_not_merged_into_another_table_than_the_audited_one(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = audited(world, "1"), audited(world, "2", column="zip")
    settle(world.service, one.attempt)
    monkeypatch.setattr(world.service.tables, "evolve", lambda *_: None)
    with pytest.raises(Refused, match="not the table that was audited"):
        publish(world.service, two, two.claims)
    assert world.rows_on_main() == {"0.parquet": 1, "1": 2}


def test_of_two_files_that_bring_columns_the_second_is_appended_to_the_table_that_the_first_has_made(
    world: World,
) -> None:
    one, two = audited(world, "1", column="zip"), audited(world, "2", column="city")
    settle(world.service, one.attempt)
    settle(world.service, two.attempt)
    assert world.rows_on_main() == {"0.parquet": 1, "1": 2}
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1": 2, "2": 2}
    assert columns_on_main(world) == ["a", "b", "zip", "city"]


def test_a_column_that_came_and_went_meanwhile_keeps_another_from_its_field_id(world: World) -> None:
    one = audited(world, "1", column="zip")
    world.add_and_drop_a_column_on_main()
    settle(world.service, one.attempt)
    assert world.rows_on_main() == {"0.parquet": 1}
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1": 2}
    identity = world.service.tables.identity(Ref(MAIN), TABLE)
    assert identity is not None
    assert identity.fields[-1] == (4, "zip", "string")


def test_a_rebase_brings_no_column_of_a_file_that_stays_behind(world: World) -> None:
    two = beside_one_that_fails(world)
    settle(world.service, audited(world, "1").attempt)
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1": 2, "3": 6}
    assert columns_on_main(world) == ["a", "b"]
    assert world.branches() == [two.branch]


def test_a_rebase_of_what_is_left_of_a_replacement_brings_no_column_of_the_file_that_failed(world: World) -> None:
    audited(world, "2")
    settle(world.service, world.attempts()[0])
    two = beside_one_that_fails(world)
    world.run(settle_after=False)
    settle(world.service, two)
    assert "3" not in world.rows_on_main()
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "2": 2, "3": 6}
    assert columns_on_main(world) == ["a", "b"]


def test_a_new_table_that_comes_by_a_rebase_has_no_column_of_a_file_that_stays_behind() -> None:
    world = World()
    world.drop("2", rows=3, deliver=False)
    before = world.file("2")
    world.drop("1", rows=5, bad="broken", column="zip", deliver=False)
    world.drop("2", rows=6, deliver=False)
    one = world.open_attempt(world.file("1"), world.file("2"))
    world.run(settle_after=False)
    world.reject_behind_the_back(replace(one, batch="20130101T0000-00000000"), (before,))  # the claim is another's now
    settle(world.service, one)
    world.run()
    assert world.rows_on_main() == {"2": 6}
    assert columns_on_main(world) == ["a", "b"]


def test_a_file_is_approved_though_its_table_got_a_column_with_another_of_its_batch(world: World) -> None:
    world.drop("2", rows=5, column="zip", deliver=False)
    world.drop("3", rows=6, bad="broken", deliver=False)
    two = world.open_attempt(world.file("2"), world.file("3"))
    world.run(settle_after=False)
    settle(world.service, two)
    assert columns_on_main(world) == ["a", "b", "zip"]
    approve(world.service, two.batch, reason="it is known", by="ann")
    assert world.rows_on_main() == {"0.parquet": 1, "2": 5, "3": 6}


def test_people_hear_that_a_file_made_the_table_grow(world: World) -> None:
    world.drop("1.parquet", rows=5, column="zip")
    world.run()
    [message] = world.messages()
    assert message.kind is MessageKind.WARNING
    assert [file.reasons for file in message.files] == [('the table gains column "zip" (string)',)]
    [line] = [line for line in status(world.service).published if world.key("1.parquet") in line.files]
    assert line.reasons == ('the table gains column "zip" (string)',)


def test_what_a_good_file_asked_of_the_table_too_is_published_with_it(world: World) -> None:
    for name, bad in (("2.parquet", "broken"), ("3.parquet", "")):
        world.drop(name, rows=5, bad=bad, column="zip", deliver=False)
    two = world.open_attempt(world.file("2.parquet"), world.file("3.parquet"))
    world.run(settle_after=False)
    settle(world.service, two)
    assert world.rows_on_main() == {"0.parquet": 1, "3.parquet": 5}
    assert world.job_runs() == 2


def test_nothing_is_published_by_a_contract_that_is_replaced_during_a_rebase(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = audited(world, "1"), audited(world, "2")
    publish(world.service, first, first.claims)
    append = world.service.tables.append

    def append_slowly(table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        append(table, branch, source, paths)
        world.push_contract(changed=True)

    monkeypatch.setattr(world.service.tables, "append", append_slowly)
    assert_needs_new_attempt(publish(world.service, second, second.claims), "contract")
    assert "2" not in world.rows_on_main()


def test_a_branch_that_another_worker_deletes_while_it_is_pruned_breaks_no_settling(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.drop("1", rows=3, deliver=False)
    world.drop("2", rows=4, bad="broken", deliver=False)
    world.drop_together("1", "2")
    [attempt] = world.attempts()
    world.run(settle_after=False)
    remove = world.service.tables.remove

    def removed(table: str, branch: str, paths: frozenset[str]) -> None:
        remove(table, branch, paths)
        if branch == attempt.branch:
            world.service.branches.delete_branch(branch)

    monkeypatch.setattr(world.service.tables, "remove", removed)
    settle(world.service, attempt)
    assert (world.rows_on_main(), sorted(world.rejected())) == ({"0.parquet": 1, "1": 3}, ["2"])
