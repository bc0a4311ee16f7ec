"""Hostile landing keys on the whole way: each is a file of its own, and reaches main, Slack and notes as it is."""

from __future__ import annotations

import json
import re

import pytest

from lakegate.adapters import slack
from lakegate.landing.attempts import Attempt
from lakegate.landing.lifecycle import Decision
from lakegate.landing.receipts import Receipt, receipt_name
from lakegate.ports import DecidedFile, MessageKind, Record
from lakegate.publishing.nessie.records import LIMIT, entry_of, message, properties
from lakegate.workflow.ledger.unrouted import unrouted_files
from lakegate.workflow.reconcile import reconcile
from lakegate.workflow.retry import retry
from lakegate.workflow.status import status
from tests.hostile.names import DECEIVING, KEYS, MARKUP
from tests.world.world import World

SOUND = {kind: text for kind, text in (KEYS | DECEIVING | MARKUP).items() if kind != "half letters"}


def under_a_route(text: str) -> str:
    return f"nyc/flights/{text}"


@pytest.mark.parametrize("kind", SOUND)
def test_a_file_of_whatever_name_reaches_main_with_its_name(kind: str) -> None:
    world, key = World(), under_a_route(SOUND[kind])
    world.drop("it", rows=3, under=key)
    world.drop("other", rows=2)
    world.run()
    assert world.rows_on_main() == {"it": 3, "other": 2}
    assert {file for line in status(world.service).published for file in line.files} == {key, world.key("other")}
    names = [*world.store.objects, *world.landing.copies, *world.branches()]
    assert [name for name in names if not re.fullmatch(r"[\w./:-]+", name, re.ASCII)] == []


@pytest.mark.parametrize("kind", SOUND)
def test_a_file_of_whatever_name_is_rejected_unrouted_and_retried_with_its_name(kind: str) -> None:
    world, key = World(), under_a_route(SOUND[kind])
    world.drop("it", rows=3, under=key, bad="odd")
    world.drop("elsewhere", rows=1, under=f"elsewhere/{SOUND[kind]}")
    world.run()
    assert [unrouted.file.key for unrouted in unrouted_files(world.service)] == [f"elsewhere/{SOUND[kind]}"]
    [line] = status(world.service).rejected
    assert line.files == (key,)
    for told in world.messages():
        for block in slack.blocks(told):
            json.dumps(block).encode()
    world.mend("it")
    retry(world.service, line.batch)
    world.run()
    world.wait_out_the_grace()
    assert reconcile(world.service) == []
    assert world.rows_on_main() == {"it": 3}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "cafe\u0301"),
        ("A.csv", "a.csv"),
        ("a", "a "),
        ("a", "a/"),
        ("a//b", "a/b"),
        ("a/./b", "a/b"),
        ("a%2Fb", "a/b"),
        ("a+b", "a b"),
        ("\ufb01", "fi"),
        ("1", "1\ufe0f"),
        ("a", "a\u200b"),
        ("a", "а"),  # noqa: RUF001 (a letter of another script)
    ],
)
def test_keys_that_look_alike_are_two_files(one: str, other: str) -> None:
    world = World()
    for number, name in enumerate((one, other), 1):
        world.drop(f"{number}", rows=number, under=under_a_route(name))
    world.run()
    assert world.rows_on_main() == {"1": 1, "2": 2}
    assert receipt_name(one) != receipt_name(other)


@pytest.mark.parametrize("kind", SOUND)
def test_a_receipt_and_a_commit_say_a_name_as_it_is(kind: str) -> None:
    key, reason = SOUND[kind], SOUND[kind][:1000]
    receipt = Receipt(bucket="landing", key=key)
    assert Receipt.read(key, receipt.to_json()) == receipt
    attempt = Attempt(table="nyc.flights", batch="20130101T0000-00000000", number=1)
    files = (DecidedFile(key=key, version_id="v", rows=1, reasons=(reason,)),)
    note = Record(
        decision=Decision.REJECTED,
        table="nyc.flights",
        batch=attempt.batch,
        attempt=1,
        files=files,
        reason=reason,
        by=key[:99],
    )
    told = properties(note)
    assert all(len(value.encode()) <= LIMIT for value in told.values())
    meta = {"allProperties": {name: [value] for name, value in told.items()}, "hash": "h"}
    found = entry_of(meta | {"commitTime": "2013-01-01T00:00:00+00:00"})
    assert found is not None
    assert found.record.files in (files, (DecidedFile(key=key, version_id="v", rows=1),), ())
    lines = message(note).split("\n")
    assert len(lines) == 5
    assert all(line.isprintable() for line in lines)
    assert len(message(note).encode()) < LIMIT


def test_a_message_of_hostile_names_says_of_each_that_it_is_there() -> None:
    world = World()
    for number, text in enumerate(SOUND.values()):
        world.drop(f"{number}", rows=1, under=f"elsewhere/{text}", deliver=False)
    world.deliver(*(world.file(f"{number}") for number in range(len(SOUND))))
    [told] = world.messages()
    assert told.kind is MessageKind.UNROUTED
    assert {file.key for file in told.files} == {f"elsewhere/{text}" for text in SOUND.values()}
    assert len(json.dumps(slack.blocks(told), ensure_ascii=False)) <= slack.BLOCKS
