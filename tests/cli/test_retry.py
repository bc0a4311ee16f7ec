"""`retry` of one batch and of many: what is under way, what is left, and how it ends."""

import re
from pathlib import Path
from typing import Any

import pytest

from lakegate.errors import LakegateError, OutcomeUnknown, Retryable
from tests.cli.desk import Desk, cancelled, crashed

OUTAGE = Path(__file__).parents[2] / "docs/how-to/restoring.md"
UNKNOWN = "20130101T0000-0123abcd"


@pytest.fixture
def batches(desk: Desk) -> list[str]:
    return [crashed(desk, "1"), crashed(desk, "2")]


def fail_at(desk: Desk, monkeypatch: pytest.MonkeyPatch, batch: str, error: Exception) -> None:
    decisions = desk.world.service.ledger.decisions

    def failing(limit: int, **of: Any) -> Any:
        if of.get("batch") == batch:
            raise error
        return decisions(limit, **of)

    monkeypatch.setattr(desk.world.service.ledger, "decisions", failing)


def test_of_one_batch_it_says_which_attempt_is_under_way_and_where(desk: Desk, batches: list[str]) -> None:
    one, two = batches
    told = desk.run("retry", one)
    branch = f"wap-nyc.flights-{one}-a2"
    assert told.exit_code == 0
    assert told.stdout == (
        f"Attempt a2 of batch {one} of nyc.flights is in progress on {branch}\nNext: lakegate wait {one}\n"
    )
    branch = f"wap-nyc.flights-{two}-a2"
    said = {"batch": two, "table": "nyc.flights", "attempt": 2, "branch": branch, "left": {}}
    assert desk.json("retry", two) == said


def test_one_that_is_being_worked_on_is_refused_where_it_is_the_only_one(desk: Desk, batches: list[str]) -> None:
    desk.run("retry", batches[0])
    told = desk.run("retry", batches[0])
    assert (told.exit_code, told.stdout) == (1, "")
    assert "is already in progress on" in told.stderr


def test_a_batch_that_is_cut_names_all_its_attempts(desk: Desk) -> None:
    batch = cancelled(desk, "1", "2", "3")
    desk.world.push_contract(batchFiles=1)
    told = desk.run("retry", batch)
    assert told.stdout == (
        f"3 rejected files of {batch}:\n    nyc/flights/1\n    nyc/flights/2\n    nyc/flights/3\n"
        f"Attempts a2, a3 and a4 of batch {batch} of nyc.flights are in progress\nNext: lakegate wait {batch}\n"
    )


def test_a_batch_that_is_cut_is_told_as_json_by_its_first_attempt_and_by_all(desk: Desk) -> None:
    batch = cancelled(desk, "1", "2")
    desk.world.push_contract(batchFiles=1)
    branches = [f"wap-nyc.flights-{batch}-a{number}" for number in (2, 3)]
    told = desk.json("retry", batch)
    assert (told["attempt"], told["branch"]) == (2, branches[0])
    assert told["attempts"] == [{"attempt": 2, "branch": branches[0]}, {"attempt": 3, "branch": branches[1]}]


def test_of_many_each_has_a_line_and_the_end_counts_them(desk: Desk, batches: list[str]) -> None:
    told = desk.run("retry", *batches)
    first, second, last = told.stdout.splitlines()
    assert told.exit_code == 0
    assert first.startswith(f"Attempt a2 of batch {batches[0]} of nyc.flights is in progress on ")
    assert second.startswith(f"Attempt a2 of batch {batches[1]} of nyc.flights is in progress on ")
    assert last == "In progress: 2 of 2 batches. Next: lakegate wait"


def test_one_of_many_that_is_being_worked_on_counts_as_under_way(desk: Desk, batches: list[str]) -> None:
    desk.run("retry", batches[0])
    told = desk.run("retry", *batches)
    assert told.exit_code == 0
    assert told.stdout.startswith(f"Not retried: batch {batches[0]} of nyc.flights is already in progress on wap-")
    assert told.stdout.endswith("In progress: 2 of 2 batches. Next: lakegate wait\n")


def test_a_batch_that_is_named_twice_is_one(desk: Desk, batches: list[str]) -> None:
    told = desk.run("retry", batches[0], batches[0])
    assert told.stdout.endswith(f"Next: lakegate wait {batches[0]}\n")


@pytest.mark.parametrize(
    ("error", "code"), [(Retryable("Nessie does not answer"), 3), (OutcomeUnknown("no answer"), 3), (KeyError("x"), 70)]
)
def test_what_keeps_one_keeps_no_other_and_gives_the_exit_code(
    desk: Desk, batches: list[str], monkeypatch: pytest.MonkeyPatch, error: Exception, code: int
) -> None:
    fail_at(desk, monkeypatch, batches[0], error)
    told = desk.run("retry", batches[0], UNKNOWN, batches[1])
    assert told.exit_code == code
    assert f"Not retried: {batches[0]}: " in told.stdout
    assert f"Not retried: {UNKNOWN}: batch {UNKNOWN} has no decision on main" in told.stdout
    assert f"Attempt a2 of batch {batches[1]} " in told.stdout
    assert told.stdout.endswith("In progress: 1 of 3 batches. Next: lakegate wait\n")
    assert isinstance(error, LakegateError) or "a fault in lakegate itself" in told.stderr


def test_one_that_is_unknown_is_misuse_and_one_with_nothing_to_try_is_refused(desk: Desk, batches: list[str]) -> None:
    desk.run("discard", batches[0], "--why", "a test file")
    assert desk.run("retry", batches[0], batches[1]).exit_code == 1
    assert desk.run("retry", batches[0], batches[1], UNKNOWN).exit_code == 2


def test_many_are_told_as_json(desk: Desk, batches: list[str]) -> None:
    desk.run("retry", batches[0])
    told = desk.json("retry", *batches, UNKNOWN)
    assert [it["batch"] for it in told["retried"]] == [batches[1]]
    assert told["retried"][0]["attempt"] == 2
    assert told["under_way"] == [batches[0]]
    assert told["left"] == {UNKNOWN: f"batch {UNKNOWN} has no decision on main; run: lakegate status"}


def test_by_the_words_of_the_docs_crashed_batches_are_found_in_status_and_no_others(desk: Desk) -> None:
    [words] = re.findall(r'startswith\("(.+?)"\)', OUTAGE.read_text())
    desk.rejected("bad.parquet")
    desk.world.drop("odd", rows=3, unreadable="it is not a parquet file")
    desk.world.run()
    batch = crashed(desk, "1", "2")
    lines = desk.json("status")["rejected"]
    assert len(lines) == 4
    assert [line["batch"] for line in lines if line["reasons"][0].startswith(words)] == [batch, batch]
