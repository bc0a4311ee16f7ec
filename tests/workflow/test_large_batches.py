"""A batch of as many files as there may be, on a catalog whose commits hold no more text than the real one's."""

from collections.abc import Iterable

import pytest

from lakegate.adapters.notes import decided, properties
from lakegate.landing.ingestion import MOST_FILES
from lakegate.landing.receipts import Decision, Receipt
from lakegate.ports import Note
from lakegate.workflow.retry import discard, retry
from tests.workflow.world import World

LONG = "year=2013/month=01/day=31/vendor=" + 40 * "v"


@pytest.fixture
def world(monkeypatch: pytest.MonkeyPatch) -> World:
    """All files of a batch were rejected."""
    world = World()
    keep_as_text(world, monkeypatch)
    names = [f"{LONG}/{number:04d}" for number in range(MOST_FILES)]
    for name in names:
        world.drop(name, rows=1, bad="broken", deliver=False)
    world.drop_together(*names)
    world.run()
    assert len(world.attempts()) == 1
    return world


def keep_as_text(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    commit = world.service.catalog.commit_receipts

    def commit_as_text(branch: str, expected: str, receipts: Iterable[Receipt], note: Note | None = None) -> str:
        return commit(branch, expected, receipts, as_it_comes_back(note) if note else None)

    monkeypatch.setattr(world.service.catalog, "commit_receipts", commit_as_text)


def as_it_comes_back(note: Note) -> Note:
    told = {name: [value] for name, value in properties(note).items()}
    found = decided({"hash": "", "commitTime": "2013-01-31T00:00:00Z", "allProperties": told})
    assert found
    return found.note


def test_all_files_of_a_large_rejected_batch_are_tried_again(world: World) -> None:
    [attempt] = world.attempts()
    assert len(world.claims(retry(world.service, attempt.batch).attempt)) == MOST_FILES


def test_all_files_of_a_large_rejected_batch_are_discarded(world: World) -> None:
    [attempt] = world.attempts()
    assert discard(world.service, attempt.batch, "not wanted", "me") == MOST_FILES
    entries = world.entries().values()
    assert {entry.decision for entry in entries if entry} == {Decision.DISCARDED}
    assert world.branches() == []


def test_files_whose_names_json_spells_with_many_letters_are_all_found_again(monkeypatch: pytest.MonkeyPatch) -> None:
    world = World()
    keep_as_text(world, monkeypatch)
    names = ["\x01" * 900 + f"{number:04d}" for number in range(100)]
    for name in names:
        world.drop(name, rows=1, bad="broken", deliver=False)
    world.drop_together(*names)
    world.run()
    [attempt] = world.attempts()
    assert discard(world.service, attempt.batch, "not wanted", "me") == len(names)
