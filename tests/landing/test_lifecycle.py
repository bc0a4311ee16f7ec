"""A file version's state by what is known of it, and the decisions that may follow each other."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import product

import pytest

from lakegate.errors import Refused
from lakegate.landing.attempts import Attempt
from lakegate.landing.files import FileVersion
from lakegate.landing.lifecycle import MAY_BECOME, Decision, State, state_of
from lakegate.landing.receipts import Entry, Receipt

FILE = FileVersion(bucket="landing", key="k", version_id="v1", size=1, landed_at=datetime(2013, 1, 1, tzinfo=UTC))
ATTEMPT = Attempt(table="nyc.flights", batch="20130101T0000-00000000", number=1)
NOTHING = {"worked_on": False, "superseded": False, "blocked": False, "has_route": True}


@pytest.mark.parametrize(
    ("decision", "known", "state"),
    [
        (None, {}, State.QUEUED),
        (None, {"has_route": False}, State.UNROUTED),
        (None, {"blocked": True}, State.BLOCKED),
        (None, {"blocked": True, "has_route": False}, State.UNROUTED),
        (None, {"worked_on": True, "blocked": True}, State.IN_PROGRESS),
        (Decision.REJECTED, {}, State.REJECTED),
        (Decision.REJECTED, {"blocked": True, "has_route": False}, State.REJECTED),
        (Decision.REJECTED, {"superseded": True}, State.SUPERSEDED),
        (Decision.REJECTED, {"superseded": True, "worked_on": True}, State.IN_PROGRESS),
    ],
)
def test_a_version_is_in_one_state_by_what_is_known_of_it(
    decision: Decision | None, known: dict[str, bool], state: State
) -> None:
    assert state_of(decision, **{**NOTHING, **known}) is state


@pytest.mark.parametrize(
    ("decision", "state"), [(Decision.PUBLISHED, State.PUBLISHED), (Decision.DISCARDED, State.DISCARDED)]
)
def test_what_is_decided_for_good_stays_so_whatever_else_is_known(decision: Decision, state: State) -> None:
    every = (dict(zip(NOTHING, values, strict=True)) for values in product((False, True), repeat=len(NOTHING)))
    assert {state_of(decision, **known) for known in every} == {state}


@pytest.mark.parametrize(("before", "after"), list(product(Decision, Decision)))
def test_a_receipt_takes_the_decisions_that_may_follow_and_no_others(before: Decision, after: Decision) -> None:
    receipt = Receipt(bucket="landing", key="k", entries=(Entry.of(FILE, before, ATTEMPT),))
    now = replace(Entry.of(FILE, after, ATTEMPT), attempt=2)
    if after in MAY_BECOME[before]:
        assert receipt.with_decision(now).entry("v1") == now
    else:
        with pytest.raises(Refused, match=f"is {before}, and may not become {after}"):
            receipt.with_decision(now)


def test_only_what_is_rejected_may_become_something_else() -> None:
    assert {before for before, after in MAY_BECOME.items() if after - {before}} == {None, Decision.REJECTED}
