"""`--file`: of a batch's rejected files a person decides some; without it the command lists all that it will decide."""

import re
import sys
from typing import Any

import pytest
import typer

from lakegate.landing.lifecycle import Decision
from tests.cli.desk import Desk

NAMES = [str(number) for number in range(1, 9)]


@pytest.fixture
def batch(desk: Desk) -> str:
    """Eight files that were dropped together and rejected."""
    for name in NAMES:
        desk.world.drop(name, rows=2, bad="drifts", deliver=False)
    desk.world.drop_together(*NAMES)
    desk.world.run()
    return str(desk.json("status")["rejected"][0]["batch"])


def decisions(desk: Desk) -> dict[str, Decision]:
    return {name: entry.decision for name, entry in desk.world.entries().items() if entry}


def test_of_eight_files_one_is_approved_one_discarded_and_one_retried(desk: Desk, batch: str) -> None:
    key = desk.world.key
    desk.world.mend("3")
    for arguments in (
        ("approve", batch, "--why", "known", "--file", key("1")),
        ("discard", batch, "--why", "a test", "--file", key("2")),
        ("retry", batch, "--file", key("3")),
    ):
        result = desk.run(*arguments)
        assert result.exit_code == 0, result.stderr
        assert "rejected files of" not in result.stdout
    desk.world.run()
    assert decisions(desk) == {
        "1": Decision.PUBLISHED,
        "2": Decision.DISCARDED,
        "3": Decision.PUBLISHED,
        **dict.fromkeys(NAMES[3:], Decision.REJECTED),
    }


@pytest.mark.parametrize(
    ("act", "more"), [("approve", ("--why", "known")), ("discard", ("--why", "a test", "--yes")), ("retry", ())]
)
def test_without_a_file_all_are_listed_before_they_are_decided(
    desk: Desk, batch: str, act: str, more: tuple[str, ...]
) -> None:
    lines = desk.run(act, batch, *more).stdout.splitlines()
    assert lines[0] == f"8 rejected files of {batch}:"
    assert lines[1:9] == [f"    {desk.world.key(name)}" for name in NAMES]
    assert len(lines) > 9


@pytest.mark.parametrize("act", ["approve", "discard"])
@pytest.mark.parametrize("agrees", [False, True])
def test_a_person_at_a_terminal_is_asked_before_several_files_are_decided(
    desk: Desk, batch: str, act: str, *, agrees: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    def confirm(text: str, **_: Any) -> bool:
        asked.append(text)
        return agrees

    monkeypatch.setattr(typer, "confirm", confirm)
    monkeypatch.setattr("lakegate.cli.choice.is_attended", lambda: True)
    result = desk.run(act, batch, "--why", "known")
    assert (result.exit_code, len(asked)) == (0, 1)
    assert (decisions(desk)["1"] is Decision.REJECTED) is not agrees
    assert ("Nothing was decided" in result.stdout) is not agrees
    assert "--file" in asked[0]


def test_nobody_is_asked_where_no_person_is_there_or_the_answer_is_given(
    desk: Desk, batch: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(typer, "confirm", lambda *_, **__: sys.exit(99))
    assert desk.run("discard", batch, "--why", "a test", "--file", desk.world.key("1")).exit_code == 0
    monkeypatch.setattr("lakegate.cli.choice.is_attended", lambda: True)
    assert desk.run("discard", batch, "--why", "a test", "--file", desk.world.key("2")).exit_code == 0
    assert desk.run("discard", batch, "--why", "a test", "--yes").exit_code == 0
    assert set(decisions(desk).values()) == {Decision.DISCARDED}


@pytest.mark.parametrize("act", [("approve", "--why", "known"), ("discard", "--why", "known"), ("retry",)])
def test_an_unknown_file_is_an_error_that_names_the_batch_and_the_next_command(
    desk: Desk, batch: str, act: tuple[str, ...]
) -> None:
    command, *more = act
    result = desk.run(command, batch, *more, "--file", "nyc/flights/9")
    assert result.exit_code == 2
    assert "has decided no file nyc/flights/9" in result.stderr
    assert f"lakegate show {batch}" in result.stderr
    assert set(decisions(desk).values()) == {Decision.REJECTED}


def test_files_are_of_one_batch(desk: Desk, batch: str) -> None:
    result = desk.run("retry", batch, "20130131T0000-00000000", "--file", desk.world.key("1"))
    assert result.exit_code == 2
    assert "give one BATCH with it" in result.stderr


def lines_of(text: str, key: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if key in line]


@pytest.mark.parametrize(
    ("act", "says"),
    [
        (("approve", "--why", "known"), r"approved by \S+: known"),
        (("discard", "--why", "known"), r"discarded by \S+: known"),
        (("retry",), "published with a2"),
    ],
)
def test_a_file_that_is_decided_by_itself_is_shown_with_its_decision_and_in_no_next_command(
    desk: Desk, batch: str, act: tuple[str, ...], says: str
) -> None:
    """The others fail as before, and the commands are for them."""
    key = desk.world.key("1")
    desk.world.mend("1")
    before = desk.json("show", batch)["next"]
    command, *more = act
    assert desk.run(command, batch, *more, "--file", key).exit_code == 0
    desk.world.run()
    shown, view = desk.run("show", batch).stdout, desk.json("show", batch)
    file = next(file for file in view["attempts"][0]["report"]["files"] if file["key"] == key)
    decided = view["decided"][file["id"]]
    assert re.fullmatch(says, decided)
    assert f"decided  {key}  {decided}" in lines_of(shown, key)
    assert not [line for line in lines_of(shown, key) if line.startswith("fail")]
    assert "8 files: 8 failed; decided since: 1 of those that failed" in shown
    assert any(file["id"] in line for line in before)
    assert not any(file["id"] in line for line in view["next"])
    assert [line for line in view["next"] if "lakegate query" in line]
    assert sum(line.strip().startswith("fail") and "nyc/flights/" in line for line in shown.splitlines()) == 7
    assert f"{decided}. What its audit found:" in desk.run("show", batch, "--html", "-").stdout


def test_once_all_files_are_decided_nothing_is_left_to_do(desk: Desk, batch: str) -> None:
    for number, name in enumerate(NAMES):
        act = ("approve", "discard")[number % 2]
        assert desk.run(act, batch, "--why", "known", "--file", desk.world.key(name)).exit_code == 0
    view = desk.json("show", batch)
    assert len(view["decided"]) == 8
    assert view["next"] == []
