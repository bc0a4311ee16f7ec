"""Tests of what the README shows is true: its contract loads, its commands and links are there, its numbers stand in
the files that they are from, and it stays short.
"""

import re
from pathlib import Path

import pytest
from typer.main import get_command

from infra.config import DEFAULTS
from infra.settings_file import SettingsFile
from lakegate.cli.app import app
from lakegate.contracts import load

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
MOST_WORDS = 900
MAKE = {"make demo", "make test"}


def test_the_readme_is_short() -> None:
    assert len(README.split()) <= MOST_WORDS


def test_the_readmes_contract_loads() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    contract = load(text, "README.md")
    assert contract.table == "shop.orders"
    assert contract.route.matches("shop/orders/orders.csv")


def test_every_command_of_the_readme_is_there() -> None:
    lines = {line for fence in re.findall(r"```bash\n(.*?)```", README, re.DOTALL) for line in fence.splitlines()}
    assert lines >= MAKE
    typed = {line.split()[1] for line in lines if line.startswith("lakegate ")}
    assert typed
    assert typed <= set(get_command(app).list_commands(None))  # type: ignore[attr-defined]


def test_every_link_and_picture_of_the_readme_leads_to_a_file() -> None:
    links = [link for link in re.findall(r"\]\(([^)#]+)", README) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []
    assert len(links) > len(re.findall(r"!\[", README)) >= len(("the terminal", "Slack"))


def test_every_number_of_the_readme_stands_in_the_file_that_it_is_from() -> None:
    table = README.partition("## Its numbers")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\d.,]+) \| (.*?) \| (\S+) \|$", table, re.MULTILINE)
    assert len(rows) == len([line for line in table.splitlines() if line.startswith("|")]) - 2 > 0
    for number, what, file in rows:
        text = (ROOT / file).read_text()
        told = [number, *re.findall(r"\*\*missed\*\*: ([\d.]+)", what)]
        assert [each for each in told if not re.search(rf"(?<![\d.]){re.escape(each)}(?![\d.]*\d)", text)] == [], what
    assert "**missed**" in table


def test_a_deployment_needs_three_lines_at_most_and_a_table_says_what_further_settings_buy() -> None:
    page = (ROOT / "docs/how-to/deploying.md").read_text()
    (text,) = re.findall(r"```toml\n(.*?)```", page, re.DOTALL)
    assert len(text.splitlines()) <= 3
    assert len(page.split()) <= 700
    table = page.partition("| line | what it buys |")[2].partition("\n\n")[0]
    first_cells = re.findall(r"^\| (`.*?) \|", table, re.MULTILINE)
    settings = {name.partition(" ")[0] for cell in first_cells for name in re.findall("`(.*?)`", cell)}
    assert len(settings) > 8
    assert settings - {*DEFAULTS} == set()


@pytest.mark.parametrize("page", ["docs/how-to/deploying.md", "docs/how-to/catalog.md"])
def test_the_settings_for_an_empty_account_are_whole(page: str, tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (ROOT / page).read_text(), re.DOTALL)
    chosen = text.replace("https://…", "https://0a").replace("sha256:…", f"sha256:{'0' * 64}")
    (tmp_path / "prod.toml").write_text(chosen)
    assert SettingsFile.read(tmp_path / "prod.toml").config().creates_vpc
