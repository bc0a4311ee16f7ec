"""The life of a file version: its state, by what is known of it, and which decision may follow which.

The state is derived and never stored: receipts, claims and notes are the only truth. It reads none of them.
"""

from collections.abc import Mapping
from enum import StrEnum


class Decision(StrEnum):
    """What became of a file version."""

    PUBLISHED = "published"  # its rows are on main
    REJECTED = "rejected"  # it failed; a retry may still publish it
    DISCARDED = "discarded"  # nobody wants it: by a person's word, or because its very bytes are already published


class State(StrEnum):
    """Where a file version stands, in the words that people read."""

    UNROUTED = "held"  # no contract routes it
    QUEUED = "landed"  # a contract routes it, and nobody works on it yet
    BLOCKED = "blocked"  # another version of its key is being worked on
    IN_PROGRESS = "in progress"  # an attempt works on it
    PUBLISHED = "published"  # its rows are on main
    REJECTED = "rejected"  # it failed; a retry or an approval may still publish it
    SUPERSEDED = "overtaken"  # rejected, and its key's other versions on main decide it: it needs nobody
    DISCARDED = "discarded"  # given up for good


MAY_BECOME: Mapping[Decision | None, frozenset[Decision]] = {
    None: frozenset(Decision),
    Decision.REJECTED: frozenset(Decision),
    Decision.PUBLISHED: frozenset({Decision.PUBLISHED}),  # by another commit of the same, such as a merge done again
    Decision.DISCARDED: frozenset({Decision.DISCARDED}),
}
"""The decisions that may follow a decision, or none."""


def state_of(
    decision: Decision | None,
    *,
    worked_on: bool = False,
    superseded: bool = False,
    blocked: bool = False,
    routed: bool = True,
) -> State:
    """The state of a file version by its decision on main, and by what else is known of it.

    `worked_on`: an open attempt claims it. `superseded`: its key's other versions on main would discard it.
    `blocked`: an open attempt claims another version of its key. `routed`: a contract routes its key.
    """
    if decision is Decision.PUBLISHED:
        return State.PUBLISHED
    if decision is Decision.DISCARDED:
        return State.DISCARDED
    if worked_on:
        return State.IN_PROGRESS
    if decision is Decision.REJECTED:
        return State.SUPERSEDED if superseded else State.REJECTED
    if not routed:
        return State.UNROUTED
    return State.BLOCKED if blocked else State.QUEUED
