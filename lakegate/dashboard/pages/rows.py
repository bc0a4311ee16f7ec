"""Rows of a branch beside main's, and which columns failed in how many rows. What the contract masks stays masked."""

import streamlit as st

from lakegate.audit.evaluation.mask import MASK
from lakegate.audit.model.report import Report
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.cli.query import pinned
from lakegate.cli.sql import Result, plain
from lakegate.cli.terminal import clean
from lakegate.counts import count
from lakegate.dashboard import links, markup, session
from lakegate.dashboard.edge import told
from lakegate.dashboard.figures import faults
from lakegate.duckdb.dialect import duckdb_identifier, duckdb_text
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.operations.questions import ShowBatch
from lakegate.ports import MAIN, Ref

SHOWN = 50  # rows of each


@told
def page() -> None:
    markup.show("head", title="Rows", under="Those of a branch beside main's.")
    branch = _branch()
    if branch is None:
        return
    attempt = Attempt.parse(branch)
    report = _report(attempt) if attempt else None
    table = attempt.table if attempt else _table(branch)
    if table is None:
        return
    if report:
        _faults(report)
    left, right = st.columns(2)
    with left:
        _rows(Ref(branch), table, report, tuple(file.id for file in report.files if file.data_files) if report else ())
    with right:
        _rows(Ref(MAIN), table, report, ())


def _branch() -> str | None:
    """Return the branch that a person chooses: lakegate's own come first, then those of others."""
    found = sorted(it.name for it in session.installation().branches.references() if it.name != MAIN)
    names = sorted(found, key=lambda name: Attempt.parse(name) is None)
    asked = links.asked("branch")
    at = names.index(asked) if asked in names else None
    if asked and at is None:
        markup.problem(f"there is no branch {asked} any more")
    return st.selectbox("Branch", names, index=at, format_func=clean, placeholder="Choose a branch")


def _table(branch: str) -> str | None:
    tables = session.installation().lake.tables(Ref(branch))
    return st.selectbox("Table", tables, index=None, format_func=clean, placeholder="Choose a table")


def _report(attempt: Attempt) -> Report | None:
    try:
        view = session.ask(ShowBatch(batch=attempt.batch, past=True))
    except Misconfigured:  # nobody knows the batch of a branch that is just being made
        return None
    return next((tried.report for tried in view.attempts if tried.attempt == attempt.number), None)


def _faults(report: Report) -> None:
    found = faults(report)
    if found:
        markup.show("title", text="Columns that failed", number=count(len({it.column for it in found}), "column"))
        markup.show("faults", faults=found)


def _rows(ref: Ref, table: str, report: Report | None, files: tuple[str, ...]) -> None:
    """Show some rows of a table: on a branch those of the batch, if its files are known."""
    where = "main" if ref.branch == MAIN else "this branch"
    of_batch = " (the batch's own)" if files else ""
    markup.show("title", text=f"On {where}", number=f"the first {SHOWN} rows{of_batch}")
    try:
        at = pinned(session.installation(), ref)
        found = _masked(session.rows(str(at), _sql(table, files)), report)
    except Misconfigured as why:
        markup.show("remark", text=str(why))
        return
    found = _without_ids(found)
    at_fault = {it.column for it in faults(report)} if report else set[str]()
    shown = [[plain(value) for value in row] for row in found.rows]
    markup.show("rows", says=f"rows of {table} on {where}", columns=found.columns, rows=shown, at_fault=at_fault)


def _without_ids(found: Result) -> Result:
    """Return the rows without the column of file versions' ids, which no contract has."""
    at = [place for place, name in enumerate(found.columns) if name != FILE_COLUMN]
    return Result(columns=[found.columns[it] for it in at], rows=[tuple(row[it] for it in at) for row in found.rows])


def _masked(found: Result, report: Report | None) -> Result:
    hidden = [report is not None and name in report.masked for name in found.columns]
    rows = [tuple(MASK if hide and value is not None else value for hide, value in zip(hidden, row, strict=True))
            for row in found.rows]  # fmt: skip
    return Result(columns=found.columns, rows=rows)


def _sql(table: str, files: tuple[str, ...]) -> str:
    named = ".".join(map(duckdb_identifier, table.rsplit(".", 1)))
    some = ", ".join(map(duckdb_text, files))
    where = f" WHERE {FILE_COLUMN} IN ({some})" if files else ""
    return f"SELECT * FROM {named}{where} LIMIT {SHOWN}"  # noqa: S608 (names are quoted, and ids are literals)


page()
