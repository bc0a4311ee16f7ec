"""A batch of as many files as there may be, on a catalog whose commits hold no more text than the real one's."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from lakegate.adapters.slack import blocks
from lakegate.audit.model.codec import from_json, to_json
from lakegate.audit.model.report import Report
from lakegate.landing.ingestion import MOST_FILES
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt
from lakegate.ports import MAIN, Record, Ref
from lakegate.publishing.nessie.records import entry_of, properties
from lakegate.workflow.attempts.reports import report_name
from lakegate.workflow.retry import discard, retry
from tests.world.world import World

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
    commit = world.service.ledger.commit_receipts

    def commit_as_text(branch: str, expected: str, receipts: Iterable[Receipt], note: Record | None = None) -> str:
        return commit(branch, expected, receipts, as_it_comes_back(note) if note else None)

    monkeypatch.setattr(world.service.ledger, "commit_receipts", commit_as_text)


def as_it_comes_back(note: Record) -> Record:
    told = {name: [value] for name, value in properties(note).items()}
    found = entry_of({"hash": "", "commitTime": "2013-01-31T00:00:00Z", "allProperties": told})
    assert found
    return found.record


def test_all_files_of_a_large_rejected_batch_are_tried_again(world: World) -> None:
    [attempt] = world.attempts()
    assert len(world.claims(retry(world.service, attempt.batch).attempts[0])) == MOST_FILES


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


ODD = "\x00\x1b[2J\u202e<!channel> `*b*` & \n\u2028 <https://x.example|y> {} '; --"


def test_thousands_of_faults_in_a_strangers_words_are_kept_whole_and_told_in_short(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    world, faults = World(), tuple(f'column "{number} {ODD}" is not in the contract' for number in range(5000))
    keep_as_text(world, monkeypatch)
    world.drop(ODD, rows=3, unreadable="it is odd", deliver=False)
    world.drop("good", rows=2, deliver=False)
    world.drop_together(ODD, "good")
    world.runner.finish_all()
    [attempt] = world.attempts()
    report = from_json(Report, world.store.objects[report_name(attempt)])
    files = tuple(replace(file, faults=file.faults and faults) for file in report.files)
    world.store.write(report_name(attempt), to_json(replace(report, files=files)).encode())
    world.run()
    assert world.rows_on_main() == {"good": 2}
    [receipt] = world.service.ledger.receipts(Ref(MAIN), [world.key(ODD)]).values()
    assert [(entry.decision, entry.reasons) for entry in receipt.entries] == [(Decision.REJECTED, faults)]
    assert Receipt.from_json(receipt.to_json()) == receipt
    [message] = world.messages()
    assert [(file.key, file.reasons) for file in message.files] == [(world.key(ODD), faults)]
    assert not any(sign in command for command in message.commands for sign in ("\x00", "<!channel>", "https"))
    said = json.dumps(blocks(message), ensure_ascii=False)
    assert len(said) < 10_000
    assert not any(sign in said for sign in ("\\u0000", "\\u001b", "\u202e", "\u2028", "<!", "<https", "`*b"))
    assert re.search(r"and 4,99\d more reasons: `lakegate show ", said)
    world.mend(ODD)
    retry(world.service, attempt.batch)
    world.run()
    assert world.rows_on_main() == {"good": 2, ODD: 3}
