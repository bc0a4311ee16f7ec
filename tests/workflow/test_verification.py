"""Restores, whole and in part: what verification says of them, and that the service goes on from there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from lakegate.doctor.finding import Finding, Verdict
from lakegate.landing.attempts import Attempt
from lakegate.ports import MAIN, Ref
from lakegate.testing.lake import Commit
from lakegate.workflow.attempts.job import job_name
from lakegate.workflow.ledger.compaction import compact
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.verification.verify import verify
from tests.workflow.cleaned import CleanedWorld
from tests.world.world import TABLE

DAY = 24 * 60 * 60.0


@dataclass(frozen=True, kw_only=True)
class Backup:
    """A moment of the catalog, of the service's bucket and of the lake."""

    commits: dict[str, Commit]
    branches: dict[str, str]
    objects: dict[str, bytes]
    files: set[str]


class RestoredWorld(CleanedWorld):
    def backup(self) -> Backup:
        return Backup(
            commits=dict(self.lake.commits),
            branches=dict(self.lake.branches),
            objects=dict(self.store.objects),
            files=self.there(),
        )

    def restore_catalog(self, backup: Backup) -> None:
        self.lake.restore(backup.commits, backup.branches)

    def restore_service(self, backup: Backup) -> None:
        self.store.objects = dict(backup.objects)

    def restore_lake(self, backup: Backup) -> None:
        self.lake.files.deletions |= self.there() - backup.files

    def verify(self) -> list[Finding]:
        before = self.backup()
        found = verify(self.service, self.lake.warehouse)
        assert self.backup() == before
        return found

    def faults(self) -> dict[str, str]:
        """Return what is not ok, by subject; the last of each."""
        return {it.subject: it.said for it in self.verify() if it.verdict is not Verdict.OK}

    def go_on(self) -> None:
        """The sweep and the jobs, until nothing moves."""
        for _ in range(3):
            self.wait_out_the_grace()
            reconcile(self.service)
            self.end_jobs()
        self.wait_out_the_grace()
        reconcile(self.service)

    def compact_all(self) -> None:
        """All that is decided leaves main."""
        self.clock.advance(self.service.compact_after.total_seconds() + DAY)
        for _ in range(2):
            compact(self.service)
            self.clock.advance(DAY + 1)


@pytest.fixture
def world() -> RestoredWorld:
    """A published file, and a rejected one."""
    world = RestoredWorld.made()
    world.drop("before", rows=1)
    world.run()
    world.drop("bad", rows=2, bad="odd")
    world.run()
    assert world.faults() == {}
    return world


def publish_more(world: RestoredWorld) -> None:
    world.drop("after", rows=5)
    world.run()


def attempt_of(world: RestoredWorld, name: str) -> Attempt:
    """The attempt that decided a file."""
    entry = world.entries()[name]
    assert entry
    return Attempt(table=entry.table, batch=entry.batch, number=entry.attempt)


def test_a_whole_installation_has_nothing_to_name(world: RestoredWorld) -> None:
    for name in ("again", "once more"):
        world.drop(name, rows=3, under=world.key("before"))
        world.run()
        publish_more(world)
        world.compact_all()
    world.drop("and again", rows=3, under=world.key("before"))
    world.run()
    assert [it.verdict for it in world.verify()] == [Verdict.OK] * 5


def test_all_of_it_at_one_moment_is_whole_and_what_landed_since_is_published_again(world: RestoredWorld) -> None:
    backup = world.backup()
    publish_more(world)
    world.restore_catalog(backup)
    world.restore_service(backup)
    world.restore_lake(backup)
    assert world.faults() == {}
    world.go_on()
    assert world.rows_on_main() == {"before": 1, "after": 5}
    assert world.faults() == {}


def test_with_the_catalog_alone_restored_what_landed_since_is_published_again_once(world: RestoredWorld) -> None:
    backup = world.backup()
    publish_more(world)
    world.restore_catalog(backup)
    assert world.faults() == {}
    world.go_on()
    assert world.rows_on_main() == {"before": 1, "after": 5}
    assert world.faults() == {}


def test_an_attempt_that_went_on_after_the_catalogs_moment_is_named_and_its_batch_can_be_retried(
    world: RestoredWorld,
) -> None:
    file = world.drop("open", rows=4)
    [attempt] = [it for it in world.attempts() if world.claims(it) == [file]]
    backup = world.backup()
    world.run()
    world.restore_catalog(backup)
    [said] = [it for it in world.verify() if it.verdict is Verdict.WRONG]
    assert said.subject == attempt.branch
    assert said.said.startswith(f"reports/{attempt.branch}.json names 1 commit that the catalog lacks")
    assert said.todo.endswith(f"lakegate reconcile, and then lakegate retry {attempt.batch}")
    world.go_on()
    assert "open" in world.rejected()
    retry(world.service, attempt.batch)
    world.go_on()
    assert world.rows_on_main() == {"before": 1, "open": 4}
    assert world.faults() == {}


def test_an_archive_younger_than_the_catalog_hides_a_file_until_its_receipt_is_back_at_the_moment(
    world: RestoredWorld,
) -> None:
    backup = world.backup()
    publish_more(world)
    world.compact_all()
    world.restore_catalog(backup)
    [said] = [it for it in world.verify() if it.verdict is Verdict.WRONG]
    assert "after, version" in said.said
    assert "main lacks 1 data file of it; the archive tells so" in said.said
    name, _, _ = said.todo.partition(" is younger than the catalog")
    world.deliver(world.file("after"))
    assert world.rows_on_main() == {"before": 1}
    world.store.delete(name)
    world.go_on()
    assert world.rows_on_main() == {"before": 1, "after": 5}
    assert world.faults() == {}


def test_compaction_goes_on_though_the_catalog_lacks_the_commit_that_it_noted(world: RestoredWorld) -> None:
    backup = world.backup()
    publish_more(world)
    world.compact_all()
    world.restore_catalog(backup)
    for name in world.store.names("receipts/"):
        world.store.delete(name)
    world.go_on()
    world.compact_all()
    assert list(world.service.ledger.all_receipts(Ref(MAIN))) == []
    assert world.rows_on_main() == {"before": 1, "after": 5}
    assert world.faults() == {}


def test_an_archive_older_than_the_catalog_has_forgotten_files_which_are_named(world: RestoredWorld) -> None:
    publish_more(world)
    backup = world.backup()
    world.compact_all()
    world.restore_service(backup)
    said = [it.said for it in world.verify() if it.verdict is Verdict.WRONG]
    assert len([it for it in said if "landed before the watermark, and nothing tells what became of it" in it]) == 3
    assert len([it for it in said if "is on main, and no receipt tells of its file" in it]) == 2


def test_a_lake_older_than_the_catalog_lacks_files_of_main_and_of_branches_which_are_named(
    world: RestoredWorld,
) -> None:
    backup = world.backup()
    publish_more(world)
    world.drop("bad again", rows=2, bad="odd")
    world.run()
    world.restore_lake(backup)
    said = [it for it in world.verify() if it.verdict is Verdict.WRONG]
    attempt = next(it for it in world.attempts() if it.branch not in backup.branches)
    assert {it.subject for it in said} == {MAIN, attempt.branch}
    assert all("missing" in it.said for it in said)
    assert {it.todo.rpartition(": ")[2] for it in said if it.subject == attempt.branch} == {
        f"lakegate retry {attempt.batch}"
    }


def test_a_service_bucket_older_than_the_catalog_lacks_jobs_and_reports_which_are_named(world: RestoredWorld) -> None:
    backup = world.backup()
    publish_more(world)
    world.drop("bad again", rows=2, bad="odd")
    world.run()
    attempt = next(it for it in world.attempts() if it.branch not in backup.branches)
    world.restore_service(backup)
    found = {it.subject: it for it in world.verify() if it.verdict is not Verdict.OK}
    assert found[attempt.branch].said.startswith("it has no frozen job")
    assert f"the report of {attempt_of(world, 'after').branch} does not tell of it" in found["receipts"].said
    world.go_on()
    assert world.rows_on_main() == {"before": 1, "after": 5}


def test_rows_that_are_on_main_by_two_attempts_are_named(world: RestoredWorld) -> None:
    publish_more(world)
    first = attempt_of(world, "after")
    body = world.store.objects[f"reports/{first.branch}.json"]
    path = f"{first.branch}/{world.file('after').id}/0"
    twin = path.replace("-a1/", "-a2/")
    world.store.objects[f"reports/{first.next().branch}.json"] = body.replace(path.encode(), twin.encode())
    state = world.lake.table(Ref(MAIN), TABLE)
    assert state
    world.lake.spark_append(MAIN, TABLE, state.identity, {twin: 5})
    said = [it.said for it in world.verify() if it.verdict is Verdict.WRONG]
    assert said == [f"{twin} of {first.next().branch} is on main, and its file is published by another attempt"]


def test_a_table_that_somebody_has_rewritten_is_not_called_wrong(world: RestoredWorld) -> None:
    publish_more(world)
    world.compact()
    [said] = [it for it in world.verify() if it.verdict is not Verdict.OK]
    assert said.verdict is Verdict.UNKNOWN
    assert "has 1 data file on main that no report names" in said.said


def test_rows_that_are_gone_from_main_are_named(world: RestoredWorld) -> None:
    world.delete_rows_of("before")
    [said] = [it for it in world.verify() if it.verdict is Verdict.WRONG]
    assert "before, version" in said.said
    assert "main lacks 1 data file of it" in said.said


def test_what_cannot_be_read_is_named(world: RestoredWorld) -> None:
    [attempt] = world.attempts()
    world.compact_all()
    archived = world.store.names("receipts/")[0]
    for name in (archived, job_name(attempt)):
        world.store.write(name, b"{")
    said = [it.said for it in world.verify() if it.verdict is Verdict.WRONG]
    assert f"the receipt {archived} can't be read, so nothing is known of its key" in said
    assert [it for it in said if it.startswith(f"the job {job_name(attempt)} can't be read")]


def test_of_many_findings_of_one_kind_the_first_are_named_and_the_others_counted(world: RestoredWorld) -> None:
    world.service = replace(world.service, jobs_at_once=1000)
    for number in range(30):
        world.drop(f"many-{number}", rows=1, deliver=False)
    world.drop_together(*(f"many-{number}" for number in range(30)))
    world.run()
    for number in range(30):
        world.delete_rows_of(f"many-{number}")
    said = [it for it in world.verify() if it.verdict is Verdict.WRONG]
    assert [len(said), said[-1].said] == [21, "and 10 more findings like it"]
