"""A batch as one HTML page that can be sent and printed, without scripts and without anything to fetch.

Its content comes from strangers. The template engine escapes every text, and characters that a browser would obey or
hide are spelt out.
"""

import sys
from importlib.resources import files
from pathlib import Path

from jinja2 import Environment, StrictUndefined

from lakegate.cli.exits import Exit
from lakegate.cli.installation import Installation
from lakegate.cli.report import checks_of, columns_of, lane, shown, tally, took
from lakegate.cli.terminal import busy, clean, complain
from lakegate.counts import count
from lakegate.operations.batch import BatchView, files_of, has_rows, rows_command
from lakegate.operations.questions import ShowBatch

PRINTED = Path("-")
TOOLS = (checks_of, columns_of, files_of, has_rows, lane, rows_command, shown, tally, took)


def write(installation: Installation, batch: str, to: Path) -> Exit:
    with busy(f"reading what is known of {batch}"):
        text = page(installation.operations.run(ShowBatch(batch=batch)))
    if to == PRINTED:
        sys.stdout.write(text)
    else:
        to.write_text(text, encoding="utf-8")
        complain(f"written to {to}")
    return Exit.DONE


def page(view: BatchView) -> str:
    """Return the whole page as HTML."""
    made = Environment(autoescape=True, undefined=StrictUndefined, finalize=_harmless, trim_blocks=True)
    template = made.from_string(files("lakegate.cli").joinpath("page.html").read_text(encoding="utf-8"))
    tools = {tool.__name__: tool for tool in TOOLS} | {"plural": count, "value": _value}
    return template.render(view=view, **tools)


def _harmless(value: object) -> object:
    return clean(value) if isinstance(value, str) else value


def _value(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
