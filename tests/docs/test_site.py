"""The site is built with strict links, from nothing but this repository, and its pages fetch nothing from elsewhere."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pages import DOCS, ROOT

FETCHED = re.compile(r'<(?:script|link|img|iframe|source|video)\b[^>]*?\b(?:src|href)="(?P<address>[^"]*)"')


def build(*, folder: Path, config: Path = ROOT / "mkdocs.yml") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--config-file", config, "--site-dir", folder],
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        check=False,
        capture_output=True,
        text=True,
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    built = build(folder=folder)
    assert built.returncode == 0, built.stderr
    return folder


@pytest.fixture(scope="module")
def html(site: Path) -> dict[str, str]:
    return {str(path.relative_to(site)): path.read_text(encoding="utf-8") for path in site.rglob("*.html")}


def test_every_page_is_there_as_html_and_as_markdown(site: Path) -> None:
    for page in DOCS.rglob("*.md"):
        place = str(page.relative_to(DOCS))
        assert (site / place).is_file()
        assert (site / re.sub(r"(README|index)\.md$", "index.md", place)).with_suffix(".html").is_file()


def test_no_page_fetches_anything_from_elsewhere(site: Path, html: dict[str, str]) -> None:
    addresses = {(name, found["address"]) for name, text in html.items() for found in FETCHED.finditer(text)}
    assert len(addresses) > len(html)
    assert [it for it in addresses if re.match(r"(?:[a-z]+:)?//", it[1])] == []
    styles = "".join(path.read_text(encoding="utf-8") for path in site.rglob("*.css"))
    # The theme would fetch what draws diagrams, where a page has one.
    assert [name for name, text in html.items() if 'class="mermaid"' in text] == []
    assert re.findall(r"(?:@import|url\()\s*['\"]?(?:https?:)?//[^)'\"]*", styles) == []


def test_a_program_finds_every_page_in_llms_txt(site: Path) -> None:
    listed = (site / "llms.txt").read_text(encoding="utf-8")
    found = dict(re.findall(r"^- \[[^\]]+\]\(([^)]+)\): (.+)$", listed, re.MULTILINE))
    assert found.keys() >= {str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md")}
    assert [place for place in found if not (site / place).is_file()] == []


def test_comments_for_tests_are_not_on_the_site(html: dict[str, str]) -> None:
    assert [name for name, text in html.items() if "<!-- not run" in text or "<!-- checks: begin" in text] == []


def test_search_is_told_of_every_page(site: Path) -> None:
    index = (site / "search/search_index.json").read_text(encoding="utf-8")
    assert '"how-to/quarantine.html' in index


def test_links_that_lead_nowhere_end_the_build(tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    (docs / "how-to").mkdir(parents=True)
    gone = ("how-to/gone.md", "how-to/quarantine.md#gone", "../lakegate/gone.py")
    (docs / "index.md").write_text("# Start\n\n" + "\n\n".join(f"[there]({link})" for link in gone))
    (docs / "how-to/quarantine.md").write_text("# Quarantine\n")
    settings = "docs_dir: docs\nstrict: true\nvalidation: {anchors: warn}\nsite_name: s\nsite_description: s\n"
    hook = ROOT / "tools/site/hooks.py"
    (tmp_path / "mkdocs.yml").write_text(f"{settings}theme: {{name: null, custom_dir: docs}}\nhooks: [{hook}]\n")
    (docs / "main.html").write_text("{{ page.content }}")
    built = build(folder=tmp_path / "site", config=tmp_path / "mkdocs.yml")
    assert (built.returncode, [link for link in gone if f"'{link}'" not in built.stderr]) == (1, []), built.stderr


def test_every_page_that_the_code_or_another_file_names_is_there() -> None:
    named = re.compile(r"\bdocs/[\w./-]+\.(?:md|json)\b")
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split()
    texts = {name: (ROOT / name) for name in listed if name.endswith((".py", ".md", ".yml", ".toml", "Makefile"))}
    found = {
        (name, page)
        for name, path in texts.items()
        if path.is_file()
        for page in named.findall(path.read_text(encoding="utf-8"))
    }
    assert len(found) > 50
    assert sorted(it for it in found if not (ROOT / it[1]).is_file()) == []
