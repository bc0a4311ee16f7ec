"""A key's next version: it replaces, comes on top, is left alone or rejected, as the contract says."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.audit.model.report import Report, Rewritten
from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, LogEntry, Ref
from lakegate.workflow.approve import approve
from lakegate.workflow.attempts.reports import read_report, report_name
from lakegate.workflow.ledger.compaction import compact
from lakegate.workflow.receive import receive
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import push
from lakegate.workflow.retry import retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.world.stories import Story
from tests.world.world import CONTRACT, TABLE, World


@pytest.fixture
def world() -> World:
    """A world with two published keys, `0` and `1`; rows of `1` are in quarantine, too."""
    world = World()
    world.drop("0", rows=1)
    world.drop("1", rows=2, aside=1)
    world.run()
    return world


def again(world: World, name: str = "1b", *, rows: int = 5, deliver: bool = True, bad: str = "") -> None:
    """Other bytes under the key of `1`."""
    world.drop(name, rows=rows, under=world.key("1"), deliver=deliver, body=name.encode(), bad=bad)


def audited(world: World, *names: str) -> Attempt:
    attempt = world.open_attempt(*(world.files[name] for name in names))
    world.run(settle_after=False)
    return attempt


def attempt_of(world: World, name: str) -> Attempt:
    entry = world.entries()[name]
    assert entry is not None
    return Attempt(table=TABLE, batch=entry.batch, number=entry.attempt)


def report_on_main(world: World, name: str) -> Report:
    report = read_report(world.store, attempt_of(world, name))
    assert report is not None
    return report


def last_decision(world: World) -> LogEntry:
    return next(world.service.ledger.decisions(1))


def test_a_new_versions_rows_take_the_place_of_the_old_ones_in_quarantine_too(world: World) -> None:
    again(world)
    world.run()
    assert (world.rows_on_main(), world.quarantined_on()) == ({"0": 1, "1b": 5}, {})
    assert world.branches() == []


def test_the_log_and_the_status_say_what_was_replaced(world: World) -> None:
    again(world)
    world.run()
    [file] = last_decision(world).record.files
    assert (file.rows, file.replaced, file.replaces) == (5, 2, (world.files["1"].version_id,))
    lines = status(world.service).published
    assert [(line.rows, line.replaced) for line in lines] == [(5, 2), (1, 0)]


@pytest.mark.parametrize("compacted", [False, True])
def test_a_new_version_is_rebased_when_main_moved(world: World, *, compacted: bool) -> None:
    if compacted:
        world.compact()
    again(world, deliver=False)
    attempt = audited(world, "1b")
    world.drop("2", rows=7, deliver=False)
    settle(world.service, audited(world, "2"))
    jobs = world.job_runs()
    settle(world.service, attempt)
    assert (world.rows_on_main(), world.job_runs()) == ({"0": 1, "1b": 5, "2": 7}, jobs)


def test_a_reader_finds_the_old_rows_or_the_new_ones_in_every_commit_of_main(world: World) -> None:
    again(world, deliver=False)
    world.drop("2", rows=7, deliver=False)
    attempt = audited(world, "1b")
    settle(world.service, audited(world, "2"))
    settle(world.service, attempt)
    names = [world.names_at(commit.hash) & {"1", "1b"} for commit in world.lake.line(world.lake.branches[MAIN])]
    assert names[0] == {"1b"}
    assert set(map(frozenset, names)) <= {frozenset({"1"}), frozenset({"1b"}), frozenset()}
    assert frozenset() not in map(frozenset, names[: names.index({"1"})])


def test_a_new_version_that_fails_leaves_the_old_rows_where_they_are(world: World) -> None:
    again(world, bad="broken", deliver=False)
    world.drop("2", rows=7, deliver=False)
    world.drop_together("1b", "2")
    world.run()
    assert (world.rows_on_main(), world.quarantined_on()) == ({"0": 1, "1": 2, "2": 7}, {"1": 1})
    assert set(world.rejected()) == {"1"}


def test_rows_that_somebody_deleted_stay_deleted_where_a_replacement_of_their_file_fails(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A delete file holds for data files that are older than it: none of main's may be appended anew."""
    world.delete_rows_on_main(TABLE)
    there, append = world.service.tables.paths(Ref(MAIN), TABLE), world.service.tables.append
    appended: list[str] = []

    def appending(table: str, branch: str, source: Ref, paths: frozenset[str]) -> None:
        appended.extend(paths)
        append(table, branch, source, paths)

    monkeypatch.setattr(world.service.tables, "append", appending)
    again(world, bad="broken", deliver=False)
    world.drop("2", rows=7, deliver=False)
    world.drop_together("1b", "2")
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2, "2": 7}
    assert there & set(appended) == set()


def test_where_verdicts_depend_on_the_table_good_files_are_audited_again_without_the_failed_replacement(
    world: World,
) -> None:
    world.depends_on = (TABLE,)
    again(world, bad="broken", deliver=False)
    world.drop("2", rows=7, deliver=False)
    attempt = audited(world, "1b", "2")
    settle(world.service, attempt)
    assert "2" not in world.rows_on_main()
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2, "2": 7}
    assert attempt.next().branch not in world.branches()


def test_a_key_that_another_tables_contract_routes_by_now_begins_anew_there(world: World) -> None:
    """The table that it went to before has other files, and its rows are not this one's to replace."""
    fresh = (
        CONTRACT.replace("nyc-flights", "nyc-fresh").replace(TABLE, "nyc.fresh").replace("name: flights", "name: fresh")
    )
    elsewhere = CONTRACT.replace("nyc/flights/**", "nyc/elsewhere/**")
    push(world.store, [("flights.yaml", elsewhere.encode()), ("fresh.yaml", fresh.encode())])
    world.drop("same", rows=2, under=world.key("1"), body=world.body_of("1"))
    again(world, "other", rows=7)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2}
    state = world.lake.table(Ref(MAIN), "nyc.fresh")
    assert state is not None
    assert (state.rows, world.rejected()) == (2, {})
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    world.run()
    assert world.lake.table(Ref(MAIN), "nyc.fresh").rows == 7  # type: ignore[union-attr]
    assert (world.rows_on_main(), world.rejected(), world.branches()) == ({"0": 1, "1": 2}, {}, [])


def test_the_same_bytes_again_are_discarded_whatever_the_contract_says(world: World) -> None:
    for reuploads in ("replace", "append", "ignore", "reject"):
        world.push_contract(reuploads=reuploads)
        world.drop(reuploads, rows=2, under=world.key("1"), body=world.body_of("1"))
        world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2}
    assert world.rejected() == {}


def undone(world: World, *, bad: str = "") -> None:
    """Other bytes under the key of `1` by mistake, and at once the right ones again, which are still on main."""
    again(world, "mistake", bad=bad, deliver=bool(bad))
    world.run()
    world.drop("undone", rows=2, under=world.key("1"), body=world.body_of("1"))


def test_bytes_that_were_uploaded_again_are_not_replaced_by_those_before_them_whose_event_came_later(
    world: World,
) -> None:
    undone(world)
    world.deliver(world.files["mistake"])
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2}
    entry = world.entries()["mistake"]
    assert entry is not None
    assert (entry.decision, entry.reasons[0][:10]) == (Decision.DISCARDED, "superseded")


def test_nor_by_those_that_another_reader_of_the_queue_takes_on_at_the_same_time(world: World) -> None:
    undone(world)
    attempt = audited(world, "mistake")
    settle(world.service, attempt)
    assert (world.rows_on_main(), world.branches()) == ({"0": 1, "1": 2}, [])


def test_nor_by_a_retry_or_an_approval_of_those_before_them(world: World) -> None:
    undone(world, bad="broken")
    entry = world.entries()["mistake"]
    assert entry is not None
    assert entry.decision is Decision.REJECTED
    with pytest.raises(Refused, match="superseded"):
        approve(world.service, entry.batch, "it is fine", "somebody")
    with pytest.raises(Refused, match="superseded"):
        retry(world.service, entry.batch)
    assert world.rows_on_main() == {"0": 1, "1": 2}
    again(world, "newer")
    world.run()
    assert world.rows_on_main() == {"0": 1, "newer": 5}


def test_bytes_that_were_replaced_are_ingested_when_they_come_back(world: World) -> None:
    again(world)
    world.run()
    world.drop("1c", rows=2, under=world.key("1"), body=world.body_of("1"))
    world.run()
    assert world.rows_on_main() == {"0": 1, "1c": 2}


def test_an_older_version_that_arrives_late_replaces_nothing(world: World) -> None:
    again(world, "older", deliver=False)
    again(world, "newer", rows=6)
    world.run()
    world.deliver(world.files["older"])
    assert world.rows_on_main() == {"0": 1, "newer": 6}
    entry = world.entries()["older"]
    assert entry is not None
    assert (entry.decision, entry.reasons[0][:10]) == (Decision.DISCARDED, "superseded")
    assert world.messages()[1:] == []


def test_a_version_that_is_superseded_while_it_is_audited_is_discarded(world: World) -> None:
    again(world, "older", deliver=False)
    again(world, "newer", rows=6, deliver=False)
    older, newer = audited(world, "older"), audited(world, "newer")
    settle(world.service, newer)
    settle(world.service, older)
    assert world.rows_on_main() == {"0": 1, "newer": 6}
    assert world.branches() == []


def test_a_version_whose_predecessor_was_published_meanwhile_is_audited_anew_and_replaces_that(world: World) -> None:
    again(world, "older", deliver=False)
    again(world, "newer", rows=6, deliver=False)
    older, newer = audited(world, "older"), audited(world, "newer")
    settle(world.service, older)
    settle(world.service, newer)
    assert world.rows_on_main() == {"0": 1, "older": 5}
    world.run()
    assert world.rows_on_main() == {"0": 1, "newer": 6}
    assert last_decision(world).record.files[0].replaces == (world.files["older"].version_id,)


def test_appended_versions_are_on_main_together_and_are_replaced_together(world: World) -> None:
    world.push_contract(reuploads="append")
    again(world)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2, "1b": 5}
    world.push_contract()
    again(world, "1c", rows=6)
    world.run()
    assert (world.rows_on_main(), world.quarantined_on()) == ({"0": 1, "1c": 6}, {})
    assert last_decision(world).record.files[0].replaced == 7


def test_ignored_versions_are_discarded_and_nobody_is_told(world: World) -> None:
    world.push_contract(reuploads="ignore")
    again(world)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1": 2}
    (line,) = status(world.service).discarded
    assert line.reasons[0].startswith("ignored: ")
    assert world.rejected() == {}


def test_rows_that_somebody_rewrote_are_taken_out_of_the_data_files_that_hold_them(world: World) -> None:
    world.compact()
    again(world)
    world.run()
    assert (world.rows_on_main(), world.quarantined_on()) == ({"0": 1, "1b": 5}, {})
    [file] = last_decision(world).record.files
    assert (file.rows, file.replaced, file.replaces) == (5, 2, (world.files["1"].version_id,))


def test_rows_that_somebody_deleted_need_not_be_taken_out(world: World) -> None:
    world.delete_rows_of("1")
    again(world)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1b": 5}


def test_a_version_after_that_is_replaced_by_its_own_data_files(world: World) -> None:
    world.compact()
    again(world)
    world.run()
    again(world, "1c", rows=6)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1c": 6}
    report = report_on_main(world, "1c")
    assert (report.rewritten, report.files[0].replaces.rewritten) == (Rewritten(), ())


def test_rows_that_somebody_rewrites_during_the_audit_are_taken_out_by_the_next_attempt(world: World) -> None:
    again(world, deliver=False)
    attempt = audited(world, "1b")
    world.compact()
    settle(world.service, attempt)
    assert world.rows_on_main() == {"0": 1, "1": 2}
    world.run()
    assert world.rows_on_main() == {"0": 1, "1b": 5}


def test_what_is_left_of_rewritten_rows_is_not_rebased_over_rows_that_were_deleted_meanwhile(world: World) -> None:
    """By a delete file, which holds for older data files alone: they would be there again."""
    world.compact()
    again(world, deliver=False)
    attempt = audited(world, "1b")
    world.delete_rows_on_main(TABLE)
    jobs = world.job_runs()
    settle(world.service, attempt)
    assert (world.rows_on_main(), world.job_runs()) == ({"0": 1, "1": 2}, jobs + 1)


def test_files_whose_old_rows_were_in_one_data_file_replace_them_together(world: World) -> None:
    world.compact()
    world.drop("0b", rows=4, under=world.key("0"), deliver=False)
    again(world, deliver=False)
    jobs = world.job_runs()
    world.drop_together("0b", "1b")
    world.run()
    assert (world.rows_on_main(), world.job_runs()) == ({"0b": 4, "1b": 5}, jobs + 1)


def test_one_of_them_that_fails_keeps_its_old_rows_and_the_other_is_audited_alone(world: World) -> None:
    world.compact()
    world.drop("0b", rows=4, under=world.key("0"), deliver=False, bad="broken")
    again(world, deliver=False)
    jobs = world.job_runs()
    world.drop_together("0b", "1b")
    world.run()
    assert (world.rows_on_main(), world.job_runs()) == ({"0": 1, "1b": 5}, jobs + 2)
    assert set(world.rejected()) == {"0"}


def test_one_that_fails_alone_leaves_rewritten_rows_as_they_are_and_the_others_are_published(world: World) -> None:
    world.compact()
    again(world, bad="broken", deliver=False)
    world.drop("2", rows=7, deliver=False)
    jobs = world.job_runs()
    world.drop_together("1b", "2")
    world.run()
    assert (world.rows_on_main(), world.job_runs()) == ({"0": 1, "1": 2, "2": 7}, jobs + 1)
    assert set(world.rejected()) == {"1"}


def test_a_person_lets_a_version_through_whose_old_rows_were_rewritten(world: World) -> None:
    world.compact()
    again(world, bad="broken")
    world.run()
    [line] = status(world.service).rejected
    approve(world.service, line.batch, reason="it is known", by="ann")
    assert world.rows_on_main() == {"0": 1, "1b": 5}


def test_of_two_whose_old_rows_were_in_one_data_file_a_person_lets_none_through_alone(world: World) -> None:
    world.compact()
    world.drop("0b", rows=4, under=world.key("0"), deliver=False, bad="broken")
    again(world, deliver=False)
    world.drop_together("0b", "1b")
    world.run()
    [line] = status(world.service).rejected
    with pytest.raises(Refused, match=r"taken out on .* for files that stay behind.*lakegate retry"):
        approve(world.service, line.batch, reason="it is known", by="ann")
    retry(world.service, line.batch)
    world.run()
    [line] = status(world.service).rejected
    approve(world.service, line.batch, reason="it is known", by="ann")
    assert world.rows_on_main() == {"0b": 4, "1b": 5}


def test_without_the_old_versions_report_its_rows_are_looked_for(world: World) -> None:
    world.store.delete(report_name(attempt_of(world, "1")))
    again(world)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1b": 5}


def test_a_rejected_version_is_retried_in_the_place_of_what_is_published_then(world: World) -> None:
    again(world, bad="broken")
    world.run()
    [line] = status(world.service).rejected
    world.mend("1b")
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1b": 5}


def test_an_archived_receipt_is_replaced_like_any_other(world: World) -> None:
    compact(world.service)
    world.clock.advance(world.service.compact_after.total_seconds() + 10)
    compact(world.service)
    assert world.on_main() == set()
    again(world)
    world.run()
    assert world.rows_on_main() == {"0": 1, "1b": 5}


def test_a_replaced_version_counts_in_no_history(world: World) -> None:
    world.push_contract(drift=True)
    again(world)
    assert list(world.last_job().baseline.values()) == [(1.0,)]
    world.run()
    world.drop("2", rows=3)
    assert list(world.last_job().baseline.values()) == [(1.0, 5.0)]


def test_a_version_whose_newer_neighbour_of_one_second_was_deleted_keeps_no_later_one_waiting(world: World) -> None:
    """By the event it is older than what is published, and by the listing, which lacks that one, the newest."""
    key = world.key("2")
    old, new = (world.landing.add(key, body) for body in (b"old", b"new"))
    world.stories |= {old.id: Story(rows=1), new.id: Story(rows=2)}
    world.names |= {old.id: "old", new.id: "new"}
    receive(world.service, [Arrival(key=key, version_id=old.version_id, sequencer="01")])
    world.kill_jobs("the driver was killed")
    world.open_attempt(replace(new, sequencer="02"))
    world.run()
    assert world.names_at() == {"0", "1", "new"}
    world.landing.drop(key, new.version_id)
    world.drop("later", rows=3, under=key)
    for _ in range(4):
        world.wait_out_the_grace()
        assert reconcile(world.service) == []
        world.run()
    assert world.names_at() == {"0", "1", "later"}
    assert world.attempts() == []
