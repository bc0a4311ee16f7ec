"""Hooks of MkDocs, which builds the site from docs/ and from the project's own pages beside it.

A page is read in two places, in the repository and on the site, so a link goes by where files are in the repository.
Here it becomes the site's. A link to a file that is not on the site is left as its text, and one to a file that is
nowhere stays as it is, which a strict build refuses.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.nav import Navigation, Section
from mkdocs.structure.pages import Page

ROOT = Path(__file__).resolve().parents[2]
DOCS = "docs"
# Pages beside docs/, each by its place on the site.
PROJECT = {
    f"{name}.md": f"project/{name.lower().replace('_', '-')}.md"
    for name in ("ARCHITECTURE", "CHANGELOG", "CODE_OF_CONDUCT", "CONTRIBUTING", "ROADMAP", "SECURITY")
    if (ROOT / f"{name}.md").is_file()
}
_FENCE = re.compile(r"^( *)(```|~~~).*?^\1\2", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"\[([^\[\]]*)\]\(([^()\s#:]+)(#[^()\s]*)?\)")
_COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
_MARKDOWN: dict[str, str] = {}  # each page's text as it is on the site


def on_files(files: Files, config: MkDocsConfig) -> Files:
    for source, place in PROJECT.items():
        files.append(File.generated(config, place, content=(ROOT / source).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Page, files: Files, **_: Any) -> str:
    """Return the page with the site's links and without comments, which are for the tests."""
    at = page.file.src_uri
    before = next((source for source, place in PROJECT.items() if place == at), f"{DOCS}/{at}")
    text = outside_fences(markdown, lambda part: _COMMENT.sub("", relinked(part, before, at, files)))
    _MARKDOWN[at] = text
    return text


def outside_fences(markdown: str, change: Any) -> str:
    done, at = [], 0
    for fence in _FENCE.finditer(markdown):
        done += [change(markdown[at : fence.start()]), fence[0]]
        at = fence.end()
    return "".join([*done, change(markdown[at:])])


def relinked(markdown: str, before: str, at: str, files: Files) -> str:
    """Return the text with its links as they are from `at`, having been written at `before`."""

    def link(found: re.Match[str]) -> str:
        text, target, anchor = found[1], found[2], found[3] or ""
        path = posixpath.normpath(posixpath.join(posixpath.dirname(before), target))
        place = PROJECT.get(path, path.removeprefix(f"{DOCS}/"))
        if files.get_file_from_path(place) and (path in PROJECT or path.startswith(f"{DOCS}/")):
            return f"[{text}]({posixpath.relpath(place, posixpath.dirname(at) or '.')}{anchor})"
        return text if (ROOT / path).exists() else found[0]

    return _LINK.sub(link, markdown)


def on_page_context(context: Any, page: Page, **_: Any) -> Any:
    """Make the button that shows a page's source lead to its Markdown, which lies beside it."""
    page.edit_url = posixpath.basename(page.file.src_uri)
    return context


def on_nav(nav: Navigation, config: MkDocsConfig, **_: Any) -> Navigation:
    config.extra["navigation"] = nav
    return nav


def on_post_build(config: MkDocsConfig) -> None:
    """Write each page's Markdown beside it, and llms.txt: the list of all pages for programs that read."""
    site = Path(config.site_dir)
    for at, text in _MARKDOWN.items():
        (site / at).write_text(text, encoding="utf-8")
    (site / "llms.txt").write_text(listed(config), encoding="utf-8")


def listed(config: MkDocsConfig) -> str:
    """Return all pages in the order of the navigation, each with its first sentence."""
    head = f"# {config.site_name}\n\n> {config.site_description}\n"
    return "\n".join([head, *section(config.site_name, config.extra["navigation"].items)])


def section(title: str, items: list[Any]) -> list[str]:
    pages = [item for item in items if isinstance(item, Page)]
    below = [line for item in items if isinstance(item, Section) for line in section(item.title, item.children)]
    lines = [f"- [{page.title}]({page.file.src_uri}): {opening(page.file.src_uri)}" for page in pages]
    return [*([f"## {title}\n", *lines, ""] if lines else []), *below]


def opening(at: str) -> str:
    """Return a page's first sentence, without links and a bold beginning."""
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", _MARKDOWN[at])
    text = re.sub(r"^\*\*[^*]+\*\* ", "", text, flags=re.MULTILINE)
    first = next((line for line in text.splitlines() if re.match(r"`?\w", line)), "")
    return re.split(r"(?<=\.)\s", first, maxsplit=1)[0]
