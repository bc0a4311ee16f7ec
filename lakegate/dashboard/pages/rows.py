"""Rows of a branch beside main's, and which columns failed in how many rows. What a contract masks stays masked, and
values that no contract speaks of wait until a person asks.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

import streamlit as st

from lakegate.audit.evaluation.mask import Mask, hide
from lakegate.audit.model.report import Report
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.names import fold
from lakegate.cli.query import pinned
from lakegate.cli.terminal import clean
from lakegate.counts import count
from lakegate.dashboard import links, markup, session
from lakegate.dashboard.edge import told
from lakegate.dashboard.figures import Row, cell, failing_first, faults, listed_checks
from lakegate.duckdb.dialect import duckdb_identifier, duckdb_text
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.operations.questions import ShowBatch, ShowMask
from lakegate.ports import MAIN, Ref

SHOWN = 50  # rows of each
READ, CHECKS = 200_000, 3  # rows of a batch, and its worst checks, that are read for those that fail
ASK = "Show values that no contract speaks of"


@dataclass(frozen=True, kw_only=True)
class Part:
    """Rows of a table at a ref: of these file versions, or any. Those that the `report` knows to fail come first."""

    ref: Ref
    table: str
    files: tuple[str, ...] = ()
    report: Report | None = None

    @property
    def where(self) -> str:
        return "main" if self.ref.branch == MAIN else "this branch"

    @property
    def says(self) -> str:
        return f"rows of {self.table} on {self.where}"

    @property
    def digest(self) -> str:
        """A name for what a person has asked of these rows, and of no others."""
        return sha256(f"{self.ref}\n{self.table}".encode()).hexdigest()


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
    mask = session.ask(ShowMask(table=table, attempt=attempt))
    files = tuple(file.id for file in report.files if file.data_files) if report else ()
    at_fault = {fold(it.column) for it in faults(report)} if report else set[str]()
    if mask.fault:
        markup.show("remark", text=f"Values wait until you ask for them, because {mask.fault}")
    left, right = st.columns(2)
    with left:
        _rows(Part(ref=Ref(branch), table=table, files=files, report=report), mask, at_fault)
    with right:
        _rows(Part(ref=Ref(MAIN), table=table), mask, at_fault)


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


def _rows(part: Part, mask: Mask, at_fault: set[str]) -> None:
    """Show some rows of a table: on a branch those of the batch, if its files are known."""
    failing = part.report is not None and part.report.rows <= READ and bool(listed_checks(part.report))
    of_batch = " (the batch's own" + (", those that fail first)" if failing else ")") if part.files else ""
    markup.show("title", text=f"On {part.where}", number=f"the first {SHOWN} rows{of_batch}")
    try:
        at = str(pinned(session.installation(), part.ref))
        types = session.columns(at, part.table)
        places = [place for place, name in enumerate(types) if name != FILE_COLUMN]  # ids, which no contract has
        columns = [list(types)[place] for place in places]
        hidden = _hidden(part, mask, columns)
        if all(hidden):
            named = [(name, types[name]) for name in columns]
            markup.show("rows", says=part.says, columns=["column", "type"], rows=named, at_fault=())
            return
        found = session.rows(at, _sql(part.table, part.files)).rows
        first = _failing(part.report, columns) if part.report and failing else []
    except Misconfigured as why:
        markup.show("remark", text=str(why))
        return
    others = [hide([cell(row[place]) for place in places], hidden) for row in found]
    shown = failing_first([[hide(row, hidden) for row in rows] for rows in first], others, SHOWN)
    faulty = {name for name in columns if fold(name) in at_fault}
    markup.show("rows", says=part.says, columns=columns, rows=shown, at_fault=faulty)


def _failing(report: Report, columns: Sequence[str]) -> list[list[Row]]:
    """Return the rows that fail each of the worst checks, with these columns, where they can still be listed."""
    found = []
    for check in listed_checks(report)[:CHECKS]:
        with suppress(Misconfigured):
            answer = session.failing_rows(report.batch, check.check, report.attempt).answer
            found.append([_in_order(answer.columns[1:], row[1:], columns) for row in answer.rows[:SHOWN]])
    return found


def _in_order(names: Sequence[str], row: Row, columns: Sequence[str]) -> Row:
    values = dict(zip(map(fold, names), map(cell, row), strict=True))
    return tuple(values.get(fold(name)) for name in columns)


def _hidden(part: Part, mask: Mask, columns: Sequence[str]) -> list[bool]:
    """Return for each column True if its values are not shown: by place, because an engine may rename columns."""
    masked, left_open = mask.hides(columns), mask.leaves_open(columns)
    if any(left_open) and not st.toggle(ASK, key=part.digest):
        return [any(either) for either in zip(masked, left_open, strict=True)]
    return masked


def _sql(table: str, files: tuple[str, ...]) -> str:
    named = ".".join(map(duckdb_identifier, table.rsplit(".", 1)))
    some = ", ".join(map(duckdb_text, files))
    where = f" WHERE {FILE_COLUMN} IN ({some})" if files else ""
    return f"SELECT * FROM {named}{where} LIMIT {SHOWN}"  # noqa: S608 (names are quoted, and ids are literals)


page()
