"""Rows of a branch beside main's, and which columns failed in how many rows. What a contract masks stays masked, and
values that no contract speaks of wait until a person asks.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256

import streamlit as st

from lakegate.adapters.sql import pin
from lakegate.audit.evaluation.mask import Mask, hide
from lakegate.audit.model.report import Report
from lakegate.audit.schema.fit import FILE_COLUMN
from lakegate.audit.schema.names import fold
from lakegate.cli.terminal import clean
from lakegate.counts import count
from lakegate.dashboard import links, markup, session
from lakegate.dashboard.edge import with_errors
from lakegate.dashboard.figures import Row, cell, failing_first, faults, listed_checks
from lakegate.duckdb.dialect import duckdb_identifier, duckdb_text
from lakegate.errors import Misconfigured
from lakegate.landing.attempts import Attempt
from lakegate.operations.questions import ShowBatch, ShowMask
from lakegate.ports import MAIN, Ref

MOST_ROWS = 50  # rows of each
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
    def place(self) -> str:
        return "main" if self.ref.branch == MAIN else "this branch"

    @property
    def title(self) -> str:
        return f"rows of {self.table} on {self.place}"

    @property
    def digest(self) -> str:
        """A name for what a person has asked of these rows, and of no others."""
        return sha256(f"{self.ref}\n{self.table}".encode()).hexdigest()


@with_errors
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
    at_fault = {fold(fault.column) for fault in faults(report)} if report else set[str]()
    if mask.fault:
        markup.show("remark", text=f"Values wait until you ask for them, because {mask.fault}")
    left_side, right = st.columns(2)
    with left_side:
        _rows(Part(ref=Ref(branch), table=table, files=files, report=report), mask, at_fault)
    with right:
        _rows(Part(ref=Ref(MAIN), table=table), mask, at_fault)


def _branch() -> str | None:
    """Return the branch that a person chooses: lakegate's own come first, then those of others."""
    branches = sorted(
        reference.name for reference in session.installation().branches.references() if reference.name != MAIN
    )
    names = sorted(branches, key=lambda name: Attempt.parse(name) is None)
    branch_asked = links.parameter("branch")
    at = names.index(branch_asked) if branch_asked in names else None
    if branch_asked and at is None:
        markup.problem(f"there is no branch {branch_asked} any more")
    return st.selectbox("Branch", names, index=at, format_func=clean, placeholder="Choose a branch")


def _table(branch: str) -> str | None:
    tables = session.installation().lake.tables(Ref(branch))
    return st.selectbox("Table", tables, index=None, format_func=clean, placeholder="Choose a table")


def _report(attempt: Attempt) -> Report | None:
    try:
        view = session.ask(ShowBatch(batch=attempt.batch, past=True))
    except Misconfigured:  # nobody knows the batch of a branch that is just being made
        return None
    return next(
        (tried_attempt.report for tried_attempt in view.attempts if tried_attempt.attempt == attempt.number), None
    )


def _faults(report: Report) -> None:
    all_faults = faults(report)
    if all_faults:
        markup.show(
            "title", text="Columns that failed", number=count(len({fault.column for fault in all_faults}), "column")
        )
        markup.show("faults", faults=all_faults)


def _rows(part: Part, mask: Mask, at_fault: set[str]) -> None:
    """Show some rows of a table: on a branch those of the batch, if its files are known."""
    has_failing = part.report is not None and part.report.rows <= READ and bool(listed_checks(part.report))
    of_batch = " (the batch's own" + (", those that fail first)" if has_failing else ")") if part.files else ""
    markup.show("title", text=f"On {part.place}", number=f"the first {MOST_ROWS} rows{of_batch}")
    try:
        at = str(pin(session.installation().branches, part.ref))
        types = session.columns(at, part.table)
        places = [place for place, name in enumerate(types) if name != FILE_COLUMN]  # ids, which no contract has
        columns = [list(types)[place] for place in places]
        hides = _hides(part, mask, columns)
        if all(hides):
            column_types = [(name, types[name]) for name in columns]
            markup.show("rows", label=part.title, columns=["column", "type"], rows=column_types, at_fault=())
            return
        rows = session.rows(at, _sql(part.table, part.files)).rows
        first = _failing_rows(part.report, columns) if part.report and has_failing else []
    except Misconfigured as error:
        markup.show("remark", text=str(error))
        return
    rest = [hide([cell(row[place]) for place in places], hides) for row in rows]
    rows_to_show = failing_first([[hide(row, hides) for row in rows] for rows in first], rest, MOST_ROWS)
    faulty = {name for name in columns if fold(name) in at_fault}
    markup.show("rows", label=part.title, columns=columns, rows=rows_to_show, at_fault=faulty)


def _failing_rows(report: Report, columns: Sequence[str]) -> list[list[Row]]:
    """Return the rows that fail each of the worst checks, with these columns, where they can still be listed."""
    row_lists = []
    for check in listed_checks(report)[:CHECKS]:
        with suppress(Misconfigured):
            answer = session.failing_rows(report.batch, check.check, report.attempt).answer
            row_lists.append([_in_order(answer.columns[1:], row[1:], columns) for row in answer.rows[:MOST_ROWS]])
    return row_lists


def _in_order(names: Sequence[str], row: Row, columns: Sequence[str]) -> Row:
    values = dict(zip(map(fold, names), map(cell, row), strict=True))
    return tuple(values.get(fold(name)) for name in columns)


def _hides(part: Part, mask: Mask, columns: Sequence[str]) -> list[bool]:
    """Return for each column True if its values are not shown: by place, because an engine may rename columns."""
    hides, left_open = mask.hides(columns), mask.leaves_open(columns)
    if any(left_open) and not st.toggle(ASK, key=part.digest):
        return [any(pair) for pair in zip(hides, left_open, strict=True)]
    return hides


def _sql(table: str, files: tuple[str, ...]) -> str:
    table_sql = ".".join(map(duckdb_identifier, table.rsplit(".", 1)))
    files_sql = ", ".join(map(duckdb_text, files))
    condition = f" WHERE {FILE_COLUMN} IN ({files_sql})" if files else ""
    return f"SELECT * FROM {table_sql}{condition} LIMIT {MOST_ROWS}"  # noqa: S608 (names are quoted, and ids are literals)


page()
