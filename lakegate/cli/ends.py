"""How a file's way ends, in people's words, in the order in which they are told of it: what is well first."""

from dataclasses import dataclass

from lakegate.landing.lifecycle import State

ALREADY, GONE, PASSED_OVER = "already published", "gone", "passed over"


@dataclass(frozen=True, kw_only=True)
class End:
    """What a terminal shows of it, and whether a command that waited for the file fails by it."""

    mark: str
    colour: str
    fails: bool = False


ENDS: dict[str, End] = {
    State.PUBLISHED: End(mark="✓", colour="green"),
    ALREADY: End(mark="✓", colour="green"),
    State.DISCARDED: End(mark="-", colour="dim"),
    PASSED_OVER: End(mark="-", colour="dim"),
    State.UNROUTED: End(mark="‖", colour="yellow"),
    GONE: End(mark="✗", colour="red", fails=True),
    State.REJECTED: End(mark="✗", colour="red", fails=True),
}
RANKS = {state: rank for rank, state in enumerate(ENDS)}
