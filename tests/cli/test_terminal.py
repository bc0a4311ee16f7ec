"""Tests of what a terminal shows: text that it cannot obey, tables that fit, and files whose state changes."""

from __future__ import annotations

import json
from datetime import timedelta
from io import StringIO

import pytest
from rich.console import Console, RenderableType

from lakegate.cli.follow import Tracker
from lakegate.cli.progress import Board, Log
from lakegate.cli.terminal import age_text, cell, clean, complain, grid, sample, say_json, sound
from lakegate.counts import count
from lakegate.operations.sights import Sight
from lakegate.testing.lake import EPOCH


def drawn(what: RenderableType, width: int = 80, height: int = 25) -> str:
    out = StringIO()
    Console(file=out, width=width, height=height, markup=False, emoji=False).print(what)
    return out.getvalue()


def followed(*states: str) -> Tracker:
    files = {
        (f"nyc/{at}.parquet", "v"): Sight(file=f"nyc/{at}.parquet", version="v", state=s) for at, s in enumerate(states)
    }
    return Tracker(sights=files)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("nyc/é ü 飛.parquet", "nyc/é ü 飛.parquet"),
        ("\x1b[2Jgone\r", "\\x1b[2Jgone\\r"),
        ("abc\u202eexe", "abc\\u202eexe"),
        ("\udcff", "\\udcff"),
        ("[bold]x[/bold]", "[bold]x[/bold]"),
        ("a\n✓ published b", "a\\n✓ published b"),
    ],
)
def test_what_came_from_outside_is_shown_and_never_obeyed(text: str, shown: str) -> None:
    assert clean(text) == shown


def test_a_table_that_fits_is_a_table_and_one_that_does_not_is_records() -> None:
    columns, rows = ["carrier", "name"], [["UA", "United Air Lines Inc."]]
    assert "── row 1 ──" not in drawn(grid(columns, rows, 80))
    assert "── row 1 ──" in drawn(grid(columns, rows, 20), width=20)
    assert "United Air Lines Inc." in drawn(grid(columns, rows, 30), width=30)


def test_a_table_without_rows_shows_its_columns() -> None:
    assert "carrier" in drawn(grid(["carrier"], [], 80))


def test_a_sample_keeps_the_column_that_failed_and_leaves_out_what_does_not_fit() -> None:
    row = {f"column_{at}": at for at in range(30)} | {"carrier": None}
    text = drawn(sample([row], ["carrier"], 60))
    assert "carrier" in text
    assert "…" in text
    assert max(map(len, text.splitlines())) <= 80


def test_null_is_told_from_text_and_a_line_break_from_a_row() -> None:
    assert [cell(value) for value in (None, "None", "a\nb", True, 2.5)] == ["·", "None", "a\\nb", "true", "2.5"]


def test_json_holds_nothing_that_a_terminal_obeys(capsys: pytest.CaptureFixture[str]) -> None:
    strange = {"é飛": "\x9b2J\x7f\u202e\x1b\n"}
    say_json(strange)
    told = capsys.readouterr().out
    assert json.loads(told) == strange
    assert "é飛" in told
    assert all(char.isprintable() or char == "\n" for char in told)


def test_a_message_with_lines_cannot_feign_another(capsys: pytest.CaptureFixture[str]) -> None:
    complain("no file x\nlakegate: all is well\n  and more")
    assert capsys.readouterr().err.splitlines() == ["lakegate: no file x", "  lakegate: all is well", "  and more"]


def test_json_has_no_word_for_nan() -> None:
    assert sound({"a": [float("nan"), float("inf"), 1.5, None]}) == {"a": ["nan", "inf", 1.5, None]}


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(-5, "0 s ago"), (59, "59 s ago"), (60, "1 minute ago"), (7200, "2 hours ago"), (86400, "1 day ago")],
)
def test_time_is_said_as_a_person_says_it(seconds: int, said: str) -> None:
    assert age_text(EPOCH, EPOCH + timedelta(seconds=seconds)) == said


def test_numbers_agree_with_their_noun() -> None:
    assert [count(number, "file") for number in (0, 1, 1200)] == ["0 files", "1 file", "1,200 files"]


def test_the_board_shows_each_file_with_its_state_and_the_tally() -> None:
    board = Board()
    board.show(followed("queued", "published", "queued"))
    text = drawn(board)
    assert "2 queued, 1 published" in text
    assert "✓ nyc/1.parquet published" in text


@pytest.mark.parametrize("width", [80, 200])
def test_the_board_keeps_to_the_terminal_and_to_the_files_that_move(width: int) -> None:
    board = Board()
    board.show(followed(*["published"] * 40, "queued"))
    lines = drawn(board, width=width, height=12).splitlines()
    assert len(lines) < 12
    assert any("nyc/40.parquet" in line for line in lines)
    assert any("more" in line for line in lines)


def test_a_log_has_a_line_for_each_change_and_none_for_none() -> None:
    out = StringIO()
    log = Log(Console(file=out, width=80))
    for states in (["queued"], ["queued"], ["published"]):
        log.show(followed(*states))
    assert [line.split("s  ")[1] for line in out.getvalue().splitlines()] == ["1 queued", "1 published"]
