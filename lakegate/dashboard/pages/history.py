"""The history: main's log page by page, of all tables or of one. A page costs the same however long the log is."""

import streamlit as st

from lakegate.dashboard import links, markup, session
from lakegate.dashboard.edge import with_errors
from lakegate.operations.questions import PAGE, ListDecisions

EARLIER = "commits whose decisions were shown last, page by page"


@with_errors
def page() -> None:
    markup.show("head", title="History", under="Every decision, newest first.")
    table = links.chosen_table("All tables")
    befores: list[str] = st.session_state.setdefault(EARLIER, [])
    if st.session_state.get("table of the history") != table:
        st.session_state["table of the history"] = table
        befores.clear()
    decisions = session.ask(ListDecisions(table=table, before=befores[-1] if befores else ""))
    for decision in decisions:
        links.show_beside(decision.record.batch, "decided", decided=decision)
    if not decisions:
        markup.show("remark", text="No decisions here.")
    with st.container(horizontal=True):
        if befores and st.button("Newer"):
            befores.pop()
            st.rerun()
        if len(decisions) == PAGE and st.button("Older"):
            befores.append(decisions[-1].commit)
            st.rerun()


page()
