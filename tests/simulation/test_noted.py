"""Findings of audits come to main with the decision on their files, call by call; schedules ask it by the thousand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from lakegate.audit.evaluation.audits import audits_of
from lakegate.audit.model.report import Report
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import Decision
from lakegate.ports import MAIN, Ref
from lakegate.testing import TableState
from lakegate.testing.lake import Key, KeyKind
from tests.simulation.installation import Terms
from tests.simulation.simulation import Simulation
from tests.simulation.worker import Fate
from tests.world.installation import FLIGHTS
from tests.world.stories import Story, files_of

AUDITS = audits_of(FLIGHTS)
GOOD, BAD = Story(rows=2), Story(rows=3, bad="odd")


class World(Simulation):
    """An installation whose audits become rows, and its people."""

    def __init__(self, *, notes: bool = True) -> None:
        super().__init__(Terms())
        if notes:
            self.world.append_audits()
        self.push_contract()

    def land(self, **stories: Story) -> dict[str, FileVersion]:
        """Files of one batch, whose job runs to its end."""
        files = {name: self.world.upload(f"flights/{name}", name.encode(), story) for name, story in stories.items()}
        self.world.deliver(list(self.world.queue), again=False)
        self.finish()
        return files

    def report(self) -> Report:
        """Of the last attempt."""
        [*_, branch] = [run.branch for run in self.world.runner.runs.values()]
        found = self.world.report(branch)
        assert found is not None
        return found

    def noted(self) -> set[str]:
        """The file versions whose audits main has."""
        return {path.split("/")[1] for path in files_of(self.world.lake.table(Ref(MAIN), AUDITS))}


def test_a_publish_brings_what_was_found_in_the_commit_that_brings_its_rows() -> None:
    world = World()
    file = world.land(good=GOOD)["good"]
    before = world.world.lake.head(MAIN)
    world.settle_all()
    after = world.world.lake.head(MAIN)
    assert after.parent == before.hash
    assert {Key(kind=KeyKind.TABLE, name=name) for name in (FLIGHTS, AUDITS)} <= after.keys
    assert world.noted() == {file.id}
    state = world.world.lake.table(Ref(MAIN), AUDITS)
    assert state is not None
    assert state.rows == 1 + len(world.report().files[0].checks)


def test_a_rejection_brings_what_was_found_in_the_commit_of_its_receipts() -> None:
    world = World()
    files = world.land(good=GOOD, bad=BAD)
    world.settle_all()
    assert world.noted() == {file.id for file in files.values()}
    rejected, published = world.world.lake.line(world.world.lake.head(MAIN).hash)[:2]
    assert rejected.record is not None
    assert published.record is not None
    assert (rejected.record.decision, published.record.decision) == (Decision.REJECTED, Decision.PUBLISHED)
    assert {key.kind for key in rejected.keys} == {KeyKind.TABLE, KeyKind.RECEIPT}
    assert Key(kind=KeyKind.TABLE, name=FLIGHTS) not in rejected.keys


@pytest.mark.parametrize("fate", [Fate.CRASH_BEFORE, Fate.CRASH_AFTER, Fate.LOST, Fate.UNANSWERED])
def test_a_worker_that_dies_at_any_call_of_a_rejection_leaves_both_undone_or_both_done(fate: Fate) -> None:
    calls = 0
    while True:
        world = World()
        file = world.land(bad=BAD)["bad"]
        [branch] = world.world.job_events
        worker = world.world.deliver_job_event(branch, again=False)
        for _ in range(calls):
            if worker in world.world.workers:
                world.let(worker)
        if worker not in world.world.workers:
            break
        world.let(worker, fate)
        world.finish()
        world.come_to_an_end()
        assert world.noted() == {file.id}, calls
        calls += 1
    assert calls > 10


def test_two_who_reject_at_once_bring_what_was_found_once() -> None:
    world = World()
    file = world.land(bad=BAD)["bad"]
    [branch] = world.world.job_events
    workers = [world.world.deliver_job_event(branch, again=again) for again in (True, False)]
    while world.world.workers:
        for worker in [it for it in workers if it in world.world.workers]:
            world.let(worker)
    world.come_to_an_end()
    assert world.noted() == {file.id}


def test_two_batches_from_one_base_both_bring_theirs_although_each_has_made_the_table() -> None:
    world = World()
    first, second = world.land(good=GOOD), world.land(bad=BAD)
    made = {str(world.world.lake.table(Ref(branch), AUDITS)) for branch in world.world.job_events}
    assert len(made) == 2
    world.settle_all()
    assert world.noted() == {file.id for file in (*first.values(), *second.values())}
    assert len(world.world.runner.runs) == 2


def test_what_a_person_lets_through_is_not_noted_twice() -> None:
    world = World()
    file = world.land(bad=BAD)["bad"]
    world.settle_all()
    [batch] = world.rejected_batches()
    world.world.approve(batch)
    world.finish()
    note = world.world.lake.head(MAIN).record
    assert note is not None
    assert (note.decision, note.by) == (Decision.PUBLISHED, "ann")
    assert world.noted() == {file.id}


def test_a_table_of_audits_that_somebody_made_anew_otherwise_keeps_no_file_from_its_decision() -> None:
    world = World()
    world.land(good=GOOD)
    world.settle_all()
    world.land(bad=BAD)
    state = world.world.lake.table(Ref(MAIN), AUDITS)
    assert state is not None
    other = TableState(identity=replace(state.identity, fields=state.identity.fields[:1]))
    world.world.lake.commit(MAIN, {Key(kind=KeyKind.TABLE, name=AUDITS): other})
    [branch] = world.world.job_events
    worker = world.world.deliver_job_event(branch, again=False)
    while worker in world.world.workers:
        world.world.step(worker)
    note = world.world.lake.head(MAIN).record
    assert note is not None
    assert note.decision is Decision.REJECTED
    assert world.noted() == set()


def test_a_whole_merge_makes_as_many_calls_as_without() -> None:
    calls = []
    for notes in (False, True):
        world = World(notes=notes)
        world.land(good=GOOD)
        [branch] = world.world.job_events
        before = world.world.calls
        world.world.deliver_job_event(branch, again=False)
        while world.world.workers:
            world.let(world.world.workers[0])
        calls.append(world.world.calls - before)
    assert calls[0] == calls[1]


def test_without_the_choice_no_table_of_audits_is_made() -> None:
    world = World(notes=False)
    world.land(good=GOOD, bad=BAD)
    world.settle_all()
    assert world.world.lake.table(Ref(MAIN), AUDITS) is None
    assert Attempt.parse(world.report().branch) is not None
    assert not any(file.noted for file in world.report().files)
