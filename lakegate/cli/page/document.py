"""The page: a template, filled with a batch. It may be written to a file.

Its content comes from strangers. The template engine escapes every text, and characters that a browser would obey or
hide are spelt out.
"""

import sys
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from lakegate.audit.summary import (
    checks_of,
    columns_of,
    faults_with_advice,
    files_of,
    observes,
    quarantine_texts,
    sample_text,
    tally,
)
from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.page.plots import bar, scale, trend
from lakegate.cli.page.summary import failures, files_with_remarks, parts, quiet_files
from lakegate.cli.report import decision_words, lane, took
from lakegate.cli.terminal import busy, clean, complain
from lakegate.counts import count
from lakegate.operations.batch import BatchView, has_rows, is_decided, rows_command
from lakegate.operations.questions import ShowBatch

STANDARD_OUTPUT = Path("-")
OF_THE_BATCH = (decision_words, files_of, has_rows, is_decided, lane, observes, rows_command, tally, took)
OF_A_FILE = (
    faults_with_advice,
    quarantine_texts,
    bar,
    checks_of,
    columns_of,
    failures,
    quiet_files,
    parts,
    scale,
    sample_text,
    files_with_remarks,
)
NEWLINE = Markup("\n")
"""The line end between two of a contract's lines: any within a text is a stranger's, and is spelt out."""
MARKS = {"fail": "✕", "quarantine": "▲", "warn": "!", "pass": "✓", "would fail": "(✕)", "would quarantine": "(▲)"}
"""Signs of the verdicts beside their words and colours."""


def write(installation: Installation, batch: str, to: Path) -> Exit:
    with busy(f"reading what is known of {batch}"):
        text = page(installation.operations.run(ShowBatch(batch=batch, past=True)))
    if to == STANDARD_OUTPUT:
        sys.stdout.write(text)
    else:
        to.write_text(text, encoding="utf-8")
        complain(f"written to {to}")
    return Exit.SUCCESS


def page(view: BatchView) -> str:
    """Return the whole page as HTML."""
    return environment(view.past).get_template("page.html").render(view=view)


def environment(past: Mapping[str, Sequence[float]], *rooms: str) -> Environment:
    """Return the engine with the page's templates, and those of other rooms, for checks with these past values."""
    env = Environment(
        autoescape=True,
        loader=ChoiceLoader([PackageLoader(room, "") for room in (*rooms, "lakegate.cli.page")]),
        undefined=StrictUndefined,
        finalize=_harmless,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.globals |= {tool.__name__: tool for tool in (*OF_THE_BATCH, *OF_A_FILE)}
    env.globals |= {"marks": MARKS, "newline": NEWLINE, "plural": count, "value": _value}
    env.globals["trend"] = partial(trend, past=past)
    return env


def _harmless(value: object) -> object:
    """Return a stranger's text with what a browser would obey or hide spelt out. Markup is the template's own."""
    return clean(value) if type(value) is str else value


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
