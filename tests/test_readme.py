"""What the README shows is true: its contract loads, and the settings of a deployment that it lists are all there
are.
"""

import re
from dataclasses import fields
from pathlib import Path

import pytest
from typer.main import get_command

from infra.config import Config
from infra.settings_file import SettingsFile
from lakegate.cli.app import app
from lakegate.contracts import load

DOCS = Path(__file__).parents[1] / "docs"
README = (DOCS.parent / "README.md").read_text()


def test_the_readmes_contract_loads() -> None:
    (text,) = re.findall(r"```yaml\n(.*?)```", README, re.DOTALL)
    contract = load(text, "README.md")
    assert contract.table == "shop.orders"
    assert contract.route.matches("shop/orders/january.parquet")


@pytest.mark.parametrize("page", ["README.md", "docs/how-to/deploying.md", "docs/how-to/catalog.md"])
def test_the_settings_for_an_empty_account_are_whole(page: str, tmp_path: Path) -> None:
    (text,) = re.findall(r"```toml\n(.*?)```", (DOCS.parent / page).read_text(), re.DOTALL)
    chosen = text.replace("https://…", "https://0a").replace("sha256:…", f"sha256:{'0' * 64}")
    (tmp_path / "prod.toml").write_text(chosen)
    assert SettingsFile.read(tmp_path / "prod.toml").config(lambda _: None).creates_vpc


def test_the_readme_lists_every_command() -> None:
    told = {
        words.split()[0]
        for row in re.findall(r"^\| (`.*?`) \| ", README.partition("## Commands")[2], re.MULTILINE)
        for words in re.findall(r"`([^`]+)`", row)
    }
    assert set(get_command(app).commands) <= told  # type: ignore[attr-defined]


def test_the_readme_lists_every_context_value_of_a_deployment() -> None:
    told = {
        name for row in re.findall(r"^\| (`[^|]+`) \|", README, re.MULTILINE) for name in re.findall(r"`(\w+)`", row)
    }
    assert {field.name for field in fields(Config)} - {"slack_api", "ephemeral"} <= told
