"""Links from page to page, and what an address asks for. A label is Markdown, so it is a word of ours or what is proved
to be a batch's id; what a person chooses from is plain text.
"""

from typing import Any

import streamlit as st

from lakegate.cli.terminal import clean
from lakegate.dashboard import markup, session
from lakegate.operations.questions import ListRoutes
from lakegate.operations.sights import BATCH


def batch(name: str) -> None:
    """Link to a batch, if there is one yet."""
    if BATCH.fullmatch(name):
        st.page_link("pages/batch.py", label=name, query_params={"batch": name})


def show_beside(batch_id: str, macro: str, **values: Any) -> None:
    """Show a macro with the link to its batch at its left."""
    link, rest = st.columns([2, 7])
    with link:
        batch(batch_id)
    with rest:
        markup.show(macro, **values)


def table(name: str) -> None:
    st.page_link("pages/table.py", label="The table's past", icon=":material/table:", query_params={"table": name})


def rows(branch: str) -> None:
    to = {"branch": branch}
    st.page_link("pages/rows.py", label="Its rows beside main's", icon=":material/compare:", query_params=to)


def parameter(name: str) -> str:
    """Return what an address asks for, or "" if it does not."""
    return st.query_params.get(name, "").strip()


def chosen_table(placeholder: str) -> str | None:
    """Return the table that a person chooses of those with a contract, first the one that the address asks for. None:
    the choice is `placeholder`.
    """
    tables = sorted({route.table for route in session.ask(ListRoutes())})
    first = parameter("table")
    tables += [first] if first and first not in tables else []
    at = tables.index(first) + 1 if first else 0
    return st.selectbox("Table", [None, *tables], index=at, format_func=lambda name: clean(name or placeholder))
