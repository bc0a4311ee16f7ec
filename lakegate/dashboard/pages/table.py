"""A table's past: its verdicts, rows and measures over time, what was decided, and rows of main."""

from collections.abc import Sequence

import streamlit as st

from lakegate.audit.evaluation.audits import audits_of
from lakegate.cli.terminal import clean
from lakegate.counts import count
from lakegate.dashboard import charts, links, markup, session
from lakegate.dashboard.edge import with_errors
from lakegate.dashboard.figures import measure_texts
from lakegate.dashboard.trends import trend, trend_sql
from lakegate.operations.questions import ShowTable
from lakegate.operations.tables import TableAudit, TableView
from lakegate.ports import MAIN

MOST_DECISIONS = 10  # decisions; the history has all


@with_errors
def page() -> None:
    markup.show("head", title="Table", under="")
    table = links.chosen_table("Choose a table")
    if table is None:
        return
    view = session.ask(ShowTable(table=table))
    if not view.decisions:
        markup.show("remark", text=f"Nothing of {table} is decided so far.")
        return
    if view.audits:
        _audits(view)
    markup.show("title", text="Decisions", number="")
    for decision in view.decisions[:MOST_DECISIONS]:
        links.show_beside(decision.record.batch, "decided", decided=decision)
    st.page_link("pages/history.py", label="All decisions, page by page", icon=":material/history:",
                 query_params={"table": table})  # fmt: skip


def _audits(view: TableView) -> None:
    markup.show("title", text="Audits", number=f"the last {len(view.audits):,}")
    left_side, right = st.columns(2)
    with left_side:
        st.altair_chart(charts.files(view.audits))
    with right:
        st.altair_chart(charts.rows(view.audits))
    _measures(view)


def _measures(view: TableView) -> None:
    """Show one check's number over time, and the numbers of the last audit."""
    last = view.audits[-1]
    names = {
        measure.check: clean(measure.name)
        for audit in view.audits
        for measure in audit.numbers
        if measure.most is not None
    }
    if names:
        markup.show("title", text="Measures over time", number="")
        check = st.selectbox("Check", list(names), format_func=names.__getitem__)
        st.altair_chart(charts.number(_trend(view, check), check))
        markup.show("remark", text="Shaded: what passes. A point is one audit, and a bar the spread of its files.")
    if last.numbers:
        label = f"Numbers of {last.batch} a{last.attempt}"
        markup.show("title", text=label, number=count(len(last.numbers), "check"))
        markup.show("numbers", numbers=measure_texts(last.numbers))


def _trend(view: TableView, check: str) -> Sequence[TableAudit]:
    """Return the audits whose number is shown: those of the last reports, or all that the audits table has."""
    distinct = view.audits[-1].distinct
    table = audits_of(view.table, distinct=distinct)
    if not session.is_there(table) or not st.toggle(f"Every audit, from {clean(table)}"):
        return view.audits
    return trend(check, session.rows(MAIN, trend_sql(view.table, check, distinct=distinct))) or view.audits


page()
