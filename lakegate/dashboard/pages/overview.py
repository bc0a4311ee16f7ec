"""The overview: what is in flight and why it waits, unrouted, rejected and published, as `lakegate status` has it."""

from collections.abc import Sequence

import streamlit as st

from lakegate.cli.batches import LATE, what_is_wrong
from lakegate.cli.terminal import age_text
from lakegate.dashboard import links, markup, session
from lakegate.dashboard.edge import with_errors
from lakegate.dashboard.figures import tiles
from lakegate.operations.questions import ShowStatus
from lakegate.workflow.overview.line import Line
from lakegate.workflow.status import Status

MOST_DECISIONS = 200  # decisions; older ones are in the history
LINES, FILES, REASONS = 10, 3, 6
EMPTY = "Nothing has landed yet. Next: lakegate contract push CONTRACT, then: lakegate drop FILE"
LIVE = 15  # seconds between two looks


@with_errors
def page() -> None:
    with st.container(horizontal=True, horizontal_alignment="distribute", vertical_alignment="center"):
        markup.show("head", title="Overview", under="")
        is_live = st.toggle("Look again by itself", help=f"Every {LIVE} seconds, while this page is open.")
        if st.button("Look again"):
            session.forget()
    st.fragment(with_errors(_lists), run_every=LIVE if is_live else None)()


def _lists() -> None:
    now = session.ask(ShowStatus(most=MOST_DECISIONS))
    markup.show("tiles", tiles=tiles(now))
    _unseen(now)
    if not (now.in_flight or now.unrouted or now.rejected or now.published or now.older):
        markup.show("remark", text=EMPTY)
    _list("In flight", now.in_flight)
    _list("Unrouted", now.unrouted)
    _broken_contracts(now)
    _list("Rejected", now.rejected)
    _list("Superseded", now.superseded)
    _older(now.older)
    _list("Published", now.published)
    st.page_link("pages/history.py", label="All decisions, page by page", icon=":material/history:")


def _unseen(now: Status) -> None:
    at = session.installation().clock.now()
    if now.seen_at is not None and at - now.seen_at >= LATE:
        remark = f"The last sweep listed the bucket {age_text(now.seen_at, at)}; later files are not shown."
        markup.show("remark", text=remark)


def _broken_contracts(now: Status) -> None:
    """Show the contracts that do not load, each with its first fault and the line to write."""
    for contract in now.broken_contracts[:LINES]:
        text = f"The contract of {contract.table} does not load, line {contract.first.line}: {what_is_wrong(contract)}"
        markup.show("remark", text=f"{text}. Its files stay unrouted. Next: lakegate contract push CONTRACT")


def _list(title: str, lines: Sequence[Line]) -> None:
    """Show a page of lines, and where there are more, the way to the others."""
    if not lines:
        return
    markup.show("title", text=title, number=f"{sum(len(line.files) for line in lines):,}")
    pages = -(-len(lines) // LINES)
    place = st.container(gap="xsmall")
    page_number = st.pagination(pages, key=f"page of {title}") if pages > 1 else 1
    now = session.installation().clock.now()
    with place:
        for line in lines[(page_number - 1) * LINES : page_number * LINES]:
            links.show_beside(line.batch, "line", line=line, now=now, files=FILES, reasons=REASONS)


def _older(batches: Sequence[str]) -> None:
    """Show the batches that were rejected before, whose branches are kept."""
    if not batches:
        return
    markup.show("title", text="Rejected earlier, with branches that are kept", number=f"{len(batches):,}")
    with st.container(horizontal=True):
        for batch in batches[:LINES]:
            links.batch(batch)


page()
