"""docs/limits.md has every limit as the code has it."""

from dataclasses import fields

from lakegate.audit.model.limits import SETTINGS, Limits
from tests.support.limits import PAGE, PARTS, page


def test_the_page_is_as_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: .venv/bin/python -m tests.support.limits"


def test_every_limit_of_a_file_is_there_with_its_setting() -> None:
    assert {it.setting for it in PARTS["Files"] if it.setting} == {SETTINGS[each.name] for each in fields(Limits)}
