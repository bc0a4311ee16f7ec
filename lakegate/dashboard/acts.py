"""Acts on a batch: each is asked for once more, with a reason where main's log keeps one, and then carried out by the
operation that the command line has for it.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import streamlit as st

from lakegate.cli.choice import LEAST_CHOICES
from lakegate.cli.exits import paragraph
from lakegate.counts import count
from lakegate.dashboard import markup, session
from lakegate.errors import LakegateError
from lakegate.operations.acts import Approve, Discard, Retry
from lakegate.operations.questions import ListRejected
from lakegate.operations.wire import FunctionFault
from lakegate.workflow.ledger.decisions import require_reason

Keys = tuple[str, ...]
RESULT_KEY, REQUEST_KEY = "said of an act", "act that is to be confirmed"


@dataclass(frozen=True, kw_only=True)
class Act:
    """A button: what is asked before, and what carries it out and says what came of it."""

    label: str
    asks: str
    has_reason: bool
    run: Callable[[str, str, Keys], list[str]]


def _retry(batch: str, _reason: str, files: Keys) -> list[str]:
    result = session.act(Retry(batch=batch, files=files))
    branches = ", ".join(attempt.branch for attempt in result.attempts)
    return [f"In progress on {branches}", *_refusal_lines(result.rest)]


def _approve(batch: str, reason: str, files: Keys) -> list[str]:
    result = session.act(Approve(batch=batch, why=reason, files=files))
    return [f"{count(result.files, 'file')} of {batch} published as audited: {reason}", *_refusal_lines(result.rest)]


def _discard(batch: str, reason: str, keys: Keys) -> list[str]:
    files = session.act(Discard(batch=batch, why=reason, files=keys))
    return [f"{count(files, 'file')} of {batch} discarded for good: {reason}"]


def _refusal_lines(refusals: Mapping[str, str]) -> list[str]:
    return [f"Still rejected: {key}: {reason}" for key, reason in refusals.items()]


ACTS = {
    "retry": Act(
        label="Retry",
        asks="Try the rejected files again, with the present contract, on a new branch.",
        has_reason=False,
        run=_retry,
    ),
    "approve": Act(
        label="Approve",
        asks="Publish the rejected files in spite of their audit, exactly as they were audited.",
        has_reason=True,
        run=_approve,
    ),
    "discard": Act(
        label="Discard",
        asks="Give up the rejected files for good, and delete their branches.",
        has_reason=True,
        run=_discard,
    ),
}


def buttons(batch: str, possible: list[str]) -> None:
    """Show what a person may do with the batch, and what came of what was done last."""
    for text in st.session_state.pop(RESULT_KEY, ()):
        markup.show("done", text=text)
    if not possible:
        return
    if refusal := session.why_not_act():
        markup.show("remark", text=f"You may look, and not act: {refusal}")
        return
    with st.container(horizontal=True):
        for name in possible:
            st.button(ACTS[name].label, key=f"{name} {batch}", on_click=_ask, args=((name, batch),))
    name, of = st.session_state.get(REQUEST_KEY, ("", ""))
    if of == batch and name in possible:
        st.dialog(ACTS[name].label, on_dismiss=_ask)(_confirm)(batch, ACTS[name])


def _ask(request: tuple[str, str] = ("", "")) -> None:
    """Have an act on a batch be confirmed, or none."""
    st.session_state[REQUEST_KEY] = request


def _confirm(batch: str, act: Act) -> None:
    markup.show("asks", text=act.asks, batch=batch)
    try:
        keys = sorted({file.key for file in session.ask(ListRejected(batch=batch))})
    except (LakegateError, FunctionFault) as error:
        markup.problem(paragraph(error))
        return
    reason = ""
    with st.form("confirmation", border=False):
        selection = _choose(keys)
        if act.has_reason:
            reason = st.text_input("Reason", help="It is kept in main's log for good, with your name.")
        if st.form_submit_button(f"{act.label} this batch", type="primary"):
            _carry_out(batch, act, reason, selection)


def _choose(keys: Sequence[str]) -> Keys:
    """Return the landing keys of the files that a person chooses, none for all. Files are chosen by number: a label is
    Markdown, and a key may be anything.
    """
    markup.show("choice", keys=keys)
    if len(keys) < LEAST_CHOICES:
        return ()
    numbers = st.multiselect("Files by their numbers; none for all", range(1, len(keys) + 1))
    return tuple(keys[number - 1] for number in numbers)


def _carry_out(batch: str, act: Act, reason: str, files: Keys) -> None:
    try:
        st.session_state[RESULT_KEY] = act.run(batch, require_reason(reason) if act.has_reason else "", files)
    except (LakegateError, FunctionFault) as error:
        markup.problem(paragraph(error))
    else:
        _ask()
        st.rerun()
