"""The page says what the command says."""

from pathlib import Path

from lakegate.doctor.checklist import lines

PAGE = Path(__file__).parents[2] / "docs/reference/checklist.md"


def test_the_page_has_the_checklist() -> None:
    assert [line for line in PAGE.read_text().splitlines() if line[:1].isdigit()] == list(lines())
