"""The wire: what is sent is what arrives, and what the reader does not know is an error."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lakegate.errors import (
    Conflict,
    ContractFaults,
    Fault,
    LakegateError,
    Misconfigured,
    OutcomeUnknown,
    Refused,
    Retryable,
)
from lakegate.landing.attempts import Attempt
from lakegate.operations import wire
from lakegate.operations.acts import ACTS, Approve, Retry
from lakegate.operations.operation import Operation
from lakegate.operations.questions import QUESTIONS, ShowStatus
from lakegate.workflow.retry import UnderWay
from tests.support.values import values

EVERY = (*QUESTIONS, *ACTS)


@pytest.mark.parametrize("kind", EVERY)
@settings(max_examples=20)
@given(data=st.data())
def test_an_operation_arrives_as_it_was_sent(kind: type[Operation[object]], data: st.DataObject) -> None:
    asked = data.draw(values(kind))
    assert wire.read_request(wire.request(asked), EVERY) == asked


@pytest.mark.parametrize("kind", EVERY)
@settings(max_examples=20)
@given(data=st.data())
def test_an_answer_arrives_as_it_was_sent(kind: type[Operation[object]], data: st.DataObject) -> None:
    value = data.draw(values(kind.answer))
    assert wire.read_answer(kind.answer, wire.answer(value)) == value


ERRORS: list[LakegateError] = [
    Retryable("Nessie does not answer"),
    OutcomeUnknown("the commit may have happened"),
    Conflict("somebody was first"),
    Refused("it was discarded"),
    Misconfigured("no such thing"),
    ContractFaults("x.yaml", [Fault(line=3, message="no such column")]),
    UnderWay(Attempt(table="nyc.flights", batch="20130131T0000-00000000", number=2)),
]


@pytest.mark.parametrize("error", ERRORS)
def test_an_error_arrives_as_its_own_class_with_its_words_and_notes(error: LakegateError) -> None:
    error.add_note("3 files were published before")
    with pytest.raises(type(error)) as raised:
        wire.read_answer(int, wire.failure(error))
    assert type(raised.value) is type(error)
    assert (str(raised.value), raised.value.__notes__) == (str(error), ["3 files were published before"])
    assert getattr(raised.value, "faults", ()) == getattr(error, "faults", ())


def test_every_error_of_lakegate_is_known_on_the_wire() -> None:
    kinds = LakegateError.__subclasses__()
    assert {kind.__name__ for kind in kinds} == wire.KINDS.keys()


def test_a_fault_of_the_function_is_none_of_lakegate_s_errors() -> None:
    with pytest.raises(wire.FunctionFault, match="ZeroDivisionError: a fault of ours"):
        wire.read_answer(int, wire.failure(ZeroDivisionError("a fault of ours")))


def changed(text: str, **members: Any) -> str:
    return json.dumps(json.loads(text) | members)


APPROVE = wire.request(Approve(batch="b", why="w"))


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (changed(APPROVE, format=2), "it has format 2, and up to format 1 is read"),
        (changed(APPROVE, operation="Purge"), "KeyError: 'Purge'"),
        (changed(APPROVE, arguments={"batch": "b", "why": "w", "rows": ["x"]}), "this is not known here: rows"),
        (changed(APPROVE, arguments={"batch": "b"}), "why"),
        (changed(APPROVE, arguments={"batch": 3, "why": "w"}), "3 is no str"),
        (changed(wire.request(ShowStatus()), arguments={"of": {}}), "this is not known here: of"),
        ("[]", "does not know this request"),
        ("hello", "does not know this request"),
        ("", "does not know this request"),
        ("[" * 100_000, "does not know this request"),
    ],
)
def test_a_request_that_is_not_known_exactly_is_refused_with_what_to_do(text: str, says: str) -> None:
    with pytest.raises(Misconfigured, match=r"Deploy the command line's release, or use") as raised:
        wire.read_request(text, EVERY)
    assert says in str(raised.value)


def test_a_function_does_not_know_the_other_s_operations() -> None:
    with pytest.raises(Misconfigured, match="Retry"):
        wire.read_request(wire.request(Retry(batch="b")), QUESTIONS)


@pytest.mark.parametrize(
    "text",
    [
        changed(wire.answer(3), format=2),
        changed(wire.answer({"files": 3, "left": {}, "new": 1})),
        wire.answer("three"),
        '{"format": 1}',
        '{"Message": "Forbidden"}',
        "<html>",
    ],
)
def test_an_answer_that_is_not_known_exactly_cannot_be_read(text: str) -> None:
    with pytest.raises(wire.UnreadableError):
        wire.read_answer(Approve.answer if "files" in text else int, text)


def test_what_is_sent_is_ascii() -> None:
    assert wire.request(Approve(batch="b", why="süß 漢 \u202e")).isascii()
