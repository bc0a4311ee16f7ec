"""Operations as values: what each says of itself is true."""

from dataclasses import FrozenInstanceError
from types import NoneType
from typing import Any, get_type_hints

import pytest

from lakegate.cli import ends
from lakegate.operations import sights
from lakegate.operations.acts import ACTS, Retry
from lakegate.operations.operation import Operation
from lakegate.operations.questions import QUESTIONS


@pytest.mark.parametrize("kind", [*QUESTIONS, *ACTS])
def test_an_operation_answers_with_the_kind_that_it_names(kind: type[Operation[Any]]) -> None:
    answer = get_type_hints(kind.on)["return"]
    assert kind.answer == (NoneType if answer is None else answer)


def test_acts_change_something_and_questions_do_not() -> None:
    assert {kind.changes for kind in ACTS} == {True}
    assert {kind.changes for kind in QUESTIONS} == {False}


def test_an_operation_is_a_value() -> None:
    asked: Any = Retry(batch="20130131T0000-00000000")
    assert asked == Retry(batch="20130131T0000-00000000")
    with pytest.raises(FrozenInstanceError):
        asked.batch = "other"


def test_every_end_of_a_file_has_a_mark() -> None:
    assert ends.ENDS.keys() == sights.ENDS
