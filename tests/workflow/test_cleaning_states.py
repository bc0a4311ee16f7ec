"""Hypothesis moves the world and cleans in between: whatever is read later has all of its files, and in the end only
what is needed is left.
"""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from datetime import timedelta
from typing import ClassVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.stateful import run_state_machine_as_test as run_machine

from lakegate.audit.model.report import parse_report
from lakegate.errors import LakegateError
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, Branch, JobRun, Ref
from lakegate.workflow.approve import approve
from lakegate.workflow.attempts.reports import PREFIX, read_report
from lakegate.workflow.ledger.undecided_files import undecided_files
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import discard, retry
from lakegate.workflow.settle import settle
from tests.workflow.cleaned import DAYS, CleanedWorld
from tests.world.world import TABLE

SETTINGS = settings(
    max_examples=60,
    stateful_step_count=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
WAITS = (0.01, 1, 3, 7, 8, 20, 40)
SAYS = (approve, retry, approve, retry, discard)
COVERED = (
    "approved",
    "branch: rejected, and kept",
    "branch: replaced by a retry",
    "cleaned: deleted",
    "compacted",
    "job: crashed",
    "job: reuses",
    "published",
    "rebased",
    "replaced",
)


class Cleaning(RuleBasedStateMachine):
    """Rules are the hands of vendors, people, jobs, sweeps and time."""

    counted: ClassVar[Counter[str]] = Counter()

    @initialize(unique=st.booleans(), days=st.sampled_from([5, DAYS]))
    def begin(self, *, unique: bool, days: int) -> None:
        self.world, self.days, self.dropped = CleanedWorld.made(), days, 0
        self.unique = unique
        self.push(changed=False)
        self.drop(key=0, bad=False, aside=False, deliver=True)
        self.world.run()

    @rule(changed=st.booleans())
    def push(self, *, changed: bool) -> None:
        """A contract that says as before, or asks for more."""
        if self.unique:
            self.world.want_unique_keys(required=changed)
        else:
            self.world.push_contract(changed=changed, branchDays=10)

    @rule(key=st.integers(0, 2), bad=st.booleans(), aside=st.booleans(), deliver=st.booleans())
    def drop(self, *, key: int, bad: bool, aside: bool, deliver: bool) -> None:
        self.dropped += 1
        name = f"{key}-{self.dropped}"
        with suppress(LakegateError):
            self.world.drop(
                name,
                rows=2,
                under=self.world.key(str(key)),
                aside=int(aside),
                deliver=deliver,
                holds=f"key {key}",
                bad="broken" if bad else "",
            )

    @rule()
    def drop_two_at_once(self) -> None:
        """Of unique keys, so that what is published first has the other audited again."""
        for _ in range(2):
            self.drop(key=100 + self.dropped, bad=False, aside=False, deliver=True)
        self.end_all_jobs(is_settled=True)

    @rule()
    def drop_one_that_is_rejected(self) -> None:
        self.drop(key=100 + self.dropped, bad=True, aside=False, deliver=True)
        self.end_all_jobs(is_settled=True)

    @rule()
    def drop_one_of_which_a_job_crashes(self) -> None:
        self.drop(key=100 + self.dropped, bad=False, aside=False, deliver=True)
        for run in self.world.runner.open_runs():
            if run.branch in self.world.lake.branches:
                self._crash(run)

    def _crash(self, run: JobRun) -> None:
        self.counted["job: crashed"] += 1
        self.world.spark_append(run.branch, "half", rows=1)
        self.world.runner.fail(run.id, "lost its driver")

    @precondition(lambda self: self.world.runner.open_runs())
    @rule(data=st.data(), end=st.sampled_from(["done", "done", "done", "crashed"]))
    def end_job(self, data: st.DataObject, end: str) -> None:
        run = data.draw(st.sampled_from(self.world.runner.open_runs()))
        if run.branch not in self.world.lake.branches:
            self.world.runner.fail(run.id, "its branch is gone")
        elif end == "done":
            self.counted["job: reuses"] += bool(self.world.runner.job(run.id).reuses)
            self.world.runner.finish(run.id)
        else:
            self._crash(run)

    @precondition(lambda self: self.world.runner.open_runs())
    @rule(is_settled=st.booleans())
    def end_all_jobs(self, *, is_settled: bool) -> None:
        self.counted["job: reuses"] += any(self.world.runner.job(it.id).reuses for it in self.world.runner.open_runs())
        self.world.end_jobs()
        for attempt in self.world.attempts() if is_settled else ():
            with suppress(LakegateError):
                settle(self.world.service, attempt)

    @precondition(lambda self: self.world.attempts())
    @rule(data=st.data())
    def settle(self, data: st.DataObject) -> None:
        with suppress(LakegateError):
            settle(self.world.service, data.draw(st.sampled_from(self.world.attempts())))

    @rule()
    def sweep(self) -> None:
        reconcile(self.world.service)

    @rule(data=st.data(), how=st.sampled_from(SAYS))
    def say(self, data: st.DataObject, how: object) -> None:
        """A person's word on a batch with an open branch."""
        batches = sorted({attempt.batch for attempt in self.world.attempts()})
        if not batches:
            return
        batch = data.draw(st.sampled_from(batches))
        with suppress(LakegateError):
            if how is retry:
                retry(self.world.service, batch)
                self.counted["branch: replaced by a retry"] += 1
            elif how is approve:
                approve(self.world.service, batch, reason="known", by="ann")
                self.counted["approved"] += 1
            else:
                discard(self.world.service, batch, reason="known", by="ann")

    @precondition(lambda self: self.world.lake.table(Ref(MAIN), TABLE))
    @rule()
    def compact(self) -> None:
        self.world.compact()
        self.counted["compacted"] += 1

    @rule(days=st.sampled_from(WAITS))
    def wait(self, days: float) -> None:
        self.world.wait(days)

    @rule(delete=st.booleans())
    def clean(self, *, delete: bool) -> None:
        before = len(self.world.lake.warehouse.deletions)
        self.world.clean(delete=delete, days=self.days)
        gone = len(self.world.lake.warehouse.deletions) - before
        assert delete or not gone
        self.counted["cleaned: deleted"] += bool(gone)
        self.look()

    @rule()
    def clean_in_another_season(self) -> None:
        self.world.wait(40)
        self.clean(delete=False)
        self.world.wait(7)
        self.clean(delete=True)

    def look(self) -> None:
        """Whoever reads main as it was, or what a branch was audited as, finds everything."""
        self.world.read_main_since(self.world.clock.now() - timedelta(days=self.days))
        for branch in self.world.service.branches.list_branches():
            self._look_at(branch)

    def _look_at(self, branch: Branch) -> None:
        self.world.lake.read(branch.head)
        attempt = Attempt.parse(branch.name)
        report = read_report(self.world.store, attempt) if attempt else None
        if report:
            self.counted["branch: rejected, and kept"] += branch.head == report.audited
            self.world.lake.read(report.audited)
            self.world.lake.read(report.base)

    @invariant()
    def nobody_misses_a_file(self) -> None:
        assert getattr(self, "world", None) is None or self.world.lake.lost == []

    def teardown(self) -> None:
        """All branches end, and what nothing needs goes."""
        if not hasattr(self, "world"):
            return
        world = self.world
        published = world.publications_by_name()
        Cleaning.counted["published"] += len(published)
        Cleaning.counted["replaced"] += len(published) - len(world.on_main())
        Cleaning.counted["rebased"] += len(self._merged_otherwise_than_audited())
        for _ in range(100):
            world.end_jobs()
            reconcile(world.service)
            world.wait(20)
            if not world.branches() and not undecided_files(world.service)[0]:
                break
        assert world.branches() == []
        world.wait(DAYS)
        world.clean(days=self.days)
        world.wait(DAYS)
        world.clean(days=self.days)
        self.nobody_misses_a_file()
        kept = {it for it in world.there() if not self._is_unknown(it)}
        assert kept == world.reached(world.lake.branches[MAIN])

    def _merged_otherwise_than_audited(self) -> set[str | None]:
        """The commits that were merged and that no audit was of."""
        merged = {it.merge_head for it in self.world.lake.line(self.world.lake.branches[MAIN])}
        reports = [self.world.store.read(name) for name in self.world.store.names(PREFIX)]
        return merged - {None, *(parse_report(body).audited for body in reports if body)}

    def _is_unknown(self, uri: str) -> bool:
        """Return True if it is in a folder that no run saw in the catalog."""
        return any(uri.startswith(folder) for folder in self.world.clean(delete=False).unknown)


def test_whatever_is_read_has_all_of_its_files_and_what_nothing_needs_goes() -> None:
    Cleaning.counted.clear()
    run_machine(Cleaning, settings=SETTINGS)
    assert [what for what in COVERED if not Cleaning.counted[what]] == [], Cleaning.counted


def test_what_an_attempt_left_on_a_branch_that_is_gone_is_not_read_for_the_next_one() -> None:
    """An attempt is reused only if cleaning must have kept its files."""
    machine = Cleaning()
    machine.begin(unique=True, days=5)
    machine.drop_two_at_once()
    machine.push(changed=True)
    machine.drop_one_that_is_rejected()
    machine.clean_in_another_season()
    machine.push(changed=False)
    [run] = machine.world.runner.open_runs()
    machine._crash(run)
    machine.teardown()
    assert machine.world.lake.lost == []
