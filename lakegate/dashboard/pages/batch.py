"""A batch: its timeline, its checks, the rows that fail, and what a person may do with it."""

from collections.abc import Iterator

import streamlit as st

from lakegate.cli.query import MOST_ROWS
from lakegate.cli.rows import remarks
from lakegate.cli.terminal import clean
from lakegate.counts import count
from lakegate.dashboard import acts, links, markup, session
from lakegate.dashboard.edge import with_errors
from lakegate.dashboard.figures import cell, possible, timeline
from lakegate.operations.batch import BatchView, has_rows
from lakegate.operations.questions import ShowBatch
from lakegate.operations.sights import BATCH


@with_errors
def page() -> None:
    batch_id = links.parameter("batch")
    if not BATCH.fullmatch(batch_id):
        _choose_batch()
        return
    view = session.ask(ShowBatch(batch=batch_id, past=True))
    markup.show("batch_head", view=view)
    acts.buttons(view.batch, possible(view))
    _ways(view)
    markup.show("title", text="Timeline", number="")
    markup.show("timeline", events=timeline(view))
    for attempt in reversed(view.attempts):
        markup.show("section", view.past, view=view, tried=attempt)
    _show_failing(view)
    if view.next:
        markup.show("next", commands=view.next)


def _choose_batch() -> None:
    """Ask for a batch."""
    markup.show("head", title="Batch", under="Choose one of the overview, or give its id, which Slack names.")
    name = st.text_input("Batch", placeholder="20130131T0405-1a2b3c4d").strip()
    if BATCH.fullmatch(name):
        st.switch_page("pages/batch.py", query_params={"batch": name})
    elif name:
        markup.problem(f"{name} is no batch's id: it is like 20130131T0405-1a2b3c4d")


def _ways(view: BatchView) -> None:
    with st.container(horizontal=True):
        links.table(view.table)
        for attempt in view.attempts[-1:]:
            if attempt.kept:
                links.rows(attempt.branch)


def _show_failing(view: BatchView) -> None:
    """List all rows that fail a check, once a check is chosen: the report has the first of them."""
    checks = dict(_listable(view))
    if not checks:
        return
    markup.show("title", text="All failing rows", number="")
    check = st.selectbox(
        "Check", list(checks), index=None, format_func=checks.__getitem__, placeholder="Choose a check"
    )
    if check is None:
        return
    listing = session.failing_rows(view.batch, check)
    columns, rows = listing.answer.columns, listing.answer.rows
    label = f"{listing.failure.check.name}: {count(len(rows), 'row')}"
    markup.show("remark", text=label + (f", the first {MOST_ROWS} are shown" if len(rows) > MOST_ROWS else ""))
    at_fault = listing.failure.check.columns
    cells = [[cell(value) for value in row] for row in rows[:MOST_ROWS]]
    markup.show("rows", label=label, columns=columns, rows=cells, at_fault=at_fault)
    for remark in remarks(listing):
        markup.show("remark", text=remark)


def _listable(view: BatchView) -> Iterator[tuple[str, str]]:
    """Yield the checks that rows fail, by id, with their names: those of the last report."""
    reports = [attempt.report for attempt in view.attempts if attempt.report]
    for file in reports[-1].files if reports else ():
        for check in file.checks:
            if has_rows(file, check):
                yield check.check, clean(check.name)


page()
