"""Company: how long files of a table wait for others to come, before they become a batch. It reads nothing.

Waiting gains what a job costs that starts alone. So files wait where their table is busy, because they follow its
attempt together, or where Spark is to take them; and never longer than the window, nor once their batch is full.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from lakegate.audit.model.lane import Lane
from lakegate.contracts import Contract
from lakegate.landing.attempts import batches
from lakegate.landing.files import FileVersion
from lakegate.landing.lane import Express, Work, lane_of, limits_of

LONG_AGO = datetime.fromtimestamp(0, UTC)


@dataclass(frozen=True, kw_only=True)
class WaitingBatch:
    """Files of a table that would be one batch: the lane that it would take, and since when the first of them waits.
    That is not when it landed: S3 dates an upload in parts by its beginning.
    """

    lane: Lane
    start: datetime
    is_full: bool = False

    def deadline(self, window: timedelta) -> datetime:
        """Return the time after which they wait for no company."""
        return self.start + window


@dataclass(frozen=True, kw_only=True)
class Company:
    """The time and the window, by which files wait. A table `is_quiet` if no job of its is under way."""

    now: datetime
    window: timedelta

    def has_come(self, first: WaitingBatch, *, is_quiet: bool) -> bool:
        """Return True if a table's first batch has nothing to gain by waiting."""
        return first.is_full or self.now >= first.deadline(self.window) or (is_quiet and first.lane is Lane.EXPRESS)

    def ready(self, batches: Sequence[WaitingBatch], *, is_quiet: bool) -> list[Lane]:
        """Return the lanes of the first of a table's batches, in their order, that have nothing to gain by waiting."""
        ready = list[Lane]()
        for batch in batches:
            if not self.has_come(batch, is_quiet=is_quiet and not ready):
                break
            ready.append(batch.lane)
        return ready


def waiting_since(
    start: datetime, contract: Contract, express: Express | None, files: Iterable[FileVersion]
) -> list[WaitingBatch]:
    """Return the batches of these files of a contract's table, which are given oldest first, and wait since then."""
    files = list(files)
    file_batches = list(batches(files, limits_of(contract.ingestion, express, contract.plan, files), {}))
    return [
        WaitingBatch(lane=_lane_of_batch(contract, express, batch), start=start, is_full=number < len(file_batches))
        for number, batch in enumerate(file_batches, 1)
    ]


def likely_lane(contract: Contract, express: Express | None, files: Iterable[FileVersion]) -> Lane:
    """Return the lane of the first batch of these files, as far as it can be known before they are claimed."""
    files = list(files)
    first = next(iter(batches(files, limits_of(contract.ingestion, express, contract.plan, files), {})), [])
    return _lane_of_batch(contract, express, first)


def _lane_of_batch(contract: Contract, express: Express | None, batch: Iterable[FileVersion]) -> Lane:
    work = Work(plan=contract.plan, sizes=[file.size for file in batch])
    return lane_of(contract.ingestion.engine, express, work)[0]
