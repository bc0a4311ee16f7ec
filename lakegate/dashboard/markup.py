"""Markup: the only way by which text reaches a browser. Templates escape every text, as those of the report's page do.

Streamlit's own texts and labels are Markdown, where a file's name could be a link, a picture or a formula. They get
words of ours, and numbers.
"""

import re
from base64 import b64encode
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

import streamlit as st
from jinja2 import Environment
from markupsafe import Markup

import lakegate.cli.page as report
from lakegate.cli.ends import ENDS
from lakegate.cli.page.document import environment
from lakegate.cli.terminal import age_text
from lakegate.dashboard.figures import KINDS

SIGNS = {str(state): end.mark for state, end in ENDS.items()}
ROOM = "lakegate.dashboard"
DRAWING = re.compile(r'<svg class="(\w+)" role="img" aria-label="([^"]*)"([^>]*)>(.*?)</svg>', re.DOTALL)
INK = (
    "svg{color:#1c2024}.share{color:#b3261e}.fill{fill:currentColor}.stroke{stroke:currentColor;fill:none;"
    "stroke-width:1.5}.band{fill:#1b6e3c;fill-opacity:.18}.edge{stroke:#1b6e3c;stroke-width:1.5;stroke-dasharray:3 2}"
    ".rule{stroke:#8b949e;stroke-width:1}@media(prefers-color-scheme:dark){svg{color:#e6e9ed}.share{color:#ff8a80}"
    ".band{fill:#6fcf97}.edge{stroke:#6fcf97}.rule{stroke:#7c8590}}"
)
"""The colours of the report's page, for its drawings."""
NO_VALUES: Mapping[str, Sequence[float]] = {}


def show(macro: str, past: Mapping[str, Sequence[float]] = NO_VALUES, **values: object) -> None:
    """Show a macro of macros.html with these values."""
    st.html(Markup('<div class="lakegate">{}</div>').format(render(macro, past, **values)))


def render(macro: str, past: Mapping[str, Sequence[float]] = NO_VALUES, **values: object) -> Markup:
    template = (_environment() if past is NO_VALUES else _of(past)).get_template("macros.html")
    return Markup(DRAWING.sub(_picture, getattr(template.module, macro)(**values)))  # noqa: S704 (escaped by then)


def _picture(match: re.Match[str]) -> str:
    """Return a drawing as a picture with its style inside: Streamlit takes drawings out of what it shows."""
    kind, label, attributes, body = match.groups()
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" class="{kind}"{attributes}><style>{INK}</style>{body}</svg>'
    return f'<img class="{kind}" alt="{label}" src="data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}">'


@cache
def _environment() -> Environment:
    return _of(NO_VALUES)


def _of(past: Mapping[str, Sequence[float]]) -> Environment:
    env = environment(past, ROOM)
    env.globals |= {"ago": age_text, "kinds": KINDS, "signs": SIGNS}
    return env


@cache
def style() -> str:
    """Return the style of the report's page, for what is inside of our elements, and ours."""
    own_style = Path(__file__).with_name("macros.css").read_text(encoding="utf-8")
    of_report = (Path(report.__path__[0]) / "style.css").read_text(encoding="utf-8")
    return f"<style>.lakegate {{ {of_report.replace(':root', '&')} }}\n{own_style}</style>"


def problem(text: str) -> None:
    """Show what went wrong, or what is refused."""
    show("problem", text=text)
