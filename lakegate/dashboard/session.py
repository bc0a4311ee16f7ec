"""Session: what the pages ask the installation, and what they have it do, with the rights of whoever started it.

Answers are kept for a few seconds, so that a look at another page asks nothing again. After an act nothing is kept.
"""

from dataclasses import replace
from functools import cache
from typing import TypeVar, cast

import streamlit as st

from lakegate.adapters.sql import Result, Statement, columns_of, run
from lakegate.cli.exits import paragraph
from lakegate.cli.installation import Installation, quiet_logs
from lakegate.cli.profile import connect
from lakegate.cli.rows import RowListing, list_rows
from lakegate.errors import LakegateError, Misconfigured, Refused
from lakegate.operations import wire
from lakegate.operations.acts import TryRulesOfActs
from lakegate.operations.operation import Operation
from lakegate.operations.questions import ShowBatch
from lakegate.ports import MAIN, Ref

T = TypeVar("T")
CACHE_SECONDS = 20  # seconds
RIGHTS_KEPT = 300  # seconds
ANSWERS = 100


@cache
def installation() -> Installation:
    quiet_logs()
    return connect()


def ask(question: Operation[T]) -> T:
    """Return the answer of a few seconds ago, or a new one."""
    return cast(T, _answer(f"{type(question).__name__} {wire.request(question)}", question))


@st.cache_data(ttl=CACHE_SECONDS, max_entries=ANSWERS, show_spinner="Asking the installation")
def _answer(name: str, _question: Operation[object]) -> object:  # noqa: ARG001 (Streamlit keeps answers by it)
    return installation().operations.run(_question)


@st.cache_data(ttl=CACHE_SECONDS, max_entries=ANSWERS, show_spinner="Reading the lake")
def rows(ref: str, sql: str) -> Result:
    """Return the rows of a statement, as `lakegate query` reads them, at a branch or at a commit."""
    return run(installation().lake, Statement.parse(sql), Ref.parse(ref))


@st.cache_data(ttl=CACHE_SECONDS, max_entries=ANSWERS, show_spinner="Reading the lake")
def columns(ref: str, table: str) -> dict[str, str]:
    """Return the types of a table's columns, by name and in order. It reads no row."""
    lake, at = installation().lake, Ref.parse(ref)
    schema = lake.rows(at, table, columns_of(lake, at, table), 0).schema
    return dict(zip(schema.names, map(str, schema.types), strict=True))


@st.cache_data(ttl=RIGHTS_KEPT, max_entries=ANSWERS, show_spinner="Reading the lake")
def is_there(table: str) -> bool:
    """Return True if main has the table and this person may read it."""
    try:
        return installation().lake.columns(Ref(MAIN), table) is not None
    except LakegateError:
        return False


@st.cache_data(ttl=CACHE_SECONDS, max_entries=ANSWERS, show_spinner="Reading the rows that fail")
def failing_rows(batch: str, check: str, attempt: int | None = None) -> RowListing:
    """Return all rows that fail a check, as `lakegate show --rows` lists them: of the last attempt that has it, or of
    this one.
    """
    view = ask(ShowBatch(batch=batch, past=True))
    tries = tuple(candidate for candidate in view.attempts if attempt in (None, candidate.attempt))
    return list_rows(installation(), replace(view, attempts=tries), check)


def act(operation: Operation[T]) -> T:
    """Have the installation do something, and forget all answers of before, whatever came of it."""
    try:
        return installation().operations.run(operation)
    finally:
        forget()


def forget() -> None:
    for answers in (_answer, rows, columns, failing_rows, is_there):
        answers.clear()


@st.cache_data(ttl=RIGHTS_KEPT, show_spinner="Asking for your rights")
def why_not_act() -> str:
    """Return the reason for which this person may not act here, or "". The function that carries acts out is asked, and
    does nothing. Raise Retryable if it cannot be known now.
    """
    try:
        installation().operations.run(TryRulesOfActs(tries=False))
    except (Misconfigured, Refused) as error:
        return paragraph(error)
    return ""
