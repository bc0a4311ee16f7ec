"""Port of telemetry: signals, which are numbers about the service's own work, for whoever watches it."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Protocol


class Signal(StrEnum):
    """A number about the service's own work. Its value is its name for whoever watches."""

    # What a function has just done.
    FILES_RECEIVED = "FilesReceived"  # with which a new batch began
    FILES_PUBLISHED = "FilesPublished"
    FILES_REJECTED = "FilesRejected"
    PUBLISH_CONFLICTS = "PublishConflicts"  # main moved between the last look and the merge
    JOBS_FAILED = "JobsFailed"  # crashed, without a report
    FILES_HANDED_OVER = "FilesHandedOver"  # by the express lane, to Spark
    JOB_SECONDS = "JobSeconds"
    VCPU_HOURS = "VcpuHours"  # billed, as the others
    MEMORY_GB_HOURS = "MemoryGbHours"
    STORAGE_GB_HOURS = "StorageGbHours"
    # What a sweep finds.
    CATALOG_UNREACHABLE = "CatalogUnreachable"  # 1 if it did not answer, or else 0
    OPEN_BRANCHES = "OpenBranches"
    UNDECIDED_BATCHES = "UndecidedBatches"
    OLDEST_UNDECIDED = "OldestUndecidedSeconds"  # age of the oldest routed file without a decision
    FILES_QUEUED = "FilesQueued"  # undecided, and no attempt works on them
    FILES_UNROUTED = "FilesUnrouted"
    VERSIONS_LISTED = "VersionsListed"
    LISTING_SECONDS = "ListingSeconds"
    OLDEST_MESSAGE = "OldestMessageSeconds"  # age of the oldest message that people cannot be sent


class Telemetry(Protocol):
    """A channel to whoever watches the service. It loses signals rather than stopping any work."""

    def emit(self, values: Mapping[Signal, float], table: str = "") -> None:
        """Emit signals of one moment, of one table's files if it is named. Raise nothing."""
