"""docs/reference/limits.md has every limit as the code has it, and the page on SQL those of SQL."""

from dataclasses import fields

from lakegate.audit.model.limits import SETTINGS, Limits
from lakegate.contracts.sql import growth, statements
from tests.support.limits import PAGE, PARTS, page


def test_the_page_is_as_the_code_says() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run: make reference"


def test_every_limit_of_a_file_is_there_with_its_setting() -> None:
    assert {it.setting for it in PARTS["Files"] if it.setting} == {SETTINGS[each.name] for each in fields(Limits)}


def test_the_page_on_sql_has_its_limits() -> None:
    told = (PAGE.parent / "sql.md").read_text(encoding="utf-8")
    limits = (statements.LONGEST, statements.MOST_NESTING, growth.PIECES, growth.TEXTS, growth.MOST_SEARCH_CHARACTERS)
    assert [limit for limit in limits if f"{limit:,} " not in told] == []
