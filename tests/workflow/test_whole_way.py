"""The whole way of a file on in-memory ports: published, or rejected with a reason; once, whatever is delivered
again.
"""

from collections.abc import Iterable

import pytest

from lakegate.audit.model.codec import from_json
from lakegate.audit.model.job import Job
from lakegate.errors import Refused
from lakegate.ports import JobRun, MessageKind
from lakegate.ports.landing import Descriptions, Version
from lakegate.workflow.receive import receive
from lakegate.workflow.receiving.arrivals import Arrival
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.registry import push
from lakegate.workflow.retry import discard, retry
from lakegate.workflow.settle import settle
from lakegate.workflow.status import status
from tests.world.world import CONTRACT, World


@pytest.fixture
def world() -> World:
    return World()


def test_a_good_file_is_published(world: World) -> None:
    world.drop("1.parquet", rows=3)
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    assert world.branches() == []
    assert world.messages() == []


def test_a_bad_file_stays_on_its_branch_and_slack_hears_why(world: World) -> None:
    world.drop("1.parquet", rows=3, bad="carrier required")
    world.run()
    assert world.rows_on_main() == {}
    (branch,) = world.branches()
    assert world.rows_on(branch) == {"1.parquet": 3}
    (message,) = world.messages()
    assert message.branch == branch
    assert message.files[0].reasons == ("carrier required: 1, expected none",)


def test_the_good_files_of_a_batch_are_published_and_only_the_bad_one_stays(world: World) -> None:
    one = world.drop("1.parquet", rows=3, deliver=False)
    two = world.drop("2.parquet", rows=4, bad="broken", deliver=False)
    world.deliver(one, two, world.drop("3.parquet", rows=5, deliver=False))
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3, "3.parquet": 5}
    (branch,) = world.branches()
    assert world.rows_on(branch) == {"2.parquet": 4}
    (message,) = world.messages()
    assert [file.key for file in message.files] == [world.key("2.parquet")]
    assert (message.published_files, message.published_rows) == (2, 8)


def test_the_good_part_of_a_batch_is_published_into_a_table_that_exists(world: World) -> None:
    world.drop("0.parquet", rows=1)
    world.run()
    one = world.drop("1.parquet", rows=3, deliver=False)
    world.deliver(one, world.drop("2.parquet", rows=4, bad="broken", deliver=False))
    world.run()
    assert world.rows_on_main() == {"0.parquet": 1, "1.parquet": 3}


def test_a_file_that_could_not_be_read_is_rejected_alone(world: World) -> None:
    one = world.drop("1.parquet", rows=3, deliver=False)
    world.deliver(one, world.drop("2.parquet", rows=0, unreadable="it is not a parquet file", deliver=False))
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    assert world.rejected() == {"2.parquet": ("it is not a parquet file",)}


def test_redelivered_event_publishes_once(world: World) -> None:
    file = world.drop("1.parquet", rows=3)
    for _ in range(3):
        world.deliver(file)
    world.run()
    world.deliver(file)
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    assert world.publications("1.parquet") == 1


def test_regrouped_events_publish_each_file_once(world: World) -> None:
    one, two, three = (world.drop(f"{n}.parquet", rows=n, deliver=False) for n in (1, 2, 3))
    world.deliver(one, two)
    world.deliver(one, three)
    world.run()
    assert world.rows_on_main() == {"1.parquet": 1, "2.parquet": 2, "3.parquet": 3}
    assert world.publications("1.parquet") == 1


def test_two_attempts_that_claimed_the_same_file_publish_it_once(world: World) -> None:
    one, two, three = (world.drop(f"{n}.parquet", rows=n, deliver=False) for n in (1, 2, 3))
    world.open_attempt(one, two)
    world.open_attempt(one, three)
    world.run()
    assert world.rows_on_main() == {"1.parquet": 1, "2.parquet": 2, "3.parquet": 3}
    assert world.publications("1.parquet") == 1
    assert world.branches() == []


def test_the_same_bytes_dropped_again_are_published_once_and_nobody_is_bothered(world: World) -> None:
    world.drop("1.parquet", rows=3, body=b"same")
    world.run()
    world.drop("1.parquet", rows=3, body=b"same")
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    assert world.messages() == []
    assert status(world.service).in_flight == ()


def test_new_bytes_under_a_published_key_are_rejected_where_the_contract_says_so(world: World) -> None:
    world.push_contract(reuploads="reject")
    world.drop("1.parquet", rows=3, body=b"old")
    world.run()
    world.drop("1.parquet", rows=4, body=b"new")
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    assert "already published" in world.rejected()["1.parquet"][0]
    assert world.messages()[0].kind is MessageKind.REJECTED


def test_two_versions_of_a_key_at_once_take_turns(world: World) -> None:
    first = world.drop("1.parquet", rows=3, body=b"old", deliver=False)
    second = world.drop("newer", rows=4, body=b"new", deliver=False, under=first.key)
    world.deliver(second, first)
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    world.run()
    world.wait_out_the_grace()
    reconcile(world.service)
    world.run()
    assert world.rows_on_main() == {"newer": 4}
    assert world.publications_by_name() == {"1.parquet": 1, "newer": 1}


def test_a_mended_file_under_a_rejected_key_is_published(world: World) -> None:
    world.drop("1.parquet", rows=3, bad="broken", body=b"old")
    world.run()
    world.drop("1.parquet", rows=3, body=b"mended")
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}


def test_a_key_that_no_contract_routes_is_unrouted_and_told_once(world: World) -> None:
    file = world.drop("other/1.csv", rows=1, absolute=True)
    world.deliver(file)
    world.run()
    (line,) = status(world.service).unrouted
    assert line.files == ("other/1.csv",)
    assert [message.kind for message in world.messages()] == [MessageKind.UNROUTED]


def test_an_unrouted_file_is_picked_up_when_a_contract_routes_it(world: World) -> None:
    world.remove_contract()
    world.drop("1.parquet", rows=3)
    world.push_contract()
    assert reconcile(world.service) == []
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    assert status(world.service).unrouted == ()


def test_a_lost_s3_event_is_found_by_reconcile_after_the_grace(world: World) -> None:
    world.drop("1.parquet", rows=3, deliver=False)
    reconcile(world.service)
    assert world.branches() == []
    world.wait_out_the_grace()
    reconcile(world.service)
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}


def test_a_lost_job_event_is_found_by_reconcile(world: World) -> None:
    world.drop("1.parquet", rows=3)
    world.run(settle_after=False)
    reconcile(world.service)
    assert world.rows_on_main() == {"1.parquet": 3}


def test_a_killed_job_is_told_its_branch_kept_and_a_retry_publishes(world: World) -> None:
    world.allow_attempts(1)
    world.drop("1.parquet", rows=3)
    world.kill_jobs("killed by SIGKILL")
    world.run()
    assert world.rows_on_main() == {}
    (line,) = status(world.service).rejected
    assert "killed by SIGKILL" in line.reasons[0]
    assert line.branch in world.branches()
    assert len(world.messages()) == 1
    attempt = retry(world.service, line.batch).attempts[0]
    assert attempt.number == 2
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    assert world.branches() == []
    assert status(world.service).rejected == ()


def test_a_retry_of_a_batch_takes_its_rejected_files_alone(world: World) -> None:
    one = world.drop("1.parquet", rows=3, deliver=False)
    world.deliver(one, world.drop("2.parquet", rows=4, bad="broken", deliver=False))
    world.run()
    (line,) = status(world.service).rejected
    world.mend("2.parquet")
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3, "2.parquet": 4}
    assert world.publications("1.parquet") == 1


def test_a_batch_is_retried_however_much_was_decided_since(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("lakegate.workflow.ledger.rejected.DECISIONS", 2)
    world.drop("1.parquet", rows=3, bad="broken")
    world.run()
    (line,) = status(world.service).rejected
    for name in ("2.parquet", "3.parquet", "4.parquet"):
        world.drop(name, rows=1)
        world.run()
    world.mend("1.parquet")
    retry(world.service, line.batch)
    world.run()
    assert world.rows_on_main()["1.parquet"] == 3


def test_a_fault_of_ours_at_one_branch_is_raised_and_keeps_the_sweep_from_nothing_else(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    world.drop("1.parquet", rows=3)
    (first,) = world.attempts()
    world.drop("2.parquet", rows=4)
    world.runner.finish_all()
    find = world.runner.find

    def broken(branch: str) -> JobRun | None:
        if branch == first.branch:
            raise KeyError(branch)
        return find(branch)

    monkeypatch.setattr(world.service.runner, "find", broken)
    world.store.delete(f"reports/{first.branch}.json")
    with pytest.raises(KeyError):
        reconcile(world.service)
    assert world.rows_on_main() == {"2.parquet": 4}


def test_a_fault_of_ours_at_one_table_is_raised_and_holds_up_no_other(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    stray = world.landing.add("elsewhere/1.parquet", b"1")
    file = world.drop("1.parquet", rows=3, deliver=False)

    def broken(*_: object) -> None:
        raise KeyError(stray.key)

    monkeypatch.setattr("lakegate.workflow.receive.record_unrouted", broken)
    with pytest.raises(KeyError):
        receive(world.service, [Arrival(key=it.key, version_id=it.version_id) for it in (stray, file)])
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}


def test_what_was_rejected_stays_so_under_a_new_contract_and_a_retry_is_held_to_that_one(world: World) -> None:
    world.drop("1.parquet", rows=3, bad="broken")
    world.run()
    (before,) = world.attempts()
    world.mend("1.parquet")
    world.push_contract(changed=True)
    world.wait_out_the_grace()
    reconcile(world.service)
    world.run()
    (line,) = status(world.service).rejected
    retry(world.service, line.batch)
    jobs = [name for name in sorted(world.store.names("attempts/")) if name.endswith("/job.json")]
    plans = [from_json(Job, world.store.read(name) or b"").plan for name in jobs]
    assert (world.attempts()[-1].number, [bool(plan.checks) for plan in plans]) == (before.number + 1, [False, True])
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}


def test_a_discarded_batch_is_gone_for_good(world: World) -> None:
    file = world.drop("1.parquet", rows=3, bad="broken")
    world.run()
    (line,) = status(world.service).rejected
    assert discard(world.service, line.batch, reason="the vendor sends it again", by="ann") == 1
    world.deliver(file)
    world.wait_out_the_grace()
    reconcile(world.service)
    world.run()
    assert world.rows_on_main() == {}
    assert world.branches() == []
    (discarded,) = status(world.service).discarded
    assert discarded.files == (file.key,)
    with pytest.raises(Refused, match="none of its files is rejected"):
        retry(world.service, line.batch)


def test_settling_again_tells_nothing_new(world: World) -> None:
    world.drop("1.parquet", rows=3, bad="broken")
    world.run()
    settle(world.service, world.attempts()[0])
    reconcile(world.service)
    assert len(world.messages()) == 1


def test_an_unreachable_slack_loses_no_message(world: World) -> None:
    world.notifier_down()
    world.drop("1.parquet", rows=3, bad="broken")
    world.run()
    assert world.messages() == []
    world.notifier_up()
    world.wait_out_the_grace()
    reconcile(world.service)
    reconcile(world.service)
    assert len(world.messages()) == 1


def test_warnings_are_published_and_told(world: World) -> None:
    world.drop("1.parquet", rows=3, warn="tailnum nullValues")
    world.run()
    assert world.rows_on_main() == {"1.parquet": 3}
    assert [message.kind for message in world.messages()] == [MessageKind.WARNING]


def test_a_file_deleted_after_it_was_claimed_is_rejected_with_that_reason(world: World) -> None:
    file = world.drop("1.parquet", rows=3, deliver=False)
    world.delete_when_staged(file)
    world.deliver(file)
    world.run()
    assert "deleted from the landing bucket" in world.rejected()["1.parquet"][0]


def test_a_file_whose_bytes_are_archived_is_rejected_for_that_and_holds_up_no_other(world: World) -> None:
    file = world.drop("1", rows=3, deliver=False)
    world.drop("2", rows=4, deliver=False)
    world.archive_the_bytes_of(file)
    world.drop_together("1", "2")
    world.run()
    assert (world.rows_on_main(), world.rejected()) == ({"2": 4}, {"1": ("nyc/flights/1 is archived",)})


def test_a_file_that_cannot_be_looked_at_keeps_no_other_from_its_way(world: World) -> None:
    files = [world.drop(name, rows=3, deliver=False) for name in ("1.parquet", "2.parquet")]
    world.forbid_looking_at(files[0])
    failures = receive(world.service, [Arrival(key=file.key, version_id=file.version_id) for file in files])
    assert [arrival.key for failure in failures for arrival in failure.arrivals] == [files[0].key]
    world.run()
    assert world.rows_on_main() == {"2.parquet": 3}
    world.drop("3.parquet", rows=3, deliver=False)
    world.wait_out_the_grace()
    assert len(reconcile(world.service)) == 1
    world.run()
    assert world.rows_on_main() == {"2.parquet": 3, "3.parquet": 3}


def test_files_that_land_together_are_looked_up_side_by_side_and_each_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = [world.drop(f"{number}.parquet", rows=1, deliver=False) for number in range(3)]
    arrivals = [Arrival(key=file.key, version_id=file.version_id) for file in files]
    asked: list[list[Version]] = []
    look = world.landing.describe_all

    def describe_all(versions: Iterable[Version]) -> Descriptions:
        asked.append(list(versions))
        return look(asked[-1])

    monkeypatch.setattr(world.landing, "describe_all", describe_all)
    assert receive(world.service, [*arrivals, arrivals[0]]) == []
    assert asked == [[(file.key, file.version_id) for file in files]]


def test_a_message_that_slack_refuses_keeps_no_other_from_being_told(world: World) -> None:
    world.notifier_down()
    world.drop("1.parquet", rows=3, bad="broken")
    world.drop("2.parquet", rows=3, bad="broken")
    world.run()
    world.notifier_up()
    world.refuse_messages_about("1.parquet")
    world.wait_out_the_grace()
    assert len(reconcile(world.service)) == 1
    assert [file.key for message in world.messages() for file in message.files] == [world.key("2.parquet")]


def test_a_burst_of_a_thousand_files_is_one_batch(world: World) -> None:
    files = [world.drop(str(number), rows=1, deliver=False) for number in range(1000)]
    world.deliver(*files)
    assert world.job_runs() == 1


def test_a_batch_has_no_more_bytes_than_its_contract_says(world: World) -> None:
    world.push_contract(batchBytes=7)
    files = [
        world.drop(body.decode(), rows=1, body=body, deliver=False) for body in (b"1234", b"123", b"12345678", b"1")
    ]
    world.deliver(*files)
    claims = sorted([file.key for file in world.claims(attempt)] for attempt in world.attempts())
    assert claims == [[world.key("1")], [world.key("1234"), world.key("123")], [world.key("12345678")]]


def test_many_lost_files_become_several_batches(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.push_contract(batchFiles=2)
    monkeypatch.setattr("lakegate.workflow.reconcile.AT_ONCE", 4)
    for name in "12345":
        world.drop(name, rows=1, deliver=False)
    world.wait_out_the_grace()
    reconcile(world.service)
    assert world.job_runs() == 2
    reconcile(world.service)
    assert world.job_runs() == 3
    for _ in range(3):
        world.run()
    assert world.rows_on_main() == dict.fromkeys("12345", 1)


def test_a_report_that_cannot_be_read_rejects_its_files_and_stops_no_sweep(world: World) -> None:
    world.drop("1.parquet", rows=3)
    world.run(settle_after=False)
    world.spoil_reports()
    world.drop("2.parquet", rows=3)
    assert reconcile(world.service) == []
    assert "can't be read" in world.rejected()["1.parquet"][0]
    world.run()
    assert world.rows_on_main() == {"2.parquet": 3}


def test_the_message_shows_how_to_see_the_rejected_rows_and_no_others(world: World) -> None:
    one = world.drop("1.parquet", rows=3, bad="broken", deliver=False)
    two = world.drop("2.parquet", rows=0, unreadable="it is not a parquet file", deliver=False)
    world.deliver(one, two, world.drop("3.parquet", rows=5, deliver=False))
    world.run()
    (message,) = world.messages()
    (query,) = [command for command in message.commands if command.startswith("lakegate query")]
    assert f"WHERE _lakegate_file IN ('{one.id}')" in query
    assert query.endswith(f"--ref {message.branch}")


def test_a_message_about_files_without_rows_offers_no_query(world: World) -> None:
    world.drop("1.parquet", rows=0, unreadable="it is not a parquet file")
    world.run()
    (message,) = world.messages()
    assert not [command for command in message.commands if command.startswith("lakegate query")]


def test_a_staged_copy_is_named_for_the_readers_of_its_format(world: World) -> None:
    push(world.store, [("flights.yaml", CONTRACT.replace("format: parquet", "format: csv").encode())])
    file = world.drop("odd#name.txt.GZ", rows=3)
    [uri] = world.landing.copies
    assert uri.endswith(f"/{file.id}.csv.gz")
