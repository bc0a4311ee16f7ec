"""The script that Streamlit runs for every look: the frame, and in it one page."""

import streamlit as st

from lakegate.dashboard import markup

PAGES = {"overview": "Overview", "batch": "Batch", "table": "Table", "rows": "Rows", "history": "History"}


def main() -> None:
    st.set_page_config(page_title="lakegate", layout="wide")
    st.html(markup.style())
    pages = [st.Page(f"pages/{name}.py", title=title, url_path=name, default=name == "overview")
             for name, title in PAGES.items()]  # fmt: skip
    st.navigation(pages, position="top").run()


main()
