"""A walk through the checklist, by what a person answers."""

from __future__ import annotations

from pathlib import Path

import pytest
from ruamel.yaml import YAML
from typer.testing import CliRunner

from lakegate.cli.walk import walk
from lakegate.doctor.checklist import CHECKLIST
from lakegate.errors import Misconfigured

FIRST, SECOND, THIRD = (what for what, _ in CHECKLIST[:3])


def walked(path: Path, *answers: str) -> tuple[bool, str]:
    with CliRunner().isolation("".join(f"{answer}\n" for answer in answers)) as (told, *_):
        return walk(path), told.getvalue().decode()


def test_a_walk_goes_on_where_the_one_before_was_left(tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    well, told = walked(path, "later", "held", "stop")
    assert well
    assert f"1 held, 0 failed, {len(CHECKLIST) - 1} left to try" in told
    well, told = walked(path, "failed", 'its stack: "rolled" back', "stop")
    assert not well
    assert SECOND not in told
    assert THIRD in told
    assert f'✗ {FIRST}: its stack: "rolled" back' in told
    assert YAML(typ="safe").load(path.read_text()) == {FIRST: 'its stack: "rolled" back', SECOND: "held"}


def test_a_line_that_the_checklist_has_no_more_is_forgotten(tmp_path: Path) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text("what was tried once: held\n")
    assert f"0 held, 0 failed, {len(CHECKLIST)} left" in walked(path, "stop")[1]


@pytest.mark.parametrize("text", ["- a list\n", "a: [", "\x00"])
def test_another_file_is_not_written_over(tmp_path: Path, text: str) -> None:
    path = tmp_path / "notes.yaml"
    path.write_text(text)
    with pytest.raises(Misconfigured, match="name another file"):
        walked(path, "held", "stop")
    assert path.read_text() == text
