"""A file version's life: its state, by what is known of it, and which decision may follow which.

The state is derived and never stored: receipts, claims and notes are the only truth. This module reads none of them.
"""

from collections.abc import Mapping
from enum import StrEnum


class Decision(StrEnum):
    """A decision on a file version."""

    PUBLISHED = "published"  # its rows were merged to main; a newer version may have replaced them since
    REJECTED = "rejected"  # it failed; a retry may still publish it
    DISCARDED = "discarded"  # given up for good: by a person, or by its key's versions on main and the contract


class State(StrEnum):
    """A file version's state, in the words that people read."""

    UNROUTED = "unrouted"  # no contract routes it
    QUEUED = "queued"  # a contract routes it, and no attempt works on it yet
    BLOCKED = "blocked"  # an attempt works on another version of its key
    IN_PROGRESS = "in progress"  # an attempt works on it
    PUBLISHED = "published"  # its rows were merged to main; a newer version may have replaced them since
    REJECTED = "rejected"  # it failed; a retry or an approval may still publish it
    SUPERSEDED = "superseded"  # rejected, and its key's other versions on main decide it: no person need act
    DISCARDED = "discarded"  # given up for good


MAY_BECOME: Mapping[Decision | None, frozenset[Decision]] = {
    None: frozenset(Decision),
    Decision.REJECTED: frozenset(Decision),
    Decision.PUBLISHED: frozenset({Decision.PUBLISHED}),  # by another commit of the same, such as a merge done again
    Decision.DISCARDED: frozenset({Decision.DISCARDED}),
}
"""Decisions that may follow a decision, or come first (`None`)."""


def state_of(
    decision: Decision | None,
    *,
    worked_on: bool = False,
    superseded: bool = False,
    blocked: bool = False,
    has_route: bool = True,
) -> State:
    """Return the state of a file version, from its decision on main and from what else is known of it.

    `worked_on`: an open attempt claims it. `superseded`: its key's other versions on main would discard it. `blocked`:
    an open attempt claims another version of its key. `has_route`: a contract routes its key.
    """
    if decision is Decision.PUBLISHED:
        return State.PUBLISHED
    if decision is Decision.DISCARDED:
        return State.DISCARDED
    if worked_on:
        return State.IN_PROGRESS
    if decision is Decision.REJECTED:
        return State.SUPERSEDED if superseded else State.REJECTED
    if not has_route:
        return State.UNROUTED
    return State.BLOCKED if blocked else State.QUEUED
