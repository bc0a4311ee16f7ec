"""Operations elsewhere: which function is asked, and what a lost or strange answer means."""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from lakegate.errors import Misconfigured, OutcomeUnknown, Refused
from lakegate.operations import remote, wire
from lakegate.operations.acts import Discard
from lakegate.operations.questions import ListUnclaimed
from lakegate.operations.remote import Remote


@dataclass(kw_only=True)
class Told:
    """`Functions` that answer with a text."""

    text: str
    asked: list[tuple[str, str, bool]] = field(default_factory=list)

    def call(self, what: str, text: str, *, changes: bool) -> str:
        self.asked.append((what, text, changes))
        return self.text


DISCARD = Discard(batch="20130131T0000-00000000", why="a test")


def test_a_request_goes_to_the_function_for_its_kind_and_names_nobody() -> None:
    told = Told(text=wire.answer(3))
    assert Remote(functions=told).run(DISCARD) == 3
    assert told.asked == [("Discard", wire.request(DISCARD), True)]
    told = Told(text=wire.answer([["k", "v"]]))
    assert Remote(functions=told).run(ListUnclaimed()) == (("k", "v"),)
    assert told.asked[0][2] is False


def test_an_act_whose_answer_cannot_be_read_may_have_happened() -> None:
    with pytest.raises(OutcomeUnknown, match="Use the installation's release"):
        Remote(functions=Told(text="{}")).run(DISCARD)


def test_a_question_whose_answer_cannot_be_read_is_a_person_s_to_mend() -> None:
    with pytest.raises(Misconfigured, match="Use the installation's release"):
        Remote(functions=Told(text="{}")).run(ListUnclaimed())


def test_a_request_that_no_function_takes_is_not_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "LARGEST", 10)
    told = Told(text=wire.answer(3))
    with pytest.raises(Refused, match="the limit is 10"):
        Remote(functions=told).run(DISCARD)
    assert told.asked == []
