"""Lines: files of one batch in the same state, as `status` shows them."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from lakegate.landing.files import FileVersion
from lakegate.ports import Usage


@dataclass(frozen=True, kw_only=True)
class Line:
    """Files of one batch in the same state. `versions` are parallel to `files`; `attempt` is 0 if none was needed.
    `rows` counts neither the `quarantined` ones nor those that were `replaced`. A line in flight that waits says what
    it `waits_for`, and until when, if that is known. The `lane` is that of its job, if there is one yet, with the
    reason; of decided lines, published ones have the lane. `usage` is of the attempt's job run, and is read by
    `with_usage`. Of published files whose contract observes, enforcing `would_reject` so many, and `would_quarantine`
    so many rows.
    """

    batch: str
    table: str
    branch: str
    files: tuple[str, ...]
    versions: tuple[str, ...]
    state: str
    rows: int
    reasons: tuple[str, ...]
    since: datetime
    attempt: int = 0
    quarantined: int = 0
    replaced: int = 0
    waits_for: str = ""
    waits_until: datetime | None = None
    usage: Usage | None = None
    lane: str = ""
    lane_why: str = ""
    would_reject: int = 0
    would_quarantine: int = 0

    @property
    def waits(self) -> str:
        """Both in words; empty if it waits for nothing but its job, or was not asked."""
        limit = f" (until {self.waits_until:%Y-%m-%d %H:%M:%S} UTC at the latest)" if self.waits_until else ""
        return f"{self.waits_for}{limit}"


def line_of_file(
    file: FileVersion,
    table: str,
    state: str,
    reasons: tuple[str, ...] = (),
    waits: tuple[str, datetime | None] = ("", None),
) -> Line:
    """Return the line of a file that is in no batch yet. `waits` is what it waits for, and until when."""
    return Line(
        batch="",
        table=table,
        branch="",
        files=(file.key,),
        versions=(file.version_id,),
        state=state,
        rows=0,
        reasons=reasons,
        since=file.landed_at,
        waits_for=waits[0],
        waits_until=waits[1],
    )


def newest_first(lines: Iterable[Line]) -> tuple[Line, ...]:
    return tuple(sorted(lines, key=lambda line: line.since, reverse=True))
