"""Following file versions until each is decided or unrouted. It only reads, and prints nothing."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from lakegate.cli.ends import ENDS
from lakegate.cli.installation import Installation
from lakegate.errors import Conflict, Retryable
from lakegate.operations.operation import Operations
from lakegate.operations.questions import Follow
from lakegate.operations.sights import Sight, Version
from lakegate.ports import Branch

FIRST_PAUSE, LONGEST_PAUSE = 0.4, 3.0  # seconds
SILENT_LOOKS = 6  # failed looks in a row before following gives up


@dataclass(kw_only=True)
class Tracker:
    """File versions that are followed, in the order they were asked for. With `all_moving`, versions that a status
    shows under way join. `branches` need no second look.
    """

    sights: dict[Version, Sight] = field(default_factory=dict)
    all_moving: bool = False
    branches: set[Branch] = field(default_factory=set)

    @classmethod
    def of(cls, versions: Iterable[Version], *, all_moving: bool = False) -> "Tracker":
        sights = {pair: Sight(file=pair[0], version=pair[1]) for pair in versions}
        return cls(sights=sights, all_moving=all_moving)

    @property
    def pending(self) -> list[Sight]:
        return [sight for sight in self.sights.values() if not sight.at_end]

    @property
    def has_failed(self) -> bool:
        return any(sight.at_end and ENDS[sight.state].fails for sight in self.sights.values())

    def update(self, operations: Operations) -> None:
        """Update the state of each version. Once nothing moves, each file has its own rows and reasons."""
        final_pairs = tuple(pair for pair, sight in self.sights.items() if sight.at_end)
        operation = Follow(
            moving=tuple(self.pending), ended=final_pairs, settled=tuple(self.branches), all_moving=self.all_moving
        )
        answer = operations.run(operation)
        self.branches |= set(answer.settled)
        by_pair = {sight.pair: sight for sight in answer.sights}
        if self.all_moving:
            self.sights = {pair: sight for pair, sight in by_pair.items() if not sight.at_end} | self.sights
        self.sights |= by_pair


def follow(
    installation: Installation, tracker: Tracker, timeout: float | None, show: Callable[[Tracker], None]
) -> bool:
    """Look until nothing moves; return True if that was before the time-out. A failed look is repeated a few times."""
    clock, start = installation.clock, installation.clock.now()
    silent, pause = 0, FIRST_PAUSE
    while True:
        try:
            tracker.update(installation.operations)
            silent = 0
        except (Retryable, Conflict):  # Conflict: a branch vanished between two reads of one look
            silent += 1
            if silent >= SILENT_LOOKS:
                raise
        show(tracker)
        if not silent and not tracker.pending:
            return True
        remaining = LONGEST_PAUSE if timeout is None else timeout - (clock.now() - start).total_seconds()
        if remaining <= 0:
            return False
        installation.pause(min(pause, remaining))
        pause = min(pause * 1.4, LONGEST_PAUSE)
