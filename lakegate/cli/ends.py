"""Final states of a file as the command line prints them, good ones first. It decides none of them."""

from dataclasses import dataclass

from lakegate.landing.lifecycle import State
from lakegate.operations.sights import ABSENT, ALREADY_PUBLISHED, PASSED_OVER


@dataclass(frozen=True, kw_only=True)
class End:
    """A terminal's mark and colour for an end, and `fails`, which makes a command that waited for the file fail."""

    mark: str
    colour: str
    fails: bool = False


ENDS: dict[str, End] = {
    State.PUBLISHED: End(mark="✓", colour="green"),
    ALREADY_PUBLISHED: End(mark="✓", colour="green"),
    State.DISCARDED: End(mark="-", colour="dim"),
    PASSED_OVER: End(mark="-", colour="dim"),
    State.UNROUTED: End(mark="‖", colour="yellow"),
    ABSENT: End(mark="✗", colour="red", fails=True),
    State.SUPERSEDED: End(mark="-", colour="dim", fails=True),
    State.REJECTED: End(mark="✗", colour="red", fails=True),
}
NOTHING_TO_DO = "another version of its key is on main, nothing to do"
RANKS = {state: rank for rank, state in enumerate(ENDS)}
