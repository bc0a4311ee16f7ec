"""Following file versions until each is decided or unrouted. It only reads, and prints nothing."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import timedelta

from lakegate.cli.ends import ALREADY, ENDS, GONE, PASSED_OVER
from lakegate.cli.installation import Installation
from lakegate.errors import Conflict, Retryable
from lakegate.landing.lifecycle import Decision, State
from lakegate.landing.standing import IDENTICAL
from lakegate.ports import Branch
from lakegate.workflow.ledger.receipts import receipts_now, whole_receipt
from lakegate.workflow.overview.line import Line
from lakegate.workflow.service import Service
from lakegate.workflow.status import Status, status

Version = tuple[str, str]  # landing key, version id
FIRST_PAUSE, LONGEST_PAUSE = 0.4, 3.0  # seconds
SILENT_LOOKS = 6  # failed looks in a row before following gives up
MARKER = "it has no bytes and a marker's name, so lakegate passes it over"


@dataclass(frozen=True, kw_only=True)
class Sight:
    """One file version as it was seen last."""

    file: str
    version: str
    state: str = State.QUEUED
    batch: str = ""
    table: str = ""
    branch: str = ""
    rows: int = 0
    reasons: tuple[str, ...] = ()
    waits: str = ""

    @property
    def at_end(self) -> bool:
        return self.state in ENDS


@dataclass(kw_only=True)
class Followed:
    """File versions that are followed, in the order they were asked for. With `all_moving`, versions that a status
    shows under way join. `settled` are branches that need no second look.
    """

    sights: dict[Version, Sight] = field(default_factory=dict)
    all_moving: bool = False
    settled: set[Branch] = field(default_factory=set)

    @classmethod
    def of(cls, versions: Iterable[Version], *, all_moving: bool = False) -> "Followed":
        sights = {pair: Sight(file=pair[0], version=pair[1]) for pair in versions}
        return cls(sights=sights, all_moving=all_moving)

    @property
    def moving(self) -> list[Sight]:
        return [sight for sight in self.sights.values() if not sight.at_end]

    @property
    def has_failed(self) -> bool:
        return any(sight.at_end and ENDS[sight.state].fails for sight in self.sights.values())

    def look(self, service: Service) -> None:
        """Update the state of each version. A version that no list shows for a moment, between two lists, keeps its
        state.
        """
        seen = sights(status(service, self.settled))
        if self.all_moving:
            self.sights = {pair: sight for pair, sight in seen.items() if not sight.at_end} | self.sights
        for pair, before in self.sights.items():
            self.sights[pair] = seen.get(pair) or (
                before if before.at_end else elsewhere(service, replace(before, waits=""))
            )

    def finish(self, service: Service) -> None:
        """Give each decided file its own rows and reasons, because a list may hold them for several files together."""
        done: set[Version] = set()
        for decided in service.ledger.decisions(1000):
            for file in decided.note.files:
                pair = (file.key, file.version_id)
                if pair in self.sights and pair not in done and self.sights[pair].at_end:
                    state = _said(decided.note.decision, file.reasons)
                    self.sights[pair] = replace(self.sights[pair], state=state, rows=file.rows, reasons=file.reasons)
                    done.add(pair)


def sights(now: Status) -> dict[Version, Sight]:
    """Return every file version that a status knows; work under way takes precedence over earlier decisions."""
    lines = (*now.discarded, *now.published, *now.superseded, *now.rejected, *now.unrouted, *now.in_flight)
    return {(sight.file, sight.version): sight for line in lines for sight in _of_line(line)}


def _of_line(line: Line) -> Iterator[Sight]:
    for key, version in zip(line.files, line.versions, strict=True):
        yield Sight(
            file=key,
            version=version,
            state=_said(line.state, line.reasons),
            batch=line.batch,
            table=line.table,
            branch=line.branch,
            rows=line.rows if len(line.files) == 1 else 0,
            reasons=line.reasons,
            waits=line.waits,
        )


def _said(state: str, reasons: tuple[str, ...]) -> str:
    """Return the state to show. Bytes that are on main anyway count as published; ignored or superseded ones do not. A
    rejected version that was superseded since still shows as rejected, because that was its decision.
    """
    if state == State.SUPERSEDED:
        return Decision.REJECTED
    same = state == Decision.DISCARDED and any(reason.endswith(IDENTICAL) for reason in reasons)
    return ALREADY if same else str(state)


def elsewhere(service: Service, before: Sight) -> Sight:
    """Return the state of a version that no list shows: a marker, decided long ago, gone from the bucket, or on its way
    between two lists.
    """
    before = replace(before, waits="")
    file = service.landing.describe(before.file, before.version)
    if file and file.is_marker:
        return replace(before, state=PASSED_OVER, reasons=(MARKER,))
    receipt = receipts_now(service, [file]).get(file.key) if file else whole_receipt(service, before.file)
    entry = receipt.entry(before.version) if receipt else None
    if entry is not None:
        return replace(
            before,
            state=_said(entry.decision, entry.reasons),
            batch=entry.batch,
            table=entry.table,
            reasons=entry.reasons,
        )
    if file is None:
        return replace(before, state=GONE, reasons=("it was deleted from the landing bucket before it was decided",))
    return before


def follow(
    installation: Installation, followed: Followed, timeout: float | None, show: Callable[[Followed], None]
) -> bool:
    """Look until nothing moves; return True if that was before the time-out. A failed look is repeated a few times."""
    clock, started = installation.service.clock, installation.service.clock.now()
    silent, pause = 0, FIRST_PAUSE
    while True:
        try:
            followed.look(installation.service)
            if not followed.moving:
                followed.finish(installation.service)
            silent = 0
        except (Retryable, Conflict):  # Conflict: a branch vanished between two reads of one look
            silent += 1
            if silent >= SILENT_LOOKS:
                raise
        show(followed)
        if not silent and not followed.moving:
            return True
        left = _left(timeout, clock.now() - started)
        if left <= 0:
            return False
        installation.pause(min(pause, left))
        pause = min(pause * 1.4, LONGEST_PAUSE)


def _left(timeout: float | None, elapsed: timedelta) -> float:
    return LONGEST_PAUSE if timeout is None else timeout - elapsed.total_seconds()
